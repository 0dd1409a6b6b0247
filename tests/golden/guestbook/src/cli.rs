// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The command line. Most flags can also be set by an environment variable, which `--help` names.

use std::{io::IsTerminal, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use kube_manager::Options;
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// Runs the operator: starts its controllers against a Kubernetes API server.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub manager: Options,

    #[command(flatten)]
    pub log: Log,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the manifests that are generated from the code: CustomResourceDefinitions and RBAC
    /// rules
    Manifests {
        /// Folder of the project
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
}

/// Settings of the log.
#[derive(Debug, Args)]
pub struct Log {
    /// Lowest level to log, or directives such as `info,kube_manager=debug`
    #[arg(long, env = "RUST_LOG", default_value = "info", value_name = "LEVEL", value_parser = level)]
    pub log_level: String,

    /// Format of a log line
    #[arg(long, env = "KUBE_MANAGER_LOG_FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people: coloured at a terminal
    Text,
    /// For machines: one JSON object a line
    Json,
}

/// Checks a level or directives. Without this check, a misspelled level would count as the name of
/// a module.
fn level(text: &str) -> anyhow::Result<String> {
    if text.chars().all(char::is_alphanumeric) {
        text.parse::<LevelFilter>()?;
    }
    EnvFilter::try_new(text)?;
    Ok(text.to_owned())
}

impl Log {
    /// Starts to write log lines to stderr. Call it once.
    pub fn init(&self) {
        // The manager says why a watch fails. The lines of kube repeat it at each try, and contain
        // whole answers of the API server, which may have secrets. A directive for one of these
        // targets, in the flag, replaces the one here.
        let quiet = "kube_runtime::watcher=error,kube_client::client=error";
        let directives = format!("{quiet},{}", self.log_level);
        let log = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(directives))
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().flatten_event(true).with_span_list(false).init(),
        }
    }
}
