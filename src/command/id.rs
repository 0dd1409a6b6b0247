//! The flags that name the kind of a command.

use anyhow::Result;
use clap::Args;

use super::ask::{Offer, ask, possible};
use crate::names::{Group, GroupVersionKind, Kind, Version};

/// The parts of the name of a kind that the command line has.
#[derive(Debug, Args)]
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

    /// Asks for the missing parts; `group` and `version` are the answers to suggest.
    pub fn complete(
        self,
        group: Option<&Group>,
        version: Option<&Version>,
    ) -> Result<GroupVersionKind> {
        possible(&[
            ("--group", self.group.is_some()),
            ("--version", self.version.is_some()),
            ("--kind", self.kind.is_some()),
        ])?;
        let group = self.group.map_or_else(
            || ask("Group", offer(group.map(Group::as_str), "webapp")),
            Ok,
        )?;
        let version = self.version.map_or_else(
            || ask("Version", offer(version.map(Version::as_str), "v1")),
            Ok,
        )?;
        let kind = (self.kind).map_or_else(|| ask("Kind", Offer::Example("Guestbook")), Ok)?;
        Ok(GroupVersionKind::new(group, version, kind))
    }
}

fn offer<'a>(default: Option<&'a str>, example: &'a str) -> Offer<'a> {
    default.map_or(Offer::Example(example), Offer::Default)
}
