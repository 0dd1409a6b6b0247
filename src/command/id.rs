//! The flags that name the kind of a command.

use std::{fmt::Display, str::FromStr};

use anyhow::{Context, Result, ensure};
use clap::Args;

use super::ask::{Offer, ask_for, possible};
use crate::{
    hint::OrHint,
    names::{Group, GroupVersionKind, Kind, LISTED, Version, first_in_backticks},
    project::Project,
};

/// How to get a kind that does not exist.
pub const NO_KIND: &str = "create a kind with `rscaffold create api`; if another project defines the \
                       kind, create its types with `rscaffold create api --crd <FILE> \
                       --resource=false`, or name its Rust type with `--external-api-path`";

/// The parts of the name of a kind that the command line has.
#[derive(Debug, Clone, Default, Args)]
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

/// A function that returns the version of a kind that a command takes if the user gives none.
pub type Usual<'a> = &'a dyn Fn(&Group, &Kind) -> Result<Option<Version>>;

impl Id {
    /// Asks for the missing parts; `group` and `version` are the answers to suggest. `usual` returns the version of a group
    /// and a kind that need no version. `check` gets the known parts without an answer, and with it; first, it gets
    /// the parts of the command line as the answer.
    pub fn complete(
        mut self,
        group: Option<&Group>,
        version: Option<&Version>,
        usual: Option<Usual>,
        check: impl Fn(&Self, &Self) -> Result<()>,
    ) -> Result<GroupVersionKind> {
        self.take_usual(usual)?;
        if self.group.is_none() || self.version.is_none() || self.kind.is_none() {
            check(&Self::default(), &self)?;
        }
        let may_be_usual = usual.is_some() && (self.group.is_none() || self.kind.is_none());
        possible(&[
            ("--group", self.group.is_some()),
            ("--version", self.version.is_some() || may_be_usual),
            ("--kind", self.kind.is_some()),
        ])?;
        let group = offer(group.map(Group::as_str), "webapp");
        let group = self.part("Group", group, |id| &mut id.group, &check)?;
        let kind = Offer::Example("Guestbook");
        if usual.is_some() {
            self.part("Kind", kind, |id| &mut id.kind, &check)?;
            self.take_usual(usual)?;
        }
        let version = offer(version.map(Version::as_str), "v1");
        let version = self.part("Version", version, |id| &mut id.version, &check)?;
        let kind = self.part("Kind", kind, |id| &mut id.kind, &check)?;
        Ok(GroupVersionKind::new(group, version, kind))
    }

    /// Without a version, takes the version that `usual` returns for the group and the kind.
    fn take_usual(&mut self, usual: Option<Usual>) -> Result<()> {
        if let (Some(usual), Some(group), None, Some(kind)) =
            (usual, &self.group, &self.version, &self.kind)
        {
            self.version = usual(group, kind)?;
        }
        Ok(())
    }

    /// Returns a part of the name. Asks for it if it is missing.
    fn part<T: Clone + FromStr<Err: Display>>(
        &mut self,
        question: &str,
        offer: Offer,
        of: fn(&mut Self) -> &mut Option<T>,
        check: &impl Fn(&Self, &Self) -> Result<()>,
    ) -> Result<T> {
        if let Some(part) = of(self) {
            return Ok(part.clone());
        }
        let part = ask_for(question, offer, |part: &T| {
            let mut answered = self.clone();
            *of(&mut answered) = Some(part.clone());
            check(self, &answered)
        })?;
        *of(self) = Some(part.clone());
        Ok(part)
    }

    fn is_empty(&self) -> bool {
        self.group.is_none() && self.version.is_none() && self.kind.is_none()
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
    let check = one_of(project, "no kind fits this answer; there is", |_| true);
    move |known, answered| {
        if !known.is_empty() {
            return check(known, answered);
        }
        // All kinds of Kubernetes would be a long list.
        let there = !answered.kinds(project).is_empty();
        let found = there.then_some(());
        found
            .context("neither this project nor Kubernetes has such a kind")
            .or_hint(NO_KIND)
    }
}

/// The same for a command that takes only kinds in `PROJECT`.
pub fn own(project: &Project) -> impl Fn(&Id, &Id) -> Result<()> {
    let is_own = |id: &GroupVersionKind| !matches!(project.find(id), Ok(None));
    one_of(project, "this project has no such kind; it has", is_own)
}

fn one_of(
    project: &Project,
    error: &str,
    counts: impl Fn(&GroupVersionKind) -> bool,
) -> impl Fn(&Id, &Id) -> Result<()> {
    move |known, answered| {
        let [there, fitting] = [known, answered].map(|id| {
            let mut kinds = id.kinds(project);
            kinds.retain(&counts);
            kinds
        });
        ensure!(
            there.is_empty() || !fitting.is_empty(),
            "{error} {}",
            first_in_backticks(&there, LISTED)
        );
        Ok(())
    }
}

fn offer<'a>(default: Option<&'a str>, example: &'a str) -> Offer<'a> {
    default.map_or(Offer::Example(example), Offer::Default)
}
