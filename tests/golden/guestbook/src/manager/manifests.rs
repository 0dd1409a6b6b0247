// SPDX-FileCopyrightText: The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Writes the manifests that follow from the code: the CustomResourceDefinitions and the role.

use std::{fs, path::Path};

use anyhow::Context;
use k8s_openapi::{
    api::rbac::v1::ClusterRole,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::ObjectMeta;
use serde::Serialize;
use serde_saphyr::SerializerOptions;

use super::rbac::{self, Rule};

/// Writes `config/crd/bases/<group>_<plural>.yaml` for each CRD and `config/rbac/role.yaml` below
/// `out`.
///
/// # Errors
///
/// When a file cannot be written.
pub fn write<'a>(
    out: &Path,
    crds: &[CustomResourceDefinition],
    rules: impl IntoIterator<Item = &'a Rule>,
) -> anyhow::Result<()> {
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        write_file(&out.join("config/crd/bases").join(name), crd)?;
    }
    let role = ClusterRole {
        metadata: ObjectMeta {
            name: Some("manager-role".to_owned()),
            ..ObjectMeta::default()
        },
        rules: Some(rbac::merge(rules)),
        ..ClusterRole::default()
    };
    write_file(&out.join("config/rbac/role.yaml"), &role)
}

fn write_file(path: &Path, manifest: &impl Serialize) -> anyhow::Result<()> {
    let mut options = SerializerOptions::default();
    // Long texts stay on one line, so that a change of one shows as one changed line.
    options.folded_wrap_chars = usize::MAX;
    let mut text = "# Written by `make manifests` from the operator's code.\n".to_owned();
    serde_saphyr::to_fmt_writer_with_options(&mut text, manifest, options)
        .and_then(|()| {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            Ok(fs::write(path, text)?)
        })
        .with_context(|| format!("cannot write `{}`", path.display()))
}
