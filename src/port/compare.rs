//! What the Go project deploys beside its operator, and the new project does not.

use serde_json::Value;

use super::{
    deployed::is_user_role,
    kustomize,
    lost::Lost,
    operator::Operator,
    source::{Object, Source},
};
use crate::engine::Texts;

/// The kinds of which other lines speak.
const ELSEWHERE: [&str; 3] = [
    "CustomResourceDefinition",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// What each project of kubebuilder deploys beside its operator: a kind, and the end of a name. The new project has it
/// under another name, or does it in another way.
const USUAL: [(&str, &str); 16] = [
    ("Certificate", "metrics-certs"),
    ("Certificate", "serving-cert"),
    ("ClusterRole", "manager-role"),
    ("ClusterRole", "metrics-auth-role"),
    ("ClusterRole", "metrics-reader"),
    ("ClusterRole", "proxy-role"),
    ("ClusterRoleBinding", "manager-rolebinding"),
    ("ClusterRoleBinding", "metrics-auth-rolebinding"),
    ("ClusterRoleBinding", "proxy-rolebinding"),
    ("Issuer", "selfsigned-issuer"),
    ("NetworkPolicy", "allow-metrics-traffic"),
    ("NetworkPolicy", "allow-webhook-traffic"),
    ("Role", "leader-election-role"),
    ("RoleBinding", "leader-election-rolebinding"),
    ("Service", "metrics-service"),
    ("Service", "webhook-service"),
];

/// Reports each object, or field of an object, that the new project does not deploy. `rendered` has the files of the new
/// project.
pub(super) fn report(operator: &Operator, rendered: &Texts, lost: &mut Lost) {
    let Operator {
        source,
        deployed,
        granted,
        ..
    } = operator;
    if !deployed.is_built {
        return;
    }
    let files = rendered
        .iter()
        .map(|(path, text)| (path.as_str(), text.content()));
    let here = kustomize::build(&files.collect(), "config/default").objects;
    for object in &deployed.objects {
        let (kind, name) = (object.kind(), object.name());
        let is_operator = (deployed.deployment.as_ref()).is_some_and(|own| own.name() == name);
        let is_elsewhere = ELSEWHERE.contains(&kind) || kind == "Deployment" && is_operator;
        let is_usual = USUAL
            .iter()
            .any(|(of, end)| *of == kind && name.ends_with(end))
            || is_user_role(object)
            || kind == "ServiceMonitor" && here.iter().any(|other| other.is_a(kind));
        if kind.is_empty() || is_elsewhere || is_usual || granted.has(object) {
            continue;
        }
        match here
            .iter()
            .find(|other| other.is_a(kind) && other.name() == name)
        {
            Some(other) => differences(source, object, other, lost),
            None => lost.add(format!(
                "{}: the {kind} `{name}`: copy it to `config/default`, and add the file to \
                 `config/default/kustomization.yaml`",
                source.place(object, &["kind"]),
            )),
        }
    }
}

/// Reports each field that `here` lacks, or that has another value there.
fn differences(source: &Source, object: &Object, here: &Object, lost: &mut Lost) {
    if object.kind().contains("Role") {
        return;
    }
    let mut fields = Vec::new();
    compare(&object.value, &here.value, &mut Vec::new(), &mut fields);
    for (path, value) in fields {
        if path
            .iter()
            .any(|name| name.starts_with("app.kubernetes.io/"))
        {
            continue;
        }
        lost.add(format!(
            "{}: `{}: {value}` of the {} `{}`: add it to the one in `{}`",
            source.place(object, &path),
            path.join("."),
            object.kind(),
            object.name(),
            here.file()
        ));
    }
}

/// Adds the fields that `here` lacks, or that have another value there, to `fields`.
fn compare<'a>(
    value: &'a Value,
    here: &Value,
    path: &mut Vec<&'a str>,
    fields: &mut Vec<(Vec<&'a str>, &'a Value)>,
) {
    match value {
        Value::Object(own) if here.is_object() || here.is_null() => {
            for (name, field) in own {
                path.push(name);
                compare(field, &here[name], path, fields);
                path.pop();
            }
        }
        value if value == here => {}
        value => fields.push((path.clone(), value)),
    }
}
