//! What a manager can have in addition to its controllers, such as webhooks. The core knows only this trait, so it
//! compiles without the code of webhooks.

use std::{fmt::Debug, path::Path, time::Duration};

use anyhow::Result;
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use tokio::task::JoinSet;

use super::{health::Health, host::Host, operator::Operator, rbac::Rule};

/// An addition to the controllers of a manager.
pub trait Extension: Default {
    /// The flags of the extension.
    type Options: Args + Clone + Debug;

    /// The permissions that the extension needs.
    fn rules(&self) -> Vec<&'static [Rule]>;

    /// Adds to `crds` what the extension does for these kinds.
    fn complete(&self, crds: &mut [CustomResourceDefinition]) -> Result<()>;

    /// Writes the manifests of the extension below the folder `out`.
    fn write_manifests(&self, operator: &Operator, out: &Path) -> Result<()>;

    /// How the extension changes the probes and the end of the Pod; `None` if nothing is served.
    fn serving(&self, options: &Self::Options) -> Option<Serving>;

    /// Spawns tasks in `servers` that serve the extension until some time after the operator stops, and report to
    /// `health`.
    fn serve(
        self,
        options: &Self::Options,
        host: &Host,
        health: &Health,
        servers: &mut JoinSet<Result<()>>,
    ) -> Result<()>;
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
#[cfg(not(feature = "webhook"))]
#[derive(Default)]
pub struct Nothing {}

/// No flags.
#[cfg(not(feature = "webhook"))]
#[derive(Clone, Debug, Args)]
pub struct NoOptions {}

#[cfg(not(feature = "webhook"))]
impl Extension for Nothing {
    type Options = NoOptions;

    fn rules(&self) -> Vec<&'static [Rule]> {
        Vec::new()
    }

    fn complete(&self, _: &mut [CustomResourceDefinition]) -> Result<()> {
        Ok(())
    }

    fn write_manifests(&self, _: &Operator, _: &Path) -> Result<()> {
        Ok(())
    }

    fn serving(&self, _: &NoOptions) -> Option<Serving> {
        None
    }

    fn serve(self, _: &NoOptions, _: &Host, _: &Health, _: &mut JoinSet<Result<()>>) -> Result<()> {
        Ok(())
    }
}
