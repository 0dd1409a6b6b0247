//! The settings of webhooks in the manifests of the Go project, as calls of `Hook` in the code of the new webhooks.

use serde::Serialize;
use serde_json::Value;

use super::{
    config::GoWebhook,
    source::{Source, at, list, texts},
};
use crate::rust::literal::{self, width};

/// The settings of the webhooks of a kind, which the template of their file adds to `Hook`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Hooks {
    pub defaulting: Settings,
    pub validation: Settings,
}

/// The settings of a webhook, without the defaults.
#[derive(Debug, Default, Serialize)]
pub(super) struct Settings {
    /// The call with the operations; empty for the usual ones.
    operations: String,
    /// Other calls, with line breaks where rustfmt has them.
    calls: Vec<String>,
}

impl Settings {
    pub fn is_default(&self) -> bool {
        self.operations.is_empty() && self.calls.is_empty()
    }
}

/// The policies of a webhook: the field, the method of `Hook`, the type of its value, the values, the default first.
const POLICIES: [(&str, &str, &str, [&str; 2]); 4] = [
    (
        "failurePolicy",
        "failure_policy",
        "FailurePolicy",
        ["Fail", "Ignore"],
    ),
    (
        "matchPolicy",
        "match_policy",
        "MatchPolicy",
        ["Equivalent", "Exact"],
    ),
    (
        "sideEffects",
        "side_effects",
        "SideEffects",
        ["None", "NoneOnDryRun"],
    ),
    (
        "reinvocationPolicy",
        "reinvocation",
        "Reinvocation",
        ["Never", "IfNeeded"],
    ),
];

/// A field of a webhook that `Hook` does not have, and its value.
type Left<'a> = (Vec<&'a str>, String);

/// The settings of a webhook. Adds what `Hook` cannot say to `lines`.
pub(super) fn settings(source: &Source, webhook: &GoWebhook, lines: &mut Vec<String>) -> Settings {
    let (index, number) = (webhook.index.to_string(), webhook.rule.to_string());
    let value = &webhook.configuration.value["webhooks"][webhook.index];
    let rule = &value["rules"][webhook.rule];
    let mut left: Vec<Left> = Vec::new();
    let settings = Settings {
        operations: operations(rule, &number, &mut left),
        calls: calls(value, rule, &mut left),
    };
    if let Some(scope) = rule["scope"].as_str()
        && scope != "*"
    {
        left.push((vec!["rules", &number, "scope"], scope.to_owned()));
    }
    if let Some(url) = at(value, "clientConfig.url").and_then(Value::as_str) {
        left.push((vec!["clientConfig", "url"], url.to_owned()));
    }
    for (path, text) in left {
        let mut full = vec!["webhooks", &index];
        full.extend(&path);
        let place = source.place(&webhook.configuration, &full);
        let field = path.last().unwrap_or(&"");
        lines.push(format!(
            "{place}: `{field}: {text}` of a webhook, which `Hook` does not have"
        ));
    }
    settings
}

/// The call with the operations of a rule; empty for the operations that `Hook` has by default.
fn operations<'a>(rule: &Value, number: &'a str, left: &mut Vec<Left<'a>>) -> String {
    let mut names = Vec::new();
    for operation in texts(rule.get("operations")) {
        match operation.as_str() {
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
    let operations: Vec<_> = names
        .iter()
        .map(|name| format!("webhook::Operation::{name}"))
        .collect();
    if operations.len() < 3 {
        return format!(".operations(&[{}])", operations.join(", "));
    }
    let pad = " ".repeat(INDENT);
    let lines = operations.join(&format!(",\n{pad}    "));
    format!(".operations(&[\n{pad}    {lines},\n{pad}])")
}

/// The other calls.
fn calls(webhook: &Value, rule: &Value, left: &mut Vec<Left>) -> Vec<String> {
    let mut calls = Vec::new();
    for (field, method, type_name, values) in POLICIES {
        match webhook[field].as_str() {
            Some(text) if text == values[1] => {
                calls.push(format!(".{method}(webhook::{type_name}::{text})"));
            }
            Some(text) if text != values[0] => left.push((vec![field], text.to_owned())),
            _ => {}
        }
    }
    match webhook["timeoutSeconds"].as_u64() {
        None | Some(10) => {}
        Some(seconds) => calls.push(format!(".timeout_seconds({seconds})")),
    }
    let subresources = subresources(rule);
    if !subresources.is_empty() {
        calls.push(format!(".subresources(&[{}])", subresources.join(", ")));
    }
    for (field, method) in [
        ("namespaceSelector", "namespaces"),
        ("objectSelector", "objects"),
    ] {
        let labels = labels(&webhook[field]);
        if !labels.is_empty() {
            calls.push(with_list(method, &labels));
        }
    }
    for condition in list(webhook.get("matchConditions")) {
        let (name, expression) = (&condition["name"], &condition["expression"]);
        if let (Some(name), Some(expression)) = (name.as_str(), expression.as_str()) {
            let arguments = vec![literal::text(name), literal::text(expression)];
            calls.push(Call::new(".condition", arguments).laid_out(INDENT));
        }
    }
    calls
}

/// The subresources in a rule, as literals: `"status"` of `books/status`.
fn subresources(rule: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for resource in texts(rule.get("resources")) {
        if let Some((_, subresource)) = resource.split_once('/') {
            names.push(literal::text(subresource));
        }
    }
    names
}

/// A call of a function in code.
struct Call {
    name: String,
    arguments: Vec<String>,
}

/// rustfmt leaves the items of a list, and the arguments of a call, on one line up to this width.
const WIDTH: usize = 60;

impl Call {
    fn new(name: impl Into<String>, arguments: Vec<String>) -> Self {
        Self {
            name: name.into(),
            arguments,
        }
    }

    /// The call, with its arguments on lines of their own if they are too wide. `indent` is that of the line.
    fn laid_out(&self, indent: usize) -> String {
        let line = self.arguments.join(", ");
        if width(&line) <= WIDTH {
            return format!("{}({line})", self.name);
        }
        self.on_lines(indent)
    }

    fn on_lines(&self, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let lines = self.arguments.join(&format!(",\n{pad}    "));
        format!("{}(\n{pad}    {lines},\n{pad})", self.name)
    }
}

/// The indentation of the calls of `Hook`.
const INDENT: usize = 8;

/// The call of a method with a list of calls.
fn with_list(method: &str, items: &[Call]) -> String {
    let texts: Vec<_> = items.iter().map(|item| item.laid_out(INDENT + 4)).collect();
    let line = texts.join(", ");
    if width(&line) <= WIDTH && !line.contains('\n') {
        return format!(".{method}(&[{line}])");
    }
    if let [only] = items {
        return format!(".{method}(&[{}])", only.on_lines(INDENT));
    }
    let pad = " ".repeat(INDENT);
    let lines = texts.join(&format!(",\n{pad}    "));
    format!(".{method}(&[\n{pad}    {lines},\n{pad}])")
}

/// The conditions of a selector, as code.
fn labels(selector: &Value) -> Vec<Call> {
    let mut labels = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let value = literal::text(value.as_str().unwrap_or(""));
        let arguments = vec![literal::text(key), format!("&[{value}]")];
        labels.push(Call::new("webhook::Label::In", arguments));
    }
    for requirement in list(selector.get("matchExpressions")) {
        let mut arguments = vec![literal::text(requirement["key"].as_str().unwrap_or(""))];
        let values = texts(requirement.get("values"));
        let values: Vec<_> = values.iter().map(|value| literal::text(value)).collect();
        let operator = requirement["operator"].as_str().unwrap_or("");
        if matches!(operator, "In" | "NotIn") {
            arguments.push(format!("&[{}]", values.join(", ")));
        }
        labels.push(Call::new(format!("webhook::Label::{operator}"), arguments));
    }
    labels.retain(|label| {
        let (_, operator) = label.name.rsplit_once(':').unwrap_or_default();
        matches!(operator, "DoesNotExist" | "Exists" | "In" | "NotIn")
    });
    labels
}
