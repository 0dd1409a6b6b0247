// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Starts the operator, or writes the manifests that are generated from its code.

use std::process;

use anyhow::anyhow;
use clap::Parser;
use kube_manager::{Manager, Operator};

use fleet_operator::{
    api,
    cli::{Cli, Command},
    controller, webhook,
};

/// The name of the operator, and the domain that makes the name unique in a cluster.
const NAME: &str = "fleet";
const DOMAIN: &str = "example.com";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let operator = Operator::new(NAME, DOMAIN)
        .version(env!("CARGO_PKG_VERSION"))
        .chart("charts/fleet");
    let mut manager = Manager::new(operator);
    manager.add_crds(api::crds)?;
    controller::register(&mut manager);
    webhook::register(&mut manager);

    match cli.command {
        Some(Command::Manifests { out }) => {
            let written = manager.write_manifests(&out);
            written.map_err(|error| anyhow!("{error:#}"))
        }
        Some(Command::ApiDocs { out }) => manager.write_api_docs(&out),
        None => {
            cli.log.init();
            let ended = manager.run(cli.manager).await;
            if let Err(error) = &ended {
                let error = kube_manager::message(error.as_ref());
                tracing::error!(error, "ended by an error");
            }
            // A normal return would wait for all blocking calls.
            process::exit(i32::from(ended.is_err()))
        }
    }
}
