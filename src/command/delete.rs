//! `rscaffold delete api` and `rscaffold delete controller`

use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::{
    Mode,
    id::{Id, Usual, own},
    load::open,
    turn::{Turn, carry_out},
    way_out::or_way_out,
};
use crate::{
    command::report::{Outcome, Story},
    names::ControllerName,
    project::Resource,
};

/// `delete api`
#[derive(Debug, Args)]
#[command(after_help = API_EXAMPLES)]
pub struct DeleteApi {
    #[command(flatten)]
    id: Id,

    /// Allow to delete a version that is still served beside another version. Clients fail if they use it, and writes
    /// can lose fields: only for a version that no cluster has
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    mode: Mode,
}

const API_EXAMPLES: &str = "\
Examples:
  # Show what would be deleted, then delete it
  rscaffold delete api --group webapp --version v1 --kind Guestbook --dry-run
  rscaffold delete api --group webapp --version v1 --kind Guestbook

  # Also delete the files that you changed
  rscaffold delete api --group webapp --version v1 --kind Guestbook \\
      --on-conflict=theirs";

/// `delete controller`
#[derive(Debug, Args)]
#[command(after_help = CONTROLLER_EXAMPLES)]
pub struct DeleteController {
    #[command(flatten)]
    id: Id,

    /// Name of the controller [default: the kind, in lower case]
    #[arg(long, value_name = "NAME")]
    controller_name: Option<ControllerName>,

    #[command(flatten)]
    mode: Mode,
}

const CONTROLLER_EXAMPLES: &str = "\
Examples:
  # Keep types, CRD and roles
  rscaffold delete controller --group webapp --version v1 --kind Guestbook

  # One of several controllers
  rscaffold delete controller --group webapp --version v1 --kind Guestbook \\
      --controller-name backup";

/// Removes a version of a kind from the project, with everything that only this version needed.
pub fn api(args: DeleteApi, root: &Path) -> Result<Outcome> {
    let (tree, before) = open(root)?;
    let mut after = before.clone();
    let id = (args.id).complete(None, None, None, own(&before))?;
    let resource = or_way_out(after.remove(&id, args.force))?;

    let mut notes = Vec::new();
    let successor = after
        .versions(&resource)
        .find(|other| resource.is_stored() && other.is_stored());
    if let Some(successor) = successor {
        let was_served = before.there(successor).is_some_and(Resource::is_served);
        let what = if was_served { "stored" } else { "served" };
        notes.push(format!(
            "`{}` of {} is {what} now, in place of `{}`",
            successor.version, resource.kind, resource.version
        ));
    }
    let story = Story {
        notes,
        ..Story::default()
    };
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, story)
}

/// Removes a controller from the project.
pub fn controller(args: DeleteController, root: &Path) -> Result<Outcome> {
    let (tree, before) = open(root)?;
    let mut after = before.clone();
    let usual: Usual = &|group, kind| before.usual_version(group, kind);
    let id = (args.id).complete(None, None, Some(usual), own(&before))?;
    let name = (args.controller_name).unwrap_or_else(|| id.kind().controller());
    after.remove_controller(&id, &name)?;
    let turn = Turn::between(&tree, &before, after)?;
    carry_out(turn, &args.mode, Story::default())
}
