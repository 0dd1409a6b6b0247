use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::{
    templates::{TEMPLATES, files},
    *,
};
use crate::{
    cases::cases,
    project::{Feature, builtin},
};

/// A project with all features and these entries of `resources`.
fn project(settings: &str, resources: &[String]) -> Result<Project> {
    let features: Vec<_> = Feature::all().iter().map(Feature::to_string).collect();
    Project::parse(&format!(
        "cliVersion: 0.3.0-rc.1\n{settings}\nfeatures: [{}]\nlayout: [rust.rscaffold/v1]\n\
         license: mit\nmultigroup: true\nrepo: operator\nresources: [{}]\nversion: '3'\n",
        features.join(", "),
        resources.join(", "),
    ))
}

/// An entry of `resources`: a kind of the project with controllers of these names.
fn resource(group: &str, version: &str, kind: &str, controllers: &[String]) -> String {
    let controllers: Vec<_> = controllers
        .iter()
        .map(|name| format!("{{name: {name}}}"))
        .collect();
    format!(
        "{{api: {{crdVersion: v1, namespaced: true}}, controllers: [{}], group: {group}, \
         kind: {kind}, plural: {}s, version: {version}}}",
        controllers.join(", "),
        kind.to_ascii_lowercase(),
    )
}

#[test]
fn templates_of_absent_features_and_items_are_not_parsed() {
    let mut project = project("domain: com\nprojectName: shop", &[]).unwrap();
    project.features.clear();
    let templates = Templates::new(&project).unwrap();
    let parsed = templates.parsed.templates.iter();
    let parsed: Vec<_> = parsed.map(|template| template.name).collect();
    assert!(parsed.contains(&"project/Cargo.toml.tera"));
    for folder in [
        "api",
        "controller",
        "external",
        "external-version",
        "feature",
        "kind",
        "once",
        "owned",
        "part/controller",
        "version",
        "webhook",
    ] {
        assert!(TEMPLATES.get_dir(folder).is_some(), "{folder}");
        let folder = format!("{folder}/");
        let found = parsed.iter().find(|name| name.starts_with(&folder));
        assert_eq!(found, None);
    }
}

#[test]
fn a_file_keeps_its_origin_when_the_names_in_its_path_change() {
    let resources = [resource(
        "shop",
        "v1",
        "Book",
        &["book".to_owned(), "index".to_owned()],
    )];
    let render = |settings| render(&project(settings, &resources).unwrap()).unwrap();
    let before = render("domain: example.com\nprojectName: before");
    let after = render("domain: example.org\nprojectName: after");
    let moved = |(path, origin): (&String, &Origin)| {
        let path = path.replace("charts/before/", "charts/after/");
        (
            path.replace("shop.example.com", "shop.example.org"),
            origin.clone(),
        )
    };
    let expected: BTreeMap<_, _> = before.origins.iter().map(moved).collect();
    assert_ne!(before.origins, after.origins);
    assert_eq!(expected, after.origins);

    let origins: BTreeSet<_> = after.origins.values().collect();
    assert_eq!(origins.len(), after.origins.len());
    assert!(after.origins.keys().eq(after.texts.keys()));
}

#[test]
fn the_modules_of_webhooks_are_sorted() {
    let mut resources = Vec::new();
    for kind in ["IPPool", "Ingredient"] {
        let entry = resource("shop", "v1", kind, &[]);
        resources.push(entry.replacen(
            '{',
            "{webhooks: {validation: true, webhookVersion: v1}, ",
            1,
        ));
    }
    let project = project("domain: com\nprojectName: shop", &resources).unwrap();
    let rendered = render(&project).unwrap();
    let modules = &rendered.texts["src/webhook/shop/mod.rs"];
    assert!(
        modules.contains("pub mod ingredient;\npub mod ip_pool;\n"),
        "{}",
        modules.content()
    );
    let manifests = rendered.texts["config/webhook/manifests.yaml"].content();
    assert!(
        manifests.find("ingredient") < manifests.find("ippool"),
        "{manifests}"
    );
}

#[test]
fn two_templates_with_one_path_are_an_error() {
    let origin = |template, item| Origin { template, item };
    let mut rendered = Rendered::default();
    let mut insert = |origin| rendered.insert("lib.rs".to_owned(), Text::default(), origin);
    insert(origin("lib.rs.tera", Item::default())).unwrap();
    let error = insert(origin("[=name=].rs.tera", Item::new("shop", "", "lib"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`lib.rs.tera` and `[=name=].rs.tera` for `shop/lib` both render to `lib.rs`"
    );
}

#[test]
fn a_file_is_rendered_again_with_data_that_the_project_lacks() {
    let book = "{api: {crdVersion: v1, namespaced: true, types: given}, group: shop, kind: Book, plural: books, \
                version: v1}";
    let project = project("domain: com\nprojectName: shop", &[book.to_owned()]).unwrap();
    let mut templates = Templates::new(&project).unwrap();
    let rendered = templates.render().unwrap();
    let path = "config/samples/shop_v1_book.yaml";
    let before = rendered.texts[path].clone();
    let addition = json!({ "from_crd": { "fields": "data: 1" } });
    let file = rendered.file(&templates, path, &addition);
    let text = before.replace("spec: {}", "data: 1").into();
    assert_eq!(file.unwrap(), Some((path.to_owned(), text)));
    // A vendored file has no template.
    for path in [
        "config/samples/shop_v2_book.yaml",
        "crates/kube-manager/src/lib.rs",
    ] {
        let file = rendered.file(&templates, path, &addition);
        assert_eq!(file.unwrap(), None, "{path}");
    }
}

#[test]
fn a_command_renders_once() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut callers = Vec::new();
    for entry in walkdir::WalkDir::new(&folder).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        if path.is_dir() || path.ends_with("tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let calls = text.match_indices("render(").filter(|(place, _)| {
            let before = &text[..*place];
            !before.ends_with(['.', '_']) && !before.ends_with("fn ")
        });
        callers.extend(calls.map(|_| name.clone()));
        let parsers = text.match_indices("Templates::new(");
        callers.extend(parsers.map(|_| name.clone()));
    }
    // A turn gets the files of its project. `branches.rs` renders other projects: those of branches that git merged.
    // `conversions.rs` renders one file again, if a version has no status.
    let expected = [
        "command/create_api/crd.rs",
        "command/init.rs",
        "command/turn/branches.rs",
        "command/turn/branches.rs",
        "command/turn/conversions.rs",
        "command/turn.rs",
    ];
    callers.retain(|name| name != "render.rs");
    assert_eq!(callers, expected);
}

/// Words that collide with paths of templates, keywords and names of modules.
fn words() -> impl Strategy<Value = Vec<&'static str>> {
    const WORDS: &[&str] = &[
        "async", "control", "main", "metrics", "mod", "plane", "role",
    ];
    prop::collection::vec(prop::sample::select(WORDS), 1..3)
}

fn kinds() -> impl Strategy<Value = String> {
    let upper = |word: &str| word[..1].to_uppercase() + &word[1..];
    words().prop_map(move |words| words.into_iter().map(upper).collect())
}

#[test]
fn a_controller_has_the_function_labels_if_it_calls_it() {
    let mut count = 0;
    for kind in builtin::all() {
        let (group, lower) = (kind.short_group(), kind.kind.to_ascii_lowercase());
        if !TEMPLATES.contains(format!("owned/{group}/{}/{lower}.rs.tera", kind.version)) {
            continue;
        }
        let owned = kind.id();
        let node = format!(
            "{{controllers: [{{name: node, owns: [{owned}]}}], core: true, group: core, \
             kind: Node, plural: nodes, version: v1}}"
        );
        let project = project("domain: example.com\nprojectName: operator", &[node]);
        let rendered = render(&project.unwrap()).unwrap();
        let controller = &rendered.texts["src/controller/core/node.rs"];
        let (calls, defined) = (
            controller.contains("labels(object)"),
            controller.contains("fn labels("),
        );
        assert_eq!(calls, defined, "{owned}");
        count += 1;
    }
    assert!(count > 0);
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn no_two_files_have_the_same_path(
        kinds in prop::collection::vec(
            (
                (words(), prop::sample::select(&["-", "."][..])),
                prop::sample::select(&["v1", "v1beta1"][..]),
                kinds(),
                prop::collection::vec(words().prop_map(|words| words.join("-")), 0..3),
            ),
            1..12,
        )
    ) {
        let settings = "domain: example.com\nprojectName: operator";
        let mut resources = Vec::new();
        for ((words, between), version, kind, controllers) in kinds {
            resources.push(resource(&words.join(between), version, &kind, &controllers));
            if project(settings, &resources).is_err() {
                resources.pop();
            }
        }
        let rendered = render(&project(settings, &resources).unwrap()).unwrap();
        let paths: BTreeSet<_> = rendered.texts.keys().map(|path| path.to_lowercase()).collect();
        prop_assert_eq!(paths.len(), rendered.texts.len());
        for path in &paths {
            prop_assert!(!path.contains("__"), "{path}");
            for (index, _) in path.match_indices('/') {
                prop_assert!(!paths.contains(&path[..index]), "{path} is in a file");
            }
            for name in path.split('/') {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                prop_assert!(name.chars().all(is_plain), "{path}");
                prop_assert!(!["", ".", ".."].contains(&name), "{path}");
            }
        }
    }
}

#[test]
fn each_template_of_an_owned_kind_belongs_to_a_builtin_kind() {
    let folder = TEMPLATES.get_dir("owned").unwrap();
    let templates = folder.dirs().flat_map(files);
    let known: Vec<_> = builtin::all()
        .map(|kind| {
            let lower = kind.kind.to_ascii_lowercase();
            format!(
                "owned/{}/{}/{lower}.rs.tera",
                kind.short_group(),
                kind.version
            )
        })
        .collect();
    let mut count = 0;
    for template in templates {
        let name = super::Template::new(template).unwrap().name;
        assert!(known.iter().any(|known| known == name), "{name}");
        count += 1;
    }
    assert!(count > 0);
}
