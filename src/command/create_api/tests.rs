use anyhow::Context as _;
use proptest::prelude::*;

use super::{
    arguments::{ApiSettings, ControllerSettings, NamedKind},
    resource::own,
    *,
};
use crate::{
    cases::cases,
    command::external::ExternalType,
    from_crd,
    names::{Group, GroupVersionKind, ShortName},
    project::{
        Controller, ConversionStrategy, Definition, External, License, Own, Stage, Webhooks,
    },
};

fn id(text: &str) -> GroupVersionKind {
    text.parse().unwrap()
}

fn project(resources: Vec<Resource>) -> Project {
    let (domain, name) = ("com".parse().unwrap(), "guestbook".parse().unwrap());
    Project {
        cli_version: "0.3.0-rc.1".to_owned(),
        license: License::None,
        resources: resources.into(),
        ..Project::new(domain, name, "guestbook".parse().unwrap())
    }
}

fn names(names: &[&str]) -> Vec<ShortName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

/// A kind whose settings all differ from their defaults.
fn unusual() -> Resource {
    let settings = ApiSettings {
        plural: Some("guestbookz".parse().unwrap()),
        short_names: Some(names(&["gb"])),
        resource: None,
        controller: Some(false),
        namespaced: Some(false),
        ..ApiSettings::default()
    };
    let id = id("webapp/v1/Guestbook");
    settings.resource(&id, &project(Vec::new())).unwrap()
}

#[test]
fn a_new_kind_is_namespaced_and_has_a_controller() {
    let id = id("webapp/v1/Guestbook");
    let resource = ApiSettings::default()
        .resource(&id, &project(Vec::new()))
        .unwrap();

    let expected = Resource {
        group: "webapp".parse().unwrap(),
        version: "v1".parse().unwrap(),
        kind: "Guestbook".parse().unwrap(),
        domain: None,
        namespaced: true,
        plural: "guestbooks".parse().unwrap(),
        short_names: Vec::new(),
        definition: Definition::Own(Own::first()),
        controllers: vec![Controller::new("guestbook".parse().unwrap())],
        webhooks: Webhooks::default(),
    };
    assert_eq!(resource, expected);
}

#[test]
fn a_controller_that_loses_its_finalizer_loses_the_name_of_it() {
    let id = id("webapp/v1/Guestbook");
    let mut before = ApiSettings::default()
        .resource(&id, &project(Vec::new()))
        .unwrap();
    before.controllers[0].field_manager = Some("shop".parse().unwrap());
    before.controllers[0].finalizer = true;
    before.controllers[0].finalizer_name = Some("example.com/guard".parse().unwrap());
    let project = project(vec![before.clone()]);
    let same = ApiSettings::default().resource(&id, &project).unwrap();
    assert_eq!(same, before);

    let settings = ApiSettings {
        of_controller: ControllerSettings {
            finalizer: Some(false),
            ..ControllerSettings::default()
        },
        ..ApiSettings::default()
    };
    let after = settings.resource(&id, &project).unwrap();
    assert_eq!(after.controllers[0].finalizer_name, None);
    assert_eq!(
        after.controllers[0].field_manager,
        before.controllers[0].field_manager
    );
}

#[test]
fn a_kind_is_found_by_its_name_if_no_other_has_that_name() {
    let mut v1 = unusual();
    v1.plural = "guestbooks".parse().unwrap();
    let project = project(vec![v1]);
    for (name, found) in [
        ("apps/v1/Deployment", "apps/v1/Deployment"),
        ("Deployment", "apps/v1/Deployment"),
        ("deployments", "apps/v1/Deployment"),
        ("ConfigMap", "v1/ConfigMap"),
        ("configmap", "v1/ConfigMap"),
        (
            "HorizontalPodAutoscaler",
            "autoscaling/v2/HorizontalPodAutoscaler",
        ),
        ("Guestbook", "webapp/v1/Guestbook"),
        ("guestbooks", "webapp/v1/Guestbook"),
        ("apps/Deployment", "apps/v1/Deployment"),
        ("apps/v1/deployments", "apps/v1/Deployment"),
        ("deployments.apps", "apps/v1/Deployment"),
        ("core/pods", "v1/Pod"),
        ("v1/pods", "v1/Pod"),
        ("events.events.k8s.io", "events.k8s.io/v1/Event"),
        ("networking/v1/ingresses", "networking.k8s.io/v1/Ingress"),
        ("webapp.com/guestbook", "webapp/v1/Guestbook"),
        ("apps/v2/deployments", "apps/v2/deployments"),
    ] {
        let kind: NamedKind = name.parse().unwrap();
        assert_eq!(kind.find(&project).unwrap(), id(found), "{name}");
    }
    for (name, expected) in [
        (
            "Event",
            "`Event` is the name of several kinds: `v1/Event`, `events.k8s.io/v1/Event`",
        ),
        (
            "Poem",
            "neither this project nor Kubernetes has a kind `Poem`; this project has `webapp/v1/Guestbook`",
        ),
        (
            "apps.k8s.io/Deployment",
            "neither this project nor Kubernetes has a kind `apps.k8s.io/Deployment`; there is `apps/v1/Deployment`",
        ),
    ] {
        let kind: NamedKind = name.parse().unwrap();
        assert_eq!(kind.find(&project).unwrap_err().to_string(), expected);
    }
    assert!("".parse::<NamedKind>().is_err());
    assert!("a-b".parse::<NamedKind>().is_err());
}

#[test]
fn settings_without_a_flag_stay_unchanged() {
    let project = project(vec![unusual()]);
    let id = id("webapp/v1/Guestbook");
    let same = ApiSettings::default().resource(&id, &project).unwrap();
    let settings = ApiSettings {
        namespaced: Some(true),
        ..ApiSettings::default()
    };
    let changed = settings.resource(&id, &project).unwrap();

    assert_eq!(same, unusual());
    let mut expected = unusual();
    expected.namespaced = true;
    assert_eq!(changed, expected);
}

#[test]
fn a_new_version_copies_names_and_scope_but_no_controller() {
    let project = project(vec![unusual()]);
    let id = id("webapp/v2/Guestbook");
    let resource = ApiSettings::default().resource(&id, &project).unwrap();

    let expected = Resource {
        version: id.version().clone(),
        // There is no conversion.
        definition: Definition::Own(Own::further(ConversionStrategy::Missing)),
        controllers: Vec::new(),
        ..unusual()
    };
    assert_eq!(resource, expected);
}

#[test]
fn flags_set_the_stage_of_a_version() {
    let project = project(vec![unusual()]);
    let stage = |version: &str, settings: ApiSettings| {
        let id = id(&format!("webapp/{version}/Guestbook"));
        let resource = settings.resource(&id, &project)?;
        Ok::<_, anyhow::Error>(resource.own().unwrap().stage)
    };
    let none = || ApiSettings {
        conversion: Some(ConversionStrategy::None),
        ..ApiSettings::default()
    };
    let served = |is_served, settings| ApiSettings {
        served: Some(is_served),
        ..settings
    };
    let stored = |settings| ApiSettings {
        storage: true,
        ..settings
    };
    for (version, settings, expected) in [
        ("v1", none(), Stage::Stored),
        ("v1", served(true, none()), Stage::Stored),
        ("v2", none(), Stage::Served),
        ("v2", served(false, none()), Stage::Unserved),
        ("v2", served(true, ApiSettings::default()), Stage::Served),
        ("v2", stored(none()), Stage::Stored),
        ("v2", stored(ApiSettings::default()), Stage::Stored),
    ] {
        assert_eq!(stage(version, settings).unwrap(), expected);
    }
    for (version, settings) in [
        ("v1", served(false, none())),
        ("v2", served(false, stored(none()))),
    ] {
        assert_eq!(
            stage(version, settings).unwrap_err().to_string(),
            format!("`webapp/{version}/Guestbook` is the stored version, so it must be served")
        );
    }
    // The stored version has the controllers, and flags can change them in the same command.
    let settings = ApiSettings {
        of_controller: ControllerSettings {
            finalizer: Some(true),
            ..ControllerSettings::default()
        },
        ..stored(none())
    };
    let mut v1 = unusual();
    v1.set_controller(Controller::new("guestbook".parse().unwrap()));
    let project = self::project(vec![v1]);
    let v2 = settings
        .resource(&id("webapp/v2/Guestbook"), &project)
        .unwrap();
    assert!(v2.controllers[0].finalizer);
}

#[test]
fn without_a_resource_the_kind_must_exist() {
    let project = project(vec![unusual()]);
    let settings = ApiSettings {
        resource: Some(false),
        ..ApiSettings::default()
    };

    let own = settings
        .resource(&id("webapp/v1/Guestbook"), &project)
        .unwrap();
    assert_eq!(
        own,
        Resource {
            controllers: vec![Controller::new("guestbook".parse().unwrap())],
            ..unusual()
        }
    );

    let builtin = settings
        .resource(&id("apps/v1/Deployment"), &project)
        .unwrap();
    assert!(builtin.is_builtin() && builtin.controllers.len() == 1);
    assert_eq!(builtin.plural.as_str(), "deployments");

    let unknown = settings.resource(&id("webapp/v1/Guest"), &project);
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "neither this project nor Kubernetes has the kind `webapp/v1/Guest`; this project has `webapp/v1/Guestbook`"
    );
}

#[test]
fn a_named_controller_is_added_to_the_others() {
    let project = project(vec![unusual()]);
    let id = id("webapp/v1/Guestbook");
    let named = |name: &str| ApiSettings {
        of_controller: ControllerSettings {
            controller_name: Some(name.parse().unwrap()),
            finalizer: Some(true),
            ..ControllerSettings::default()
        },
        ..ApiSettings::default()
    };
    let backup = Controller {
        finalizer: true,
        ..Controller::new("backup".parse().unwrap())
    };
    let resource = named("backup").resource(&id, &project).unwrap();
    assert_eq!(resource.controllers, [backup]);
    // The default name of the kind's controller.
    let own = named("guestbook").resource(&id, &project).unwrap();
    assert!(own.is_own(&own.controllers[0]));

    let mut without = named("backup");
    without.controller = Some(false);
    assert_eq!(
        without.resource(&id, &project).unwrap_err().to_string(),
        "`webapp/v1/Guestbook` has no controller, so it cannot have a finalizer"
    );
}

#[test]
fn an_external_kind_keeps_settings_without_a_flag() {
    let external = |domain: Option<&str>, dependency: Option<&str>| ExternalType {
        path: "cert_manager::v1::Certificate".parse().unwrap(),
        domain: domain.map(|domain| domain.parse().unwrap()),
        dependency: dependency.map(|dependency| dependency.parse().unwrap()),
    };
    let settings = ApiSettings {
        plural: Some("certs".parse().unwrap()),
        namespaced: Some(false),
        of_controller: ControllerSettings {
            controller_name: Some("renew".parse().unwrap()),
            ..ControllerSettings::default()
        },
        external: Some(external(Some("io"), Some("cert-manager@0.1"))),
        ..ApiSettings::default()
    };
    let id = id("cert-manager/v1/Certificate");
    let there = settings.resource(&id, &project(Vec::new())).unwrap();
    assert!(!there.namespaced);
    assert_eq!(there.plural.as_str(), "certs");
    assert_eq!(there.controllers[0].name.as_str(), "renew");

    let project = project(vec![there.clone()]);
    let in_full = "cert-manager.io/v1/Certificate".parse().unwrap();
    for (id, external) in [
        (&id, None),
        (&in_full, None),
        (&id, Some(external(Some("io"), None))),
        (&in_full, Some(external(None, None))),
    ] {
        let settings = ApiSettings {
            external,
            ..ApiSettings::default()
        };
        assert_eq!(settings.resource(id, &project).unwrap(), there, "{id}");
    }
}

#[test]
fn without_a_resource_flags_about_the_kind_are_refused() {
    let settings = ApiSettings {
        resource: Some(false),
        plural: Some("deploys".parse().unwrap()),
        ..ApiSettings::default()
    };
    let refused = settings.resource(&id("apps/v1/Deployment"), &project(Vec::new()));

    assert!(refused.unwrap_err().to_string().starts_with("`--plural`"));
}

// A name of a kind means the same to every command.

/// A project that has a kind of each sort, and `crew/v1/Captain`, which can own them.
const KINDS: &str = "\
cliVersion: 0.3.0-rc.1
domain: com
layout: [rust.rscaffold/v1]
license: none
multigroup: true
projectName: guestbook
repo: guestbook
resources:
- {api: {crdVersion: v1, namespaced: true}, controller: true, group: crew, kind: Captain, version: v1}
- {api: {crdVersion: v1, namespaced: true}, controller: true, group: webapp, kind: Guestbook, version: v1}
- {api: {crdVersion: v1, namespaced: true}, controller: true, group: library, domain: example.org,
  kind: Shelf, version: v1}
- {core: true, controller: true, group: core, kind: Pod, version: v1}
- {core: true, controller: true, group: apps, kind: Deployment, version: v1}
- {core: true, controller: true, group: networking, kind: Ingress, version: v1}
- {external: true, namespaced: true, controller: true, group: cert-manager, domain: io,
  kind: Certificate, path: 'certs::Certificate', version: v1}
- {external: true, namespaced: true, controller: true, group: widgets.dev, kind: Widget,
  path: 'widgets::Widget', version: v1}
version: '3'
";

fn v1(group: &str, kind: &str) -> GroupVersionKind {
    format!("{group}/v1/{kind}").parse().unwrap()
}

/// The position of the resource that each command finds for `id`.
fn found(project: &Project, id: &GroupVersionKind) -> Vec<(&'static str, Result<Option<usize>>)> {
    let place = |resource: &Resource| project.position(resource);
    let create = |resource| {
        let settings = ApiSettings {
            resource,
            ..ApiSettings::default()
        };
        Ok(place(&settings.resource(id, project)?))
    };
    let owner = project.find(&"crew/v1/Captain".parse().unwrap()).unwrap();
    let mut owner = owner.unwrap().clone();
    owner.controllers[0].owns = vec![id.clone()];
    let taken_for = |project: &Project| {
        let owner = &project.resources[project.position(&owner).context("no owner")?];
        Ok(place(
            &project.related(owner, &owner.controllers[0])?[0].resource,
        ))
    };
    let by_flag = || {
        let mut after = project.clone();
        after.add(owner.clone(), true)?;
        taken_for(&after)
    };
    let by_project = || {
        let owns = format!("  kind: Captain\n  owns:\n  - {id}\n");
        let edited = project.to_text()?.replace("  kind: Captain\n", &owns);
        taken_for(&Project::parse(&edited)?)
    };
    let controller = id.kind().controller();
    vec![
        ("create api", create(None)),
        ("create api --resource=false", create(Some(false))),
        (
            "delete api",
            project
                .clone()
                .remove(id, false)
                .map(|resource| place(&resource)),
        ),
        (
            "delete controller",
            project
                .clone()
                .remove_controller(id, &controller)
                .map(|resource| place(&resource)),
        ),
        ("create api --owns", by_flag()),
        ("PROJECT", by_project()),
    ]
}

#[test]
fn every_command_finds_a_kind_by_each_of_its_names() {
    let project = Project::parse(KINDS).unwrap();
    let cases = [
        ("webapp", "Guestbook", "webapp.com"),
        ("webapp.com", "Guestbook", "webapp.com"),
        ("library", "Shelf", "library.example.org"),
        ("library.example.org", "Shelf", "library.example.org"),
        ("core", "Pod", ""),
        ("apps", "Deployment", "apps"),
        ("networking", "Ingress", "networking.k8s.io"),
        ("networking.k8s.io", "Ingress", "networking.k8s.io"),
        ("cert-manager", "Certificate", "cert-manager.io"),
        ("cert-manager.io", "Certificate", "cert-manager.io"),
        ("widgets.dev", "Widget", "widgets.dev"),
    ];
    for (group, kind, full) in cases {
        let id = v1(group, kind);
        for (command, found) in found(&project, &id) {
            let found = &project.resources[found.unwrap().unwrap()];
            assert_eq!(found.kind, *id.kind(), "{command}: {id}");
            assert_eq!(project.full_group(found), full, "{command}: {id}");
        }
    }
    for group in [
        "webapp.org",
        "library.com",
        "apps.com",
        "k8s.io",
        "io",
        "widgets",
    ] {
        for (_, kind, _) in cases {
            for (command, found) in found(&project, &v1(group, kind)) {
                assert!(!matches!(found, Ok(Some(_))), "{command}: {group}/{kind}");
            }
        }
    }
}

#[test]
fn an_external_kind_is_found_with_or_without_its_domain() {
    let project = Project::parse(KINDS).unwrap();
    let certificate = project.find(&v1("cert-manager", "Certificate")).unwrap();
    for (group, domain) in [
        ("cert-manager", None),
        ("cert-manager", Some("io")),
        ("cert-manager.io", None),
        ("cert-manager.io", Some("io")),
    ] {
        let settings = ApiSettings {
            external: Some(ExternalType {
                path: "certs::Certificate".parse().unwrap(),
                domain: domain.map(|domain| domain.parse().unwrap()),
                dependency: None,
            }),
            ..ApiSettings::default()
        };
        let found = settings.resource(&v1(group, "Certificate"), &project);
        assert_eq!(found.ok().as_ref(), certificate, "{group} {domain:?}");
    }
}

#[test]
fn a_new_kind_joins_the_existing_group() {
    let project = Project::parse(KINDS).unwrap();
    for (group, short, full) in [
        ("webapp", "webapp", "webapp.com"),
        ("webapp.com", "webapp", "webapp.com"),
        ("library", "library", "library.example.org"),
        ("library.example.org", "library", "library.example.org"),
        ("press", "press", "press.com"),
        ("press.com", "press", "press.com"),
        ("com", "com", "com.com"),
        ("press.org", "press.org", "press.org.com"),
    ] {
        let page = own(&v1(group, "Page"), &project).unwrap();
        assert_eq!(page.group.as_str(), short);
        assert_eq!(project.full_group(&page), full);
    }
}

#[test]
fn an_empty_group_is_the_domain_or_the_core_group() {
    let shop = "resources:\n- {api: {crdVersion: v1, namespaced: true}, controller: true, kind: Shop, version: v1}";
    let kinds = KINDS.replace("domain: com", "domain: example.com");
    let project = Project::parse(&kinds.replace("resources:", shop)).unwrap();
    for name in ["v1/Shop", "example.com/v1/Shop"] {
        for (command, found) in found(&project, &id(name)) {
            let found = &project.resources[found.unwrap().unwrap()];
            assert_eq!(
                project.full_group(found),
                "example.com",
                "{command}: {name}"
            );
        }
    }
    let bare = |kind: &str| {
        GroupVersionKind::new(Group::none(), "v1".parse().unwrap(), kind.parse().unwrap())
    };
    let create = |kind: &str, resource| {
        let settings = ApiSettings {
            resource,
            ..ApiSettings::default()
        };
        settings.resource(&bare(kind), &project)
    };
    let page = create("Page", None).unwrap();
    assert_eq!(project.full_group(&page), "example.com");
    let pod = create("Pod", Some(true)).unwrap();
    assert_eq!(project.full_group(&pod), "example.com");
    for resource in [None, Some(false)] {
        assert!(create("Pod", resource).unwrap().is_builtin(), "it is there");
    }
    let node = create("Node", Some(false)).unwrap();
    assert!(node.is_builtin());
    assert_eq!(node.group.as_str(), "core");
    let error = create("Page", Some(false)).unwrap_err().to_string();
    let expected =
        "neither this project nor Kubernetes has the kind `v1/Page`; this project has `v1/Shop`, ";
    assert!(error.starts_with(expected), "{error}");

    let external = |domain: Option<&str>| ExternalType {
        path: "certs::Issuer".parse().unwrap(),
        domain: domain.map(|domain| domain.parse().unwrap()),
        dependency: None,
    };
    let issuer = external(Some("cert-manager.io")).resource(&bare("Issuer"), &project);
    let issuer = issuer.unwrap();
    assert_eq!(
        (issuer.group.as_str(), issuer.domain),
        ("cert-manager.io", None)
    );
    let error = external(None)
        .resource(&bare("Issuer"), &project)
        .unwrap_err();
    assert!(error.is::<UsageError>(), "{error}");
}

#[test]
fn a_name_that_fits_two_kinds_is_refused() {
    let mut project = Project::parse(KINDS).unwrap();
    let group: Group = "webapp.com".parse().unwrap();
    let guestbook = own(&v1("webapp", "Guestbook"), &project).unwrap();
    let guestbook = Resource {
        group: group.clone(),
        ..guestbook
    };
    project.add(guestbook, false).unwrap();
    for (command, found) in found(&project, &v1("webapp.com", "Guestbook")) {
        let error = format!("{:#}", found.unwrap_err());
        let expected = "`webapp.com/v1/Guestbook` names two kinds: `webapp/v1/Guestbook` of the \
                        group `webapp.com`, and `webapp.com/v1/Guestbook` of the group \
                        `webapp.com.com`";
        assert!(error.ends_with(expected), "{command}: {error}");
    }
    assert_eq!(
        project.group(&group).unwrap_err().to_string(),
        "`webapp.com` names two groups, `webapp.com` and `webapp.com.com`"
    );
    // A CRD has the full name.
    let known = from_crd::groups::group(&project, &group).unwrap();
    assert_eq!(known, ("webapp".parse().unwrap(), None));
    // Each of the two kinds has another name that is unambiguous.
    for (group, full) in [
        ("webapp", "webapp.com"),
        ("webapp.com.com", "webapp.com.com"),
    ] {
        for (command, found) in found(&project, &v1(group, "Guestbook")) {
            let found = &project.resources[found.unwrap().unwrap()];
            assert_eq!(project.full_group(found), full, "{command}: {group}");
        }
    }
}

/// Groups, some of which are the short name or the full name of another.
const GROUPS: [&str; 10] = [
    "apps",
    "apps.com",
    "apps.k8s.io",
    "networking",
    "networking.io",
    "networking.k8s.io",
    "webapp",
    "webapp.com",
    "webapp.com.com",
    "webapp.io",
];

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_name_means_the_same_kind_to_every_command(
        domain in prop::sample::select(&["com", "io", "k8s.io", "example.org"][..]),
        resources in prop::collection::vec(
            (
                prop::sample::select(&GROUPS[..]),
                prop::sample::select(&["Deployment", "Guestbook", "Ingress"][..]),
                prop::option::of(prop::sample::select(&["com", "io"][..])),
                any::<bool>(),
            ),
            1..6,
        ),
        group in prop::sample::select(&GROUPS[..]),
        kind in prop::sample::select(&["Deployment", "Guestbook", "Ingress"][..]),
    ) {
        let mut project = Project::parse(KINDS).unwrap();
        project.domain = domain.parse().unwrap();
        project.resources.retain(|resource| resource.kind.as_str() == "Captain");
        for (group, kind, domain, is_external) in resources {
            let id = v1(group, kind);
            let definition = if is_external {
                Definition::External(External::At {
                    dependency: None,
                    path: "a::A".parse().unwrap(),
                })
            } else {
                Definition::Own(Own::first())
            };
            let mut resource = Resource::new(id.group().clone(), &id, definition);
            resource.domain = domain.map(|domain| domain.parse().unwrap());
            resource.set_controller(Controller::new(id.kind().controller()));
            // Some combinations are refused.
            let _ = project.add(resource, false);
        }
        let id = v1(group, kind);
        let found = found(&project, &id);
        let mut places = found.iter().filter_map(|(_, found)| *found.as_ref().ok()?);
        if let Some(place) = places.next() {
            prop_assert!(places.all(|other| other == place), "{id}: {found:?}\n{project:#?}");
        }
    }
}

#[test]
fn a_kind_that_may_be_a_plural_gets_a_note() {
    let note = |kind: &str, settings: ApiSettings, before: &Project| {
        let resource = settings.resource(&id(&format!("webapp/v1/{kind}")), before);
        settings.same_plural(&resource.unwrap(), before)
    };
    let empty = project(Vec::new());
    let of_new = |kind| note(kind, ApiSettings::default(), &empty);
    let expected = "the plural of `Databases` is `databases`, the same word: if `Databases` is a plural itself, name \
                    the kind in the singular, as in `Guestbook`";
    assert_eq!(of_new("Databases").as_deref(), Some(expected));
    assert!(of_new("Kubernetes").is_some());
    for kind in [
        "Database", "Status", "Address", "Redis", "Analysis", "Dns", "DNS", "Firmware",
    ] {
        let is_usual = kind != "Dns";
        assert_eq!(of_new(kind).is_none(), is_usual, "{kind}");
    }
    let named = ApiSettings {
        plural: Some("databases".parse().unwrap()),
        ..ApiSettings::default()
    };
    assert_eq!(note("Databases", named, &empty), None);
    let there = ApiSettings::default().resource(&id("webapp/v1/Databases"), &empty);
    let there = project(vec![there.unwrap()]);
    assert_eq!(note("Databases", ApiSettings::default(), &there), None);
}
