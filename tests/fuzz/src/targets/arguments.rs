//! Fuzzes the command line. Each argument ends with a zero byte.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::Path};

use rscaffold::cli::{Cli, Unread};

use super::{files, tests, texts::check_message};

pub fn seeds() -> Vec<Vec<u8>> {
    let transcripts = files(&tests("cli"), |path| {
        Path::new(path).extension().is_some_and(|end| end == "md")
    });
    let lines = transcripts.iter().flat_map(|(_, text)| text.lines());
    let commands = lines.filter_map(|line| line.split_once("rscaffold "));
    let seeds = commands.map(|(_, arguments)| arguments.replace(' ', "\0").into_bytes());
    let mut seeds: Vec<_> = seeds.collect();
    seeds.sort();
    seeds.dedup();
    seeds
}

pub fn run(data: &[u8]) {
    let words = data
        .split(|byte| *byte == 0)
        .map(|it| OsString::from_vec(it.to_owned()));
    match Cli::read([OsString::from("rscaffold")].into_iter().chain(words)) {
        Ok(cli) => assert!(!format!("{cli:?}").is_empty()),
        Err(Unread::Refused(error)) => assert!(!error.to_string().is_empty()),
        Err(Unread::Shown(text)) => {
            check_message(&without_colors(&text.render().ansi().to_string()));
        }
    }
}

/// Removes the escape sequences that clap itself writes, such as the sequence for bold.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('m') {
        Some((color, rest)) if color.bytes().all(|byte| byte.is_ascii_digit()) => text + rest,
        _ => text + "\u{1b}[" + part,
    })
}
