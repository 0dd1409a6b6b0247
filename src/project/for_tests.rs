//! Resources and projects for tests.

use super::{
    builtin,
    controller::Controller,
    definition::{ConversionStrategy, Definition, Deprecation, External, Own, Stage, Types},
    feature::Feature,
    model::Project,
    resource::Resource,
    runtime::Runtime,
};
use crate::names::{Group, GroupVersionKind};

/// A new project, as `init --enable devcontainer` creates it.
pub fn empty() -> Project {
    let [domain, name, repo] = ["com", "guestbook", "guestbook"];
    let (domain, name, repo) = (domain.parse(), name.parse(), repo.parse());
    Project {
        cli_version: "0.3.0-rc.1".to_owned(),
        features: Feature::usual()
            .into_iter()
            .chain([Feature::Devcontainer])
            .collect(),
        runtime: Runtime::Vendored,
        ..Project::new(domain.unwrap(), name.unwrap(), repo.unwrap())
    }
}

/// The error of a project that has these resources.
#[track_caller]
pub fn error(resources: impl IntoIterator<Item = Resource>) -> String {
    error_in(empty(), resources)
}

#[track_caller]
pub fn error_in(mut project: Project, resources: impl IntoIterator<Item = Resource>) -> String {
    project.resources.extend(resources);
    project.validate().unwrap_err().to_string()
}

/// A namespaced kind with a controller.
pub fn api(group: &str, version: &str, kind: &str) -> Resource {
    let id: GroupVersionKind = format!("{group}/{version}/{kind}").parse().unwrap();
    Resource {
        controllers: vec![Controller::new(id.kind().controller())],
        ..Resource::new(id.group().clone(), &id, Definition::Own(Own::first()))
    }
}

/// A built-in kind with a controller.
pub fn core(group: &str, version: &str, kind: &str) -> Resource {
    let builtin = builtin::find(group, version, kind).unwrap();
    Resource {
        group: group.parse().unwrap(),
        controllers: api(group, version, kind).controllers,
        ..Resource::builtin(builtin).unwrap()
    }
}

/// A kind of another project with a controller, in a group without a domain.
pub fn external(group: &str, version: &str, kind: &str, path: &str) -> Resource {
    Resource {
        definition: Definition::External(External::At {
            dependency: None,
            path: path.parse().unwrap(),
        }),
        ..api(group, version, kind)
    }
}

/// The same kind without a group: its group is the project's domain.
pub fn in_domain(resource: Resource) -> Resource {
    Resource {
        group: Group::none(),
        ..resource
    }
}

pub fn with_domain(mut resource: Resource, domain: &str) -> Resource {
    assert!(!resource.is_builtin(), "{resource} has no domain");
    resource.domain = Some(domain.parse().unwrap());
    resource
}

pub fn without_controller(resource: Resource) -> Resource {
    Resource {
        controllers: Vec::new(),
        ..resource
    }
}

pub fn with_controller(mut resource: Resource, name: &str) -> Resource {
    resource.set_controller(Controller::new(name.parse().unwrap()));
    resource
}

/// A further version of a kind. It is not served, so it has no controller.
pub fn unserved(resource: Resource) -> Resource {
    assert!(resource.has_api());
    Resource {
        definition: Definition::Own(Own::further(ConversionStrategy::Missing)),
        ..without_controller(resource)
    }
}

/// A version of a kind at this stage, with this conversion.
pub fn at_stage(resource: Resource, stage: Stage, conversion: ConversionStrategy) -> Resource {
    assert!(resource.has_api());
    let deprecation = Deprecation::No;
    let own = Own {
        stage,
        deprecation,
        conversion,
        spokes: None,
        types: Types::Example,
    };
    Resource {
        definition: Definition::Own(own),
        ..resource
    }
}

pub fn cluster(mut resource: Resource) -> Resource {
    resource.namespaced = false;
    resource
}

pub fn with_short_name(mut resource: Resource, name: &str) -> Resource {
    resource.short_names.push(name.parse().unwrap());
    resource
}

pub fn with_plural(mut resource: Resource, plural: &str) -> Resource {
    resource.plural = plural.parse().unwrap();
    resource
}

pub fn with_dependency(mut resource: Resource, dependency: &str) -> Resource {
    let Definition::External(External::At {
        dependency: there, ..
    }) = &mut resource.definition
    else {
        panic!("{resource} is not of others");
    };
    *there = Some(dependency.parse().unwrap());
    resource
}

/// The text of the project that [`written`] returns.
pub const TEXT: &str = "\
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

/// The project of [`TEXT`].
pub fn written() -> Project {
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
pub fn assert_error(text: &str, expected: &str) {
    let error = Project::parse(text).unwrap_err();
    assert_eq!(format!("{error:#}"), expected);
}

/// [`TEXT`], with the line `line` replaced by `by`.
pub fn with(line: &str, by: &str) -> String {
    assert_eq!(TEXT.matches(line).count(), 1, "{line}");
    TEXT.replace(line, by)
}
