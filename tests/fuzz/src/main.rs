//! Runs libFuzzer with one target, which `$FUZZ_TARGET` names. `make fuzz` runs all targets.
//!
//! Before the first run, the program writes the seeds of the target into the folder `$FUZZ_SEEDS`.

#![no_main]

use std::{env, fs, path::Path, process, sync::LazyLock};

use libfuzzer_sys::fuzz_target;

use targets::{TARGETS, Target};

#[path = "../../golden_projects.rs"]
mod golden_projects;
#[expect(dead_code, reason = "the tests use all of it")]
mod targets;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    let target = TARGETS.iter().find(|target| target.name == name);
    target.unwrap_or_else(|| {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!(
            "error: TARGET is `{name}`, but must be one of `{}`",
            names.join("`, `")
        );
        process::exit(2);
    })
});

fn write_seeds() {
    let Ok(folder) = env::var("FUZZ_SEEDS") else {
        return;
    };
    fs::create_dir_all(&folder).expect("a folder for the seeds");
    for (number, seed) in (TARGET.seeds)().iter().enumerate() {
        let path = Path::new(&folder).join(format!("seed-{number}"));
        fs::write(path, seed).expect("a file for a seed");
    }
}

fuzz_target!(init: write_seeds(), |data: &[u8]| (TARGET.run)(data));
