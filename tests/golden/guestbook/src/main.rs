// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Starts the operator, or writes the manifests that are generated from its code.

use std::process;

use anyhow::anyhow;
use clap::Parser;
use kube_manager::{Manager, Operator};

use guestbook::{
    api,
    cli::{Cli, Command},
    controller,
};

/// The name of the operator, and the domain that makes the name unique in a cluster.
const NAME: &str = "guestbook";
const DOMAIN: &str = "com";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let operator = Operator::new(NAME, DOMAIN).version(env!("CARGO_PKG_VERSION"));
    let mut manager = Manager::new(operator);
    manager.add_crds(api::crds)?;
    controller::register(&mut manager);

    match cli.command {
        Some(Command::Manifests { out }) => {
            let written = manager.write_manifests(&out);
            written.map_err(|error| anyhow!("{error:#}"))
        }
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
