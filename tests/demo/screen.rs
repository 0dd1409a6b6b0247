//! What is shown: steps, commands, their output, and that something goes on.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use console::style;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::process::Process;

/// How often the indicator moves.
const TICK: Duration = Duration::from_millis(100);

/// How often a line is printed instead where there is no terminal.
const REPORT: Duration = Duration::from_secs(10);

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
    /// From now on Ctrl-C and the like end what [`Screen`] waits for with an error, so that all is
    /// cleaned up.
    pub fn catch_signals(&self) -> Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, self.interrupted.clone()).context("failed to catch signals")?;
        }
        Ok(())
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Ends the step before, and begins the next one.
    pub fn step(&mut self, title: &'static str) {
        self.end_step();
        let number = self.steps.len() + 1;
        eprintln!("\n{}", style(format!("{number}. {title}")).for_stderr().bold());
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

    /// The step that runs, or failed.
    pub fn title(&self) -> &'static str {
        self.steps.last().map_or("start", |step| step.title)
    }

    /// Ends the last step, and shows how long each took.
    pub fn summary(&mut self) {
        self.end_step();
        let total = self.steps.iter().map(|step| step.took).sum();
        eprintln!("\n{}", style("Summary").for_stderr().bold());
        for Step { title, took, .. } in &self.steps {
            eprintln!("  {:>8}  {title}", seconds(*took));
        }
        eprintln!("  {:>8}  in total", seconds(total));
    }

    /// Shows a command as a user would type it.
    pub fn command(&self, line: &str) {
        eprintln!("   {} {}", style("$").for_stderr().dim(), style(line).for_stderr().cyan());
    }

    /// Shows what a command wrote.
    pub fn say(&self, text: &str) {
        for line in text.lines() {
            eprintln!("   {line}");
        }
    }

    /// Runs `command`, shown as `line`, to its end. Gives its output, which is in the error if it
    /// fails.
    pub fn run(&self, line: &str, command: &mut Command) -> Result<String> {
        self.command(line);
        let mut process = Process::start(command)?;
        self.follow(&process.news, |_| false)?;
        let status = process.wait()?;
        ensure!(
            status.success(),
            "`{line}` ended with {status}\n{}",
            process.last_lines()
        );
        Ok(process.output())
    }

    /// Does what can take long and is no command. It is given a function to say how far it is.
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
        self.follow(&news, |_| false)?;
        work.join().map_err(|_| anyhow!("it panicked"))?
    }

    /// Waits until `process` writes a line with `text`.
    pub fn until(&self, process: &Process, text: &str) -> Result<()> {
        if !self.follow(&process.news, |line| line.contains(text))? {
            bail!("it ended\n{}", process.last_lines());
        }
        Ok(())
    }

    /// Shows the latest of `news` beside something that moves, until they end or one is `enough`,
    /// and tells which.
    fn follow(&self, news: &Receiver<String>, enough: impl Fn(&str) -> bool) -> Result<bool> {
        let bar = ProgressBar::new_spinner()
            .with_style(ProgressStyle::with_template("   {spinner} {elapsed} {wide_msg:.dim}")?);
        let mut latest = String::new();
        let mut reported = Instant::now();
        let result = loop {
            match news.recv_timeout(TICK) {
                Ok(line) if enough(&line) => break Ok(true),
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => {
                    line.trim().clone_into(&mut latest);
                    bar.set_message(latest.clone());
                }
                Err(RecvTimeoutError::Disconnected) => break Ok(false),
                Err(RecvTimeoutError::Timeout) => bar.tick(),
            }
            if self.is_interrupted() {
                break Err(anyhow!("interrupted"));
            }
            if bar.is_hidden() && reported.elapsed() >= REPORT {
                eprintln!("   ... {}: {latest}", seconds(bar.elapsed()));
                reported = Instant::now();
            }
        };
        bar.finish_and_clear();
        result
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f32())
}
