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

/// A program and all that it starts; killed on drop.
///
/// They are a process group of their own, which Ctrl-C does not reach: what happens then is up to
/// this process.
pub struct Process {
    child: Child,
    output: Arc<Mutex<String>>,
    /// How much of it was shown.
    shown: usize,
    /// Each line that it writes, also one that it writes over again as progress bars do. Closed at
    /// the end of all output.
    pub news: Receiver<String>,
}

impl Process {
    pub fn start(command: &mut Command) -> Result<Self> {
        // One pipe for both, so that the lines stay in order.
        let (reader, writer) = io::pipe().context("failed to create a pipe")?;
        let child = command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0)
            // What a make around this process left for makes below it.
            .env_remove("MAKEFLAGS")
            .env_remove("MAKELEVEL")
            .spawn()
            .with_context(|| format!("failed to run `{}`", command.get_program().display()))?;
        // Else `command` would keep the pipe open.
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

    /// What it wrote so far, without progress bars.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.clone()
    }

    /// What of it was not asked for yet.
    pub fn new_output(&mut self) -> String {
        let output = self.output();
        let new = output[self.shown..].to_owned();
        self.shown = output.len();
        new
    }

    /// The last lines of it.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 30;
        let output = self.output();
        cluster::last_lines(&output, LINES)
    }

    pub fn wait(&mut self) -> Result<ExitStatus> {
        self.child.wait().context("failed to wait for a program")
    }

    /// Asks the programs with this name to end, among those that it started. The others, such as make,
    /// then end by themselves.
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
        // Not after its end: the number could be another's by then.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.signal("-KILL");
            let _ = self.child.wait();
        }
    }
}

/// Splits what `reader` gives into lines, until its end.
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
        // Nobody listens any more once the process is only there to be stopped.
        let _ = news.send(text);
    }
}
