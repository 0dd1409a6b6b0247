//! Prints the steps of the demo, its commands and their output, and shows progress.

use std::{
    process::{Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use cluster::PATIENCE;
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::process::Process;

/// The time between two updates of the progress indicator.
const TICK: Duration = Duration::from_millis(100);

/// The time between two progress lines, which replace the indicator where there is no terminal.
const REPORT: Duration = Duration::from_secs(10);

/// The time that interrupted work has to end.
const GRACE: Duration = Duration::from_secs(3);

/// Shows the steps of the demo on stderr.
#[derive(Default)]
pub struct Screen {
    steps: Vec<Step>,
    interrupted: Arc<AtomicBool>,
}

struct Step {
    title: &'static str,
    started: Instant,
    took: Duration,
}

impl Screen {
    /// Catches SIGINT, SIGTERM and SIGHUP. After such a signal, the waits of [`Screen`] end with an error, so that the
    /// demo cleans up.
    pub fn catch_signals(&self) -> Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, self.interrupted.clone()).context("failed to catch signals")?;
        }
        Ok(())
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Ends the previous step, and begins the next one.
    pub fn step(&mut self, title: &'static str) {
        self.end_step();
        let number = self.steps.len() + 1;
        eprintln!(
            "\n{}",
            style(format!("{number}. {title}")).for_stderr().bold()
        );
        self.steps.push(Step {
            title,
            started: Instant::now(),
            took: Duration::ZERO,
        });
    }

    fn end_step(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.took = step.started.elapsed();
            let took = format!("   {}", seconds(step.took));
            eprintln!("{}", style(took).for_stderr().dim());
        }
    }

    /// Returns the title of the step that runs or has failed.
    pub fn title(&self) -> &'static str {
        self.steps.last().map_or("start", |step| step.title)
    }

    /// Ends the last step, and shows how long each step took.
    pub fn summary(&mut self) {
        self.end_step();
        let total = self.steps.iter().map(|step| step.took).sum();
        eprintln!("\n{}", style("Summary").for_stderr().bold());
        for Step { title, took, .. } in &self.steps {
            eprintln!("  {:>8}  {title}", seconds(*took));
        }
        eprintln!("  {:>8}  in total", seconds(total));
    }

    /// Shows `line`, runs `command` to its end, and returns its output. If the command fails, the error contains the
    /// last lines of the output.
    pub fn run(&self, line: &str, command: &mut Command) -> Result<String> {
        command_line(line);
        let mut process = Process::start(command)?;
        let status = self.to_end(&mut process)?;
        ensure!(
            status.success(),
            "`{line}` ended with {status}\n{}",
            process.last_lines()
        );
        Ok(process.output())
    }

    /// Waits until `process` has ended.
    pub fn to_end(&self, process: &mut Process) -> Result<ExitStatus> {
        self.follow(&process.news, |_| Ok(false))?;
        process.wait()
    }

    /// Runs `work`, which may take long and is not a command. `work` gets a function that reports its progress.
    pub fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Fn(&str)) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, news) = mpsc::channel();
        let work = thread::spawn(move || {
            work(&|line| {
                let _ = sender.send(line.to_owned());
            })
        });
        let followed = self.follow(&news, |_| Ok(false));
        if followed.is_err() {
            // Ctrl-C also reaches the processes that `work` has started, so `work` usually ends, too.
            let patience = Instant::now() + GRACE;
            while !work.is_finished() && Instant::now() < patience {
                thread::sleep(TICK);
            }
        }
        followed?;
        work.join().map_err(|_| anyhow!("it panicked"))?
    }

    /// Waits until `process` writes a line with `text`.
    pub fn until(&self, process: &Process, text: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let found = self.follow(&process.news, |line| {
            ensure!(
                Instant::now() < deadline,
                "waited {PATIENCE:?} for `{text}`"
            );
            Ok(line.contains(text))
        })?;
        ensure!(found, "it ended before it said `{text}`");
        Ok(())
    }

    /// Shows the latest line of `news` beside a spinner, until `news` ends or `enough` returns true for a line. Returns
    /// whether `enough` returned true.
    fn follow(
        &self,
        news: &Receiver<String>,
        enough: impl Fn(&str) -> Result<bool>,
    ) -> Result<bool> {
        let style = ProgressStyle::with_template("   {spinner} {elapsed} {wide_msg:.dim}")?;
        // The bar is cleared on drop.
        let bar = ProgressBar::new_spinner().with_style(style);
        let mut latest = String::new();
        let mut reported = Instant::now();
        loop {
            match news.recv_timeout(TICK) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => line.trim().clone_into(&mut latest),
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
                Err(RecvTimeoutError::Timeout) => bar.tick(),
            }
            ensure!(!self.is_interrupted(), "interrupted");
            if enough(&latest)? {
                return Ok(true);
            }
            bar.set_message(latest.clone());
            if bar.is_hidden() && reported.elapsed() >= REPORT {
                eprintln!("   ... {}: {latest}", seconds(bar.elapsed()));
                reported = Instant::now();
            }
        }
    }
}

/// Shows a command as a user would type it.
pub fn command_line(line: &str) {
    let line = style(line).for_stderr().cyan();
    eprintln!("   {} {line}", style("$").for_stderr().dim());
}

/// Shows `text`, such as the output of a command.
pub fn say(text: &str) {
    for line in text.lines() {
        eprintln!("   {line}");
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f32())
}
