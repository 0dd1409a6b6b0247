//! The flags that name the kind of a command.

use anyhow::{Result, ensure};
use clap::Args;

use super::ask::{Offer, ask_for, possible};
use crate::{
    names::{Group, GroupVersionKind, Kind, Version, in_backticks},
    project::Project,
};

/// The parts of the name of a kind that the command line has.
#[derive(Debug, Clone, Args)]
pub struct Id {
    /// API group, such as `webapp`, without the domain or in full; `--group ""` is the domain alone. At a terminal,
    /// rscaffold asks for it
    #[arg(long)]
    pub group: Option<Group>,

    /// API version, such as `v1` or `v1alpha1`. At a terminal, rscaffold asks for it
    #[arg(long)]
    pub version: Option<Version>,

    /// Kind in upper camel case, such as `Guestbook`. At a terminal, rscaffold asks for it
    #[arg(long)]
    pub kind: Option<Kind>,
}

impl Id {
    /// Without a version, takes the version that `usual` returns for the group and the kind.
    pub fn or_version(mut self, usual: impl FnOnce(&Group, &Kind) -> Option<Version>) -> Self {
        if let (Some(group), None, Some(kind)) = (&self.group, &self.version, &self.kind) {
            self.version = usual(group, kind);
        }
        self
    }

    /// Asks for the missing parts; `group` and `version` are the answers to suggest. `check` gets the known parts without
    /// an answer, and with it.
    pub fn complete(
        self,
        group: Option<&Group>,
        version: Option<&Version>,
        check: impl Fn(&Self, &Self) -> Result<()>,
    ) -> Result<GroupVersionKind> {
        possible(&[
            ("--group", self.group.is_some()),
            ("--version", self.version.is_some()),
            ("--kind", self.kind.is_some()),
        ])?;
        let mut known = self;
        let group = match known.group.clone() {
            Some(group) => group,
            None => ask_for(
                "Group",
                offer(group.map(Group::as_str), "webapp"),
                |group: &Group| {
                    let group = Some(group.clone());
                    check(
                        &known,
                        &Self {
                            group,
                            ..known.clone()
                        },
                    )
                },
            )?,
        };
        known.group = Some(group.clone());
        let version = match known.version.clone() {
            Some(version) => version,
            None => ask_for(
                "Version",
                offer(version.map(Version::as_str), "v1"),
                |version: &Version| {
                    let version = Some(version.clone());
                    check(
                        &known,
                        &Self {
                            version,
                            ..known.clone()
                        },
                    )
                },
            )?,
        };
        known.version = Some(version.clone());
        let kind = match known.kind.clone() {
            Some(kind) => kind,
            None => ask_for("Kind", Offer::Example("Guestbook"), |kind: &Kind| {
                let kind = Some(kind.clone());
                check(
                    &known,
                    &Self {
                        kind,
                        ..known.clone()
                    },
                )
            })?,
        };
        Ok(GroupVersionKind::new(group, version, kind))
    }

    /// The kinds of `project` and of Kubernetes that have the known parts.
    fn kinds(&self, project: &Project) -> Vec<GroupVersionKind> {
        project.kinds_with(
            self.group.as_ref(),
            self.version.as_ref(),
            self.kind.as_ref(),
        )
    }
}

/// The check for [`Id::complete`] that refuses an answer if no kind has it. If no answer is right, the error comes later.
pub fn existing(project: &Project) -> impl Fn(&Id, &Id) -> Result<()> {
    const LISTED: usize = 10;
    |known, answered| {
        let there = known.kinds(project);
        ensure!(
            there.is_empty() || !answered.kinds(project).is_empty(),
            "no kind has this name; there is {}",
            in_backticks(there.iter().take(LISTED))
        );
        Ok(())
    }
}

fn offer<'a>(default: Option<&'a str>, example: &'a str) -> Offer<'a> {
    default.map_or(Offer::Example(example), Offer::Default)
}
