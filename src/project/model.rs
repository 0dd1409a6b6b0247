//! The desired state of a project, as `PROJECT` describes it.

use std::{collections::BTreeSet, ops::Not};

use clap::ValueEnum;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{deployment::Deployment, feature::Feature, resources::Resources, runtime::Runtime};
use crate::{
    names::{Domain, Header, LeaseName, NamespaceName, ProjectName, Repo, WorkspaceRoot},
    yaml,
};

/// The desired state of a project.
// The fields are in alphabetical order, as in kubebuilder's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Project {
    /// The version of the rscaffold that last wrote the project: `0.3.0`.
    pub cli_version: String,
    /// The Deployment of the operator, as far as it differs from the default.
    #[serde(default, skip_serializing_if = "Deployment::is_usual")]
    pub deployment: Deployment,
    /// The domain of the project's API groups: `example.com`.
    pub domain: Domain,
    /// The optional parts of the project.
    #[serde(default = "Feature::usual", deserialize_with = "yaml::list")]
    pub features: BTreeSet<Feature>,
    /// Always [`Project::LAYOUT`].
    pub(crate) layout: Vec<String>,
    /// The name of the Lease that replicas share, if it is not the default.
    pub lease: Option<LeaseName>,
    /// The license of the project's own code.
    pub license: License,
    /// The header of each source file, in place of the one made from license and owner.
    pub license_header: Option<Header>,
    /// Always `true`: each group has its own folder.
    #[serde(deserialize_with = "multigroup")]
    pub(crate) multigroup: bool,
    /// The namespace that the operator is deployed to, if it is not the default.
    pub namespace: Option<NamespaceName>,
    /// Whether the operator watches only its own namespace, and needs no cluster-wide permissions.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub namespaced: bool,
    /// The copyright holder in the header of each source file.
    pub owner: Option<String>,
    /// The prefix of the names of the project's objects.
    pub project_name: ProjectName,
    /// The repository of the code; the last part of its path names the crate.
    pub repo: Repo,
    /// The kinds that the operator defines or has controllers for.
    // `PROJECT` has a `ResourceEntry` of each, which also depends on the rest of the project.
    #[serde(default, deserialize_with = "yaml::list", skip_serializing)]
    pub resources: Resources,
    /// The source of the crate that runs the operator.
    #[serde(default)]
    pub runtime: Runtime,
    /// The version of the file format, always `3`.
    pub(crate) version: String,
    /// The root of the cargo workspace that the project is a member of.
    pub workspace: Option<WorkspaceRoot>,
}

/// The license of the project's sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
#[value(rename_all = "lowercase")]
pub enum License {
    /// Apache License 2.0
    #[value(alias = "apache-2.0")]
    Apache2,
    /// MIT License
    Mit,
    /// No license file, and no license in the sources
    None,
}

impl Project {
    /// The name of the file.
    pub const FILE: &str = "PROJECT";
    /// The layout of the projects that this tool writes.
    pub const LAYOUT: &str = "rust.rscaffold/v1";
    /// The version of the file's format.
    pub(super) const VERSION: &str = "3";

    /// A project of this version of rscaffold, with the default settings and no resources.
    pub fn new(domain: Domain, project_name: ProjectName, repo: Repo) -> Self {
        Self {
            cli_version: env!("CARGO_PKG_VERSION").to_owned(),
            deployment: Deployment::default(),
            domain,
            features: Feature::usual(),
            layout: vec![Self::LAYOUT.to_owned()],
            lease: None,
            license: License::Apache2,
            license_header: None,
            multigroup: true,
            namespace: None,
            namespaced: false,
            owner: None,
            project_name,
            repo,
            resources: Resources::default(),
            runtime: Runtime::of_version(env!("CARGO_PKG_VERSION")),
            version: Self::VERSION.to_owned(),
            workspace: None,
        }
    }
}

fn multigroup<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        Ok(true)
    } else {
        let reason = "it must be `true`: each group has its own folder";
        Err(D::Error::custom(reason))
    }
}
