//! Writes the completion scripts and the man pages of rscaffold into a folder, for the archives of a release:
//! `cargo run --example pages -- FOLDER`.

use std::{env, fs, io, path::Path};

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use rscaffold::cli::Cli;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1);
    let folder = folder.ok_or_else(|| io::Error::other("usage: pages FOLDER"))?;
    write(Path::new(&folder))
}

/// Writes `completions/` with a script for each shell, and `man/man1/` with a page for each command.
pub fn write(folder: &Path) -> io::Result<()> {
    let completions = folder.join("completions");
    let pages = folder.join("man/man1");
    fs::create_dir_all(&completions)?;
    fs::create_dir_all(&pages)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut Cli::command(), "rscaffold", &completions)?;
    }
    clap_mangen::generate_to(Cli::command(), pages)
}
