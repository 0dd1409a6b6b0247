//! A resource as an entry of the `PROJECT` file.

use std::{collections::BTreeSet, mem::take, ops::Not};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{
    builtin,
    controller::Controller,
    definition::{ConversionStrategy, Definition, Deprecation, External, Own, Stage, Types},
    image::Image,
    model::Project,
    resource::Resource,
    webhook::{Admission, Webhook, Webhooks},
};
use crate::{
    names::{
        Dependency, Domain, FieldManager, FinalizerName, Group, GroupVersionKind, Kind, Plural,
        ShortName, Version, Warning, WebhookPath,
    },
    yaml,
};

/// A resource as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
pub(super) struct ResourceEntry {
    api: Option<ApiEntry>,
    /// Whether the kind has exactly one controller, its own, which was created with the example types. The fields of
    /// [`Controller`] belong to it.
    #[serde(default, skip_serializing_if = "Not::not")]
    controller: bool,
    /// All controllers, if there are others than that one.
    #[serde(default, deserialize_with = "yaml::list")]
    controllers: Vec<Controller>,
    #[serde(default, skip_serializing_if = "Not::not")]
    core: bool,
    domain: Option<Domain>,
    /// Whether another project defines the kind. `module`, `namespaced` and `path` belong to it.
    #[serde(default, skip_serializing_if = "Not::not")]
    external: bool,
    field_manager: Option<FieldManager>,
    #[serde(default, skip_serializing_if = "Not::not")]
    finalizer: bool,
    finalizer_name: Option<FinalizerName>,
    /// Left out if the domain is the whole group, as in kubebuilder.
    #[serde(default = "Group::none", skip_serializing_if = "Group::is_empty")]
    group: Group,
    image: Option<Image>,
    kind: Kind,
    module: Option<Dependency>,
    #[serde(default, skip_serializing_if = "Not::not")]
    namespaced: bool,
    #[serde(default, deserialize_with = "yaml::list")]
    owns: Vec<GroupVersionKind>,
    /// The Rust type of an `external` kind whose types are not made from a CRD. For other kinds, rscaffold computes the
    /// path, and ignores the value that it reads.
    path: Option<String>,
    /// May be left out if it is the default, as in kubebuilder.
    plural: Option<Plural>,
    #[serde(default, deserialize_with = "yaml::list")]
    short_names: Vec<ShortName>,
    /// Used for an `external` kind.
    #[serde(default, skip_serializing_if = "Types::is_example")]
    types: Types,
    version: Version,
    #[serde(default, deserialize_with = "yaml::list")]
    watches: Vec<GroupVersionKind>,
    webhooks: Option<WebhooksEntry>,
}

impl<'de> Deserialize<'de> for Resource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = ResourceEntry::deserialize(deserializer)?;
        entry.resource().map_err(D::Error::custom)
    }
}

impl ResourceEntry {
    /// The entry of `resource` in `project`.
    pub fn new(project: &Project, resource: &Resource) -> Self {
        let (only, controllers) = match resource.controllers.as_slice() {
            [only] if resource.is_own(only) && only.types.is_example() => (Some(only), Vec::new()),
            controllers => (None, controllers.to_vec()),
        };
        let own = match only {
            Some(only) => only.clone(),
            None => Controller::new(resource.kind.controller()),
        };
        let external = resource.external();
        // In the file, a path of the project begins with the name of the crate.
        let type_path = project.type_path(resource);
        let path = type_path.replacen("crate", &project.repo.crate_name().ident(), 1);
        Self {
            api: (resource.own()).map(|own| ApiEntry::new(project, resource, own)),
            controller: only.is_some(),
            controllers,
            core: resource.is_builtin(),
            domain: resource.domain.clone(),
            external: external.is_some(),
            field_manager: own.field_manager,
            finalizer: own.finalizer,
            finalizer_name: own.finalizer_name,
            group: resource.group.clone(),
            image: own.image,
            kind: resource.kind.clone(),
            module: resource.dependency().cloned(),
            namespaced: external.is_some() && resource.namespaced,
            owns: own.owns,
            path: match external {
                Some(External::At { .. }) => Some(type_path),
                Some(External::Given) => Some(path),
                None => path.rsplit_once("::").map(|(module, _)| module.to_owned()),
            },
            plural: Some(resource.plural.clone()),
            short_names: resource.short_names.clone(),
            types: match external {
                Some(External::Given) => Types::Given,
                Some(External::At { .. }) | None => Types::Example,
            },
            version: resource.version.clone(),
            watches: own.watches,
            webhooks: WebhooksEntry::new(&resource.webhooks, resource.spokes()),
        }
    }

    /// The kind of the entry, with the group as the file has it.
    pub fn id(&self) -> GroupVersionKind {
        let (group, version) = (self.group.clone(), self.version.clone());
        GroupVersionKind::new(group, version, self.kind.clone())
    }

    fn resource(mut self) -> Result<Resource> {
        let id = self.id();
        let builtin = builtin::named(&id).filter(|_| self.core);
        ensure!(
            builtin.is_some() || self.external || !self.core,
            "`{id}` is not a kind that Kubernetes has built in: leave `core` out"
        );
        self.check_fields(&id)?;
        let (group, domain) = self.group_of(&id)?;
        let usual_plural = match &builtin {
            Some(builtin) => builtin.plural.parse()?,
            None => self.kind.plural(),
        };
        let plural = (self.plural.take()).unwrap_or_else(|| usual_plural.clone());
        ensure!(
            builtin.is_none() || plural == usual_plural,
            "the plural of `{id}` is `{usual_plural}`, not `{plural}`"
        );
        let (webhooks, spokes) = match self.webhooks.take() {
            Some(webhooks) => (webhooks.read()).map_err(|error| anyhow!("`{id}`: {error}"))?,
            None => (Webhooks::default(), None),
        };
        let (definition, namespaced) = match builtin {
            Some(builtin) => (Definition::Builtin(builtin), builtin.namespaced),
            None => self.definition_of(&id, spokes)?,
        };
        let mut resource = Resource {
            group,
            version: id.version().clone(),
            kind: id.kind().clone(),
            domain,
            namespaced,
            plural,
            short_names: take(&mut self.short_names),
            definition,
            controllers: take(&mut self.controllers),
            webhooks,
        };
        self.add_controller(&mut resource)?;
        Ok(resource)
    }

    /// The group of the kind `id`, and its domain if that is not the domain of the project.
    fn group_of(&self, id: &GroupVersionKind) -> Result<(Group, Option<Domain>)> {
        match &self.domain {
            // `domain` alone is the whole group.
            Some(domain) if self.external && self.group.is_empty() => {
                Ok((domain.as_str().parse()?, None))
            }
            None if self.external && self.group.is_empty() => {
                bail!("`{id}` is `external`, so it needs a `group` or a `domain`")
            }
            None if self.core && self.group.is_empty() => Ok((Group::core(), None)),
            domain => Ok((self.group.clone(), domain.clone())),
        }
    }

    /// Who defines the kind `id`, which is not built in, and whether its objects live in namespaces.
    fn definition_of(
        &mut self,
        id: &GroupVersionKind,
        spokes: Option<BTreeSet<Version>>,
    ) -> Result<(Definition, bool)> {
        if self.types == Types::Given {
            return Ok((Definition::External(External::Given), self.namespaced));
        }
        if self.external {
            let path = (self.path.take()).with_context(|| {
                format!("`{id}` is `external`, so it needs the `path` of its type")
            })?;
            let external = External::At {
                dependency: self.module.take(),
                path: path.parse()?,
            };
            return Ok((Definition::External(external), self.namespaced));
        }
        let api = (self.api.take()).with_context(|| {
            format!("`{id}` has no `api`, and is neither `core` nor `external`")
        })?;
        let namespaced = api.namespaced;
        Ok((Definition::Own(api.own(id, spokes)?), namespaced))
    }

    /// Adds the controller of [`Self::controller`] to `resource`, or checks that the entry has no fields of it.
    fn add_controller(self, resource: &mut Resource) -> Result<()> {
        let own = Controller {
            field_manager: self.field_manager,
            finalizer: self.finalizer,
            finalizer_name: self.finalizer_name,
            image: self.image,
            name: resource.kind.controller(),
            owns: self.owns,
            types: Types::Example,
            watches: self.watches,
        };
        if resource.controllers.is_empty() && self.controller {
            resource.controllers.push(own);
        } else if resource.controllers.is_empty() {
            resource.without_controller(&own)?;
        } else {
            ensure!(
                !self.controller && own == Controller::new(resource.kind.controller()),
                "{resource} has `controllers`, so remove `controller`, `fieldManager`, `finalizer`, \
                 `finalizerName`, `image`, `owns` and `watches`: each entry of the list has its own \
                 fields, and a `name`"
            );
        }
        Ok(())
    }

    /// Checks that the entry of the kind `id` has only fields for who defines the kind.
    fn check_fields(&self, id: &GroupVersionKind) -> Result<()> {
        let (what, fields): (_, &[&str]) = match (self.external, self.core) {
            (true, _) if self.types == Types::Given => (
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
        for (field, is_set) in [
            ("api", self.api.is_some()),
            (
                "conversion",
                (self.webhooks.as_ref()).is_some_and(|webhooks| webhooks.conversion),
            ),
            ("core", self.core),
            ("domain", self.domain.is_some()),
            ("module", self.module.is_some()),
            ("namespaced", self.namespaced),
            ("shortNames", !self.short_names.is_empty()),
            ("types", self.types == Types::Given),
        ] {
            ensure!(
                !is_set || fields.contains(&field),
                "`{id}` is {what}: it takes no `{field}`"
            );
        }
        Ok(())
    }
}

/// The `api` of a resource in the file: a kind that the project defines.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
struct ApiEntry {
    #[serde(default, skip_serializing_if = "ConversionStrategy::is_missing")]
    conversion: ConversionStrategy,
    crd_version: FormatVersion,
    #[serde(default, skip_serializing_if = "Not::not")]
    deprecated: bool,
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
    fn new(project: &Project, resource: &Resource, own: &Own) -> Self {
        Self {
            conversion: own.conversion,
            crd_version: FormatVersion::V1,
            deprecated: own.deprecation != Deprecation::No,
            deprecation_warning: match &own.deprecation {
                Deprecation::Warning(warning) => Some(warning.clone()),
                Deprecation::No | Deprecation::Yes => None,
            },
            namespaced: resource.namespaced,
            served: own.stage != Stage::Unserved,
            // If one version is served, it is the stored one, so the field is not needed.
            storage: own.stage == Stage::Stored && project.served_versions(resource).count() != 1,
            types: own.types,
        }
    }

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

/// The `webhooks` of a resource in the file.
// The fields are in the order of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WebhooksEntry {
    /// Whether this version is the hub of its kind.
    #[serde(default, skip_serializing_if = "Not::not")]
    conversion: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    defaulting: bool,
    defaulting_path: Option<WebhookPath>,
    /// The versions that are converted to the hub and back.
    #[serde(default)]
    spoke: BTreeSet<Version>,
    #[serde(default, skip_serializing_if = "Not::not")]
    validation: bool,
    validation_path: Option<WebhookPath>,
    webhook_version: FormatVersion,
}

impl WebhooksEntry {
    /// The `webhooks` of the file, from webhooks and spokes; `None` if there are neither.
    fn new(webhooks: &Webhooks, spokes: Option<&BTreeSet<Version>>) -> Option<Self> {
        (!webhooks.is_empty() || spokes.is_some()).then(|| Self {
            conversion: spokes.is_some(),
            defaulting: webhooks.defaulting.is_some(),
            defaulting_path: webhooks.path(Admission::Defaulting).cloned(),
            spoke: spokes.cloned().unwrap_or_default(),
            validation: webhooks.validation.is_some(),
            validation_path: webhooks.path(Admission::Validation).cloned(),
            webhook_version: FormatVersion::V1,
        })
    }

    /// The webhooks of a version, and its spokes if it is the hub of its kind.
    fn read(self) -> Result<(Webhooks, Option<BTreeSet<Version>>)> {
        let webhooks = Webhooks {
            defaulting: read_webhook(self.defaulting, self.defaulting_path, "defaulting")?,
            validation: read_webhook(self.validation, self.validation_path, "validation")?,
        };
        ensure!(
            self.conversion || self.spoke.is_empty(),
            "`spoke` lists the versions that a webhook converts to this one and back: add \
             `conversion: true`"
        );
        ensure!(
            !self.conversion || !self.spoke.is_empty(),
            "`conversion: true` needs `spoke`, the list of the versions to convert to this one and \
             back"
        );
        ensure!(
            self.conversion || !webhooks.is_empty(),
            "`webhooks` has neither `conversion` nor `defaulting` nor `validation`: leave it out"
        );
        Ok((webhooks, self.conversion.then_some(self.spoke)))
    }
}

fn read_webhook(is_there: bool, path: Option<WebhookPath>, name: &str) -> Result<Option<Webhook>> {
    ensure!(
        is_there || path.is_none(),
        "`{name}Path` is the path of the webhook `{name}`, which is missing: add `{name}: true`"
    );
    Ok(is_there.then_some(Webhook { path }))
}

/// The version of the format of CRDs and webhooks.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FormatVersion {
    V1,
}

/// The default of the field `served`.
fn served() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::{
        super::for_tests::{
            TEXT, api, assert_error, empty, external, with, with_controller, with_dependency,
            with_domain, without_controller, written,
        },
        *,
    };

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
        let none = ConversionStrategy::None;
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
                Own::further(ConversionStrategy::Missing),
                &["served: false"],
            ),
            (
                stored.clone(),
                unserved,
                &["conversion: none", "conversion: none", "served: false"],
            ),
            (
                Own {
                    conversion: ConversionStrategy::Lossy,
                    ..Own::first()
                },
                Own::further(ConversionStrategy::Lossy),
                &["conversion: lossy", "storage: true", "conversion: lossy"],
            ),
            (
                Own {
                    deprecation: "use: v2".parse().unwrap(),
                    ..Own::further(none)
                },
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
                Own {
                    deprecation: Deprecation::Yes,
                    ..stored.clone()
                },
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
        assert_eq!(Project::parse(&said).unwrap(), written());
    }

    /// The error of `api` with these lines.
    fn error_of_api(lines: &str) -> String {
        let api = "    crdVersion: v1\n    namespaced: true\n";
        let error = Project::parse(&with(api, &format!("{api}    {lines}\n"))).unwrap_err();
        format!("{error:#}").split_once(": ").unwrap().1.to_owned()
    }

    #[test]
    fn invalid_versions_are_refused() {
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
            assert_eq!(error_of_api(lines), expected, "{lines}");
        }
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

    /// The text of a project that has only this entry of `resources`.
    fn with_entry(lines: &str) -> String {
        let (before, _) = TEXT.split_once("- controller: true").unwrap();
        format!("{before}{lines}runtime: vendored\nversion: '3'\n")
    }

    #[test]
    fn an_external_kind_needs_the_path_of_its_type() {
        let lines = "\
- controller: true
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
        let path = "cert_manager::v1::Certificate";
        let certificate = external("cert-manager", "v1", "Certificate", path);
        let certificate = with_dependency(with_domain(certificate, "io"), "cert-manager@0.1");
        let project = Project::parse(&with_entry(lines)).unwrap();
        assert_eq!(*project.resources, [certificate]);
        assert_eq!(project.to_text().unwrap(), with_entry(lines));

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
                &with_entry(&lines.replace(from, to)),
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
        let certificate = Resource {
            definition: Definition::External(External::Given),
            ..with_domain(api("cert-manager", "v1", "Certificate"), "io")
        };
        let project = Project::parse(&with_entry(lines)).unwrap();
        assert_eq!(*project.resources, [certificate]);
        assert_eq!(project.to_text().unwrap(), with_entry(lines));
        assert_eq!(
            project.types_file(&project.resources[0]),
            "src/external/cert_manager/v1/certificate.rs"
        );
        // The path is only for readers, so it may be missing or wrong.
        let path = "  path: guestbook::external::cert_manager::v1::Certificate\n";
        for other in ["", "  path: here\n"] {
            let other = Project::parse(&with_entry(&lines.replace(path, other))).unwrap();
            assert_eq!(other, project);
        }
    }

    /// The error of an entry with these fields.
    fn error_of_entry(fields: &str) -> String {
        let entry = format!("- {{{fields}, controller: true, version: v1}}\n");
        let error = Project::parse(&with_entry(&entry)).unwrap_err().to_string();
        let (place, error) = error.split_once(": ").unwrap();
        assert!(
            place.starts_with("`PROJECT` line 20, `resources[0]"),
            "{place}"
        );
        error.to_owned()
    }

    #[test]
    fn a_kind_is_the_projects_or_built_in_or_external() {
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
                "it must be `v1`".to_owned(),
            ),
        ] {
            assert_eq!(error_of_entry(&fields), expected, "{fields}");
        }
        assert_error(
            &with("multigroup: true", "multigroup: false"),
            "`PROJECT` line 14, `multigroup`: it must be `true`: each group has its own folder",
        );
    }

    /// The error of a resource with these lines about its controllers.
    fn error_of_controllers(lines: &str) -> String {
        let error = Project::parse(&controlled(lines)).unwrap_err().to_string();
        let (_, error) = error.split_once("`resources[2]`: ").unwrap();
        error.to_owned()
    }

    #[test]
    fn settings_of_a_controller_need_a_controller() {
        assert_eq!(
            error_of_controllers("  finalizer: true\n"),
            "`webapp/v1/Guestbook` has no controller, so it cannot have a finalizer"
        );
        assert_eq!(
            error_of_controllers("  image:\n    name: web\n"),
            "`webapp/v1/Guestbook` has no controller, so it cannot run the image `web`"
        );
        assert_eq!(
            error_of_controllers("  owns:\n  - v1/Pod\n"),
            "`webapp/v1/Guestbook` has no controller, so it cannot own `v1/Pod`"
        );
        assert_eq!(
            error_of_controllers("  fieldManager: shop\n"),
            "`webapp/v1/Guestbook` has no controller, so it cannot have the field manager `shop`"
        );
        for beside in [
            "controller: true",
            "fieldManager: shop",
            "finalizer: true",
            "image: {name: web}",
            "owns: [v1/Pod]",
        ] {
            assert_eq!(
                error_of_controllers(&format!("  controllers:\n  - name: backup\n  {beside}\n")),
                "`webapp/v1/Guestbook` has `controllers`, so remove `controller`, `fieldManager`, \
                 `finalizer`, `finalizerName`, `image`, `owns` and `watches`: each entry of the list \
                 has its own fields, and a `name`"
            );
        }
    }
}
