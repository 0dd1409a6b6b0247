// SPDX-FileCopyrightText: The neighbour authors
// SPDX-License-Identifier: Apache-2.0

//! Starts the operator, or writes the manifests that follow from its code.

use clap::Parser;

use neighbour::{
    api,
    cli::{Cli, Command},
    controller,
    manager::{Manager, manifests},
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let mut manager = Manager::default();
    controller::register(&mut manager);

    match cli.command {
        Some(Command::Manifests { out }) => manifests::write(&out, &api::crds()?, manager.rules()),
        None => {
            cli.log.init();
            manager.run(cli.manager).await
        }
    }
}
