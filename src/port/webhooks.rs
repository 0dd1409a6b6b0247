//! The webhooks of the Go operator. Their settings become calls of `Hook` in the code of the new webhooks.

use std::{collections::BTreeSet, sync::Arc};

use heck::ToUpperCamelCase as _;
use serde::Serialize;
use serde_json::Value;

use super::{
    deployed::Deployed,
    lost::Lost,
    source::{Manifest, Source, list, texts},
};
use crate::{
    names::Kind,
    project::{Admission, Resource},
    rust::{Code, literal},
};

/// A rule of a webhook of the Go operator.
#[derive(Debug, Clone)]
pub(super) struct GoWebhook {
    pub configuration: Arc<Manifest>,
    /// The number of the webhook in the configuration.
    index: usize,
    /// The number of the rule in the webhook.
    rule: usize,
}

/// The webhooks of the Go operator.
pub(super) fn webhooks(source: &Source, deployed: &Deployed) -> Vec<GoWebhook> {
    let mut found = Vec::new();
    let kinds = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    for object in deployed.of_kinds(source, &kinds) {
        let configuration = Arc::new(object);
        for (index, webhook) in list(&configuration.value["webhooks"]).enumerate() {
            for (rule, _) in list(&webhook["rules"]).enumerate() {
                found.push(GoWebhook {
                    configuration: Arc::clone(&configuration),
                    index,
                    rule,
                });
            }
        }
    }
    found
}

impl GoWebhook {
    pub fn admission(&self) -> Admission {
        match self.configuration.kind() {
            "MutatingWebhookConfiguration" => Admission::Defaulting,
            _ => Admission::Validation,
        }
    }

    /// Where the rule is.
    pub fn place(&self, source: &Source) -> String {
        let (index, rule) = (self.index.to_string(), self.rule.to_string());
        source.place(&self.configuration, &["webhooks", &index, "rules", &rule])
    }

    pub fn path(&self) -> Option<&str> {
        self.value()["clientConfig"]["service"]["path"].as_str()
    }

    /// Whether the rule is for this kind, or for a subresource of it.
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        let rule = self.rule();
        texts(&rule["apiGroups"]).any(|name| name == group)
            && texts(&rule["resources"]).any(|name| plural_of(name) == plural)
    }

    /// Whether the rule is for the objects of a kind, and not only for their subresources.
    pub fn is_of_objects(&self, plural: &str) -> bool {
        texts(&self.rule()["resources"]).any(|name| name == plural)
    }

    /// Whether the rule has a version of the kind. A rule without versions has all.
    pub fn has_version(&self, version: &str) -> bool {
        let versions = &self.rule()["apiVersions"];
        versions.is_null() || texts(versions).any(|name| name == version || name == "*")
    }

    /// The versions of the rule in backticks, except for this one.
    pub fn other_versions(&self, version: &str) -> String {
        let versions = texts(&self.rule()["apiVersions"]).filter(|name| *name != version);
        let versions: Vec<_> = versions.map(|name| format!("`{name}`")).collect();
        versions.join(", ")
    }

    /// Whether the API server calls the webhook only for the versions of the rule, and does not convert objects of other
    /// versions to them.
    pub fn is_exact(&self) -> bool {
        self.value()["matchPolicy"] == "Exact"
    }

    /// The subresources of a kind in the rule.
    pub fn subresources(&self, plural: &str) -> Vec<&str> {
        let mut subresources = Vec::new();
        for resource in texts(&self.rule()["resources"]) {
            if let Some((of, subresource)) = resource.split_once('/')
                && of == plural
            {
                subresources.push(subresource);
            }
        }
        subresources
    }

    /// The line about subresources that the webhook of the objects is not called for.
    pub fn about_subresources(
        &self,
        source: &Source,
        kind: &Kind,
        subresources: &[&str],
    ) -> String {
        format!(
            "{}: the webhook for `{}` of `{kind}`: write it as another webhook with the type of the subresource, such as \
             `Eviction` for `eviction`, and with `subresources_of::<{kind}>` in its `HOOK`",
            self.place(source),
            subresources.join("`, `"),
        )
    }

    /// The groups and the resources of the rule.
    pub fn targets(&self) -> [Vec<&str>; 2] {
        ["apiGroups", "resources"].map(|field| {
            let names: BTreeSet<_> = texts(&self.rule()[field]).collect();
            names.into_iter().collect()
        })
    }

    fn value(&self) -> &Value {
        &self.configuration.value["webhooks"][self.index]
    }

    fn rule(&self) -> &Value {
        &self.value()["rules"][self.rule]
    }
}

/// The plural of a resource: `pods` for `pods/status`.
pub(super) fn plural_of(resource: &str) -> &str {
    resource
        .split_once('/')
        .map_or(resource, |(plural, _)| plural)
}

/// The settings of the webhooks of a kind, which the template of their file adds to `Hook`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Hooks {
    defaulting: Option<Settings>,
    validation: Option<Settings>,
    /// Whether a webhook sets its path.
    #[serde(skip)]
    has_path: bool,
}

impl Hooks {
    /// Reports the settings that `Hook` does not have.
    pub fn new(
        source: &Source,
        resource: &Resource,
        webhooks: &[GoWebhook],
        lost: &mut Lost,
    ) -> Self {
        let both = [&resource.webhooks.defaulting, &resource.webhooks.validation];
        let mut both = both.into_iter().flatten();
        let mut hooks = Self {
            has_path: both.any(|webhook| webhook.path.is_some()),
            ..Self::default()
        };
        for webhook in webhooks {
            let settings = settings(source, resource, webhook, lost);
            match webhook.admission() {
                Admission::Defaulting => hooks.defaulting = Some(settings),
                Admission::Validation => hooks.validation = Some(settings),
            }
        }
        hooks
    }

    pub fn are_default(&self) -> bool {
        let mut both = [&self.defaulting, &self.validation].into_iter().flatten();
        !self.has_path && both.all(|hook| hook.operations.is_empty() && hook.calls.is_empty())
    }
}

/// The settings of a webhook, without the defaults.
#[derive(Debug, Default, Serialize)]
struct Settings {
    /// The call with the operations; empty for the usual ones.
    operations: String,
    /// Other calls, with line breaks where rustfmt has them.
    calls: Vec<String>,
}

/// The policies of a webhook: the field, the method of `Hook`, and the values, the default first. The type of the values
/// has the name of the method.
const POLICIES: [(&str, &str, [&str; 2]); 4] = [
    ("failurePolicy", "failure_policy", ["Fail", "Ignore"]),
    ("matchPolicy", "match_policy", ["Equivalent", "Exact"]),
    ("sideEffects", "side_effects", ["None", "NoneOnDryRun"]),
    ("reinvocationPolicy", "reinvocation", ["Never", "IfNeeded"]),
];

/// The subresources whose objects have the type of the kind. Any other one may have another type, which the webhook of
/// the kind cannot read.
const OF_SAME_TYPE: [&str; 5] = [
    "approval",
    "ephemeralcontainers",
    "finalize",
    "resize",
    "status",
];

/// A field of a webhook that `Hook` does not have, and its value.
type Left<'a> = (Vec<&'a str>, &'a str);

/// The settings of a webhook. Reports what `Hook` cannot say, and what can stop the cluster.
fn settings(
    source: &Source,
    resource: &Resource,
    webhook: &GoWebhook,
    lost: &mut Lost,
) -> Settings {
    let (index, number) = (webhook.index.to_string(), webhook.rule.to_string());
    let (value, rule) = (webhook.value(), webhook.rule());
    let mut left: Vec<Left> = Vec::new();
    let subresources = webhook.subresources(resource.plural.as_str());
    let (same, others): (Vec<_>, Vec<_>) =
        (subresources.into_iter()).partition(|name| OF_SAME_TYPE.contains(name));
    if !others.is_empty() {
        lost.add(webhook.about_subresources(source, &resource.kind, &others));
    }
    let settings = Settings {
        operations: operations(rule, &number, &mut left),
        calls: calls(value, &same, resource, &mut left),
    };
    if resource.is_builtin() && fails_for_all(value) {
        let place = source.place(&webhook.configuration, &["webhooks", &index]);
        let plural = &resource.plural;
        lost.warn(format!(
            "{place}: the webhook for all `{plural}` has the failure policy `Fail`, as in Go: while the operator does not \
             run, the API server refuses requests for `{plural}`, so the cluster or the operator may be unable to \
             start; in `HOOK`, exclude namespaces, or choose `Ignore`",
        ));
    }
    if let Some(scope) = rule["scope"].as_str()
        && scope != "*"
    {
        left.push((vec!["rules", &number, "scope"], scope));
    }
    if let Some(url) = value["clientConfig"]["url"].as_str() {
        left.push((vec!["clientConfig", "url"], url));
    }
    for (path, text) in left {
        let full = [&["webhooks", &index], path.as_slice()].concat();
        let place = source.place(&webhook.configuration, &full);
        let field = path.last().unwrap_or(&"");
        lost.add(format!(
            "{place}: `{field}: {text}` of a webhook, which `Hook` does not have"
        ));
    }
    settings
}

/// The indentation of the calls of `Hook`.
const INDENT: usize = 8;

/// The call of a method with a list.
fn with_list(method: &str, items: Vec<Code>) -> String {
    Code::call(method, vec![Code::List(items)]).laid_out(INDENT, INDENT)
}

/// The call with the operations of a rule; empty for the operations that `Hook` has by default.
fn operations<'a>(rule: &'a Value, number: &'a str, left: &mut Vec<Left<'a>>) -> String {
    let mut names = Vec::new();
    for operation in texts(&rule["operations"]) {
        match operation {
            "CREATE" => names.push("Create"),
            "UPDATE" => names.push("Update"),
            "DELETE" => names.push("Delete"),
            "CONNECT" => names.push("Connect"),
            "*" => names.extend(["Create", "Update", "Delete"]),
            _ => left.push((vec!["rules", number, "operations"], operation)),
        }
    }
    if names.len() == 2 && names.contains(&"Create") && names.contains(&"Update") {
        return String::new();
    }
    let operations = names
        .iter()
        .map(|name| Code::Text(format!("webhook::Operation::{name}")));
    with_list(".operations", operations.collect())
}

/// Whether requests for all objects fail if the webhook fails.
fn fails_for_all(webhook: &Value) -> bool {
    let mut limits = ["namespaceSelector", "objectSelector", "matchConditions"].into_iter();
    webhook["failurePolicy"] != "Ignore" && limits.all(|field| webhook[field].is_null())
}

/// The other calls.
fn calls<'a>(
    webhook: &'a Value,
    subresources: &[&str],
    resource: &Resource,
    left: &mut Vec<Left<'a>>,
) -> Vec<String> {
    let mut calls = Vec::new();
    for (field, method, [usual, other]) in POLICIES {
        let text = webhook[field].as_str().unwrap_or(usual);
        // The webhook that `create webhook` adds for a built-in kind has another failure policy than `Hook::new`.
        let is_explicit = resource.is_builtin() && field == "failurePolicy";
        if text == other || text == usual && is_explicit {
            let type_name = method.to_upper_camel_case();
            calls.push(format!(".{method}(webhook::{type_name}::{text})"));
        } else if text != usual {
            left.push((vec![field], text));
        }
    }
    if let Some(seconds) = webhook["timeoutSeconds"].as_u64()
        && seconds != 10
    {
        calls.push(format!(".timeout_seconds({seconds})"));
    }
    if !subresources.is_empty() {
        let names = subresources.iter().map(|name| Code::text(name));
        calls.push(with_list(".subresources", names.collect()));
    }
    for (field, method) in [
        ("namespaceSelector", ".namespaces"),
        ("objectSelector", ".objects"),
    ] {
        let labels = labels(&webhook[field]);
        if !labels.is_empty() {
            calls.push(with_list(method, labels));
        }
    }
    for condition in list(&webhook["matchConditions"]) {
        let (name, expression) = (&condition["name"], &condition["expression"]);
        if let (Some(name), Some(expression)) = (name.as_str(), expression.as_str()) {
            let arguments = vec![Code::text(name), Code::text(expression)];
            calls.push(Code::call(".condition", arguments).laid_out(INDENT, INDENT));
        }
    }
    calls
}

/// The conditions of a selector, as code.
fn labels(selector: &Value) -> Vec<Code> {
    let mut labels = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        labels.push(label("In", key, value.as_str()));
    }
    for requirement in list(&selector["matchExpressions"]) {
        let key = requirement["key"].as_str().unwrap_or("");
        let values = texts(&requirement["values"]);
        match requirement["operator"].as_str().unwrap_or("") {
            operator @ ("In" | "NotIn") => labels.push(label(operator, key, values)),
            operator @ ("DoesNotExist" | "Exists") => labels.push(Code::call(
                &format!("webhook::Label::{operator}"),
                vec![Code::text(key)],
            )),
            _ => {}
        }
    }
    labels
}

/// A condition that compares the value of a label.
fn label<'a>(operator: &str, key: &str, values: impl IntoIterator<Item = &'a str>) -> Code {
    let literals: Vec<_> = values.into_iter().map(literal::text).collect();
    let list = Code::Text(format!("&[{}]", literals.join(", ")));
    Code::call(
        &format!("webhook::Label::{operator}"),
        vec![Code::text(key), list],
    )
}
