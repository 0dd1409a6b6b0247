//! `create api --crd`: a kind from its CRD.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{ApiSettings, CreateApi, story};
use crate::{
    command::{
        load_current, or_way_out,
        turn::{carry_out, turn},
    },
    crd::{self, Crd, CrdVersion, Loss},
    engine::Texts,
    engine::worktree::{WorkTree, read_text},
    given::Given,
    hint::OrHint,
    names::{Group, Kind},
    project::{Project, Resource, Stage},
    render::{CONVENTIONS, render},
    report::{Outcome, Story},
    turn::{GivenTexts, Turn},
    visible::visible,
};

/// The largest number of lines for a list of losses. The last line of a longer list counts the rest.
const LISTED: usize = 10;

/// Adds the kind of the CRD in `file`, with types that are generated from the CRD. `file` is relative to `folder`.
pub(super) fn run(args: &CreateApi, file: &Path, root: &Path, folder: &Path) -> Result<Outcome> {
    let tree = WorkTree::open(root, &CONVENTIONS)?;
    let before = load_current(&tree)?;
    let (group, version, kind) = args.id.given();
    let crd = read(&folder.join(file), &file.display().to_string())?;
    let crd = choose(&crd, &file.display().to_string(), &before, group, kind)?;
    let made = if args.settings.resource == Some(false) {
        Given::of_others(&crd, version, &before)?
    } else {
        Given::new(&crd, version, &before)?
    };
    ensure_one_definer(&made, &before)?;
    if !args.force {
        ensure_free(&made, &before)?;
    }

    let mut after = before.clone();
    let mut stored = None;
    for (version, resource) in resources(&made, &args.settings, &before)? {
        or_way_out(after.add(resource.clone(), args.force))?;
        if version.storage || stored.is_none() {
            stored = Some(resource);
        }
    }
    let wanted = stored.context("the CustomResourceDefinition has no version")?;
    let given = made.files(&after, &render(&after)?.texts)?;

    let id = wanted.id();
    let controller = args.settings.controller_of(&id);
    let mut story = story(&id, &wanted, &controller, &after, &tree)?;
    story
        .notes
        .extend(args.settings.consequences(&id, &before)?);
    story.notes.extend(made.lossy(&after));
    story.notes.extend(made.unserved(&after));
    let lists = [
        ("differences from the CRD", &given.losses),
        ("to check in the sample", &given.doubts),
    ];
    for (title, all) in lists {
        story.notes.extend(shown(title, all, args.mode.dry_run));
    }
    let given = given.texts;
    story.notes.extend(args.kubebuilder.note());
    if !args.force {
        say_what_stays(&mut story, &given, &tree)?;
    }
    let given = GivenTexts {
        texts: given,
        replace: args.force,
    };
    let turn = Turn {
        given,
        ..turn(&tree, &before, after)?
    };
    carry_out(turn, &args.mode, &story)
}

/// Adds a note about the types that differ from the CRD but stay unchanged. The record has no earlier text from a CRD
/// for these files, so rscaffold cannot distinguish the user's edits from generated text.
fn say_what_stays(story: &mut Story, given: &Texts, tree: &WorkTree) -> Result<()> {
    let disk = tree.ours(given.keys().map(String::as_str))?;
    let before = tree.record()?.given;
    let is_other = |path: &&String| {
        path.starts_with("src/")
            && !before.contains_key(*path)
            && disk.get(*path).is_some_and(|it| *it != given[*path])
    };
    let others = given.keys().filter(is_other);
    let others: Vec<_> = others.map(|path| format!("`{path}`")).collect();
    if !others.is_empty() {
        let others = others.join(", ");
        let note = format!(
            "what the CRD gives otherwise is not taken into {others}, because rscaffold cannot tell your edits from \
             what it made: `--force` takes it, and your edits are lost"
        );
        story.unchanged = format!("{}. But {note}", story.unchanged);
        story.notes.push(note);
    }
    Ok(())
}

/// Reads the CRDs of a file.
fn read(path: &Path, shown: &str) -> Result<Vec<Crd>> {
    const MAX_BYTES: u64 = 16 << 20;
    let text = read_text(path, MAX_BYTES)
        .map_err(|error| anyhow!("failed to read `{}`: {error:#}", visible(shown)))?;
    crd::parse(shown, &text)
}

/// Returns the CRD with this `group`, which can be without the domain or in full, and this `kind`.
fn choose(
    all: &[Crd],
    file: &str,
    project: &Project,
    group: Option<&Group>,
    kind: Option<&Kind>,
) -> Result<Crd> {
    let is_group = |crd: &Crd| {
        group.is_none_or(|group| {
            let in_domain = format!("{group}.{}", project.domain);
            let short = crd.group.split_once('.').map(|(short, _)| short);
            [group.as_str(), &in_domain].contains(&crd.group.as_str())
                || short == Some(group.as_str())
        })
    };
    let is_kind = |crd: &Crd| kind.is_none_or(|kind| crd.kind == kind.as_str());
    let list = |crds: &[&Crd]| {
        let names = crds.iter().take(20);
        let names = names.map(|it| format!("`{}` of `{}`", visible(&it.kind), visible(&it.group)));
        names.collect::<Vec<_>>().join(", ")
    };
    let matching: Vec<_> = all
        .iter()
        .filter(|it| is_group(it) && is_kind(it))
        .collect();
    match matching.as_slice() {
        [one] => Ok((*one).clone()),
        [] => bail!(
            "`{}` has no CustomResourceDefinition of this group and kind: it has {}",
            visible(file),
            list(&all.iter().collect::<Vec<_>>())
        ),
        several => Err(anyhow!(
            "`{}` has several CustomResourceDefinitions: {}",
            visible(file),
            list(several)
        ))
        .or_hint("choose one with `--kind`, and also with `--group` if two of them have that kind"),
    }
}

/// Refuses a change of the project that defines an existing kind: from this project to another one, or the reverse.
fn ensure_one_definer(made: &Given, project: &Project) -> Result<()> {
    for version in &made.versions {
        let wanted = made.resource(version, Stage::Stored)?;
        let mut same = project.resources.iter();
        let there = same.find(|it| project.is_same_kind(it, &wanted));
        match there.map(|it| (it, it.has_api())) {
            Some((there, false)) if wanted.has_api() => {
                return Err(anyhow!(
                    "{there} exists already, defined by another project"
                ))
                .or_hint("add `--resource=false` for a kind that another project defines");
            }
            Some((there, true)) if !wanted.has_api() => {
                return Err(anyhow!("{there} exists already, defined by this project"))
                    .or_hint("leave out `--resource=false` for a kind that this project defines");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses existing versions whose types do not come from a CRD.
fn ensure_free(made: &Given, project: &Project) -> Result<()> {
    for version in &made.versions {
        let there = made.there(version, project)?;
        if let Some(there) = there.filter(|it| it.has_api() && !it.has_given_types()) {
            return Err(anyhow!(
                "{there} exists, and its types do not come from a CRD"
            ))
            .or_hint("replace them by the types of the CRD with `--force`");
        }
    }
    Ok(())
}

/// The versions with their resources in `project`, the stored version first. Existing resources keep their controllers
/// and webhooks. `settings` can add or remove a controller.
fn resources<'a>(
    made: &Given<'a>,
    settings: &ApiSettings,
    project: &Project,
) -> Result<Vec<(&'a CrdVersion, Resource)>> {
    let mut resources = made.resources(project)?;
    for (_, resource) in &mut resources {
        let version = resource.clone();
        let others = project.resources.iter();
        let others =
            others.filter(|it| project.is_same_kind(it, &version) && it.version != version.version);
        let others: Vec<_> = others.collect();
        let stored = others.iter().copied().find(|it| it.is_stored());
        let there = project.position(resource).map(|at| &project.resources[at]);
        let is_external = resource.external().is_some();
        // A kind that another project defines gets a controller by default, even if `PROJECT` already has the kind.
        let is_new = (there.is_none() || is_external) && others.is_empty();
        let has_controllers = resource.is_stored() || is_external;
        if let Some(before) = there.or(stored.filter(|_| resource.is_stored())) {
            resource.controllers.clone_from(&before.controllers);
            resource.webhooks.clone_from(&before.webhooks);
        }
        if has_controllers {
            let id = resource.id();
            let name = settings.controller_of(&id);
            let usual = is_new
                || settings.controller_name.is_some()
                || resource.controller(&name).is_some();
            settings.control(&id, resource, usual)?;
        }
    }
    Ok(resources)
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
    let mut lines: Vec<_> = losses[..listed]
        .iter()
        .map(|loss| format!("\n  {loss}"))
        .collect();
    if listed < losses.len() {
        let more = losses.len() - listed;
        lines.push(format!("\n  and {more} more: list all with `--dry-run`"));
    }
    Some(format!("{title}:{}", lines.concat()))
}
