//! Programs whose output is read while they run.

use std::{
    io::{self, BufReader, PipeReader, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use anyhow::{Context, Result, ensure};
use console::strip_ansi_codes;

/// A program and all processes that it starts. All of them are killed on drop.
///
/// The processes have their own process group, which Ctrl-C does not reach, so this process decides what happens after
/// Ctrl-C.
pub struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
    /// The number of bytes of `output` that [`Process::new_output`] has returned.
    shown: usize,
    /// Each line of the output, including lines that the program overwrites, such as progress bars. The channel closes
    /// at the end of the output.
    pub news: Receiver<String>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self> {
        // Stdout and stderr share one pipe, so that the lines stay in order.
        let (reader, writer) = io::pipe().context("failed to create a pipe")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            // An outer make sets these variables for inner makes.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .spawn()
            .with_context(|| format!("failed to run `{}`", command.get_program().display()))?;
        // Otherwise, `command` would keep the pipe open.
        command.stdout(Stdio::null()).stderr(Stdio::null());

        let output = Arc::<Mutex<String>>::default();
        let (sender, news) = mpsc::channel();
        let lines = output.clone();
        thread::spawn(move || read(reader, &lines, &sender));
        Ok(Self {
            child,
            output,
            shown: 0,
            news,
        })
    }

    /// Returns the output so far, without progress bars.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.clone()
    }

    /// Returns the output since the last call of this function.
    pub fn new_output(&mut self) -> String {
        let output = self.output();
        let new = output[self.shown..].to_owned();
        self.shown = output.len();
        new
    }

    /// Returns the last lines of the output.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 30;
        let output = self.output();
        cluster::last_lines(&output, LINES)
    }

    pub fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().context("failed to wait for a program")
    }

    /// Sends SIGTERM to the programs with this name in the process group. The other programs, such as make, then end by
    /// themselves.
    pub fn terminate(&self, program: &str) -> Result<()> {
        let group = self.child.id().to_string();
        let mut pkill = Command::new("pkill");
        pkill.args(["-TERM", "-g", &group, "-x", program]);
        let status = pkill.status().context("failed to run `pkill`")?;
        ensure!(status.success(), "`{program}` does not run");
        Ok(())
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        kill.args([signal, "--", &group])
            .stderr(Stdio::null())
            .status()
            .context("failed to run `kill`")?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // After the program's end, another process may have its process ID, so the signal is sent only before.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.signal("-KILL");
            let _ = self.child.wait();
        }
    }
}

/// Reads lines from `reader` until its end.
fn read(reader: PipeReader, output: &Mutex<String>, news: &Sender<String>) {
    let mut line = Vec::new();
    for byte in BufReader::new(reader).bytes().map_while(io::Result::ok) {
        if byte != b'\n' && byte != b'\r' {
            line.push(byte);
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = strip_ansi_codes(&text).trim_end().to_owned();
        line.clear();
        if byte == b'\n' {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push_str(&text);
            output.push('\n');
        }
        // The receiver is gone once the process is being dropped, so an error is ignored.
        let _ = news.send(text);
    }
}
