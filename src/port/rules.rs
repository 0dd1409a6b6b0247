//! The permissions of the Go operator as `RULES` of controllers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use serde_json::Value;

use super::source::{Object, Source, texts};
use crate::{
    builtin,
    names::Version,
    project::{Project, Resource},
    visible::is_hidden,
};

/// A permission of a role, for one resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Right {
    pub target: Target,
    /// The names of the objects that the permission is limited to. Empty for all objects.
    names: BTreeSet<String>,
    /// The namespace that the permission is limited to.
    namespace: Option<String>,
}

/// The target of a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Resource {
        group: String,
        plural: String,
        subresource: Option<String>,
    },
    Url(String),
}

/// The permissions with their verbs.
pub(super) type Rights = BTreeMap<Right, BTreeSet<&'static str>>;

/// The verbs of the enum `Verb`, in its order, with the names of the variants.
const VERBS: [(&str, &str); 12] = [
    ("bind", "Bind"),
    ("create", "Create"),
    ("delete", "Delete"),
    ("deletecollection", "DeleteCollection"),
    ("escalate", "Escalate"),
    ("get", "Get"),
    ("impersonate", "Impersonate"),
    ("list", "List"),
    ("patch", "Patch"),
    ("update", "Update"),
    ("use", "Use"),
    ("watch", "Watch"),
];

/// The verbs that `*` stands for on ordinary resources.
const ALL: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// Returns the permissions of the manager, and notes about permissions that cannot be taken over.
///
/// `namespace` is the namespace of the operator. A Role without a namespace is in that namespace.
pub(super) fn rights(source: &Source, namespace: Option<&str>) -> (Rights, Vec<String>) {
    let (mut rights, mut lost) = (Rights::new(), Vec::new());
    for role in roles(source) {
        let is_role = role.kind() == "Role";
        let own = role.text("metadata.namespace").filter(|it| *it != "system");
        let namespace = own.or(namespace).filter(|_| is_role);
        let file = &role.file;
        for rule in role.value["rules"].as_array().into_iter().flatten() {
            let mut verbs = BTreeSet::new();
            for verb in texts(rule.get("verbs")) {
                if verb == "*" {
                    verbs.extend(ALL);
                    lost.push(format!(
                        "`{file}`: the verb `*` became {}, which are all verbs of most resources; \
                         add verbs that other resources need",
                        ALL.join(", ")
                    ));
                } else if let Some((verb, _)) = VERBS.iter().find(|(name, _)| *name == verb) {
                    verbs.insert(*verb);
                } else {
                    lost.push(format!(
                        "`{file}`: the verb `{verb}`, which `Verb` does not have"
                    ));
                }
            }
            for target in targets(rule, file, &mut lost) {
                let right = Right {
                    target,
                    names: texts(rule.get("resourceNames")).into_iter().collect(),
                    namespace: namespace.map(str::to_owned),
                };
                rights.entry(right).or_default().extend(&verbs);
            }
        }
    }
    lost.sort();
    lost.dedup();
    (rights, lost)
}

/// The roles of the manager: those in `role.yaml`, or else those whose names end in `manager-role`.
fn roles(source: &Source) -> Vec<Object> {
    let mut objects = source.objects("config/rbac/");
    objects.retain(|it| matches!(it.kind(), "Role" | "ClusterRole"));
    let is_main = |it: &Object| it.file.ends_with("/role.yaml") || it.file.ends_with("/role.yml");
    if objects.iter().any(is_main) {
        objects.retain(is_main);
    } else {
        objects.retain(|it| it.name().ends_with("manager-role"));
    }
    objects
}

/// The targets of a rule.
fn targets(rule: &Value, file: &str, lost: &mut Vec<String>) -> Vec<Target> {
    let items = |field: &str| texts(rule.get(field));
    let mut found: Vec<_> = items("nonResourceURLs")
        .into_iter()
        .map(Target::Url)
        .collect();
    for group in items("apiGroups") {
        for resource in items("resources") {
            let (plural, subresource) = match resource.split_once('/') {
                Some((plural, subresource)) => (plural, Some(subresource.to_owned())),
                None => (resource.as_str(), None),
            };
            found.push(Target::Resource {
                group: group.clone(),
                plural: plural.to_owned(),
                subresource,
            });
        }
    }
    let is_shown = |text: &str| !text.contains(is_hidden) && text.len() <= 253;
    found.retain(|target| {
        let is_good = match target {
            Target::Url(url) => is_shown(url),
            Target::Resource {
                group,
                plural,
                subresource,
            } => [Some(group), Some(plural), subresource.as_ref()]
                .into_iter()
                .flatten()
                .all(|it| is_shown(it)),
        };
        if !is_good {
            lost.push(format!(
                "`{file}`: a resource whose name has invisible characters"
            ));
        }
        is_good
    });
    found
}

/// The paths of Rust types for kinds, by group and plural.
pub(super) struct Types(BTreeMap<(String, String), String>);

impl Types {
    /// The types that the code of `project` can use.
    pub fn new(project: &Project) -> Self {
        let mut latest = BTreeMap::new();
        for kind in builtin::all() {
            let Ok(version) = kind.version.parse::<Version>() else {
                continue;
            };
            let key = (kind.group.to_owned(), kind.plural.to_owned());
            let there = latest.get(&key).is_none_or(|(before, _)| *before < version);
            if there {
                latest.insert(key, (version, kind.path.to_owned()));
            }
        }
        let builtin = latest.into_iter().map(|(key, (_, path))| (key, path));
        // An external kind has only one version in the project.
        let is_named = |it: &&Resource| it.is_stored() || it.external().is_some();
        let own = project.resources.iter().filter(is_named);
        let own = own.map(|it| {
            let key = (project.full_group(it), it.plural.to_string());
            (key, project.type_path(it))
        });
        Self(builtin.chain(own).collect())
    }

    fn get(&self, group: &str, plural: &str) -> Option<&str> {
        let path = self.0.get(&(group.to_owned(), plural.to_owned()));
        path.map(String::as_str)
    }
}

/// The lines of `RULES` for `rights`, without the verbs in `given`. `own` is the path of the controller's kind, which
/// its file imports.
pub(super) fn lines(rights: &Rights, given: &Rights, types: &Types, own: &str) -> String {
    let mut text = String::new();
    for (right, verbs) in rights {
        let had = given.get(right);
        let is_new = |verb: &&str| !had.is_some_and(|had| had.contains(verb));
        let verbs = VERBS.iter().filter(|(verb, _)| verbs.contains(verb));
        let verbs = verbs.filter(|(verb, _)| is_new(verb));
        let verbs: Vec<_> = verbs.map(|(_, verb)| format!("Verb::{verb}")).collect();
        if !verbs.is_empty() {
            right.line(&verbs, types, own, &mut text);
        }
    }
    text
}

impl Right {
    /// A permission for all objects of a resource.
    pub fn new(group: &str, plural: &str, subresource: Option<&str>) -> Self {
        Self {
            target: Target::Resource {
                group: group.to_owned(),
                plural: plural.to_owned(),
                subresource: subresource.map(str::to_owned),
            },
            names: BTreeSet::new(),
            namespace: None,
        }
    }

    fn line(&self, verbs: &[String], types: &Types, own: &str, text: &mut String) {
        let (function, mut arguments) = match &self.target {
            Target::Url(url) => ("url".to_owned(), vec![literal(url)]),
            Target::Resource {
                group,
                plural,
                subresource,
            } => match (types.get(group, plural), subresource) {
                (Some(path), subresource) => {
                    let name = path.rsplit("::").next().unwrap_or(path);
                    let path = if path == own { name } else { path };
                    match subresource {
                        None => (format!("of::<{path}>"), Vec::new()),
                        Some(it) => (format!("sub::<{path}>"), vec![literal(it)]),
                    }
                }
                (None, subresource) => {
                    let sub = subresource.iter().map(|it| format!("/{it}"));
                    let resource = format!("{plural}{}", sub.collect::<String>());
                    let arguments = vec![literal(group), literal(&resource)];
                    ("resource".to_owned(), arguments)
                }
            },
        };
        arguments.push(array(verbs));
        let namespace = self.namespace.as_ref().filter(|_| self.is_resource());
        let has_names = !self.names.is_empty();
        let is_alone = namespace.is_none() && !has_names;
        let around = INDENT + "Rule::".len() + usize::from(is_alone);
        let mut calls = vec![call(&function, &arguments, verbs, around)];
        if has_names {
            let names: Vec<_> = self.names.iter().map(|it| literal(it)).collect();
            let around = INDENT + "    .".len() + usize::from(namespace.is_none());
            calls.push(call("named", &[array(&names)], &names, around));
        }
        if let Some(namespace) = namespace {
            let around = INDENT + "    .,".len();
            calls.push(call("in_namespace", &[literal(namespace)], &[], around));
        }
        chain(&calls, text);
    }

    fn is_resource(&self) -> bool {
        matches!(self.target, Target::Resource { .. })
    }
}

fn literal(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

fn array(items: &[String]) -> String {
    format!("&[{}]", items.join(", "))
}

/// The limits of rustfmt: the widths of arguments, of an array and of a chain on one line, and the width of a line.
const ARGUMENTS: usize = 60;
const ARRAY: usize = 60;
const CHAIN: usize = 60;
pub(super) const LINE: usize = 100;
/// The indentation of `RULES`.
const INDENT: usize = 8;

/// Formats a call like rustfmt, at the indentation of `RULES`. The last argument is the array of `items`, unless
/// `items` is empty. `around` is the number of columns that the line needs besides the call.
fn call(function: &str, arguments: &[String], items: &[String], around: usize) -> String {
    let line = arguments.join(", ");
    let fits =
        |items: &str, indent: usize| items.len() <= ARRAY && indent + items.len() + 4 <= LINE;
    let whole = format!("{function}({line})");
    let inner = items.join(", ");
    // The limits apply only to two or more arguments or items.
    let is_short = (arguments.len() == 1 || line.len() <= ARGUMENTS)
        && (items.len() == 1 || inner.len() <= ARRAY);
    if is_short && around + whole.len() <= LINE {
        return whole;
    }
    let pad = " ".repeat(INDENT + 4);
    if arguments.len() == 1 && !items.is_empty() {
        let items = items.iter().map(|it| format!("{pad}{it},\n"));
        let items: String = items.collect();
        return format!("{function}(&[\n{items}{}])", " ".repeat(INDENT));
    }
    let mut text = format!("{function}(\n");
    for (at, argument) in arguments.iter().enumerate() {
        let is_array = at + 1 == arguments.len() && !items.is_empty();
        if is_array && !fits(&inner, INDENT + 4) {
            let items = items.iter().map(|it| format!("{pad}    {it},\n"));
            let items: String = items.collect();
            let _ = writeln!(text, "{pad}&[\n{items}{pad}],");
        } else {
            let _ = writeln!(text, "{pad}{argument},");
        }
    }
    text + &" ".repeat(INDENT) + ")"
}

/// Formats a rule with its limits like rustfmt, at the indentation of `RULES`.
fn chain(calls: &[String], text: &mut String) {
    let pad = " ".repeat(INDENT);
    let line = format!("Rule::{}", calls.join("."));
    // The limit of a chain applies only from the second method call on.
    let most = [CHAIN, LINE][usize::from(calls.len() == 2)];
    let is_short = calls.len() == 1
        || line.len() <= most && INDENT + line.len() < LINE && !line.contains('\n');
    if is_short {
        let _ = writeln!(text, "{pad}{line},");
        return;
    }
    if let [before @ .., last] = calls
        && last.contains('\n')
        && !before.iter().any(|it| it.contains('\n'))
    {
        let line = format!("Rule::{}.{last}", before.join("."));
        let first = line.lines().next().unwrap_or_default();
        if INDENT + first.len() <= LINE {
            let _ = writeln!(text, "{pad}{line},");
            return;
        }
    }
    // If the first call has several lines, rustfmt does not indent the other calls.
    let [first, others @ ..] = calls else { return };
    let deeper = if first.contains('\n') { "" } else { "    " };
    let others = others.iter().map(|call| {
        let call = call.replace('\n', &format!("\n{deeper}"));
        format!("\n{pad}{deeper}.{call}")
    });
    let others: String = others.collect();
    let _ = writeln!(text, "{pad}Rule::{first}{others},");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(right: &Right, verbs: &[&str]) -> String {
        let mut text = String::new();
        let verbs: Vec<_> = verbs.iter().map(|it| format!("Verb::{it}")).collect();
        right.line(&verbs, &Types(BTreeMap::new()), "", &mut text);
        text
    }

    /// The expected lines are those of rustfmt.
    #[test]
    fn rules_are_formatted_like_rustfmt() {
        let names = |names: &[&str], namespace: Option<&str>| Right {
            names: names.iter().map(|it| (*it).to_owned()).collect(),
            namespace: namespace.map(str::to_owned),
            ..Right::new("", "pods", None)
        };
        let long = "a-name-that-is-so-long-that-it-needs-a-line-that-it-has-to-itself";
        for (right, expected) in [
            (
                names(&[], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get]),",
            ),
            (
                names(&["a"], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get]).named(&[\"a\"]),",
            ),
            (
                Right {
                    namespace: Some("a-namespace-of-thirty-letters".to_owned()),
                    ..Right::new("", "pods", None)
                },
                "Rule::resource(\"\", \"pods\", &[Verb::Get]).in_namespace(\"a-namespace-of-thirty-letters\"),",
            ),
            (
                names(&["a"], Some("archive")),
                "Rule::resource(\"\", \"pods\", &[Verb::Get])\n            .named(&[\"a\"])\n            \
                 .in_namespace(\"archive\"),",
            ),
            (
                names(&[long], None),
                "Rule::resource(\"\", \"pods\", &[Verb::Get])\n            .named(&[\"a-name-that-is-so-long-\
                 that-it-needs-a-line-that-it-has-to-itself\"]),",
            ),
        ] {
            assert_eq!(line(&right, &["Get"]), format!("        {expected}\n"));
        }
    }

    #[test]
    fn a_name_cannot_end_its_string_literal() {
        let right = Right::new("a\"b", "pods\\", None);
        let text = line(&right, &["Get"]);
        assert_eq!(
            text,
            "        Rule::resource(\"a\\\"b\", \"pods\\\\\", &[Verb::Get]),\n"
        );
    }
}
