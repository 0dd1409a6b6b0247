//! `create api --crd`: a kind from its CRD.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{
    arguments::{ApiSettings, CreateApi},
    story::{story, unapproved},
};
use crate::{
    command::report::{Outcome, Story},
    command::{
        id::Id,
        load::open,
        turn::{Turn, carry_out},
        way_out::or_way_out_of_crd,
    },
    crd::{self, Crd, CrdVersion, Loss},
    engine::worktree::{WorkTree, read_input},
    engine::{Texts, files::Edits},
    from_crd::KindFromCrd,
    hint::OrHint,
    names::{LISTED, in_backticks},
    project::{APPROVAL, Project, Resource, Stage},
    render::Templates,
    visible::visible,
};

/// Adds the kind of the CRD in `file`, with types that are generated from the CRD. `file` is relative to `folder`.
pub(super) fn run(args: &CreateApi, file: &Path, root: &Path, folder: &Path) -> Result<Outcome> {
    let (tree, before) = open(root)?;
    let crds = read(file, folder)?;
    let crd = choose(&crds, &file.display().to_string(), &before, &args.id)?;
    let version = args.id.version.as_ref();
    let from_crd = if args.settings.resource == Some(false) {
        KindFromCrd::of_others(crd, version, &before)?
    } else {
        KindFromCrd::of_project(crd, version, &before)?
    };
    if !args.force {
        ensure_free(&from_crd, &before)?;
    }

    let mut after = before.clone();
    let mut stored = None;
    for (version, resource) in resources(&from_crd, &args.settings, &before)? {
        let added = after.add(resource.clone(), args.force);
        or_way_out_of_crd(added, &resource.id())?;
        if version.storage || stored.is_none() {
            stored = Some(resource);
        }
    }
    let wanted = stored.context("the CustomResourceDefinition has no version")?;
    let mut templates = Templates::new(&after)?;
    let rendered = templates.render()?;
    let files = from_crd.files(&after)?;
    let texts = rendered.files(&templates, &files.additions)?;
    drop(templates);

    let id = wanted.id();
    let controller = args.settings.of_controller.controller_of(&id);
    let mut story = story(&id, &wanted, &controller, [&before, &after], &tree)?;
    if !crd.annotations.contains_key(APPROVAL) {
        story.notes.extend(unapproved(&wanted, &after));
    }
    story
        .notes
        .extend(args.settings.consequences(&id, &before)?);
    (story.notes).extend(args.settings.foreign_finalizer(&id, &wanted, &before));
    story.notes.extend(left_controller(&wanted, &before));
    story.notes.extend(from_crd.lossy(&after));
    story.notes.extend(from_crd.unserved(&after));
    for (title, losses) in [
        ("differences from the CRD", &files.losses),
        ("to check in the sample", &files.doubts),
    ] {
        story.notes.extend(shown(title, losses, args.mode.dry_run));
    }
    story.notes.extend(args.of_other_tools.note());
    if !args.force {
        say_what_stays(&mut story, &texts, &tree)?;
    }
    let edits = Edits {
        texts,
        replace: args.force,
    };
    let turn = Turn {
        edits,
        ..Turn::to_rendered(&tree, &before, after, rendered)?
    };
    carry_out(turn, &args.mode, story)
}

/// Adds a note about the types that differ from the CRD but stay unchanged. The record has no earlier text from a CRD
/// for these files, so rscaffold cannot distinguish the user's edits from generated text.
fn say_what_stays(story: &mut Story, texts: &Texts, tree: &WorkTree) -> Result<()> {
    let disk = tree.ours(texts.keys().map(String::as_str))?;
    let before = tree.record()?.given;
    let mut others = Vec::new();
    for (path, text) in texts {
        let is_new = path.starts_with("src/") && !before.contains_key(path);
        if is_new && disk.get(path).is_some_and(|ours| !ours.is_same(text)) {
            others.push(path);
        }
    }
    if !others.is_empty() {
        let verb = if others.len() == 1 {
            "keeps its"
        } else {
            "keep their"
        };
        let note = format!(
            "{} {verb} text: rscaffold cannot tell your edits from its own lines. `--force` replaces the \
             files by the types of the CRD",
            in_backticks(others)
        );
        story.notes.push(note);
    }
    Ok(())
}

/// Reads the CRDs of a file. `file` is relative to `folder`.
fn read(file: &Path, folder: &Path) -> Result<Vec<Crd>> {
    const MAX_BYTES: u64 = 16 << 20;
    let name = file.display().to_string();
    if name.starts_with("https:") || name.starts_with("http:") {
        return Err(anyhow!("`{name}` is an address, and rscaffold reads only files")).or_hint(format!(
            "fetch it first: `curl --fail --location --silent {name} | rscaffold create api --crd -`"
        ));
    }
    let text = read_input(file, folder, MAX_BYTES)
        .map_err(|error| anyhow!("failed to read {}: {error:#}", crd::file_name(&name)))?;
    crd::parse(&name, &text)
}

/// Returns the CRD with the group of `id`, which can be without the domain or in full, and with the kind of `id`.
fn choose<'a>(crds: &'a [Crd], file: &str, project: &Project, id: &Id) -> Result<&'a Crd> {
    let mut matching = Vec::new();
    for crd in crds {
        let is_group = id.group.as_ref().is_none_or(|group| {
            let short = crd.group.split_once('.').map(|(short, _)| short);
            crd.group == group.as_str()
                || crd.group == format!("{group}.{}", project.domain)
                || short == Some(group.as_str())
        });
        if is_group && (id.kind.as_ref()).is_none_or(|kind| crd.kind == kind.as_str()) {
            matching.push(crd);
        }
    }
    match matching.as_slice() {
        [one] => Ok(one),
        [] => bail!(
            "{} has no CustomResourceDefinition of this group and kind: it has {}",
            crd::file_name(file),
            list(crds)
        ),
        [first, others @ ..]
            if (others.iter())
                .all(|other| (&other.group, &other.kind) == (&first.group, &first.kind)) =>
        {
            bail!(
                "{} has the CustomResourceDefinition of `{}` in `{}` more than once: keep one",
                crd::file_name(file),
                visible(&first.kind),
                visible(&first.group)
            )
        }
        several => Err(anyhow!(
            "{} has several CustomResourceDefinitions: {}",
            crd::file_name(file),
            list(several.iter().copied())
        ))
        .or_hint("choose one with `--kind`, and also with `--group` if two of them have that kind"),
    }
}

/// The kinds and groups of CRDs, for an error.
fn list<'a>(crds: impl IntoIterator<Item = &'a Crd>) -> String {
    let names: Vec<_> = (crds.into_iter().take(20))
        .map(|crd| format!("`{}` of `{}`", visible(&crd.kind), visible(&crd.group)))
        .collect();
    names.join(", ")
}

/// Refuses existing versions whose types do not come from a CRD.
fn ensure_free(from_crd: &KindFromCrd, project: &Project) -> Result<()> {
    for version in &from_crd.versions {
        let wanted = from_crd.resource(version, Stage::Unserved)?;
        if let Some(existing) = project.there(&wanted)
            && wanted.has_api()
            && existing.has_api()
            && !existing.has_given_types()
        {
            return Err(anyhow!(
                "{existing} exists, and its types do not come from a CRD"
            ))
            .or_hint("replace them by the types of the CRD with `--force`");
        }
    }
    Ok(())
}

/// The versions with their resources in `project`, the stored version first. Existing resources keep their controllers
/// and webhooks. `settings` can add or remove a controller.
fn resources<'a>(
    from_crd: &KindFromCrd<'a>,
    settings: &ApiSettings,
    project: &Project,
) -> Result<Vec<(&'a CrdVersion, Resource)>> {
    let mut resources = from_crd.resources(project)?;
    let is_only = resources.len() == 1;
    for (_, resource) in &mut resources {
        let others = other_versions(resource, project);
        let stored = others.iter().copied().find(|other| other.is_stored());
        let existing = project.there(resource);
        let is_external = resource.external().is_some();
        // A kind that another project defines gets a controller by default, even if `PROJECT` already has the kind.
        let is_new = (existing.is_none() || is_external) && others.is_empty();
        let has_controllers = resource.is_stored() || is_external;
        // The controllers and webhooks are those of the stored version, which may be another one in this CRD.
        let before = if is_external {
            existing
        } else {
            stored.or(existing).filter(|_| resource.is_stored())
        };
        if let Some(before) = before {
            resource.controllers.clone_from(&before.controllers);
            resource.webhooks.clone_from(&before.webhooks);
        }
        // For several versions, the settings of a controller concern the stored one.
        if has_controllers || is_only {
            let id = resource.id();
            let name = settings.of_controller.controller_of(&id);
            let usual = has_controllers
                && (is_new
                    || settings.of_controller.controller_name.is_some()
                    || resource.controller(&name).is_some());
            settings.control(&id, resource, usual, project)?;
        }
    }
    Ok(resources)
}

/// The resources of `project` that are other versions of the kind of `resource`.
fn other_versions<'a>(resource: &Resource, project: &'a Project) -> Vec<&'a Resource> {
    let is_other = |other: &&Resource| {
        project.is_same_kind(other, resource) && other.version != resource.version
    };
    project.resources.iter().filter(is_other).collect()
}

/// A note about the controller of a kind of another project, if it still uses another version than `wanted`.
fn left_controller(wanted: &Resource, before: &Project) -> Option<String> {
    if wanted.external().is_none() || !wanted.controllers.is_empty() {
        return None;
    }
    let mut others = other_versions(wanted, before).into_iter();
    let other = others.find(|other| !other.controllers.is_empty())?;
    Some(format!(
        "{other} has the controller: to use `{}` instead, move `controller` or `controllers` in `PROJECT` to the entry of \
         that version, and run `rscaffold apply`",
        wanted.version
    ))
}

/// Formats a list for the user, or returns `None` for an empty list. `all` shows every entry of a long list.
fn shown(title: &str, losses: &[Loss], all: bool) -> Option<String> {
    if losses.is_empty() {
        return None;
    }
    let listed = if all || losses.len() <= LISTED {
        losses.len()
    } else {
        LISTED - 2
    };
    let mut text = format!("{title}:");
    for loss in &losses[..listed] {
        text += &format!("\n  {loss}");
    }
    if listed < losses.len() {
        let more = losses.len() - listed;
        text += &format!("\n  and {more} more: list all with `--dry-run`");
    }
    Some(text)
}
