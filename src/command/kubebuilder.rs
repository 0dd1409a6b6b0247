//! Flags of kubebuilder that have no effect or another form here, so that users can type kubebuilder's commands.

use std::str::FromStr;

use anyhow::{Error, Result, ensure};
use clap::{Args, Subcommand};

use super::report::UsageError;
use crate::project::Feature;

const IMAGE: &str = "`rscaffold create api --image IMAGE` makes a controller that runs an image";
const SSA: &str = "leave it out, every controller uses server-side apply";

/// Flags that are accepted, but not shown in the help.
#[derive(Debug, Default, Args)]
pub struct Kubebuilder {
    /// In kubebuilder, runs make afterwards
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    make: Option<bool>,

    /// Download the dependencies
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    fetch_deps: Option<bool>,

    /// Accept any version of Go
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    skip_go_version_check: Option<bool>,

    /// Version of the format of `PROJECT`
    #[arg(long, hide = true, value_name = "VERSION", value_parser = ["3"])]
    project_version: Option<String>,

    /// Directories for each group
    #[arg(long, hide = true, value_name = "BOOL", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    multigroup: Option<bool>,

    /// Apply objects by server-side apply
    #[arg(long, hide = true)]
    ssa: bool,

    /// Plugins that write the files
    #[arg(long, hide = true, value_name = "PLUGIN", value_delimiter = ',')]
    plugins: Vec<Plugin>,
}

impl Kubebuilder {
    /// The features that correspond to the plugins. `has_image` says whether the command has an image.
    ///
    /// # Errors
    /// When a flag needs another command here.
    pub fn features(&self, has_image: bool) -> Result<Vec<Feature>> {
        let unsupported =
            |flag: &str, instead| UsageError(format!("`{flag}` is not supported: {instead}"));
        ensure!(!self.ssa, unsupported("--ssa", SSA));
        let mut features = Vec::new();
        for plugin in &self.plugins {
            match &*plugin.name {
                "autoupdate" => features.push(Feature::Autoupdate),
                "deploy-image" => ensure!(has_image, unsupported(&plugin.flag(), IMAGE)),
                "grafana" => features.push(Feature::Grafana),
                "helm" => features.push(Feature::Helm),
                _ => {}
            }
        }
        Ok(features)
    }

    /// A note that names the flags without effect.
    pub fn note(&self) -> Option<String> {
        let flags = [
            ("--make", self.make.is_some()),
            ("--fetch-deps", self.fetch_deps.is_some()),
            (
                "--skip-go-version-check",
                self.skip_go_version_check.is_some(),
            ),
            ("--project-version", self.project_version.is_some()),
            ("--multigroup", self.multigroup.is_some()),
        ];
        let flags = flags.into_iter().filter(|(_, is_given)| *is_given);
        let flags = flags.map(|(flag, _)| flag.to_owned());
        let base = self.plugins.iter().filter(|plugin| plugin.is_base());
        let without_effect: Vec<_> = flags.chain(base.map(Plugin::flag)).collect();
        (!without_effect.is_empty()).then(|| {
            let flags = without_effect.join("`, `");
            format!("flags of kubebuilder that have no effect here: `{flags}`")
        })
    }
}

/// A plugin of kubebuilder, such as `go/v4`, or in full `helm.kubebuilder.io/v2-alpha`.
#[derive(Debug, Clone)]
struct Plugin {
    /// The name without domain and version, such as `helm`.
    name: String,
    text: String,
}

impl Plugin {
    /// Plugins for the parts that every project of rscaffold has.
    const BASE: [&str; 3] = ["base", "go", "kustomize"];
    const OTHERS: [&str; 4] = ["autoupdate", "deploy-image", "grafana", "helm"];

    fn is_base(&self) -> bool {
        Self::BASE.contains(&&*self.name)
    }

    /// The flag as the user gave it.
    fn flag(&self) -> String {
        format!("--plugins={}", self.text)
    }
}

impl FromStr for Plugin {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let key = text.split('/').next().unwrap_or(text);
        let name = key.split('.').next().unwrap_or(key);
        ensure!(
            Self::BASE.contains(&name) || Self::OTHERS.contains(&name),
            "`{text}` is not a plugin of kubebuilder, such as `go/v4` or `helm/v2-alpha`"
        );
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }
}

/// `alpha`
#[derive(Debug, Subcommand)]
pub enum Alpha {
    /// Render the project again
    #[command(disable_help_flag = true)]
    Generate(Rest),
    /// Update the project
    #[command(disable_help_flag = true)]
    Update(Rest),
}

/// Ignored arguments.
#[derive(Debug, Args)]
pub struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Alpha {
    /// An error that names the command to type instead.
    pub fn refused(&self) -> UsageError {
        UsageError(
            match self {
                Self::Generate(_) => {
                    "instead of `alpha generate`, run `rscaffold apply`: it renders \
                `PROJECT` again and keeps your edits"
                }
                Self::Update(_) => {
                    "instead of `alpha update`, run `rscaffold update`: it merges the \
                new templates with your edits"
                }
            }
            .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(arguments: &str) -> Kubebuilder {
        let command = Kubebuilder::augment_args(Command::new("init").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments.split(' '));
        Kubebuilder::from_arg_matches(&matches.unwrap()).unwrap()
    }

    #[test]
    fn plugins_are_features_have_no_effect_or_are_refused() {
        for (plugin, expected) in [
            ("autoupdate/v1-alpha", vec![Feature::Autoupdate]),
            ("helm/v2-alpha", vec![Feature::Helm]),
            ("helm.kubebuilder.io/v2-alpha", vec![Feature::Helm]),
            ("grafana/v1-alpha,go/v4", vec![Feature::Grafana]),
            ("go.kubebuilder.io/v4", vec![]),
            ("kustomize/v2,base.go.kubebuilder.io/v4", vec![]),
        ] {
            let plugins = parsed(&format!("--plugins={plugin}"));
            assert_eq!(plugins.features(false).unwrap(), expected, "{plugin}");
            let has_base =
                plugin.contains("go/") || plugin.contains("kustomize") || plugin.contains("go.");
            assert_eq!(plugins.note().is_some(), has_base, "{plugin}");
        }
        for refused in ["--plugins=deploy-image.go.kubebuilder.io/v1-alpha", "--ssa"] {
            let error = parsed(refused).features(false).unwrap_err();
            assert!(error.is::<UsageError>(), "{refused}");
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("`{refused}` is not supported: ")),
                "{text}"
            );
        }
        let image = parsed("--plugins=deploy-image/v1-alpha");
        assert_eq!(image.features(true).unwrap(), []);
    }

    #[test]
    fn flags_without_an_effect_are_named() {
        assert_eq!(parsed("--plugins=helm/v2-alpha").note(), None);
        assert_eq!(
            parsed(
                "--make=false --fetch-deps --skip-go-version-check --project-version=3 --multigroup"
            )
            .note()
            .as_deref(),
            Some(
                "flags of kubebuilder that have no effect here: `--make`, `--fetch-deps`, \
                 `--skip-go-version-check`, `--project-version`, `--multigroup`"
            )
        );
    }
}
