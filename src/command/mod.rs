//! The commands: arguments -> edit of the project -> reconcile -> what to do next.

use clap::Args;

use self::on_conflict::Choices;

pub mod apply;
mod ask;
pub mod completion;
pub mod create_api;
pub mod delete;
pub mod edit;
mod external;
mod flags_of_other_tools;
mod id;
pub mod init;
mod left_behind;
pub(crate) mod load;
mod on_conflict;
pub mod other_tools;
pub mod report;
mod settings;
mod turn;
pub mod version;
pub(crate) mod way_out;
pub mod webhook;
mod workspace;

/// The flags of all commands that change the project.
#[derive(Debug, Args)]
struct Mode {
    /// Show which files would change, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    on_conflict: Choices,
}
