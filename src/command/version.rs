//! `rscaffold version`

use std::env::consts;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::report::Outcome;
use crate::project::Project;

/// `version`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowVersion {
    /// Format of the output
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Format,
}

const EXAMPLES: &str = "\
Examples:
  rscaffold version
  rscaffold version -o json";

/// How `version` prints.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One line
    Text,
    /// A JSON object
    Json,
}

/// Prints the version; JSON also has the layout of projects and the platform.
pub fn run(args: &ShowVersion) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    Outcome::data(match args.output {
        Format::Text => format!("rscaffold {version}\n"),
        Format::Json => format!(
            "{:#}\n",
            json!({
                "version": version,
                "layout": Project::LAYOUT,
                "os": consts::OS,
                "arch": consts::ARCH,
            })
        ),
    })
}
