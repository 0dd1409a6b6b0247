//! A running operator: its progress, its CPU time and its memory. Linux reports the last two in /proc.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use cluster::{PATIENCE, run, wait_until};
use jiff::Timestamp;

/// The pause between two reads of the log. A measured time can be late by this much.
const TICK: Duration = Duration::from_millis(5);

/// The prefix of the names of objects. The number of the object follows.
pub const PREFIX: &str = "object-";

/// A running operator, which is killed on drop.
pub struct Operator {
    child: Child,
    pub started: Timestamp,
    start: Instant,
    log: Log,
}

impl Operator {
    /// Starts `command`, and writes its log to `log`.
    pub fn start(command: &mut Command, log: &std::path::Path) -> Result<Self> {
        let file = File::create(log).context("failed to create a log")?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let log = Log {
            reader: BufReader::new(File::open(log).context("failed to open a log")?),
            line: String::new(),
            reconciled: HashSet::new(),
        };
        let (started, start) = (Timestamp::now(), Instant::now());
        let child = command.spawn().context("failed to run the operator")?;
        Ok(Self {
            child,
            started,
            start,
            log,
        })
    }

    /// Waits until the log reports `count` objects as reconciled. Returns the seconds since the start of the operator.
    pub fn wait_until_reconciled(&mut self, count: usize) -> Result<f64> {
        loop {
            self.log.read()?;
            let elapsed = self.start.elapsed();
            if self.log.reconciled.len() >= count {
                return Ok(elapsed.as_secs_f64());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            ensure!(
                elapsed < PATIENCE,
                "it reconciled {} of {count} objects in {PATIENCE:?}",
                self.log.reconciled.len()
            );
            thread::sleep(TICK);
        }
    }

    /// Waits until the operator is idle.
    pub fn settle(&self) -> Result<()> {
        settle(self.child.id(), 0.02)
    }

    /// Returns the CPU time that the operator has used so far, in seconds.
    pub fn cpu(&self) -> Result<f64> {
        cpu(self.child.id())
    }

    /// Returns the memory that the operator uses, in MiB.
    pub fn memory(&self) -> Result<f64> {
        let status = read("status", self.child.id())?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kibibytes: f64 = number.context("no VmRSS")?.parse()?;
        Ok(kibibytes / 1024.0)
    }

    /// Stops the operator with SIGTERM, as Kubernetes does.
    pub fn stop(mut self) -> Result<()> {
        run(Command::new("kill").arg(self.child.id().to_string()))?;
        let status = wait_until("the operator to stop", PATIENCE, || {
            Ok(self.child.try_wait()?)
        })?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A log to which a process writes.
struct Log {
    reader: BufReader<File>,
    /// The part of a line that was read so far.
    line: String,
    /// The numbers in the names of the objects that were reconciled.
    reconciled: HashSet<String>,
}

impl Log {
    /// Reads the new lines.
    fn read(&mut self) -> Result<()> {
        loop {
            match self.reader.read_line(&mut self.line) {
                Ok(0) => return Ok(()),
                Ok(_) if self.line.ends_with('\n') => {
                    if self.line.contains("reconciled")
                        && let Some((_, rest)) = self.line.split_once(PREFIX)
                    {
                        let end = rest.find(|char: char| !char.is_ascii_digit());
                        let number = &rest[..end.unwrap_or(rest.len())];
                        self.reconciled.insert(number.to_owned());
                    }
                    self.line.clear();
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("failed to read a log"),
            }
        }
    }
}

/// Waits until a process uses at most `busy` seconds of CPU time in one second.
pub fn settle(id: u32, busy: f64) -> Result<()> {
    let window = Duration::from_secs(1);
    wait_until("the end of work", PATIENCE, || {
        let before = cpu(id)?;
        thread::sleep(window);
        Ok((cpu(id)? - before <= busy).then_some(()))
    })
}

/// Returns the CPU time that a process has used so far, in seconds.
pub fn cpu(id: u32) -> Result<f64> {
    /// The unit of CPU times in the kernel's interface, which is the same on all machines.
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = read("stat", id)?;
    // The process name, in brackets, comes before the fields and can contain any character.
    let (_, fields) = stat.rsplit_once(") ").context("no fields")?;
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || -> Result<f64> { Ok(fields.next().context("no times")?.parse()?) };
    Ok((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

fn read(file: &str, id: u32) -> Result<String> {
    let path = format!("/proc/{id}/{file}");
    fs::read_to_string(&path).with_context(|| format!("failed to read `{path}`"))
}
