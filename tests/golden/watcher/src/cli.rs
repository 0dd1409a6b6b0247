// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: Apache-2.0

//! The command line. Every flag can also be given as the environment variable that `--help` names.

use std::{io::IsTerminal, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::manager;

/// Runs the operator: starts its controllers against a Kubernetes API server.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub manager: manager::Options,

    #[command(flatten)]
    pub log: Log,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the manifests that follow from the code: CustomResourceDefinitions and RBAC rules
    Manifests {
        /// Folder to write to
        #[arg(long, default_value = "config")]
        out: PathBuf,
    },
}

/// What is logged, and how.
#[derive(Debug, Args)]
pub struct Log {
    /// Least severe level to log, or directives such as `info,kube=debug`
    #[arg(long, env = "RUST_LOG", default_value = "info", value_name = "LEVEL")]
    pub log_level: String,

    /// How a log line is written
    #[arg(long, env, default_value = "text")]
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people: coloured at a terminal
    Text,
    /// For machines: one JSON object a line
    Json,
}

impl Log {
    /// Sends log lines to stderr from here on. To be called once.
    pub fn init(&self) {
        let log = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(&self.log_level))
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
    }
}
