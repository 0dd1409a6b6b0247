//! `rscaffold completion`

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::command::report::Outcome;

/// `completion`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completion {
    /// Shell that runs the script
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  # bash, for this session
  source <(rscaffold completion bash)

  # zsh, with ~/.zfunc in $fpath
  rscaffold completion zsh > ~/.zfunc/_rscaffold

  # fish
  rscaffold completion fish > ~/.config/fish/completions/rscaffold.fish";

/// Prints the completion script of `cli`.
pub fn run(args: &Completion, mut cli: Command) -> Result<Outcome> {
    let mut script = Vec::new();
    generate(args.shell, &mut cli, "rscaffold", &mut script);
    Ok(Outcome::data(String::from_utf8(script)?))
}
