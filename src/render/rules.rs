//! Permissions as a template prints them: as `RULES` of a controller, and as the rules of a role.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::{
    project::builtin,
    project::{NeededRules, Project, Purpose, RelatedKind, Resource, Rule, Target, Verb},
    rust::{Code, chain},
};

/// Rules of a controller, as code.
#[derive(Serialize)]
pub struct CodeRules {
    purpose: Purpose,
    /// The text of each rule, with line breaks where rustfmt has them.
    rules: Vec<String>,
}

/// A rule of a role.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RoleRule {
    group: String,
    resources: Vec<String>,
    /// The names of the objects; empty for all objects.
    names: BTreeSet<String>,
    verbs: BTreeSet<Verb>,
}

/// Merges rules for a role, in the same way as `rbac::merge` does in the rendered project. Rules about URLs and those
/// of one namespace are in no role that a template has.
pub fn of_role<'a>(rules: impl Iterator<Item = &'a Rule>) -> BTreeSet<RoleRule> {
    let mut verbs_of = BTreeMap::<_, BTreeSet<Verb>>::new();
    for rule in rules {
        if let Target::Resource {
            group,
            plural,
            subresource,
        } = &rule.target
        {
            let resource = with_subresource(plural, subresource.as_deref());
            let key = (group, &rule.names, resource);
            verbs_of.entry(key).or_default().extend(&rule.verbs);
        }
    }
    let mut resources_with = BTreeMap::<_, Vec<String>>::new();
    for ((group, names, resource), verbs) in verbs_of {
        let same = resources_with.entry((group, names, verbs));
        same.or_default().push(resource);
    }
    let merged = resources_with.into_iter();
    merged
        .map(|((group, names, verbs), resources)| RoleRule {
            group: group.clone(),
            resources,
            names: names.clone(),
            verbs,
        })
        .collect()
}

/// The rules for the migration of stored objects to another version of their kind.
pub fn of_migration(group: &str, plural: &str) -> [Rule; 3] {
    const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");
    let names = BTreeSet::from([format!("{plural}.{group}")]);
    [
        Rule {
            names: names.clone(),
            ..Rule::of(CRDS.0, CRDS.1, &[Verb::Get])
        },
        Rule {
            names,
            ..Rule::sub(CRDS.0, CRDS.1, "status", &[Verb::Patch])
        },
        Rule::of(group, plural, &[Verb::List, Verb::Patch]),
    ]
}

/// The Rust types of kinds, by group and plural.
pub struct Types(BTreeMap<(String, String), String>);

impl Types {
    /// The paths of the types that the code of `project` can use anywhere.
    pub fn of_project(project: &Project) -> Self {
        let mut paths = BTreeMap::new();
        // The newest version of a kind replaces the others.
        for kind in builtin::all() {
            let key = (kind.group.to_owned(), kind.plural.to_owned());
            paths.insert(key, kind.path.to_owned());
        }
        for resource in project.resources.iter() {
            // An external kind has only one version in the project.
            if resource.is_stored() || resource.external().is_some() {
                let key = (project.full_group(resource), resource.plural.to_string());
                paths.insert(key, project.type_path(resource));
            }
        }
        Self(paths)
    }

    /// The types that the file of a controller of `resource` has imported.
    pub fn of_controller(
        project: &Project,
        resource: &Resource,
        type_name: &str,
        related: &[RelatedKind],
    ) -> Self {
        let mut names = BTreeMap::new();
        let related = related
            .iter()
            .map(|kind| (&kind.resource, kind.type_name.as_str()));
        for (resource, name) in related.chain([(resource, type_name)]) {
            let key = (project.full_group(resource), resource.plural.to_string());
            names.insert(key, name.to_owned());
        }
        Self(names)
    }

    /// The type of events that the file of a controller has imported.
    pub fn of_events() -> Self {
        let events = ("events.k8s.io".to_owned(), "events".to_owned());
        Self(BTreeMap::from([(events, "events::v1::Event".to_owned())]))
    }

    fn get(&self, group: &str, plural: &str) -> Option<&str> {
        let name = self.0.get(&(group.to_owned(), plural.to_owned()));
        name.map(String::as_str)
    }
}

/// The code of `needed`. A kind has the name that the first of `types` with this kind gives it.
pub fn of_code(needed: &NeededRules, types: &[&Types]) -> CodeRules {
    let mut rules = Vec::new();
    for rule in &needed.rules {
        let verbs = if needed.purpose == Purpose::Owned {
            Code::Text("children::VERBS".to_owned())
        } else {
            let verbs = rule.verbs.iter();
            let verbs = verbs.map(|verb| Code::Text(format!("Verb::{verb:?}")));
            Code::List(verbs.collect())
        };
        rules.push(code(rule, verbs, types));
    }
    CodeRules {
        purpose: needed.purpose,
        rules,
    }
}

fn with_subresource(plural: &str, subresource: Option<&str>) -> String {
    match subresource {
        Some(subresource) => format!("{plural}/{subresource}"),
        None => plural.to_owned(),
    }
}

/// A rule of `RULES`, as rustfmt formats it.
fn code(rule: &Rule, verbs: Code, types: &[&Types]) -> String {
    // A URL is in no namespace.
    let (function, mut arguments, namespace) = match &rule.target {
        Target::Url(url) => ("url".to_owned(), vec![literal(url)], None),
        Target::Resource {
            group,
            plural,
            subresource,
        } => {
            let name = types.iter().find_map(|names| names.get(group, plural));
            let name = name.filter(|name| name.len() <= MAX_TYPE);
            let (function, arguments) = match (name, subresource) {
                (Some(name), None) => (format!("of::<{name}>"), Vec::new()),
                (Some(name), Some(subresource)) => {
                    (format!("sub::<{name}>"), vec![literal(subresource)])
                }
                (None, subresource) => {
                    let resource = with_subresource(plural, subresource.as_deref());
                    (
                        "resource".to_owned(),
                        vec![literal(group), literal(&resource)],
                    )
                }
            };
            (function, arguments, rule.namespace.as_deref())
        }
    };
    arguments.push(verbs);
    let is_alone = namespace.is_none() && rule.names.is_empty();
    let around = INDENT + "Rule::".len() + usize::from(is_alone);
    let mut calls = vec![Code::call(&function, arguments).laid_out(INDENT, around)];
    if !rule.names.is_empty() {
        let names = rule.names.iter().map(|name| literal(name)).collect();
        let around = INDENT + "    .".len() + usize::from(namespace.is_none());
        calls.push(Code::call("named", vec![Code::List(names)]).laid_out(INDENT, around));
    }
    if let Some(namespace) = namespace {
        let call = Code::call("in_namespace", vec![literal(namespace)]);
        calls.push(call.laid_out(INDENT, INDENT + "    .,".len()));
    }
    chain("Rule::", &calls, INDENT)
}

/// The indentation of `RULES`.
const INDENT: usize = 8;

/// The longest path of a type in a rule. With a longer one, rustfmt moves all of `RULES` to the next line.
const MAX_TYPE: usize = 71;

/// A string literal.
fn literal(text: &str) -> Code {
    Code::Text(format!("\"{}\"", text.escape_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::tests::is_formatted;

    fn line(rule: &Rule) -> String {
        let needed = NeededRules {
            purpose: Purpose::Replaced,
            rules: vec![rule.clone()],
        };
        of_code(&needed, &[]).rules.remove(0)
    }

    /// The expected lines are those of rustfmt.
    #[test]
    fn rules_are_formatted_like_rustfmt() {
        let rule = |names: &[&str], namespace: Option<&str>| Rule {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            namespace: namespace.map(str::to_owned),
            ..Rule::of("", "pods", &[Verb::Get])
        };
        let long = "a-name-that-is-so-long-that-it-needs-a-line-that-it-has-to-itself";
        for (limited, expected) in [
            (
                rule(&[], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get])",
            ),
            (
                rule(&["a"], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get]).named(&[\"a\"])",
            ),
            (
                rule(&[], Some("a-namespace-of-thirty-letters")),
                "Rule::resource(\"\", \"pods\", &[Verb::Get]).in_namespace(\"a-namespace-of-thirty-letters\")",
            ),
            (
                rule(&["a"], Some("archive")),
                "Rule::resource(\"\", \"pods\", &[Verb::Get])\n            .named(&[\"a\"])\n            \
                 .in_namespace(\"archive\")",
            ),
            (
                rule(&[long], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get])\n            .named(&[\"a-name-that-is-so-long-\
                 that-it-needs-a-line-that-it-has-to-itself\"])",
            ),
        ] {
            assert_eq!(line(&limited), expected);
        }
    }

    #[test]
    fn a_type_with_a_long_path_has_its_name_in_kubernetes() {
        let needed = NeededRules {
            purpose: Purpose::Replaced,
            rules: vec![Rule::of(
                "g.io",
                "foos",
                &[Verb::Get, Verb::List, Verb::Patch],
            )],
        };
        for (length, start) in [
            (MAX_TYPE, "Rule::of::<xxx"),
            (MAX_TYPE + 1, "Rule::resource(\"g.io\", \"foos\", "),
        ] {
            let key = ("g.io".to_owned(), "foos".to_owned());
            let types = Types(BTreeMap::from([(key, "x".repeat(length))]));
            let rule = of_code(&needed, &[&types]).rules.remove(0);
            assert!(rule.starts_with(start), "{rule}");
            // rustfmt formats a list of one item in another way.
            let rules = format!("        {rule},\n        Rule::of::<Room>(&[Verb::List]),\n");
            let code = format!("const RULES: &'static [Rule] = &[\n{rules}    ];");
            is_formatted(&format!("impl A for B {{\n    {code}\n}}\n"));
        }
    }

    #[test]
    fn a_name_cannot_end_its_string_literal() {
        assert_eq!(
            line(&Rule::of("a\"b", "pods\\", &[Verb::Get])),
            "Rule::resource(\"a\\\"b\", \"pods\\\\\", &[Verb::Get])"
        );
    }
}
