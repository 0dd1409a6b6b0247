//! Writes the manifests that follow from the code: the CustomResourceDefinitions and the role.

use std::{fs, path::Path};

use anyhow::{Context, ensure};
use k8s_openapi::{
    api::rbac::v1::{ClusterRole, Role},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::ObjectMeta;
use serde::Serialize;
use serde_saphyr::SerializerOptions;

use super::{
    operator::Operator,
    rbac::{self, Rule},
};

/// Writes `config/crd/bases/<group>_<plural>.yaml` for each CRD and `config/rbac/role.yaml` below
/// `out`, and both for the operator's chart as well.
pub(super) fn write<'a>(
    operator: &Operator,
    out: &Path,
    crds: &[CustomResourceDefinition],
    rules: impl IntoIterator<Item = &'a Rule> + Clone,
) -> anyhow::Result<()> {
    ensure!(
        !operator.namespaced || !rules.clone().into_iter().any(Rule::is_cluster_wide),
        "`RULES` have a URL, which the Role of a namespaced operator cannot have"
    );
    // The templates of the chart include these files.
    let chart = operator.chart.map(|chart| out.join(chart).join("files"));
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        write_file(&out.join("config/crd/bases").join(&name), &[crd])?;
        if let Some(chart) = &chart {
            write_file(&chart.join("crds").join(&name), &[crd])?;
        }
    }
    let metadata = ObjectMeta {
        name: Some("manager-role".to_owned()),
        ..ObjectMeta::default()
    };
    let rules = Some(rbac::merge(rules));
    let role = if operator.namespaced {
        serde_json::to_value(Role { metadata, rules })
    } else {
        serde_json::to_value(ClusterRole {
            metadata,
            rules,
            ..ClusterRole::default()
        })
    };
    let role = role?;
    write_file(&out.join("config/rbac/role.yaml"), &[&role])?;
    match chart {
        Some(chart) => write_file(&chart.join("role.yaml"), &[&role]),
        None => Ok(()),
    }
}

/// Writes manifests to one file, as documents of YAML.
pub(super) fn write_file(path: &Path, manifests: &[impl Serialize]) -> anyhow::Result<()> {
    let mut text = "# Written by `make manifests` from the operator's code.\n".to_owned();
    let write = || {
        for (index, manifest) in manifests.iter().enumerate() {
            if index > 0 {
                text.push_str("---\n");
            }
            let mut options = SerializerOptions::default();
            // Long texts stay on one line, so that a diff shows one changed line.
            options.folded_wrap_chars = usize::MAX;
            serde_saphyr::to_fmt_writer_with_options(&mut text, manifest, options)?;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        anyhow::Ok(fs::write(path, text)?)
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}
