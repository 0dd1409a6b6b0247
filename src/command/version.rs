//! `rscaffold version`

use std::{env::consts, process::ExitCode};

use anyhow::Result;
use serde_json::json;

use crate::{cli::Format, project::Project, report};

/// Prints the version and what it writes.
pub fn run(format: Format) -> Result<ExitCode> {
    let version = env!("CARGO_PKG_VERSION");
    let text = match format {
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
    };
    report::data(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
