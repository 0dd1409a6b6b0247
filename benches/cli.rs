//! Measures rscaffold: its time compared with `cp -r` of the resulting files, the growth of its time with the size of
//! the project, and the size of the program.

use std::{
    array, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{fast_folder, median};

/// The number of runs of each command, in turns with the other commands. The median counts.
const ROUNDS: usize = 31;

/// The longest time that `init` and the first `create api` may take.
const MAX_TIME: Millis = 20.0;

/// The same limit as a multiple of the time for `cp -r` of the resulting files, in the same round.
const MAX_RATIO: f64 = 2.0;

/// The limit for the time that each API of the second hundred adds to the next `create api`, as a multiple of the time
/// that each API of the first hundred adds. Linear growth is 1, quadratic growth is 3. The difference to 1 is for
/// noise.
const MAX_GROWTH: f64 = 1.5;

/// The limit for the size of the program, in kB.
const MAX_SIZE: u64 = 9000;

/// The wall time of a process, in milliseconds.
type Millis = f64;

/// Measures `rscaffold`, and returns whether all results are within their limits.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let bench = Bench {
        program: rscaffold,
        folder: fast_folder()?,
    };
    println!("Medians of {ROUNDS} runs");
    let results = [bench.copies()?, bench.growth()?, bench.size()?];
    Ok(!results.contains(&false))
}

struct Bench<'a> {
    /// The program of a release.
    program: &'a Path,
    /// The folder for all files, so that they are on one file system.
    folder: TempDir,
}

/// A command, and a folder. The command runs in a copy of the folder.
struct Case {
    start: PathBuf,
    command: Command,
}

impl Bench<'_> {
    /// Compares `init` and `create api` with `cp -r`.
    fn copies(&self) -> Result<bool> {
        const INIT: &str = "init --domain com --repo guestbook";
        const CREATE: &str = "create api --group webapp --version v1 --kind Guestbook";

        let [empty, init, create] = ["empty", "init", "create"].map(|name| self.path(name));
        fs::create_dir(&empty)?;
        copy(&empty, &init)?;
        time(self.rscaffold(INIT).current_dir(&init))?;
        copy(&init, &create)?;
        time(self.rscaffold(CREATE).current_dir(&create))?;

        let [init, init_copy, create, create_copy] = self.times([
            Case {
                start: empty.clone(),
                command: self.rscaffold(INIT),
            },
            Case {
                start: empty.clone(),
                command: copy_of(&init),
            },
            Case {
                start: init,
                command: self.rscaffold(CREATE),
            },
            Case {
                start: empty,
                command: copy_of(&create),
            },
        ])?;
        println!("\n               rscaffold     cp -r   ratio");
        let mut good = true;
        for (name, times, copies) in [
            ("init", init, init_copy),
            ("create api", create, create_copy),
        ] {
            let pairs: Vec<_> = times.iter().zip(&copies).collect();
            let ratio = median(&pairs, |(time, copy)| *time / *copy);
            let [time, copy] = [times, copies].map(|times| median(&times, |time| *time));
            println!("  {name:10} {time:8.1} ms {copy:6.1} ms {ratio:6.1}");
            good &= time <= MAX_TIME && ratio <= MAX_RATIO;
        }
        let limit = format!("at most {MAX_TIME} ms, and {MAX_RATIO} times `cp -r`");
        Ok(verdict(good, &limit))
    }

    /// Measures `create api` in a project of up to 200 APIs.
    fn growth(&self) -> Result<bool> {
        let create = |number| {
            let group = number / 20;
            self.rscaffold(&format!(
                "create api --group group{group} --version v1 --kind Kind{number}"
            ))
        };
        let before = |number| self.path(&format!("before-{number}"));

        let project = self.path("project");
        fs::create_dir(&project)?;
        time(self.rscaffold("init --domain com").current_dir(&project))?;
        let numbers = [1, 50, 100, 200];
        for number in 1..=200 {
            if numbers.contains(&number) {
                copy(&project, &before(number))?;
            }
            time(create(number).current_dir(&project))?;
        }

        let times = self.times(numbers.map(|number| Case {
            start: before(number),
            command: create(number),
        }))?;
        let times = times.map(|times| median(&times, |time| *time));
        println!("\n  create api as the");
        for (number, time) in numbers.iter().zip(times) {
            println!("  {number:>9}. {time:8.1} ms");
        }
        let [first, _, hundredth, last] = times;
        let (early, late) = ((hundredth - first) / 99.0, (last - hundredth) / 100.0);
        println!("  each API adds {early:.2} ms up to 100, {late:.2} ms from there");
        let limit = format!("at most {MAX_GROWTH} times as much");
        Ok(verdict(late <= MAX_GROWTH * early, &limit))
    }

    fn size(&self) -> Result<bool> {
        let size = self.program.metadata()?.len() / 1000;
        println!("\n  the program has {size} kB");
        Ok(verdict(size <= MAX_SIZE, &format!("at most {MAX_SIZE} kB")))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn rscaffold(&self, arguments: &str) -> Command {
        let mut rscaffold = Command::new(self.program);
        rscaffold.args(arguments.split(' '));
        rscaffold
    }

    /// Returns the times of each command, one for each round. Each run has a fresh copy of the command's folder.
    fn times<const N: usize>(&self, mut cases: [Case; N]) -> Result<[Vec<Millis>; N]> {
        // Data that was written earlier, most of it by the compiler, must be on the disk first. Otherwise it slows the
        // runs down.
        time(&mut Command::new("sync"))?;
        let mut times = array::from_fn(|_| Vec::with_capacity(ROUNDS));
        let folder = self.path("work");
        for _ in 0..ROUNDS {
            for (case, times) in cases.iter_mut().zip(&mut times) {
                copy(&case.start, &folder)?;
                times.push(time(case.command.current_dir(&folder))?);
                fs::remove_dir_all(&folder)?;
            }
        }
        Ok(times)
    }
}

/// Returns `cp -r` of the content of `folder` to the current folder.
fn copy_of(folder: &Path) -> Command {
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(folder.join(".")).arg(".");
    cp
}

/// Copies `folder` to `copy`.
fn copy(folder: &Path, copy: &Path) -> Result<()> {
    fs::create_dir(copy)?;
    time(copy_of(folder).current_dir(copy))?;
    Ok(())
}

/// Runs `command`, which must succeed, and returns its time.
fn time(command: &mut Command) -> Result<Millis> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status();
    let time = start.elapsed();
    let status = status.with_context(|| format!("failed to run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(time.as_secs_f64() * 1000.0)
}

fn verdict(good: bool, limit: &str) -> bool {
    println!("  {}: {limit}", if good { "good" } else { "MISSED" });
    good
}
