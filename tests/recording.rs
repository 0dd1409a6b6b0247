//! The picture in the README: a terminal that runs the two commands.
//!
//! rscaffold runs as at a terminal, with colour. Its output becomes an SVG in which the lines appear one
//! after the other. `SNAPSHOTS=overwrite` writes the picture.

use std::{env, fmt::Write, fs, process::Command};

use anstyle_svg::{Term, WIN10_CONSOLE};
use tempfile::TempDir;

use crate::{
    document::read,
    scaffold::{program, root},
};

const PICTURE: &str = "docs/two-commands.svg";

const COMMANDS: [&str; 2] = [
    "rscaffold init --domain com --repo guestbook",
    "rscaffold create api --group webapp --version v1 --kind Guestbook",
];

/// The time that the picture shows instead of the real time, which differs in each run.
const TIME: &str = "(9 ms)";

/// Runs the commands, and returns the text of the terminal: each command after a prompt, and its output.
fn session() -> String {
    let top = TempDir::new().unwrap();
    let folder = top.path().join("guestbook");
    fs::create_dir(&folder).unwrap();
    let mut session = String::new();
    for command in COMMANDS {
        let output = Command::new(program())
            .args(command.split(' ').skip(1))
            .current_dir(&folder)
            .env("CLICOLOR_FORCE", "1")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{printed}");
        writeln!(session, "\x1b[32m$\x1b[0m \x1b[1m{command}\x1b[0m").unwrap();
        for line in printed.lines() {
            let without_time = line.find(" ms)").and_then(|end| {
                let start = line[..end].rfind('(')?;
                Some(format!("{}{TIME}{}", &line[..start], &line[end + 4..]))
            });
            writeln!(session, "{}", without_time.as_deref().unwrap_or(line)).unwrap();
        }
    }
    session + "\x1b[32m$\x1b[0m"
}

/// Returns the session as an SVG. Each line is hidden until its time. Without animation, all lines are shown.
fn picture(session: &str) -> String {
    const LINE: &str = "    <tspan x=";
    const APPEAR: &str = "    @media (prefers-reduced-motion: no-preference) {\n      \
        text > tspan { animation: appear 1ms backwards }\n    }\n    \
        @keyframes appear { from { visibility: hidden } }\n  </style>";
    let svg = Term::new().palette(WIN10_CONSOLE).render_svg(session);
    // Otherwise, dimmed text is hard to read.
    let svg = svg.replace("opacity: 0.4", "opacity: 0.7");
    let svg = svg.replacen("  </style>", APPEAR, 1);
    let size = svg.split('"').filter_map(|text| text.strip_suffix("px"));
    let size: Vec<_> = size.take(2).collect();
    let view = format!("<svg viewBox=\"0 0 {}\" ", size.join(" "));
    let svg = svg.replacen("<svg ", &view, 1);

    let mut parts = svg.split(LINE);
    let mut picture = parts.next().unwrap().to_owned();
    let mut milliseconds = 0;
    for (number, (part, line)) in parts.zip(session.lines()).enumerate() {
        let is_command = line.starts_with("\x1b[32m$");
        milliseconds += match number {
            0 => 500,
            _ if is_command => 1500,
            _ => 40,
        };
        write!(
            picture,
            "    <tspan style=\"animation-delay: {milliseconds}ms\" x={part}"
        )
        .unwrap();
        // The viewer reads the command before its output appears.
        milliseconds += if is_command { 900 } else { 0 };
    }
    picture
}

#[test]
fn the_recording_shows_what_the_two_commands_print() {
    let played = picture(&session());
    let path = root().join(PICTURE);
    if env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
        fs::write(&path, &played).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap();
    assert!(
        played == shown,
        "`make golden` records {PICTURE} anew:\n{}",
        diffy::create_patch(&shown, &played)
    );
    let readme = read("README.md");
    assert!(readme.contains(&format!("]({PICTURE})")));
    for command in COMMANDS {
        // The README also contains the commands as text, for readers who do not see the picture.
        assert!(readme.contains(&format!("`{command}`")), "{command}");
    }
}
