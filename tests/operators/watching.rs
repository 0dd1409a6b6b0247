//! Tests docs/watching.md: the code of a guide compiles in the project that the commands of the guide create.

use std::{fmt::Write, fs};

use crate::{
    compile::{cargo, clippy, pin, scaffolded},
    document::read,
    scaffold::{rscaffold, run},
};

#[test]
fn the_code_of_the_guide_compiles() {
    compiles("watching");
}

/// Checks that the code of the page `guide` compiles.
fn compiles(guide: &'static str) {
    let page = read(&format!("docs/{guide}.md"));
    let folder = scaffolded(guide).expect("a folder");
    let commands = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ rscaffold "));
    for command in commands {
        // The project uses the runtime that other tests have already built.
        let command = command.replacen("init", "init --runtime registry", 1);
        rscaffold(&folder, &command);
    }

    let blocks = page.split("```rust\n").skip(1);
    let blocks: Vec<_> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty(), "no code in {guide}");
    let lib = folder.join("src/lib.rs");
    let mut modules = fs::read_to_string(&lib).expect("a text");
    for (index, code) in blocks.iter().enumerate() {
        let module = format!("guide_{index}");
        fs::write(folder.join(format!("src/{module}.rs")), code).expect("a writable folder");
        let comment = "/// Code of the guide.\n#[cfg(feature = \"operator\")]";
        writeln!(modules, "{comment}\npub mod {module};").expect("a String");
    }
    fs::write(lib, modules).expect("a writable file");

    pin(&folder).expect("a copy of the lock file");
    run(&mut clippy(&folder, &["--all-targets"]));
    run(cargo(&folder).args(["fmt", "--check"]));
}
