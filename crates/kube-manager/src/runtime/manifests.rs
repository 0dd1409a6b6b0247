//! Writes the manifests that are generated from the code: the CustomResourceDefinitions and the role.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, ensure};
use k8s_openapi::{
    Resource,
    api::rbac::v1::{ClusterRole, PolicyRule, Role, RoleBinding},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
    },
};
use serde::Serialize;
use serde_json::{Value, json};
use serde_saphyr::SerializerOptions;

use super::{
    operator::Operator,
    rbac::{self, Grant},
};

/// The most bytes that all CRDs have as JSON if a chart has their descriptions. Helm stores chart and manifests,
/// compressed, in one Secret of at most 1 MiB. For the CRDs of well-known projects, the Secret has 0.4 to 0.9 bytes for
/// each byte of JSON.
const MOST_IN_CHART: usize = 800_000;

/// Writes these files below `out`, and copies of them to the operator's chart, where large CRDs have no descriptions:
///
/// - `config/crd/bases/<group>_<plural>.yaml` for each CRD,
/// - `config/rbac/role.yaml`,
/// - `config/default/namespaced_roles.yaml`, which keeps the roles of other namespaces in their namespaces.
pub(super) fn write(
    operator: &Operator,
    out: &Path,
    crds: &[CustomResourceDefinition],
    grants: Vec<Grant>,
) -> anyhow::Result<()> {
    ensure!(
        !operator.namespaced || !grants.iter().any(Grant::is_cluster_wide),
        "`RULES` have a URL, which the Role of a namespaced operator cannot have"
    );
    // The templates of the chart include these files.
    let chart = operator.chart.map(|chart| out.join(chart).join("files"));
    write_crds(&out.join("config/crd/bases"), crds)?;
    if let Some(chart) = &chart {
        write_crds(&chart.join("crds"), &for_chart(crds)?)?;
    }
    let mut rules = rbac::by_namespace(grants);
    let kind = if operator.namespaced {
        Role::KIND
    } else {
        ClusterRole::KIND
    };
    let mut roles = vec![json!({
        "apiVersion": Role::API_VERSION,
        "kind": kind,
        "metadata": {"name": "manager-role"},
        "rules": rules.remove(&None).unwrap_or_default(),
    })];
    let (mut all_replacements, mut namespaces) = (Vec::new(), Vec::new());
    for (namespace, rules) in rules {
        let Some(namespace) = namespace else { continue };
        roles.extend(namespaced_role(namespace, &rules));
        all_replacements.extend(replacements(namespace));
        namespaces.push(json!({"namespace": namespace, "rules": rules}));
    }
    write_file(&out.join("config/rbac/role.yaml"), &roles)?;
    write_file(
        &out.join("config/default/namespaced_roles.yaml"),
        &[all_replacements],
    )?;
    if let Some(chart) = chart {
        write_file(&chart.join("role.yaml"), &roles[..1])?;
        write_file(&chart.join("namespaced_roles.yaml"), &[namespaces])?;
    }
    Ok(())
}

fn write_crds(folder: &Path, crds: &[CustomResourceDefinition]) -> anyhow::Result<()> {
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        write_file(&folder.join(name), &[crd])?;
    }
    Ok(())
}

/// The CRDs as the chart has them: without descriptions if they are large.
fn for_chart(
    crds: &[CustomResourceDefinition],
) -> serde_json::Result<Vec<CustomResourceDefinition>> {
    let mut copies = crds.to_vec();
    if serde_json::to_vec(crds)?.len() > MOST_IN_CHART {
        let versions = copies.iter_mut().flat_map(|crd| &mut crd.spec.versions);
        for schema in versions.filter_map(|version| version.schema.as_mut()) {
            schema
                .open_api_v3_schema
                .iter_mut()
                .for_each(remove_descriptions);
        }
    }
    Ok(copies)
}

/// The API server refuses descriptions in other parts of a CRD's schema.
fn remove_descriptions(schema: &mut JSONSchemaProps) {
    schema.description = None;
    for field in schema.properties.iter_mut().flat_map(BTreeMap::values_mut) {
        remove_descriptions(field);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        remove_descriptions(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        remove_descriptions(values);
    }
}

/// The annotation with the namespace of a role, for kustomize.
const NAMESPACE: &str = "kube-manager/namespace";

/// The ServiceAccount that gets the permissions, by its name in config/rbac.
const SERVICE_ACCOUNT: [&str; 2] = ["ServiceAccount", "controller-manager"];

/// The Role with `rules` in `namespace`, and its RoleBinding.
fn namespaced_role(namespace: &str, rules: &[PolicyRule]) -> [Value; 2] {
    let [kind, name] = SERVICE_ACCOUNT;
    [
        json!({
            "apiVersion": Role::API_VERSION,
            "kind": Role::KIND,
            "metadata": metadata(role_name(namespace), namespace),
            "rules": rules,
        }),
        json!({
            "apiVersion": RoleBinding::API_VERSION,
            "kind": RoleBinding::KIND,
            "metadata": metadata(binding_name(namespace), namespace),
            "roleRef": {
                "apiGroup": Role::GROUP,
                "kind": Role::KIND,
                "name": role_name(namespace),
            },
            "subjects": [{"kind": kind, "name": name, "namespace": "system"}],
        }),
    ]
}

fn metadata(name: String, namespace: &str) -> Value {
    json!({
        "annotations": {NAMESPACE: namespace},
        "name": name,
        "namespace": namespace,
    })
}

/// The kustomize replacements that keep the Role and the RoleBinding in their namespace, because the setting
/// `namespace` of a kustomization moves all objects. The RoleBinding then also needs the final name and namespace of
/// the ServiceAccount.
fn replacements(namespace: &str) -> [Value; 3] {
    fn source([kind, name]: [&str; 2], path: &str) -> Value {
        json!({"kind": kind, "name": name, "fieldPath": path})
    }
    fn target([kind, name]: [&str; 2], path: &str) -> Value {
        json!({"select": {"kind": kind, "name": name}, "fieldPaths": [path]})
    }

    let (role, binding) = (role_name(namespace), binding_name(namespace));
    let role = [Role::KIND, &role];
    let binding = [RoleBinding::KIND, &binding];
    [
        json!({
            "source": source(role, &format!("metadata.annotations.{NAMESPACE}")),
            "targets": [target(role, "metadata.namespace"), target(binding, "metadata.namespace")],
        }),
        json!({
            "source": source(SERVICE_ACCOUNT, "metadata.name"),
            "targets": [target(binding, "subjects.0.name")],
        }),
        json!({
            "source": source(SERVICE_ACCOUNT, "metadata.namespace"),
            "targets": [target(binding, "subjects.0.namespace")],
        }),
    ]
}

fn role_name(namespace: &str) -> String {
    format!("manager-role-{namespace}")
}

fn binding_name(namespace: &str) -> String {
    format!("manager-rolebinding-{namespace}")
}

/// Writes manifests to one file, as YAML documents.
pub(super) fn write_file(path: &Path, manifests: &[impl Serialize]) -> anyhow::Result<()> {
    write_documents(path, manifests).with_context(|| format!("cannot write `{}`", path.display()))
}

fn write_documents(path: &Path, manifests: &[impl Serialize]) -> anyhow::Result<()> {
    let mut text = "# Written by `make manifests` from the operator's code.\n".to_owned();
    for (index, manifest) in manifests.iter().enumerate() {
        if index > 0 {
            text.push_str("---\n");
        }
        let mut options = SerializerOptions::default();
        // Long texts stay on one line, so that a diff shows one changed line.
        options.folded_wrap_chars = usize::MAX;
        serde_saphyr::to_fmt_writer_with_options(&mut text, manifest, options)?;
    }
    // For programs that watch the file, or read it at the same time.
    if fs::read(path).is_ok_and(|before| before == text.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CRD whose fields have this description.
    fn crd(text: &str) -> CustomResourceDefinition {
        // A field may be called `description`, and a value may have such a field.
        let item = json!({"type": "object", "description": text, "default": {"description": "a"},
            "properties": {"description": {"type": "string", "description": text}}});
        let schema = json!({"type": "object", "description": text, "properties": {
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item},
        }});
        let names = json!({"kind": "Book", "plural": "books"});
        let version = json!({"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema}});
        let crd = json!({"metadata": {}, "spec": {"group": "shop.example.com", "names": names,
            "scope": "Namespaced", "versions": [version]}});
        serde_json::from_value(crd).expect("a CRD")
    }

    #[test]
    fn large_crds_have_no_descriptions_in_a_chart() {
        let described = json!(crd("A")).to_string();
        let plain = described.replace(r#""description":"A","#, "");
        let plain: CustomResourceDefinition = serde_json::from_str(&plain).expect("a CRD");
        for (length, is_large) in [(MOST_IN_CHART / 6, false), (MOST_IN_CHART / 5, true)] {
            let crds = [crd(&"a".repeat(length))];
            let expected = if is_large { &plain } else { &crds[0] };
            assert_eq!(&for_chart(&crds).expect("JSON")[0], expected);
        }
        let many = vec![crd(&"a".repeat(MOST_IN_CHART / 6)); 2];
        assert_eq!(for_chart(&many).expect("JSON"), [plain.clone(), plain]);
    }
}
