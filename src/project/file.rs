//! The text of the `PROJECT` file.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    ops::Not,
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, from_value, to_value};

use super::{
    Controller, Conversion, Definition, Deprecation, Error, External, Image, Own, Project,
    Resource, Stage, Types, webhooks::WebhooksEntry,
};
use crate::{
    names::{
        Dependency, Domain, FieldManager, FinalizerName, Group, GroupVersionKind, Kind, Plural,
        ShortName, Version, Warning,
    },
    project::builtin,
    yaml,
};

const HEADER: &str = "\
# The desired state of this project. rscaffold writes this file, and renders the other files from it.
# After an edit, run `rscaffold apply`.
";

/// A line between the other fields and the growing list of resources. With it, changes on both sides are never
/// adjacent, so git can merge them.
const RESOURCES: &str = "# One entry for each version of a kind.\n";

/// The major and minor version of the oldest rscaffold whose projects can be read. No version before it was published.
const OLDEST: (u64, u64) = (0, 3);

/// The version of the file's format.
pub(super) const VERSION: &str = "3";

impl Project {
    /// The name of the file.
    pub const FILE: &str = "PROJECT";
    /// The layout of the projects that this tool writes.
    pub const LAYOUT: &str = "rust.rscaffold/v1";

    /// Reads the text of a `PROJECT` file. An error names the line and the field.
    pub fn parse(text: &str) -> Result<Self> {
        let file = Self::FILE;
        let blank = |line: &str| line.trim().is_empty() || line.starts_with('#');
        ensure!(
            !text.lines().all(blank),
            "`{file}` is empty: restore it, for example with `git restore {file}`"
        );
        let mut project: Self = yaml::read(file, text).or_else(|error| {
            // Checked first: the fields of another tool's file are unknown, which would hide the real reason.
            Self::check_format(text)?;
            Err(error)
        })?;
        Format::of(&project).check()?;
        // Checked before the other steps, which are slow with many resources.
        (project.ensure_few_resources()).with_context(|| format!("`{file}` is too large"))?;
        project.leave_out_own_domain();
        project.sort();
        project.store_what_is_served();
        project
            .validate()
            .with_context(|| format!("`{file}` contradicts itself"))?;
        Ok(project)
    }

    /// Checks that the text of a `PROJECT` file is not from another tool.
    ///
    /// # Errors
    /// When another tool wrote it.
    pub fn check_format(text: &str) -> Result<()> {
        yaml::read_or_default::<Format>(text).check()
    }

    /// The text of the `PROJECT` file: fields in alphabetical order, resources by group, kind and version.
    pub fn to_text(&self) -> Result<String> {
        let mut sorted = self.clone();
        sorted.sort();
        let mut fields: BTreeMap<String, Value> = from_value(to_value(&sorted)?)?;
        // The path of a type's module begins with the name of the crate, which `Entry` does not contain.
        let entries = fields.get_mut("resources").and_then(Value::as_array_mut);
        for (entry, resource) in entries.into_iter().flatten().zip(sorted.resources.iter()) {
            let (path, ident) = (sorted.type_path(resource), sorted.repo.crate_name().ident());
            let path = match (&resource.definition, path.rsplit_once("::")) {
                (Definition::External(External::At { .. }), _) => None,
                (Definition::External(External::Given), _) => Some(path.as_str()),
                (_, module) => module.map(|(module, _)| module),
            };
            if let Some(path) = path {
                entry["path"] = path.replacen("crate", &ident, 1).into();
            }
            let served = sorted
                .versions(resource)
                .filter(|version| version.is_served());
            let api = entry.get_mut("api").and_then(Value::as_object_mut);
            if let Some(api) = api.filter(|_| served.count() == 1) {
                // If one version is served, it is the stored one, so the field is not needed.
                api.remove("storage");
            }
        }
        let below = fields.split_off("resources");
        let (above, below) = (yaml::write(&fields)?, yaml::write(&below)?);
        Ok(format!("{HEADER}{above}{RESOURCES}{below}"))
    }

    /// Whether an older rscaffold than this one last wrote the project.
    pub fn is_older(&self) -> bool {
        let order = order(&self.cli_version, env!("CARGO_PKG_VERSION"));
        order == Some(Ordering::Less)
    }
}

/// A resource as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
pub(super) struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<ApiEntry>,
    /// Whether the kind has exactly one controller, its own, which was created with the example types. The fields of
    /// [`Controller`] belong to it.
    #[serde(default, skip_serializing_if = "Not::not")]
    controller: bool,
    /// All controllers, if there are others than that one.
    #[serde(
        default,
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    controllers: Vec<Controller>,
    #[serde(default, skip_serializing_if = "Not::not")]
    core: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<Domain>,
    /// Whether another project defines the kind. `module`, `namespaced` and `path` belong to it.
    #[serde(default, skip_serializing_if = "Not::not")]
    external: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    field_manager: Option<FieldManager>,
    #[serde(default, skip_serializing_if = "Not::not")]
    finalizer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizer_name: Option<FinalizerName>,
    /// Left out if the domain is the whole group, as in kubebuilder.
    #[serde(default = "Group::none", skip_serializing_if = "Group::is_empty")]
    group: Group,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<Image>,
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<Dependency>,
    #[serde(default, skip_serializing_if = "Not::not")]
    namespaced: bool,
    #[serde(
        default,
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    owns: Vec<GroupVersionKind>,
    /// The Rust type of an `external` kind whose types are not made from a CRD. For other kinds, rscaffold computes the
    /// path, and ignores the value that it reads.
    path: Option<String>,
    /// May be left out if it is the default, as in kubebuilder.
    plural: Option<Plural>,
    #[serde(
        default,
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    short_names: Vec<ShortName>,
    /// Used for an `external` kind.
    #[serde(default, skip_serializing_if = "Types::is_example")]
    types: Types,
    version: Version,
    #[serde(
        default,
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    watches: Vec<GroupVersionKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhooks: Option<WebhooksEntry>,
}

impl Entry {
    /// The group of the kind `id`, and its domain. The entry may leave out the group if the domain is the whole group.
    fn group_and_domain(&self, id: &GroupVersionKind) -> Result<(Group, Option<Domain>)> {
        let (group, domain) = (self.group.clone(), self.domain.clone());
        Ok(match domain {
            _ if !group.is_empty() => (group, domain),
            // An external group may be given as domain alone: `domain` is then the whole group.
            Some(domain) if self.external => (domain.as_str().parse()?, None),
            None if self.external => {
                bail!("`{id}` is `external`, so it needs a `group` or a `domain`")
            }
            None if self.core => (Group::core(), None),
            domain => (group, domain),
        })
    }

    /// The definition of the kind `id`, which is not built in, and whether the kind is namespaced.
    fn definition(
        &mut self,
        id: &GroupVersionKind,
        spokes: Option<BTreeSet<Version>>,
    ) -> Result<(Definition, bool)> {
        if !self.external {
            let api = self.api.take().with_context(|| {
                format!("`{id}` has no `api`, and is neither `core` nor `external`")
            })?;
            let namespaced = api.namespaced;
            return Ok((Definition::Own(api.own(id, spokes)?), namespaced));
        }
        let external = if self.types == Types::Given {
            External::Given
        } else {
            let path = self.path.take().with_context(|| {
                format!("`{id}` is `external`, so it needs the `path` of its type")
            })?;
            External::At {
                dependency: self.module.take(),
                path: path.parse()?,
            }
        };
        Ok((Definition::External(external), self.namespaced))
    }
}

/// The `api` of a resource in the file: a kind that the project defines.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
struct ApiEntry {
    #[serde(default, skip_serializing_if = "Conversion::is_missing")]
    conversion: Conversion,
    crd_version: CrdVersion,
    #[serde(default, skip_serializing_if = "Not::not")]
    deprecated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    deprecation_warning: Option<Warning>,
    #[serde(default, skip_serializing_if = "Not::not")]
    namespaced: bool,
    #[serde(default = "served", skip_serializing_if = "Clone::clone")]
    served: bool,
    /// May be left out if no other version is served.
    #[serde(default, skip_serializing_if = "Not::not")]
    storage: bool,
    #[serde(default, skip_serializing_if = "Types::is_example")]
    types: Types,
}

impl ApiEntry {
    /// The version `id` as described by this entry.
    fn own(self, id: &GroupVersionKind, spokes: Option<BTreeSet<Version>>) -> Result<Own> {
        let stage = match (self.served, self.storage) {
            (true, true) => Stage::Stored,
            (true, false) => Stage::Served,
            (false, false) => Stage::Unserved,
            (false, true) => bail!("`{id}` has `storage: true`, so it cannot have `served: false`"),
        };
        let deprecation = match (self.deprecated, self.deprecation_warning) {
            (true, Some(warning)) => Deprecation::Warning(warning),
            (true, None) => Deprecation::Yes,
            (false, None) => Deprecation::No,
            (false, Some(_)) => bail!(
                "`{id}` has a `deprecationWarning`, but is not deprecated: add `deprecated: true`"
            ),
        };
        Ok(Own {
            stage,
            deprecation,
            conversion: self.conversion,
            spokes,
            types: self.types,
        })
    }
}

impl Own {
    /// The `api` of this version in the file.
    fn entry(&self, namespaced: bool) -> ApiEntry {
        ApiEntry {
            conversion: self.conversion,
            crd_version: CrdVersion::V1,
            deprecated: self.deprecation != Deprecation::No,
            deprecation_warning: match &self.deprecation {
                Deprecation::Warning(warning) => Some(warning.clone()),
                Deprecation::No | Deprecation::Yes => None,
            },
            namespaced,
            served: self.stage != Stage::Unserved,
            storage: self.stage == Stage::Stored,
            types: self.types,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CrdVersion {
    V1,
}

/// The default of the field `served`.
fn served() -> bool {
    true
}

/// Reads a list. A field without a value, such as `features:` alone, is an empty list: some versions of the YAML library
/// refuse it.
pub(super) fn list<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

pub(super) fn multigroup<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        Ok(true)
    } else {
        let reason = "it must be `true`: each group has its own folder";
        Err(D::Error::custom(reason))
    }
}

impl TryFrom<Entry> for Resource {
    type Error = anyhow::Error;

    fn try_from(mut entry: Entry) -> Result<Self> {
        let (group, version) = (entry.group.clone(), entry.version.clone());
        let id = GroupVersionKind::new(group, version, entry.kind.clone());
        let builtin = entry.core.then(|| builtin::named(&id)).flatten();
        ensure!(
            builtin.is_some() || entry.external || !entry.core,
            "`{id}` is not a kind that Kubernetes has built in: leave `core` out"
        );
        let (what, fields): (_, &[&str]) = match (entry.external, entry.core) {
            (true, _) if entry.types == Types::Given => (
                "`external` with `types: given`",
                &["domain", "namespaced", "types"],
            ),
            (true, _) => ("`external`", &["domain", "module", "namespaced"]),
            (false, true) => ("built into Kubernetes", &["core"]),
            (false, false) => (
                "not `external`",
                &["api", "conversion", "domain", "shortNames"],
            ),
        };
        let (group, domain) = entry.group_and_domain(&id)?;
        let (webhooks, spokes) = match entry.webhooks.take() {
            Some(webhooks) => {
                let read = webhooks.read();
                read.map_err(|error| anyhow!("`{id}`: {error}"))?
            }
            None => Default::default(),
        };
        for (field, is_given) in [
            ("api", entry.api.is_some()),
            ("conversion", spokes.is_some()),
            ("core", entry.core),
            ("domain", entry.domain.is_some()),
            ("module", entry.module.is_some()),
            ("namespaced", entry.namespaced),
            ("shortNames", !entry.short_names.is_empty()),
            ("types", entry.types == Types::Given),
        ] {
            ensure!(
                !is_given || fields.contains(&field),
                "`{id}` is {what}: it takes no `{field}`"
            );
        }
        let usual = match &builtin {
            Some(builtin) => builtin.plural.parse()?,
            None => entry.kind.plural(),
        };
        let plural = entry.plural.take().unwrap_or_else(|| usual.clone());
        ensure!(
            builtin.is_none() || plural == usual,
            "the plural of `{id}` is `{usual}`, not `{plural}`"
        );
        let (definition, namespaced) = match builtin {
            Some(builtin) if !entry.external => (Definition::Builtin(builtin), builtin.namespaced),
            _ => entry.definition(&id, spokes)?,
        };
        let mut resource = Self {
            group,
            version: entry.version,
            kind: entry.kind,
            domain,
            namespaced,
            plural,
            short_names: entry.short_names,
            definition,
            controllers: entry.controllers,
            webhooks,
        };
        let own = Controller {
            field_manager: entry.field_manager,
            finalizer: entry.finalizer,
            finalizer_name: entry.finalizer_name,
            image: entry.image,
            name: resource.kind.controller(),
            owns: entry.owns,
            types: Types::Example,
            watches: entry.watches,
        };
        if resource.controllers.is_empty() && entry.controller {
            resource.controllers.push(own);
        } else if resource.controllers.is_empty() {
            resource.without_controller(&own)?;
        } else {
            ensure!(
                !entry.controller && own == Controller::new(resource.kind.controller()),
                "{resource} has `controllers`, so remove `controller`, `fieldManager`, `finalizer`, \
                 `finalizerName`, `image`, `owns` and `watches`: each entry of the list has its own \
                 fields, and a `name`"
            );
        }
        Ok(resource)
    }
}

impl From<Resource> for Entry {
    fn from(resource: Resource) -> Self {
        let external = resource.external();
        let (module, path) = match external {
            Some(External::At { dependency, path }) => (dependency.clone(), Some(path.to_string())),
            Some(External::Given) | None => (None, None),
        };
        let (own, controllers) = match resource.controllers.as_slice() {
            [only] if resource.is_own(only) && only.types == Types::Example => {
                (Some(only), Vec::new())
            }
            all => (None, all.to_vec()),
        };
        Self {
            api: resource.own().map(|own| own.entry(resource.namespaced)),
            controller: own.is_some(),
            controllers,
            core: resource.is_builtin(),
            domain: resource.domain.clone(),
            external: external.is_some(),
            field_manager: own.and_then(|own| own.field_manager.clone()),
            finalizer: own.is_some_and(|own| own.finalizer),
            finalizer_name: own.and_then(|own| own.finalizer_name.clone()),
            group: resource.group.clone(),
            image: own.and_then(|own| own.image.clone()),
            kind: resource.kind.clone(),
            module,
            namespaced: external.is_some() && resource.namespaced,
            owns: own.map_or_else(Vec::new, |own| own.owns.clone()),
            path,
            plural: Some(resource.plural.clone()),
            short_names: resource.short_names.clone(),
            types: match external {
                Some(External::Given) => Types::Given,
                Some(External::At { .. }) | None => Types::Example,
            },
            version: resource.version.clone(),
            watches: own.map_or_else(Vec::new, |own| own.watches.clone()),
            webhooks: WebhooksEntry::new(&resource.webhooks, resource.spokes()),
        }
    }
}

/// The fields that identify the tool that wrote a `PROJECT` file.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Format {
    cli_version: Option<String>,
    layout: Option<Layout>,
    version: Option<String>,
}

/// kubebuilder also accepts a single string.
#[derive(Deserialize)]
#[serde(untagged)]
enum Layout {
    One(String),
    Many(Vec<String>),
}

impl Format {
    fn of(project: &Project) -> Self {
        Self {
            cli_version: Some(project.cli_version.clone()),
            layout: Some(Layout::Many(project.layout.clone())),
            version: Some(project.version.clone()),
        }
    }

    fn check(self) -> Result<()> {
        let file = Project::FILE;
        let layout = self.layout.map(|layout| match layout {
            Layout::One(layout) => layout,
            Layout::Many(layouts) => layouts.join(","),
        });
        // Version 2 has no layout.
        let is_go = match &layout {
            Some(layout) => layout.contains("go.kubebuilder.io/"),
            None => self.version.as_deref() == Some("2"),
        };
        if is_go {
            bail!(Error::GoProject);
        }
        for (field, theirs, ours) in [
            ("layout", layout, Project::LAYOUT),
            ("version", self.version, VERSION),
        ] {
            if let Some(theirs) = theirs.filter(|theirs| theirs != ours) {
                bail!(
                    "`{file}` has the {field} `{theirs}`, which this rscaffold does not know: it \
                     must be `{ours}`"
                );
            }
        }
        match self.cli_version {
            Some(theirs) => check_version(&theirs, env!("CARGO_PKG_VERSION")),
            None => Ok(()),
        }
    }
}

/// Refuses a file from a newer rscaffold, because an older one must not undo its changes, and a file from a version
/// before [`OLDEST`].
fn check_version(theirs: &str, ours: &str) -> Result<()> {
    let file = Project::FILE;
    let order = order(theirs, ours).with_context(|| {
        format!("`cliVersion` in `{file}` is `{theirs}`: it must look like `{ours}`")
    })?;
    ensure!(
        order != Ordering::Greater,
        "`{file}` was written by rscaffold {theirs}, but this is rscaffold {ours}: install \
         {theirs} or newer"
    );
    let (major, minor) = OLDEST;
    let version: semver::Version = theirs.parse()?;
    if (version.major, version.minor) < OLDEST {
        bail!(Error::TooOld {
            theirs: theirs.to_owned(),
            oldest: format!("{major}.{minor}"),
        });
    }
    Ok(())
}

/// The order of two versions of rscaffold.
fn order(a: &str, b: &str) -> Option<Ordering> {
    let [a, b] = [a, b].map(|version| version.parse::<semver::Version>().ok());
    Some(a?.cmp_precedence(&b?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{
            api, cluster, core, empty, external, with_controller, with_dependency, with_domain,
            with_short_name, without_controller,
        },
        *,
    };
    use crate::project::Feature;

    const TEXT: &str = "\
# The desired state of this project. rscaffold writes this file, and renders the other files from it.
# After an edit, run `rscaffold apply`.
cliVersion: 0.3.0-rc.1
domain: com
features:
- agents
- devcontainer
- github
- leader-election
- metrics-secure
layout:
- rust.rscaffold/v1
license: apache2
multigroup: true
owner: 'Me: & you'
projectName: guestbook
repo: github.com/me/guestbook
# One entry for each version of a kind.
resources:
- controller: true
  core: true
  group: apps
  kind: Deployment
  path: k8s_openapi::api::apps::v1
  plural: deployments
  version: v1
- api:
    crdVersion: v1
  domain: example.org
  group: web-app
  kind: Shelf
  path: guestbook::api::web_app::v1beta1
  plural: shelves
  version: v1beta1
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  finalizer: true
  group: webapp
  kind: Guestbook
  owns:
  - apps/v1/StatefulSet
  - v1/ConfigMap
  path: guestbook::api::webapp::v1
  plural: guestbooks
  shortNames:
  - gb
  version: v1
runtime: vendored
version: '3'
";

    fn project() -> Project {
        let mut project = empty();
        project.owner = Some("Me: & you".to_owned());
        project.repo = "github.com/me/guestbook".parse().unwrap();
        let mut guestbook = api("webapp", "v1", "Guestbook");
        guestbook.controllers[0].finalizer = true;
        guestbook.controllers[0].owns = ["apps/v1/StatefulSet", "v1/ConfigMap"]
            .map(|kind| kind.parse().unwrap())
            .to_vec();
        let guestbook = with_short_name(guestbook, "gb");
        let shelf = without_controller(cluster(api("web-app", "v1beta1", "Shelf")));
        let shelf = with_domain(shelf, "example.org");
        *project.resources = vec![core("apps", "v1", "Deployment"), shelf, guestbook];
        project
    }

    #[track_caller]
    fn assert_error(text: &str, expected: &str) {
        let error = Project::parse(text).unwrap_err();
        assert_eq!(format!("{error:#}"), expected);
    }

    /// The text of the file, with the line `line` replaced by `by`.
    fn with(line: &str, by: &str) -> String {
        assert_eq!(TEXT.matches(line).count(), 1, "{line}");
        TEXT.replace(line, by)
    }

    #[test]
    fn a_project_survives_writing_and_reading() {
        let project = project();
        assert_eq!(project.to_text().unwrap(), TEXT);
        assert_eq!(Project::parse(TEXT).unwrap(), project);
    }

    /// kubebuilder leaves out an empty group, and names the domain of each kind.
    #[test]
    fn a_kind_may_have_no_group() {
        let text = |entry: &str| {
            TEXT.replace("domain: com", "domain: example.com").replace(
                "resources:\n",
                &format!("resources:\n- {{{entry}, kind: Page, version: v1}}\n"),
            )
        };
        let own = "api: {crdVersion: v1, namespaced: true}";
        for entry in [
            own.to_owned(),
            format!("{own}, group: ''"),
            format!("{own}, domain: example.com"),
        ] {
            let project = Project::parse(&text(&entry)).unwrap();
            let page = &project.resources[0];
            assert_eq!((page.group.as_str(), &page.domain), ("", &None));
            assert_eq!(project.full_group(page), "example.com");
            let written = project.to_text().unwrap();
            let page = "- api:\n    crdVersion: v1\n    namespaced: true\n  kind: Page\n  \
                        path: guestbook::api::example_com::v1\n  plural: pages\n  version: v1\n";
            assert!(written.contains(page), "{written}");
            assert_eq!(Project::parse(&written).unwrap(), project);
        }
        let external = "external: true, path: 'a::Page'";
        let project = Project::parse(&text(&format!("{external}, domain: example.org"))).unwrap();
        let page = project.find(&"example.org/v1/Page".parse().unwrap());
        assert_eq!(page.unwrap().unwrap().group.as_str(), "example.org");
        let pod = text("core: true, controller: true").replace("kind: Page", "kind: Pod");
        let project = Project::parse(&pod).unwrap();
        let pod = project.find(&"v1/Pod".parse().unwrap()).unwrap();
        assert_eq!(pod.unwrap().group.as_str(), "core");
        let error = Project::parse(&text(external)).unwrap_err();
        let reason = "`v1/Page` is `external`, so it needs a `group` or a `domain`";
        assert!(format!("{error:#}").ends_with(reason), "{error:#}");
    }

    /// The project with two versions of a kind.
    fn versions(one: Own, other: Own) -> Project {
        let mut project = empty();
        for (version, own) in [("v1", one), ("v2", other)] {
            let definition = Definition::Own(own);
            project.resources.push(Resource {
                definition,
                ..without_controller(api("webapp", version, "Guestbook"))
            });
        }
        project
    }

    /// The lines of `api` of all resources in the text of `PROJECT`.
    fn api_lines(text: &str) -> Vec<&str> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
        lines
            .filter(|line| !line.starts_with("crdVersion") && !line.starts_with("namespaced"))
            .collect()
    }

    #[test]
    fn the_stage_of_each_version_is_written_and_read() {
        let none = Conversion::None;
        let old = |stage, warning: Option<&str>| Own {
            stage,
            deprecation: warning.map_or(Deprecation::Yes, |warning| {
                Deprecation::Warning(warning.parse().unwrap())
            }),
            conversion: none,
            spokes: None,
            types: Types::Example,
        };
        let stored = Own {
            stage: Stage::Stored,
            ..Own::further(none)
        };
        let unserved = Own {
            stage: Stage::Unserved,
            ..Own::further(none)
        };
        let cases: [(_, _, &[&str]); 5] = [
            // The first version, as rscaffold wrote it before it had conversions.
            (
                Own::first(),
                Own::further(Conversion::Missing),
                &["served: false"],
            ),
            (
                stored.clone(),
                unserved,
                &["conversion: none", "conversion: none", "served: false"],
            ),
            (
                Own {
                    conversion: Conversion::Lossy,
                    ..Own::first()
                },
                Own::further(Conversion::Lossy),
                &["conversion: lossy", "storage: true", "conversion: lossy"],
            ),
            (
                old(Stage::Served, Some("use: v2")),
                stored.clone(),
                &[
                    "conversion: none",
                    "deprecated: true",
                    "deprecationWarning: 'use: v2'",
                    "conversion: none",
                    "storage: true",
                ],
            ),
            (
                old(Stage::Stored, None),
                Own::further(none),
                &[
                    "conversion: none",
                    "deprecated: true",
                    "storage: true",
                    "conversion: none",
                ],
            ),
        ];
        for (one, other, expected) in cases {
            let project = versions(one, other);
            let text = project.to_text().unwrap();
            assert_eq!(api_lines(&text), expected);
            assert_eq!(Project::parse(&text).unwrap(), project);
        }
        // The field is also accepted for the only version.
        let said = with(
            "    crdVersion: v1\n    namespaced: true\n",
            "    crdVersion: v1\n    namespaced: true\n    storage: true\n",
        );
        assert_eq!(Project::parse(&said).unwrap(), self::project());
    }

    #[test]
    fn invalid_versions_are_refused() {
        let error = |lines: &str| {
            let api = "    crdVersion: v1\n    namespaced: true\n";
            let error = Project::parse(&with(api, &format!("{api}    {lines}\n"))).unwrap_err();
            format!("{error:#}").split_once(": ").unwrap().1.to_owned()
        };
        let id = "`webapp/v1/Guestbook`";
        for (lines, expected) in [
            (
                "deprecationWarning: use v2",
                format!(
                    "{id} has a `deprecationWarning`, but is not deprecated: add `deprecated: true`"
                ),
            ),
            (
                "served: false\n    storage: true",
                format!("{id} has `storage: true`, so it cannot have `served: false`"),
            ),
            (
                "conversion: webhook",
                "`webhook` must be one of `none`, `lossy`".to_owned(),
            ),
            (
                "conversion: missing",
                "`missing` must be one of `none`, `lossy`".to_owned(),
            ),
            (
                "served: false",
                "no version of `Guestbook` in `webapp.com` is served: at least one must \
                 be"
                .to_owned(),
            ),
        ] {
            assert_eq!(error(lines), expected, "{lines}");
        }
    }

    #[test]
    fn a_project_is_older_than_a_newer_rscaffold() {
        let mut project = project();
        assert!(project.is_older());
        env!("CARGO_PKG_VERSION").clone_into(&mut project.cli_version);
        assert!(!project.is_older());
    }

    /// The text of a resource with these lines about its controllers.
    fn controlled(lines: &str) -> String {
        let (before, _) = TEXT
            .split_once("  controller: true\n  finalizer: true\n")
            .unwrap();
        format!("{before}{lines}  group: webapp\n  kind: Guestbook\n  version: v1\nversion: '3'\n")
    }

    #[test]
    fn one_controller_of_the_kinds_own_name_or_a_list() {
        let list = "\
\x20 controllers:
  - name: guestbook
    owns:
    - v1/ConfigMap
  - fieldManager: shop
    finalizer: true
    finalizerName: example.com/backup
    name: backup
";
        let project = Project::parse(&controlled(list)).unwrap();
        let mut guestbook = with_controller(api("webapp", "v1", "Guestbook"), "backup");
        guestbook.controllers[0].owns = vec!["v1/ConfigMap".parse().unwrap()];
        guestbook.controllers[1].field_manager = Some("shop".parse().unwrap());
        guestbook.controllers[1].finalizer = true;
        guestbook.controllers[1].finalizer_name = Some("example.com/backup".parse().unwrap());
        assert_eq!(project.resources[2], guestbook);
        let text = project.to_text().unwrap();
        assert!(text.contains(list), "{text}");

        let own = controlled("  controllers:\n  - name: guestbook\n");
        assert_eq!(
            Project::parse(&own).unwrap(),
            Project::parse(&controlled("  controller: true\n")).unwrap()
        );
    }

    #[test]
    fn an_external_kind_needs_the_path_of_its_type() {
        let lines = "\
\x20 controller: true
  domain: io
  external: true
  group: cert-manager
  kind: Certificate
  module: cert-manager@0.1
  namespaced: true
  path: cert_manager::v1::Certificate
  plural: certificates
  version: v1
";
        let text = |lines: &str| {
            let (before, _) = TEXT.split_once("- controller: true").unwrap();
            format!("{before}-{}runtime: vendored\nversion: '3'\n", &lines[1..])
        };
        let path = "cert_manager::v1::Certificate";
        let certificate = external("cert-manager", "v1", "Certificate", path);
        let certificate = with_dependency(with_domain(certificate, "io"), "cert-manager@0.1");
        let project = Project::parse(&text(lines)).unwrap();
        assert_eq!(project.resources, [certificate]);
        assert_eq!(project.to_text().unwrap(), text(lines));

        let resource = "`PROJECT` line 20, `resources[0]`";
        let id = "`cert-manager/v1/Certificate`";
        for (from, to, expected) in [
            (
                "  path: cert_manager::v1::Certificate\n",
                "",
                format!("{id} is `external`, so it needs the `path` of its type"),
            ),
            (
                "  external: true\n",
                "",
                format!("{id} is not `external`: it takes no `module`"),
            ),
            (
                "::v1::Certificate",
                "::v1",
                "`cert_manager::v1` is not the path of a Rust type: it must end in the name of the \
                 type, as in `cert_manager::v1::Certificate`"
                    .to_owned(),
            ),
        ] {
            assert_error(
                &text(&lines.replace(from, to)),
                &format!("{resource}: {expected}"),
            );
        }
    }

    #[test]
    fn types_of_an_external_kind_from_a_crd_are_in_the_project() {
        let lines = "\
- controller: true
  domain: io
  external: true
  group: cert-manager
  kind: Certificate
  namespaced: true
  path: guestbook::external::cert_manager::v1::Certificate
  plural: certificates
  types: given
  version: v1
";
        let (before, _) = TEXT.split_once("- controller: true").unwrap();
        let text = |lines: &str| format!("{before}{lines}runtime: vendored\nversion: '3'\n");
        let certificate = Resource {
            definition: Definition::External(External::Given),
            ..with_domain(api("cert-manager", "v1", "Certificate"), "io")
        };
        let project = Project::parse(&text(lines)).unwrap();
        assert_eq!(project.resources, [certificate]);
        assert_eq!(project.to_text().unwrap(), text(lines));
        assert_eq!(
            project.types_file(&project.resources[0]),
            "src/external/cert_manager/v1/certificate.rs"
        );
        // The path is only for readers, so it may be missing or wrong.
        let path = "  path: guestbook::external::cert_manager::v1::Certificate\n";
        for other in ["", "  path: here\n"] {
            let other = Project::parse(&text(&lines.replace(path, other))).unwrap();
            assert_eq!(other, project);
        }
    }

    #[test]
    fn a_kind_is_the_projects_or_built_in_or_external() {
        let error = |fields: &str| {
            let (before, _) = TEXT.split_once("- controller: true").unwrap();
            let entry = format!("- {{{fields}, controller: true, version: v1}}");
            let text = format!("{before}{entry}\nversion: '3'\n");
            let error = Project::parse(&text).unwrap_err().to_string();
            let (place, error) = error.split_once(": ").unwrap();
            assert!(
                place.starts_with("`PROJECT` line 20, `resources[0]"),
                "{place}"
            );
            error.to_owned()
        };
        let api = "api: {crdVersion: v1}";
        let external = "external: true, path: 'a::A', group: apps, kind: Deployment";
        let core = "core: true, group: apps, kind: Deployment";
        let own = "group: apps, kind: Deployment";
        let id = "`apps/v1/Deployment`";
        for (fields, expected) in [
            (
                own.to_owned(),
                format!("{id} has no `api`, and is neither `core` nor `external`"),
            ),
            (
                format!("{external}, {api}"),
                format!("{id} is `external`: it takes no `api`"),
            ),
            (
                format!("{external}, core: true"),
                format!("{id} is `external`: it takes no `core`"),
            ),
            (
                format!("{external}, shortNames: [d]"),
                format!("{id} is `external`: it takes no `shortNames`"),
            ),
            (
                format!("{core}, {api}"),
                format!("{id} is built into Kubernetes: it takes no `api`"),
            ),
            (
                format!("{core}, domain: com"),
                format!("{id} is built into Kubernetes: it takes no `domain`"),
            ),
            (
                format!("{core}, shortNames: [d]"),
                format!("{id} is built into Kubernetes: it takes no `shortNames`"),
            ),
            (
                format!("{core}, plural: deploys"),
                format!("the plural of {id} is `deployments`, not `deploys`"),
            ),
            (
                "core: true, group: apps, kind: Guestbook".to_owned(),
                "`apps/v1/Guestbook` is not a kind that Kubernetes has built in: leave `core` out"
                    .to_owned(),
            ),
            (
                format!("core: true, group: apps, kind: Guestbook, {api}"),
                "`apps/v1/Guestbook` is not a kind that Kubernetes has built in: leave `core` out"
                    .to_owned(),
            ),
            (
                format!("{own}, {api}, module: 'a@1'"),
                format!("{id} is not `external`: it takes no `module`"),
            ),
            (
                format!("{own}, {api}, types: given"),
                format!("{id} is not `external`: it takes no `types`"),
            ),
            (
                format!("{external}, types: given, module: 'a@1'"),
                format!("{id} is `external` with `types: given`: it takes no `module`"),
            ),
            (
                format!("{own}, {api}, namespaced: true"),
                format!("{id} is not `external`: it takes no `namespaced`"),
            ),
            (
                format!("{own}, api: {{crdVersion: v1beta1}}"),
                "`v1beta1` must be one of `v1`".to_owned(),
            ),
        ] {
            assert_eq!(error(&fields), expected, "{fields}");
        }
        assert_error(
            &with("multigroup: true", "multigroup: false"),
            "`PROJECT` line 14, `multigroup`: it must be `true`: each group has its own folder",
        );
    }

    #[test]
    fn settings_of_a_controller_need_a_controller() {
        let error = |lines: &str| {
            let error = Project::parse(&controlled(lines)).unwrap_err().to_string();
            let (_, error) = error.split_once("`resources[2]`: ").unwrap();
            error.to_owned()
        };
        assert_eq!(
            error("  finalizer: true\n"),
            "`webapp/v1/Guestbook` has a finalizer, which needs a controller to remove it"
        );
        assert_eq!(
            error("  image:\n    name: web\n"),
            "`webapp/v1/Guestbook` has the image `web`, which needs a controller to run it"
        );
        assert_eq!(
            error("  owns:\n  - v1/Pod\n"),
            "`webapp/v1/Guestbook` owns `v1/Pod`, which needs a controller to make it"
        );
        assert_eq!(
            error("  fieldManager: shop\n"),
            "`webapp/v1/Guestbook` has the field manager `shop`, which needs a controller"
        );
        for beside in [
            "controller: true",
            "fieldManager: shop",
            "finalizer: true",
            "image: {name: web}",
            "owns: [v1/Pod]",
        ] {
            assert_eq!(
                error(&format!("  controllers:\n  - name: backup\n  {beside}\n")),
                "`webapp/v1/Guestbook` has `controllers`, so remove `controller`, `fieldManager`, \
                 `finalizer`, `finalizerName`, `image`, `owns` and `watches`: each entry of the list \
                 has its own fields, and a `name`"
            );
        }
    }

    #[test]
    fn an_empty_project_has_no_resources() {
        let text = empty().to_text().unwrap();
        assert!(!text.contains("resources"), "{text}");
        assert_eq!(Project::parse(&text).unwrap(), empty());
    }

    #[test]
    fn features_may_be_missing_or_empty() {
        let mut project = empty();
        let text = project.to_text().unwrap();
        let (before, after) = text.split_once("features:\n").unwrap();
        let (_, after) = after.split_once("layout:").unwrap();
        let parse = |features: &str| {
            let text = format!("{before}{features}layout:{after}");
            Project::parse(&text).unwrap()
        };
        project.features = Feature::usual();
        assert_eq!(parse(""), project);
        project.features.clear();
        for none in ["features: []\n", "features:\n"] {
            assert_eq!(parse(none), project);
        }
    }

    #[test]
    fn the_order_of_resources_does_not_matter() {
        let mut shuffled = project();
        shuffled.resources.reverse();
        assert_eq!(shuffled.to_text().unwrap(), TEXT);
        let edited = TEXT
            .replace("group: web-app\n", "group: zoo\n")
            .replace("web_app", "zoo");
        let project = Project::parse(&edited).unwrap();
        let kinds: Vec<_> = project
            .resources
            .iter()
            .map(|resource| resource.kind.as_str())
            .collect();
        assert_eq!(kinds, ["Deployment", "Guestbook", "Shelf"]);
    }

    #[test]
    fn names_that_yaml_takes_for_something_else_stay_texts() {
        for name in ["true", "null", "no", "007", "1e3", "0x1f"] {
            let mut project = empty();
            project.domain = name.parse().unwrap();
            if let Ok(name) = name.parse() {
                project.project_name = name;
            }
            let text = project.to_text().unwrap();
            assert_eq!(Project::parse(&text).unwrap(), project, "{text}");
        }
    }

    #[test]
    fn computed_fields_may_be_missing_or_wrong() {
        let text = with("  plural: shelves\n", "");
        assert_eq!(Project::parse(&text).unwrap(), project());
        let text = with("  - v1/ConfigMap", "  - core/v1/ConfigMap");
        assert_eq!(Project::parse(&text).unwrap(), project());
        let text = with("  path: guestbook::api::webapp::v1\n", "");
        assert_eq!(Project::parse(&text).unwrap(), project());
        let text = with(
            "  path: guestbook::api::webapp::v1\n",
            "  path: elsewhere\n",
        );
        assert_eq!(Project::parse(&text).unwrap(), project());
    }

    #[test]
    fn an_error_about_a_name_has_line_and_field() {
        assert_error(
            &with("kind: Guestbook", "kind: guestbook"),
            "`PROJECT` line 41, `resources[2].kind`: `guestbook` is not a kind: it must begin with \
             an upper-case letter; did you mean `Guestbook`?",
        );
        assert_error(
            &with("  - gb", "  - GB"),
            "`PROJECT` line 48, `resources[2].shortNames[0]`: `GB` is not a short name: `G` is not \
             allowed, only lower-case letters, digits and `-`; did you mean `gb`?",
        );
        assert_error(
            &with("  - v1/ConfigMap", "  - ConfigMap"),
            "`PROJECT` line 44, `resources[2].owns[1]`: `ConfigMap` is not a kind with its group: \
             the form is `<group>/<version>/<Kind>`, or `<version>/<Kind>` for the core group, as \
             in `apps/v1/Deployment`",
        );
        assert_error(
            &with("domain: com", "domain:"),
            "`PROJECT` line 4, `domain`: it has no value",
        );
    }

    #[test]
    fn unknown_missing_and_double_fields() {
        assert_error(
            &with("license: apache2", "licence: apache2"),
            "`PROJECT` line 13, `licence`: unknown field, expected one of `cliVersion`, \
             `deployment`, `domain`, `features`, `layout`, `lease`, `license`, `licenseHeader`, `multigroup`, `namespace`, \
             `namespaced`, `owner`, `projectName`, `repo`, `resources`, `runtime`, `version`, `workspace`",
        );
        assert_error(
            &with("  finalizer: true", "  finaliser: true"),
            "`PROJECT` line 39, `resources[2].finaliser`: unknown field, expected one \
             of `api`, `controller`, `controllers`, `core`, `domain`, `external`, \
             `fieldManager`, `finalizer`, `finalizerName`, `group`, `image`, `kind`, `module`, `namespaced`, `owns`, `path`, \
             `plural`, `shortNames`, `types`, `version`, `watches`, `webhooks`",
        );
        assert_error(
            &with("domain: com\n", ""),
            "`PROJECT`: missing field `domain`",
        );
        assert_error(
            &with("  kind: Guestbook\n", ""),
            "`PROJECT`, `resources[2]`: missing field `kind`",
        );
        assert_error(
            &with("domain: com", "domain: com\ndomain: com"),
            "`PROJECT` line 5, `domain`: this field occurs twice",
        );
    }

    #[test]
    fn values_of_the_wrong_type() {
        assert_error(
            &with("license: apache2", "license: gpl"),
            "`PROJECT` line 13, `license`: `gpl` must be one of `apache2`, `mit`, \
             `none`",
        );
        assert_error(
            &with("multigroup: true", "multigroup: many"),
            "`PROJECT` line 14, `multigroup`: it must be `true` or `false`",
        );
        assert_error(
            &with(
                "- controller: true\n  core: true",
                "- nonsense\n- core: true",
            ),
            "`PROJECT` line 20, `resources[0]`: fields are expected, as in \
             `kind: Guestbook`",
        );
        assert_error(
            "a project",
            "`PROJECT` line 1: fields are expected, as in `kind: Guestbook`",
        );
    }

    #[test]
    fn invalid_yaml_is_refused() {
        assert_error(
            &with("domain: com", "domain: com: org"),
            "`PROJECT` line 4: mapping values are not allowed in this context",
        );
        for text in ["", "\n", "# The desired state of this project\n\n"] {
            assert_error(
                text,
                "`PROJECT` is empty: restore it, for example with `git restore PROJECT`",
            );
        }
    }

    #[test]
    fn a_project_that_contradicts_itself() {
        assert_error(
            &with("- controller: true\n  core: true", "- core: true"),
            "`PROJECT` contradicts itself: `apps/v1/Deployment` has neither an API nor a controller nor a webhook \
             in this project",
        );
    }

    #[test]
    fn projects_of_other_tools_are_refused() {
        let go = "\
domain: testproject.org
layout:
- go.kubebuilder.io/v4
plugins:
  helm.kubebuilder.io/v2-alpha: {}
projectName: guestbook
repo: example.com/guestbook
version: \"3\"
";
        let expected = "`PROJECT` describes a Go project of kubebuilder, but rscaffold is for projects in \
             Rust";
        assert_error(go, expected);
        assert_error(&go.replace("\n- ", " "), expected);
        assert_error("domain: testproject.org\nversion: \"2\"\n", expected);
        assert_error(
            &with("rust.rscaffold/v1", "rust.rscaffold/v2"),
            "`PROJECT` has the layout `rust.rscaffold/v2`, which this rscaffold does not know: it \
             must be `rust.rscaffold/v1`",
        );
        assert_error(
            &with("version: '3'", "version: 4"),
            "`PROJECT` has the version `4`, which this rscaffold does not know: it must be `3`",
        );
        assert_error(
            "version: \"1\"\ndomain: com\n",
            "`PROJECT` has the version `1`, which this rscaffold does not know: it must be `3`",
        );
    }

    #[test]
    fn a_newer_rscaffold_wrote_it() {
        // Even if the file has fields that this version does not know.
        let ours = env!("CARGO_PKG_VERSION");
        assert_error(
            &with("cliVersion: 0.3.0-rc.1", "cliVersion: 99.0.0\nnews: true"),
            &format!(
                "`PROJECT` was written by rscaffold 99.0.0, but this is rscaffold {ours}: install \
                 99.0.0 or newer"
            ),
        );
        assert_error(
            &with("cliVersion: 0.3.0-rc.1", "cliVersion: (devel)"),
            &format!("`cliVersion` in `PROJECT` is `(devel)`: it must look like `{ours}`"),
        );
    }

    #[test]
    fn a_version_that_was_never_published_wrote_it() {
        let ours = env!("CARGO_PKG_VERSION");
        // Even if the file has fields that this version does not know.
        for (theirs, more) in [("0.1.0", ""), ("0.2.9", "\nnews: true")] {
            let line = format!("cliVersion: {theirs}{more}");
            assert_error(
                &with("cliVersion: 0.3.0-rc.1", &line),
                &format!(
                    "`PROJECT` was written by rscaffold {theirs}, but rscaffold {ours} reads \
                     projects of 0.3 or newer"
                ),
            );
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        let newer = [
            ("0.10.0", "0.9.0"),
            ("1.0.0", "0.99.99"),
            ("0.3.10", "0.3.9"),
            ("0.3.0", "0.3.0-rc.1"),
        ];
        for (newer, older) in newer {
            assert!(check_version(older, newer).is_ok(), "{older} by {newer}");
            assert!(check_version(newer, older).is_err(), "{newer} by {older}");
        }
        for same in [("0.3.0", "0.3.0"), ("0.3.0+build", "0.3.0")] {
            assert!(check_version(same.0, same.1).is_ok(), "{same:?}");
        }
        for bad in ["1", "1.2", "1.2.3.4", "v1.2.3", "1.2.x", ""] {
            assert!(check_version(bad, "1.2.3").is_err(), "{bad}");
        }
    }
}
