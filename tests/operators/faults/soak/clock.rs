//! A wall clock for one process. The test can set it while the process runs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    operator::Launch,
    scaffold::{root, run},
};

/// The file that a process reads its clock from.
pub struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// Creates a correct clock, with files in `folder`.
    pub fn new(folder: &Path, name: &str) -> Self {
        let library = folder.join("clock.so");
        if !library.exists() {
            let source = root().join("tests/operators/faults/soak/clock.c");
            let mut compiler = Command::new("cc");
            compiler.args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]);
            run(compiler.arg(&library).arg(source));
        }
        let clock = Self {
            library,
            file: folder.join(format!("{name}.clock")),
        };
        clock.set(0);
        clock
    }

    /// Sets the clock this number of seconds ahead of the clock of the machine.
    pub fn set(&self, ahead: i64) {
        // The file is written in place, because processes have mapped it.
        if self.file.exists() {
            let file = fs::File::options().write(true).open(&self.file);
            let mut file = file.expect("the file of the clock");
            std::io::Write::write_all(&mut file, &ahead.to_ne_bytes()).expect("a writable file");
        } else {
            fs::write(&self.file, ahead.to_ne_bytes()).expect("a writable file");
        }
    }

    /// Makes a process use this clock.
    pub fn of<'a>(&self, launch: Launch<'a>) -> Launch<'a> {
        let [library, file] = [&self.library, &self.file].map(|path| path.display().to_string());
        launch.env("LD_PRELOAD", &library).env("CLOCK_FILE", &file)
    }

    /// Returns whether a process uses this clock.
    pub fn is_of(&self, process: u32) -> bool {
        let maps = fs::read_to_string(format!("/proc/{process}/maps"));
        let library = self.library.display().to_string();
        maps.expect("what Linux knows of the process")
            .contains(&library)
    }
}

mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Returns the time in a process with this clock, in seconds.
    fn time(clock: &Clock) -> i64 {
        let mut date = Command::new("date");
        date.arg("+%s").env("LD_PRELOAD", &clock.library);
        let text = run(date.env("CLOCK_FILE", &clock.file));
        text.trim().parse().expect("a number")
    }

    #[test]
    fn a_clock_can_be_set() {
        let folder = TempDir::new().expect("a temporary folder");
        let clock = Clock::new(folder.path(), "test");
        let right = time(&clock);
        for ahead in [86_400, -86_400] {
            clock.set(ahead);
            let late = time(&clock) - ahead - right;
            assert!((0..60).contains(&late), "{ahead} is {late} late");
        }
    }
}
