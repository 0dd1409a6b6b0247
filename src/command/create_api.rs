//! `rscaffold create api`

use std::path::Path;

use anyhow::{Result, ensure};

use self::story::{story, unapproved};
pub use self::{
    arguments::{CreateApi, CreateController},
    resource::{existing, or_create},
};
use super::{
    id::{Id, Usual, existing as existing_kind},
    load::open,
    turn::{Turn, carry_out},
    way_out::or_way_out,
};
use crate::{
    command::report::{Outcome, UsageError},
    engine::worktree::WorkTree,
    hint::OrHint,
    project::{Project, Resource, Types, builtin},
    render::convert::{File, has_example_status},
};

mod arguments;
mod crd;
mod resource;
mod story;
#[cfg(test)]
mod tests;

/// Adds an API, its controller, or both to the project in `root`. Paths in the arguments are relative to `folder`.
pub fn run(args: CreateApi, root: &Path, folder: &Path) -> Result<Outcome> {
    args.of_other_tools
        .features(args.settings.of_controller.image.is_some())?;
    if let Some(file) = args.crd.clone() {
        ensure!(
            args.settings.external.is_none(),
            UsageError(
                "`--external-api-path` names an existing Rust type, but `--crd` creates one: use \
                 only one of the two flags"
                    .to_owned()
            )
        );
        return crd::run(&args, &file, root, folder);
    }
    let (tree, before) = open(root)?;
    let last = before.apis().last();
    let settings = args.settings;
    let is_there = settings.resource == Some(false) && settings.external.is_none();
    let usual: Usual = &|group, kind| or_create(before.usual_version(group, kind), kind, &before);
    let check = |known: &Id, answered: &Id| {
        if is_there {
            return existing_kind(&before)(known, answered);
        }
        // A kind of another project, or of this one, may have an unusual name or version.
        if settings.external.is_some() {
            return Ok(());
        }
        if let Some(kind) = &answered.kind
            && before.resources.of_kind(kind).next().is_none()
        {
            kind.ensure_usual()?;
        }
        if let Some(version) = &answered.version
            && before.apis().all(|resource| resource.version != *version)
        {
            version.ensure_usual()?;
        }
        Ok(())
    };
    let group = last.map(|resource| &resource.group);
    let usual = is_there.then_some(usual);
    let id = (args.id).complete(group, Some(&"v1".parse()?), usual, check)?;

    let mut wanted = settings.resource(&id, &before)?;
    note_types(&mut wanted, &before, &tree)?;
    let mut after = before.clone();
    let mut added = or_way_out(after.add(wanted.clone(), args.force));
    let is_new = wanted.has_api() && before.versions(&wanted).next().is_none();
    // The error may be about the kinds that the new controller owns or watches.
    let mut controllers = wanted.controllers.iter();
    let is_alone = controllers.all(|own| own.owns.is_empty() && own.watches.is_empty());
    if is_new && is_alone && builtin::named(&id).is_some() {
        added = added.or_hint(format!(
            "for a controller of Kubernetes' kind, run `rscaffold create controller {}`",
            id.as_flags()
        ));
    }
    added?;

    let controller = settings.of_controller.controller_of(&id);
    let mut story = story(&id, &wanted, &controller, [&before, &after], &tree)?;
    story.notes.extend(unapproved(&wanted, &after));
    story.notes.extend(settings.consequences(&id, &before)?);
    story
        .notes
        .extend(settings.foreign_finalizer(&id, &wanted, &before));
    story.notes.extend(settings.same_plural(&wanted, &before));
    story.notes.extend(args.of_other_tools.note());
    carry_out(Turn::between(&tree, &before, after)?, &args.mode, story)
}

/// Notes in the new controllers of `resource` whether the user has replaced the example types.
fn note_types(resource: &mut Resource, before: &Project, tree: &WorkTree) -> Result<()> {
    let hub = before.hub(resource.group.as_str(), resource.kind.as_str());
    let Some(there) = before.there(resource).or(hub) else {
        return Ok(());
    };
    let mut new: Vec<_> = (resource.controllers.iter_mut())
        .filter(|controller| there.controller(&controller.name).is_none())
        .collect();
    if new.is_empty() || !there.has_api() || there.has_given_types() {
        return Ok(());
    }
    let path = before.types_file(there);
    let types = tree.read_text(&path)?;
    let file = File {
        path: &path,
        text: types.as_deref(),
    };
    if !has_example_status(there.kind.as_str(), file) {
        for controller in &mut new {
            controller.types = Types::Given;
        }
    }
    Ok(())
}
