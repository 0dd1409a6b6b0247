//! How fast rscaffold is, beside `cp -r` of the files that it leaves; how its time grows with the
//! project; how big the program is. `make bench` runs this.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

#[expect(dead_code, reason = "the tests use all of it")]
mod scaffold;

/// How often each command is timed, in turns with the others; the median counts.
const ROUNDS: usize = 31;

/// What `init` and the first `create api` may take.
const MAX_TIME: Millis = 20.0;

/// What they may take as a multiple of `cp -r` of the files that they leave.
const MAX_RATIO: f64 = 3.0;

/// What each API of the second hundred may add to the time of `create api`, as a multiple of what
/// each of the first hundred adds. With linear growth it is 1, with quadratic growth 3; the rest is
/// for noise.
const MAX_GROWTH: f64 = 1.5;

const MAX_MEGABYTES: f64 = 8.0;

const INIT: &str = "init --domain com --repo guestbook";
const CREATE_API: &str = "create api --group webapp --version v1 --kind Guestbook";

/// The wall time of a process.
type Millis = f64;

fn main() -> Result<ExitCode> {
    let bench = Bench {
        program: scaffold::release(),
        folder: TempDir::new().context("failed to create a temporary folder")?,
    };
    println!("medians of {ROUNDS} runs");
    let within = [bench.copies()?, bench.growth()?, bench.size()?];
    Ok(if within == [true; 3] {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

struct Bench {
    /// The release binary.
    program: PathBuf,
    /// Everything happens here, and so on one file system.
    folder: TempDir,
}

/// A command, and the folder as it finds it.
struct Case<'a> {
    start: &'a Path,
    command: Command,
}

impl Bench {
    /// `init` and `create api`, beside `cp -r` of the same trees.
    fn copies(&self) -> Result<bool> {
        let [empty, initialized, complete] =
            ["empty", "initialized", "complete"].map(|name| self.folder.path().join(name));
        fs::create_dir(&empty)?;
        self.snapshot(&empty, &initialized, INIT)?;
        self.snapshot(&initialized, &complete, CREATE_API)?;

        let times = self.medians([
            Case { start: &empty, command: self.rscaffold(INIT) },
            Case { start: &empty, command: copy(&initialized) },
            Case { start: &initialized, command: self.rscaffold(CREATE_API) },
            Case { start: &empty, command: copy(&complete) },
        ])?;
        println!("\n            rscaffold      cp -r  ratio");
        let mut within = true;
        for (name, times) in [("init", &times[..2]), ("create api", &times[2..])] {
            let (time, copy) = (times[0], times[1]);
            println!("{name:10} {time:7.1} ms {copy:7.1} ms {:6.1}", time / copy);
            within &= time <= MAX_TIME && time <= MAX_RATIO * copy;
        }
        println!("{} {MAX_TIME} ms, {MAX_RATIO} times `cp -r`", verdict(within));
        Ok(within)
    }

    /// `create api` in projects of up to 200 APIs.
    fn growth(&self) -> Result<bool> {
        const COUNTS: [u32; 4] = [1, 50, 100, 200];
        let create = |number| {
            let group = number / 20;
            format!("create api --group group{group} --version v1 --kind Kind{number}")
        };
        let before = COUNTS.map(|count| self.folder.path().join(format!("before-{count}")));
        let project = self.folder.path().join("growing");
        
        Ok(true)
    }
}
