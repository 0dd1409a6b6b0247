//! Tests the command line as its users see it: transcripts (`cli/*.md`), and the questions at a terminal.
//!
//! Each transcript starts in an empty folder `guestbook`. A shell in this folder runs each line `$ …`, with rscaffold
//! on its PATH. The output of the command follows. If the exit code was 1, the output starts with `? 1`. `[..]` matches
//! any text in a line, and `...` matches any lines. `SNAPSHOTS=overwrite` writes the actual output into the
//! transcripts.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

use rexpect::{
    process::Signal,
    session::{PtySession, spawn_command},
};
use snapbox::{Assert, Data};
use tempfile::TempDir;

use crate::{
    parallel::each,
    project::shell,
    scaffold::{program, root},
    wildcards::{with_wildcards, without_times},
};

/// The environment variables for a git with a fixed author, independent of the user who runs the tests.
pub const GIT: [(&str, &str); 6] = [
    ("GIT_AUTHOR_EMAIL", "me@example.com"),
    ("GIT_AUTHOR_NAME", "me"),
    ("GIT_COMMITTER_EMAIL", "me@example.com"),
    ("GIT_COMMITTER_NAME", "me"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
];

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let failed = Mutex::new(Vec::new());
    each(&paths, |path| {
        let expected = fs::read_to_string(path).unwrap();
        let compared = Assert::new().action_env("SNAPSHOTS").try_eq(
            Some(&path.display()),
            play(&expected).into(),
            Data::read_from(path, None).raw(),
        );
        let difference = compared.err().map(|difference| difference.to_string());
        failed.lock().unwrap().extend(difference);
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{}SNAPSHOTS=overwrite takes over what was seen",
        failed.concat()
    );
}

/// The default of `--runtime` differs between a release and a version under development.
#[test]
fn transcripts_name_the_runtime_of_each_new_project() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let transcript = fs::read_to_string(&path).unwrap();
        let lines: Vec<_> = transcript.lines().collect();
        for pair in lines.windows(2) {
            let is_init = pair[0].starts_with("$ ") && pair[0].contains("rscaffold init ");
            let is_refused = pair[1].starts_with("? ");
            assert!(
                !is_init
                    || is_refused
                    || pair[0].contains("--runtime")
                    || pair[0].contains("--help"),
                "{}: `{}` has no `--runtime`",
                path.display(),
                pair[0]
            );
        }
    }
}

/// Returns the transcript with the current output of its commands. A wildcard stays if it still matches.
pub fn play(transcript: &str) -> String {
    let top = TempDir::new().unwrap();
    let folder = top.path().join("guestbook");
    fs::create_dir(&folder).unwrap();

    let mut played = String::new();
    let mut lines = transcript.lines().peekable();
    while let Some(line) = lines.next() {
        played.extend([line, "\n"]);
        let Some(command) = line.strip_prefix("$ ") else {
            continue;
        };
        let is_output = |line: &&str| !line.starts_with("$ ") && !line.starts_with("```");
        let mut expected = String::new();
        while let Some(line) = lines.next_if(is_output) {
            expected.extend([line, "\n"]);
        }
        let printed = run(command, &folder);
        // Each command is compared separately, so that its `...` cannot match the output of the next command.
        played += &with_wildcards(&printed, &expected);
    }
    played
}

/// Returns the output of `command`, after its exit code if the exit code is not 0.
fn run(command: &str, folder: &Path) -> String {
    let output = shell(folder, &format!("exec 2>&1; {command}"))
        .env("LC_ALL", "C")
        .env("CRDS", root().join("tests/crds"))
        .env("GO_PROJECT", root().join("tests/go"))
        .envs(GIT)
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = without_times(&String::from_utf8(output.stdout).unwrap());
    match output.status.code() {
        Some(0) => printed,
        code => format!("? {}\n{printed}", code.unwrap()),
    }
}

/// Returns rscaffold in `folder`, without the environment variables of the tests that affect colour.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    for variable in ["CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
        command.env_remove(variable);
    }
    command
        .args(arguments)
        .current_dir(folder)
        .env("TERM", "xterm");
    command
}

/// Starts rscaffold at a terminal, without colour.
fn at_a_terminal(folder: &Path, arguments: &[&str]) -> PtySession {
    let mut command = command(folder, arguments);
    command.env("NO_COLOR", "1");
    spawn_command(command, Some(20_000)).unwrap()
}

/// Waits for the end of the program, and returns the rest of its output. After this end, the thread of the session would
/// try to read without a pause.
fn ends(mut session: PtySession) -> String {
    session.exp_eof().unwrap()
}

#[test]
fn what_is_missing_is_asked_for_at_a_terminal() {
    let top = TempDir::new().unwrap();
    let folder = top.path().join("guestbook");
    fs::create_dir(&folder).unwrap();

    let mut init = at_a_terminal(&folder, &["init"]);
    init.exp_string("Domain of the API groups [example.com]: ")
        .unwrap();
    init.send_line("not/a/domain").unwrap();
    init.exp_string("`not/a/domain`").unwrap();
    init.exp_string("Domain of the API groups [example.com]: ")
        .unwrap();
    let answered = Instant::now();
    init.send_line("").unwrap();
    init.exp_string("guestbook is ready (").unwrap();
    let (millis, _) = init.exp_regex(" ms").unwrap();
    let counted = Duration::from_millis(millis.parse().unwrap());
    assert!(
        counted <= answered.elapsed(),
        "the time of the questions counts: {millis} ms"
    );
    ends(init);

    let mut create = at_a_terminal(&folder, &["create", "api", "--version", "v1beta1"]);
    create.exp_string("Group, such as `webapp`: ").unwrap();
    create.send_line("").unwrap();
    create.exp_string("there is no default").unwrap();
    create.exp_string("Group, such as `webapp`: ").unwrap();
    create.send_line("webapp").unwrap();
    create.exp_string("Kind, such as `Guestbook`: ").unwrap();
    create.send_line("guestbook").unwrap();
    create.exp_string("`guestbook` is not a kind").unwrap();
    create.exp_string("Kind, such as `Guestbook`: ").unwrap();
    create.send_line("Guestbook").unwrap();
    ends(create);

    let mut create = at_a_terminal(&folder, &["create", "webhook", "--kind", "Guestbook"]);
    create.exp_string("Group [webapp]: ").unwrap();
    create.send_line("zoo").unwrap();
    create
        .exp_string("no kind fits this answer; there is `webapp/v1beta1/Guestbook`")
        .unwrap();
    create.exp_string("Group [webapp]: ").unwrap();
    create.send_line("").unwrap();
    // The version of an existing kind is known.
    let between = create
        .exp_string(
            "Webhooks: defaulting, validation and conversion, such as `defaulting,validation`: ",
        )
        .unwrap();
    assert!(!between.contains("Version"), "{between}");
    create.send_line("mutating").unwrap();
    create.exp_string("`mutating` is not one of").unwrap();
    create.send_line("defaulting, validation").unwrap();
    create.exp_string("created").unwrap();
    ends(create);

    let mut create = at_a_terminal(&folder, &["create", "webhook", "--defaulting"]);
    create.exp_string("Group [webapp]: ").unwrap();
    create.send_line("autoscaling").unwrap();
    create.exp_string("Kind, such as `Guestbook`: ").unwrap();
    create.send_line("HorizontalPodAutoscaler").unwrap();
    create.exp_string("Version [v1]: ").unwrap();
    create.send_line("v9").unwrap();
    create
        .exp_string("no kind fits this answer; there is `autoscaling/v1/HorizontalPodAutoscaler`")
        .unwrap();
    create.exp_string("Version [v1]: ").unwrap();
    create.send_line("").unwrap();
    ends(create);

    // The only version of a kind is known, too.
    let mut create = at_a_terminal(
        &folder,
        &["create", "webhook", "--defaulting", "--kind", "ReplicaSet"],
    );
    create.exp_string("Group [webapp]: ").unwrap();
    create.send_line("apps").unwrap();
    create.exp_string("updated").unwrap();
    ends(create);

    let mut delete = at_a_terminal(&folder, &["delete", "api", "--kind", "Guestbook"]);
    delete.exp_string("Group, such as `webapp`: ").unwrap();
    delete.send_line("apps").unwrap();
    delete
        .exp_string("this project has no such kind; it has `webapp/v1beta1/Guestbook`")
        .unwrap();
    delete.send_control('d').unwrap();
    ends(delete);

    let mut create = at_a_terminal(&folder, &["create", "api", "--kind", "Guest"]);
    create.exp_string("Group [webapp]: ").unwrap();
    create.send_line("").unwrap();
    create.exp_string("Version [v1]: ").unwrap();
    create.send_line("").unwrap();
    ends(create);

    let project = fs::read_to_string(folder.join("PROJECT")).unwrap();
    for line in [
        "domain: example.com",
        "group: webapp",
        "version: v1beta1",
        "version: v1",
        "defaulting: true",
        "validation: true",
    ] {
        assert!(project.contains(line), "{project}");
    }
}

#[test]
fn nothing_is_asked_when_everything_is_said() {
    let top = TempDir::new().unwrap();

    let init = at_a_terminal(
        top.path(),
        &["init", "--domain=com", "--project-name=guestbook"],
    );
    let shown = ends(init);

    assert!(shown.trim_start().starts_with("create"), "{shown}");
}

/// Creates a project with one kind.
fn project_with_a_kind(folder: &Path) {
    for arguments in [
        &["init", "--domain", "com", "--project-name", "guestbook"][..],
        &[
            "create",
            "api",
            "--group=webapp",
            "--version=v1",
            "--kind=Guestbook",
        ],
    ] {
        assert!(
            command(folder, arguments)
                .output()
                .unwrap()
                .status
                .success()
        );
    }
}

/// Creates a project with an edit that conflicts with the changes of the next API.
fn project_with_a_conflict(folder: &Path) {
    project_with_a_kind(folder);
    for path in ["src/api/mod.rs", "src/controller/mod.rs"] {
        let path = folder.join(path);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(
            path,
            text.replace("// One module for each group.", "// Our groups."),
        )
        .unwrap();
    }
}

const CAPTAIN: [&str; 5] = [
    "create",
    "api",
    "--group=crew",
    "--version=v1",
    "--kind=Captain",
];

#[test]
fn conflicts_are_settled_one_by_one_at_a_terminal() {
    let folder = TempDir::new().unwrap();
    project_with_a_conflict(folder.path());
    let mut session = at_a_terminal(folder.path(), &CAPTAIN);
    for (path, answer) in [
        ("src/api/mod.rs", "mine"),
        ("`mine` is not one of", "?"),
        (
            "o, ours     keep your lines: the file on disk has them",
            "o",
        ),
        ("src/controller/mod.rs", "t"),
    ] {
        session.exp_string(path).unwrap();
        session
            .exp_string("theirs (the lines of rscaffold), markers (both), abort, or ? [abort]: ")
            .unwrap();
        session.send_line(answer).unwrap();
    }
    session.exp_string("with your changes").unwrap();
    ends(session);
    let read = |path| fs::read_to_string(folder.path().join(path)).unwrap();
    assert!(read("src/api/mod.rs").contains("// Our groups."));
    assert!(!read("src/api/mod.rs").contains("mod crew;"));
    assert!(read("src/controller/mod.rs").contains("pub mod crew;"));
}

#[test]
fn a_question_about_a_file_that_would_be_deleted_says_so() {
    let folder = TempDir::new().unwrap();
    project_with_a_kind(folder.path());
    let path = folder.path().join("src/controller/webapp/guestbook.rs");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "// mine\n").unwrap();
    let delete = "delete api --group=webapp --version=v1 --kind=Guestbook";
    let arguments: Vec<_> = delete.split(' ').collect();
    let mut session = at_a_terminal(folder.path(), &arguments);
    for (shown, answer) in [
        ("theirs (delete it with your edits)", "?"),
        ("t, theirs   delete the file with your edits", "t"),
    ] {
        session.exp_string(shown).unwrap();
        session.exp_string("abort, or ? [abort]: ").unwrap();
        session.send_line(answer).unwrap();
    }
    ends(session);
    assert!(!path.exists());
}

#[test]
fn a_conflict_that_is_not_settled_at_a_terminal_writes_nothing() {
    let folder = TempDir::new().unwrap();
    project_with_a_conflict(folder.path());
    let mut session = at_a_terminal(folder.path(), &CAPTAIN);
    session.exp_string("abort, or ? [abort]: ").unwrap();
    session.send_line("").unwrap();
    session.exp_string("nothing was written").unwrap();
    ends(session);
    assert!(!folder.path().join("src/api/crew").exists());
}

#[test]
fn a_decision_on_the_command_line_is_not_asked_for_at_a_terminal() {
    let folder = TempDir::new().unwrap();
    project_with_a_conflict(folder.path());
    let arguments = [CAPTAIN.as_slice(), &["--on-conflict=abort"]].concat();
    let shown = ends(at_a_terminal(folder.path(), &arguments));
    assert!(shown.contains("src/api/mod.rs"), "{shown}");
    assert!(!shown.contains("[abort]"), "{shown}");
    assert!(!folder.path().join("src/api/crew").exists());
}

#[test]
fn the_end_of_input_ends_the_questions() {
    let top = TempDir::new().unwrap();

    let mut init = at_a_terminal(top.path(), &["init", "--project-name=guestbook"]);
    init.exp_string("Domain of the API groups [example.com]: ")
        .unwrap();
    init.send_control('d').unwrap();
    init.exp_string("error: no answer was given").unwrap();
    ends(init);

    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
}

/// A command keeps its folder locked while the command waits for an answer, and also while it is stopped by Ctrl-Z.
#[test]
fn a_second_command_is_refused_until_the_first_has_ended() {
    let top = TempDir::new().unwrap();
    let mut first = at_a_terminal(top.path(), &["init", "--project-name=guestbook"]);
    first
        .exp_string("Domain of the API groups [example.com]: ")
        .unwrap();
    first.process_mut().signal(Signal::SIGSTOP).unwrap();
    let second = || command(top.path(), &["init", "--domain=com", "--project-name=two"]);

    let output = second().output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "error: another rscaffold process is working in this folder\n\
         hint: run the command again when the other process has finished; `pgrep -l rscaffold` \
             lists all, including those that Ctrl-Z suspended\n"
    );
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);

    let waiting = second().stderr(Stdio::null()).spawn().unwrap();
    first.process_mut().signal(Signal::SIGKILL).unwrap();
    assert!(waiting.wait_with_output().unwrap().status.success());
}

#[test]
fn colour_is_for_terminals_unless_refused() {
    const ESCAPE: char = '\x1b';
    let top = TempDir::new().unwrap();
    let arguments = [
        "init",
        "--domain=com",
        "--project-name=guestbook",
        "--dry-run",
    ];

    let coloured = spawn_command(command(top.path(), &arguments), Some(20_000));
    assert!(ends(coloured.unwrap()).contains(ESCAPE));

    let refused = ends(at_a_terminal(top.path(), &arguments));
    assert!(
        refused.contains("to create") && !refused.contains(ESCAPE),
        "{refused}"
    );

    let piped = command(top.path(), &arguments).output().unwrap().stderr;
    assert!(!piped.is_empty() && !piped.contains(&(ESCAPE as u8)));
}
