//! What a manager can have in addition to its controllers, such as webhooks. The core knows only this trait, so it
//! compiles without the code of extensions.

use std::{fmt::Debug, path::Path, time::Duration};

use anyhow::Result;
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use tokio::task::JoinSet;

use super::{health::Health, host::Host, operator::Operator, rbac::Grant, task::Pending};

/// An addition to the controllers of a manager. By default, a method adds nothing.
pub trait Extension: Default {
    /// The flags of the extension.
    type Options: Args + Clone + Debug;

    /// The permissions that the extension needs, for an operator with these kinds.
    fn grants(&self, _operator: &Operator, _crds: &[CustomResourceDefinition]) -> Vec<Grant> {
        Vec::new()
    }

    /// Adds to `crds` what the extension does for these kinds, and refuses kinds that it does not allow.
    fn complete(&self, _crds: &mut [CustomResourceDefinition]) -> Result<()> {
        Ok(())
    }

    /// Writes the manifests of the extension below the folder `out`.
    fn write_manifests(&self, _operator: &Operator, _out: &Path) -> Result<()> {
        Ok(())
    }

    /// The tasks of the extension, for an operator with these kinds. `delay` is how long the CRD of a kind must be
    /// unchanged before its objects are migrated.
    fn tasks(
        &self,
        _host: &Host,
        _crds: &[CustomResourceDefinition],
        _delay: Duration,
    ) -> Result<Vec<Pending>> {
        Ok(Vec::new())
    }

    /// How the extension changes the probes and the end of the Pod; `None` if nothing is served.
    fn serving(&self, _options: &Self::Options) -> Option<Serving> {
        None
    }

    /// Spawns tasks in `servers` that serve the extension until some time after the operator stops, and report to
    /// `health`.
    fn serve(
        self,
        _options: &Self::Options,
        _host: &Host,
        _health: &Health,
        _servers: &mut JoinSet<Result<()>>,
    ) -> Result<()> {
        Ok(())
    }
}

/// How a served extension changes the Pod: the API server calls it before this replica leads, and for some time after
/// SIGTERM.
pub struct Serving {
    /// The readiness of the Pod. Without an extension, the Pod is ready when its controllers are.
    pub health: Health,
    /// How long the extension is served after the operator stops.
    pub shutdown_delay: Duration,
}

/// No extension.
#[cfg(not(all(feature = "versions", feature = "webhook")))]
#[derive(Default)]
pub struct Nothing {}

#[cfg(not(all(feature = "versions", feature = "webhook")))]
impl Extension for Nothing {
    type Options = ();
}
