//! A shell that runs the commands of a tutorial, and checks their output.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::AtomicBool,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use cluster::run;
use signal_hook::{consts::SIGINT, flag::register_conditional_shutdown};

use crate::{
    compile::BUILD_PATIENCE,
    scaffold::by_hand,
    wildcards::{with_wildcards, without_times},
};

/// The text that the shell prints after each command, followed by the exit code.
const END: &str = "--- end of the command:";

/// A shell. On drop, the shell and all processes that it started are killed.
pub struct Terminal {
    shell: Child,
    input: ChildStdin,
    output: Receiver<String>,
    /// Whether a command runs.
    busy: bool,
}

impl Terminal {
    /// Opens a shell in `folder`.
    pub fn open(folder: &Path, environment: &[(&str, String)]) -> Result<Self> {
        // A process that a shell starts in the background ignores SIGINT, and its children inherit this. With a handler
        // in this process, the children start with the default action, so Ctrl-C ends them.
        let exits = Arc::new(AtomicBool::new(true));
        register_conditional_shutdown(SIGINT, 130, exits).context("failed to handle SIGINT")?;
        let mut command = Command::new("bash");
        by_hand(&mut command).env_remove("RUST_BACKTRACE");
        let mut shell = command
            .args(["--noprofile", "--norc"])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to run `bash`")?;
        let mut input = shell.stdin.take().context("no input")?;
        // Ctrl-C ends the running command, but not the shell.
        input.write_all(b"exec 2>&1; trap : INT\n")?;
        let lines = BufReader::new(shell.stdout.take().context("no output")?).lines();
        let (send, output) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            shell,
            input,
            output,
            busy: false,
        })
    }

    /// Returns the current folder of the shell.
    pub fn folder(&mut self) -> Result<PathBuf> {
        self.start("pwd")?;
        let (lines, _) = self.finish()?;
        Ok(lines.concat().into())
    }

    /// Returns whether no command runs.
    pub fn is_idle(&self) -> bool {
        !self.busy
    }

    /// Runs each command to its end. Its output must match the lines after it in `lines`: `[..]` stands for any text in
    /// a line, `...` for any lines.
    pub fn play(&mut self, lines: &[String]) -> Result<()> {
        let mut lines = lines.iter().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ");
            let command = command.with_context(|| format!("`{line}` is no command"))?;
            let mut shown = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.extend([line, "\n"]);
            }
            self.start(command)?;
            let (printed, code) = self.finish()?;
            let printed: String = printed.iter().flat_map(|line| [line, "\n"]).collect();
            let (printed, shown) = (without_times(&printed), without_times(&shown));
            let seen = with_wildcards(&printed, &shown);
            ensure!(
                seen == shown,
                "`{command}` ended with {code} and printed:\n{}",
                diffy::create_patch(&shown, &seen)
            );
            // A command may fail only if the tutorial shows the end of its output.
            let shows_end = !shown.is_empty() && !shown.ends_with("...\n");
            ensure!(
                code == 0 || shows_end,
                "`{command}` ended with {code}:\n{printed}"
            );
        }
        Ok(())
    }

    /// Starts each command after the previous one has ended, and waits until it has printed the shown lines in this
    /// order, perhaps with other lines between. The last command may keep running.
    pub fn follow(&mut self, lines: &[String]) -> Result<()> {
        let mut interrupted = false;
        for line in lines {
            if line == "^C" {
                self.interrupt()?;
                interrupted = true;
            } else if let Some(command) = line.strip_prefix("$ ") {
                if self.busy {
                    self.finish()?;
                }
                interrupted = false;
                self.start(command)?;
            } else {
                self.wait_for(line)?;
            }
        }
        if interrupted {
            self.finish()?;
        }
        Ok(())
    }

    fn start(&mut self, command: &str) -> Result<()> {
        ensure!(
            !self.busy,
            "`{command}` would have to wait for what runs in this terminal"
        );
        // A command must not read the commands that are typed after it.
        writeln!(
            self.input,
            "{{ {command}\n}} </dev/null; __=$?; echo; echo '{END}' $__"
        )?;
        self.busy = true;
        Ok(())
    }

    /// Waits for the end of the command, and returns the lines of its output and its exit code.
    fn finish(&mut self) -> Result<(Vec<String>, i32)> {
        let deadline = Instant::now() + BUILD_PATIENCE;
        let mut lines = Vec::new();
        loop {
            let Some(line) = self.line(deadline)? else {
                bail!(
                    "it still runs after {BUILD_PATIENCE:?}:\n{}",
                    lines.join("\n")
                );
            };
            if let Some(code) = line.strip_prefix(END) {
                self.busy = false;
                // `echo` prints a line break before the end. The result is an empty line, unless the output of the
                // command ends without a line break.
                lines.pop_if(|line: &mut String| line.is_empty());
                return Ok((lines, code.trim().parse()?));
            }
            lines.push(line);
        }
    }

    /// Waits until the command prints `shown`.
    fn wait_for(&mut self, shown: &str) -> Result<()> {
        let deadline = Instant::now() + BUILD_PATIENCE;
        let mut seen = String::new();
        loop {
            let line = self.line(deadline)?;
            let line = line.with_context(|| format!("no line `{shown}`, but:\n{seen}"))?;
            if with_wildcards(&line, shown) == shown {
                return Ok(());
            }
            if line.starts_with(END) {
                self.busy = false;
                bail!("it ended without a line `{shown}`:\n{seen}");
            }
            seen += &line;
            seen += "\n";
        }
    }

    /// Returns the next line of the output; `None` after the deadline.
    fn line(&mut self, deadline: Instant) -> Result<Option<String>> {
        let patience = deadline.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(patience) {
            Ok(line) => {
                // The output of the test shows the line, so that a failure can be understood.
                println!("{line}");
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the shell has ended"),
        }
    }

    /// Ends the running command, as Ctrl-C does.
    fn interrupt(&mut self) -> Result<()> {
        ensure!(self.busy, "nothing runs that could be interrupted");
        self.signal("INT")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let group = format!("-{}", self.shell.id());
        run(Command::new("kill").args(["-s", signal, "--", &group]))?;
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The shell may have ended already.
        let _ = self.signal("KILL");
        let _ = self.shell.wait();
    }
}

#[test]
fn a_terminal_shows_what_is_printed() {
    let mut terminal = Terminal::open(Path::new("/"), &[]).unwrap();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    terminal
        .play(&lines(
            "$ cd usr && pwd\n/usr\n$ pwd\n/usr\n$ echo -n a\na\n$ true\n$ seq 9\n1\n...\n9",
        ))
        .unwrap();
    for (wrong, why) in [
        ("$ echo a\nb", "printed"),
        ("$ echo a", "printed"),
        ("$ false", "ended with 1"),
        ("$ echo a; false\n...", "ended with 1"),
    ] {
        let error = terminal.play(&lines(wrong)).expect_err(wrong).to_string();
        assert!(error.contains(why), "{wrong}: {error}");
    }

    terminal
        .follow(&lines("$ echo before; echo 'it  INFO starts a=1 at=x b'; sleep 1000\nit  [..] starts a=1 at=[..] b"))
        .unwrap();
    assert!(!terminal.is_idle());
    terminal.follow(&lines("^C")).unwrap();
    assert!(terminal.is_idle());
    let error = terminal.follow(&lines("$ echo a\nb")).unwrap_err();
    assert!(
        error.to_string().contains("ended without a line"),
        "{error}"
    );
}
