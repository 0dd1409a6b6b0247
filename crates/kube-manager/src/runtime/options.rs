//! The flags of an operator: the cluster, the served addresses, and leader election. Most flags have the same names as
//! in operators written in Go.

use std::{env, path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use http::Uri;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};

/// What the features of the crate add to the controllers.
#[cfg(not(feature = "versions"))]
pub(super) use super::extension::Nothing as Versions;
#[cfg(not(feature = "webhook"))]
pub(super) use super::extension::Nothing as Webhooks;
#[cfg(feature = "versions")]
pub(super) use super::storage::Versions;
#[cfg(feature = "webhook")]
pub(super) use super::webhook::Webhooks;

use super::{
    extension::Extension,
    flags::{Address, duration},
    leader::Election,
    proxy,
    requests::READ_TIMEOUT,
};

/// The flags of a manager, for `#[command(flatten)]`.
///
/// Each flag except `--kubeconfig` can also be set by an environment variable: `--concurrency` is
/// `KUBE_MANAGER_CONCURRENCY`. The prefix keeps variables for other programs in the Pod, such as `CONCURRENCY`, from
/// setting a flag of the operator.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Kubeconfig to use; by default $KUBECONFIG, ~/.kube/config, or the Pod's ServiceAccount
    #[arg(long)]
    pub(super) kubeconfig: Option<PathBuf>,

    /// URL of the API server, in place of the one in the kubeconfig
    #[arg(long, env = "KUBE_MANAGER_MASTER")]
    pub(super) master: Option<Uri>,

    /// Namespace to watch; repeat the flag for more [default: all namespaces; with a Role instead of a ClusterRole, the
    /// namespace of the Pod or of the kubeconfig]
    #[arg(
        long = "namespace",
        env = "KUBE_MANAGER_NAMESPACE",
        value_delimiter = ','
    )]
    pub(super) namespaces: Vec<String>,

    /// How many objects each controller reconciles at once
    #[arg(long, env = "KUBE_MANAGER_CONCURRENCY")]
    #[arg(default_value = "10", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) concurrency: u16,

    /// Address to serve /healthz and /readyz on, such as `:8081`; `0` for none
    #[arg(long, env = "KUBE_MANAGER_HEALTH_PROBE_BIND_ADDRESS")]
    #[arg(default_value = ":8081", value_name = "ADDRESS")]
    pub(super) health_probe_bind_address: Address,

    /// Address to serve /metrics on, such as `:8443`; `0` for none
    #[arg(long, env = "KUBE_MANAGER_METRICS_BIND_ADDRESS")]
    #[arg(default_value = "0", value_name = "ADDRESS")]
    pub(super) metrics_bind_address: Address,

    /// Whether /metrics is served over HTTPS, only to clients that may `get` it
    #[arg(long, env = "KUBE_MANAGER_METRICS_SECURE")]
    #[arg(default_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) metrics_secure: bool,

    /// Folder of tls.crt and tls.key for /metrics, read again when they change [default: none, the
    /// certificate is self-signed]
    #[arg(long, env = "KUBE_MANAGER_METRICS_CERT_PATH", value_name = "FOLDER")]
    pub(super) metrics_cert_path: Option<PathBuf>,

    /// Whether, and how, several replicas share the work
    #[command(flatten)]
    pub(super) election: Election,

    /// How long reconciles and tasks may run after SIGTERM; the Pod's terminationGracePeriodSeconds must be at least a
    /// second longer
    #[arg(long, env = "KUBE_MANAGER_GRACEFUL_SHUTDOWN_TIMEOUT")]
    #[arg(default_value = "8s", value_parser = duration, value_name = "TIME")]
    pub(super) graceful_shutdown_timeout: Duration,

    /// Whether the leader migrates objects that are stored in an old version of their kind
    #[arg(long, env = "KUBE_MANAGER_STORAGE_MIGRATION")]
    #[arg(default_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) storage_migration: bool,

    /// How long the leader waits before a migration, so that each API server knows the new version
    #[arg(long, env = "KUBE_MANAGER_STORAGE_MIGRATION_DELAY")]
    #[arg(default_value = "1m", value_parser = duration, value_name = "TIME")]
    pub(super) storage_migration_delay: Duration,

    /// Whether, and how, webhooks are served
    #[command(flatten)]
    pub(super) webhooks: <Webhooks as Extension>::Options,
}

impl Options {
    /// The configuration of the cluster: from the flags, or from the places where kubectl looks for it.
    pub(super) async fn cluster(&self) -> anyhow::Result<Config> {
        let mut config = match (&self.kubeconfig, &self.master) {
            (Some(path), _) => {
                let config = match Kubeconfig::read_from(path) {
                    Ok(kubeconfig) => {
                        let defaults = KubeConfigOptions::default();
                        Config::from_custom_kubeconfig(kubeconfig, &defaults).await
                    }
                    Err(error) => Err(error),
                };
                config.with_context(|| format!("cannot use the kubeconfig `{}`", path.display()))?
            }
            (None, Some(master)) => Config::infer()
                .await
                .unwrap_or_else(|_| Config::new(master.clone())),
            (None, None) => Config::infer().await.context("no cluster is configured")?,
        };
        if let Some(master) = &self.master {
            config.cluster_url = master.clone();
        }
        config.read_timeout = Some(READ_TIMEOUT);
        config.proxy_url = proxy::choose(&config, |name| env::var(name).ok());
        Ok(config)
    }

    /// The namespaces to watch, without duplicates; empty for all namespaces. `own` is watched if the flag gives no
    /// namespace. Empty values, as in `KUBE_MANAGER_NAMESPACE=`, are ignored.
    pub(super) fn namespaces(&self, own: Option<&str>) -> Vec<String> {
        let mut namespaces = self.namespaces.clone();
        for namespace in &mut namespaces {
            *namespace = namespace.trim().to_owned();
        }
        namespaces.retain(|namespace| !namespace.is_empty());
        namespaces.sort_unstable();
        namespaces.dedup();
        if namespaces.is_empty() {
            namespaces.extend(own.map(str::to_owned));
        }
        namespaces
    }
}

/// A warning if the Pod may be killed before the operator has stopped, which can take up to `longest`.
pub(super) fn too_slow(longest: Duration) -> Option<String> {
    let seconds = longest
        .as_secs()
        .saturating_add(u64::from(longest.subsec_nanos() > 0));
    (longest > GRACE).then(|| {
        format!(
            "after SIGTERM, the operator may take {seconds} s to stop: a Pod needs \
             `terminationGracePeriodSeconds: {seconds}` or more, or it is killed earlier"
        )
    })
}

/// The grace period of the Pod in the manifests that rscaffold writes.
const GRACE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use clap::{Command, Parser};
    use proptest::prelude::*;

    use super::{super::flags::LONGEST, *};

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn options(arguments: &str) -> Result<Options, clap::Error> {
        let words = ["operator"].into_iter().chain(arguments.split_whitespace());
        Cli::try_parse_from(words).map(|cli| cli.options)
    }

    /// The flags whose value is a time.
    fn flags_of_times() -> Vec<String> {
        let command = Options::augment_args(Command::default());
        let flags = command.get_arguments().filter(|flag| {
            let mut names = flag.get_value_names().into_iter().flatten();
            names.any(|name| name == "TIME")
        });
        flags
            .filter_map(|flag| flag.get_long().map(str::to_owned))
            .collect()
    }

    proptest! {
        #[test]
        fn a_time_that_a_flag_cannot_have_is_refused_with_what_it_can_have(
            text in "[+-]?([0-9.]{0,20}(ns|us|ms|s|m|h|[a-zµ+-]{0,2})){0,3}",
        ) {
            for flag in flags_of_times() {
                if let Err(error) = options(&format!("--{flag}={text}")) {
                    let message = error.to_string();
                    let first = message.lines().next().unwrap_or_default();
                    let names_the_flag = first.contains(&format!("--{flag} <TIME>"));
                    let says_what_is_valid = ["it must", "expected one of", "invalid float"]
                        .iter()
                        .any(|words| first.contains(words));
                    // clap itself refuses an empty value.
                    prop_assert!(names_the_flag && (says_what_is_valid || text.is_empty()), "{message}");
                }
            }
            if let Ok(time) = duration(&text) {
                prop_assert!(time <= LONGEST);
            }
        }
    }

    #[test]
    fn namespaces_are_taken_once() {
        let options = options("--namespace b,a --namespace a --namespace=").expect("namespaces");
        assert_eq!(options.namespaces(None), ["a", "b"]);
        assert_eq!(options.namespaces(Some("own")), ["a", "b"]);
    }

    #[test]
    fn without_a_namespace_the_own_one_is_watched_or_all() {
        let options = options("--namespace=").expect("no namespace");
        assert_eq!(options.namespaces(Some("own")), ["own"]);
        assert_eq!(options.namespaces(None), [""; 0]);
    }

    #[test]
    fn times_are_read_as_go_writes_them() {
        let times = options("--leader-elect-lease-duration 1m30s").expect("a time");
        assert_eq!(times.election.leader_elect_lease_duration.as_secs(), 90);
        assert!(options("--leader-elect-lease-duration=-1s").is_err());
        assert!(options("--leader-elect-lease-duration=15").is_err());
    }

    #[test]
    fn a_stop_that_takes_longer_than_the_grace_period_is_reported() {
        for seconds in [9, 10] {
            assert_eq!(too_slow(Duration::from_secs(seconds)), None);
        }
        let says = too_slow(Duration::from_millis(10_001)).expect("a warning");
        assert!(
            says.contains("`terminationGracePeriodSeconds: 11`"),
            "{says}"
        );
        assert!(too_slow(Duration::MAX).is_some());
    }

    #[test]
    fn a_variable_is_named_like_its_flag() {
        let flags = Options::augment_args(Command::default());
        let variables: Vec<_> = flags
            .get_arguments()
            .filter(|flag| flag.get_id() != "kubeconfig")
            .map(|flag| {
                let name = flag.get_long().expect("a flag").replace('-', "_");
                let variable = flag.get_env().expect("a variable").to_str();
                (format!("KUBE_MANAGER_{}", name.to_uppercase()), variable)
            })
            .collect();
        assert!(variables.len() > 10, "{variables:?}");
        for (name, variable) in &variables {
            assert_eq!(Some(name.as_str()), *variable);
            // Kubernetes sets such variables in a Pod for each Service in its namespace.
            let of_a_service = ["_PORT", "_SERVICE_HOST"];
            assert!(
                !of_a_service.iter().any(|end| name.ends_with(end)),
                "{name}"
            );
            assert!(!name.contains("_PORT_"), "{name}");
        }
    }
}
