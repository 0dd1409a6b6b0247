//! The flags of webhooks.

use std::{env, path::PathBuf, str::FromStr, time::Duration};

use anyhow::{Result, ensure};
use clap::builder::NonEmptyStringValueParser;
use http::Uri;

use super::authority::Lifetimes;
use crate::runtime::flags::{Address, duration};

/// The flags of webhooks.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Options {
    /// Whether webhooks are served; $ENABLE_WEBHOOKS set to `false` switches them off too
    #[arg(long, env = "KUBE_MANAGER_WEBHOOKS", default_value = "true")]
    #[arg(action = clap::ArgAction::Set, value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) webhooks: bool,

    /// Address to serve webhooks on, such as `:9443`; `0` for none
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_BIND_ADDRESS")]
    #[arg(default_value = ":9443", value_name = "ADDRESS")]
    pub(super) webhook_bind_address: Address,

    /// Folder of tls.crt and tls.key for webhooks, read again when they change. The API server is made to
    /// trust ca.crt, if that is there too [default: none, the operator makes certificates itself]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CERT_PATH", value_name = "FOLDER")]
    pub(super) webhook_cert_path: Option<PathBuf>,

    /// Secret of tls.crt and tls.key for webhooks in the operator's namespace, which others keep, such as
    /// cert-manager [default: none, the operator makes certificates itself]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CERT_SECRET", value_name = "SECRET")]
    #[arg(conflicts_with = "webhook_cert_path", value_parser = NonEmptyStringValueParser::new())]
    pub(super) webhook_cert_secret: Option<String>,

    /// Secret that has, or is to have, the authority of the certificates that the operator makes
    /// [default: name of the operator, and `-webhook-ca`]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CA_SECRET", value_name = "SECRET")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) webhook_ca_secret: Option<String>,

    /// Service of the webhooks, for which the operator makes certificates [default: name of the
    /// operator, and `-webhook-service`]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_SERVICE", value_name = "SERVICE")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(super) webhook_service: Option<String>,

    /// MutatingWebhookConfiguration that is to trust the certificates [default: name of the operator,
    /// and `-mutating-webhook-configuration`]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_MUTATING_CONFIGURATION")]
    #[arg(value_name = "CONFIGURATION", value_parser = NonEmptyStringValueParser::new())]
    pub(super) webhook_mutating_configuration: Option<String>,

    /// ValidatingWebhookConfiguration that is to trust the certificates [default: name of the operator,
    /// and `-validating-webhook-configuration`]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_VALIDATING_CONFIGURATION")]
    #[arg(value_name = "CONFIGURATION", value_parser = NonEmptyStringValueParser::new())]
    pub(super) webhook_validating_configuration: Option<String>,

    /// URL that the API server calls webhooks at, such as `https://192.168.1.2:9443`, for an operator
    /// outside of the cluster; `auto` finds an address of this machine. The operator makes the certificate
    /// [default: none, it calls the Service]
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_URL", value_name = "URL")]
    #[arg(conflicts_with = "webhook_cert_path")]
    pub(super) webhook_url: Option<WebhookUrl>,

    /// Name or address that the API server may call webhooks at, besides those of the Service; can be
    /// repeated
    #[arg(long = "webhook-host", env = "KUBE_MANAGER_WEBHOOK_HOST")]
    #[arg(value_name = "HOST", value_delimiter = ',')]
    pub(super) webhook_hosts: Vec<String>,

    /// How long a certificate that the operator makes for a replica lasts; half of it is used
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CERT_LIFETIME")]
    #[arg(default_value = "720h", value_parser = duration, value_name = "TIME")]
    pub(super) webhook_cert_lifetime: Duration,

    /// How long an authority that the operator makes lasts; half of it is used
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CA_LIFETIME")]
    #[arg(default_value = "8760h", value_parser = duration, value_name = "TIME")]
    pub(super) webhook_ca_lifetime: Duration,

    /// How long it may take until all API servers have heard of a new authority
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_CA_DELAY")]
    #[arg(default_value = "5m", value_parser = duration, value_name = "TIME")]
    pub(super) webhook_ca_delay: Duration,

    /// How many calls may run at once; the API server repeats others for as long as they may take
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_MAX_CALLS")]
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..))]
    #[arg(value_name = "NUMBER")]
    pub(super) webhook_max_calls: u16,

    /// How long webhooks are served after SIGTERM, until the API server asks other replicas
    #[arg(long, env = "KUBE_MANAGER_WEBHOOK_SHUTDOWN_DELAY")]
    #[arg(default_value = "5s", value_parser = duration, value_name = "TIME")]
    pub(super) webhook_shutdown_delay: Duration,
}

impl Options {
    /// The name of the MutatingWebhookConfiguration of `operator`.
    pub(super) fn mutating_configuration(&self, operator: &str) -> String {
        let name = self.webhook_mutating_configuration.clone();
        name.unwrap_or_else(|| format!("{operator}-mutating-webhook-configuration"))
    }

    /// The name of the ValidatingWebhookConfiguration of `operator`.
    pub(super) fn validating_configuration(&self, operator: &str) -> String {
        let name = self.webhook_validating_configuration.clone();
        name.unwrap_or_else(|| format!("{operator}-validating-webhook-configuration"))
    }

    /// The name of the Service of `operator`.
    pub(super) fn service(&self, operator: &str) -> String {
        let name = self.webhook_service.clone();
        name.unwrap_or_else(|| format!("{operator}-webhook-service"))
    }

    /// The name of the Secret in which `operator` keeps its authority.
    pub(super) fn ca_secret(&self, operator: &str) -> String {
        let name = self.webhook_ca_secret.clone();
        name.unwrap_or_else(|| format!("{operator}-webhook-ca"))
    }

    /// The reason why no webhooks are served; `None` if they are served.
    pub(super) fn off(&self) -> Option<&'static str> {
        // Operators in Go read this variable.
        let variable = env::var("ENABLE_WEBHOOKS");
        if variable.is_ok_and(|value| value == "false") {
            Some("`ENABLE_WEBHOOKS` is `false`")
        } else if !self.webhooks {
            Some("`--webhooks` is `false`")
        } else if self.webhook_bind_address.is_none() {
            Some("`--webhook-bind-address` is `0`")
        } else {
            None
        }
    }

    pub(super) fn lifetimes(&self) -> Result<Lifetimes> {
        let lifetimes = Lifetimes {
            authority: self.webhook_ca_lifetime,
            leaf: self.webhook_cert_lifetime,
            delay: self.webhook_ca_delay,
        };
        lifetimes.validate()?;
        Ok(lifetimes)
    }
}

/// The URL at which the API server calls webhooks.
#[derive(Clone, Debug, PartialEq)]
pub enum WebhookUrl {
    /// At an address of this machine that the operator finds.
    Auto,
    /// At this URL, without a slash at its end.
    Url(String),
}

impl FromStr for WebhookUrl {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let url = text.strip_suffix('/').unwrap_or(text);
        let is_base = url.parse::<Uri>().is_ok_and(|uri| {
            let authority = uri.authority().map(|authority| authority.as_str());
            let base = authority.map(|authority| format!("https://{authority}"));
            base.as_deref() == Some(url) && !url.contains('@')
        });
        ensure!(
            is_base,
            "it must look like `https://192.168.1.2:9443`, or be `auto`"
        );
        Ok(Self::Url(url.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_url_has_no_path() {
        fn url(text: &str) -> Result<WebhookUrl, String> {
            Ok(WebhookUrl::Url(text.to_owned()))
        }
        fn read(text: &str) -> Result<WebhookUrl, String> {
            text.parse()
                .map_err(|error: anyhow::Error| error.to_string())
        }

        assert_eq!(read("auto"), Ok(WebhookUrl::Auto));
        assert_eq!(read("https://a.b:9443"), url("https://a.b:9443"));
        assert_eq!(read("https://a.b/"), url("https://a.b"));
        assert_eq!(read("https://[::1]:1"), url("https://[::1]:1"));
        for wrong in [
            "",
            "Auto",
            "a.b:9443",
            "http://a.b",
            "https://",
            "https://a.b/c",
            "https://a.b//",
            "https://a.b?c",
            "https://me@a.b",
        ] {
            let error = read(wrong).expect_err(wrong);
            assert!(error.contains("https://192.168.1.2:9443"), "{error}");
        }
    }
}
