//! The flags of other tools that commands accept.

use anyhow::{Result, bail};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser,
    parser::ValueSource,
};

use super::{
    other_tools::{
        BOOL,
        Equivalent::{self, Ignored},
        OTHER_TOOLS, equivalent,
    },
    report::UsageError,
};
use crate::{hint::OrHint, names::in_backticks, project::Feature};

/// The flags of other tools that a user typed: each as typed, with its equivalent. The help does not show them.
#[derive(Debug, Default)]
pub struct FlagsOfOtherTools(Vec<(String, Equivalent)>);

impl FlagsOfOtherTools {
    /// The features that correspond to the flags. `has_image` says whether the command has an image.
    ///
    /// # Errors
    /// When a flag needs another command.
    pub fn features(&self, has_image: bool) -> Result<Vec<Feature>> {
        let mut features = Vec::new();
        for (typed, equivalent) in &self.0 {
            match equivalent {
                Equivalent::Feature(feature) => features.push(*feature),
                Equivalent::Image(_) if has_image => {}
                Equivalent::Image(why) => {
                    return Err(UsageError(format!("`{typed}` needs an image"))).or_hint(*why);
                }
                _ => {}
            }
        }
        Ok(features)
    }

    /// A note that names the flags without effect.
    pub fn note(&self) -> Option<String> {
        let rows = self.0.iter();
        let ignored =
            rows.filter(|(_, equivalent)| matches!(equivalent, Equivalent::Always | Ignored(_)));
        let flags: Vec<_> = ignored.map(|(typed, _)| typed).collect();
        let shown = in_backticks(&flags);
        match flags.len() {
            0 => None,
            1 => Some(format!(
                "a flag of kubebuilder that has no effect here: {shown}"
            )),
            _ => Some(format!(
                "flags of kubebuilder that have no effect here: {shown}"
            )),
        }
    }
}

/// The flags that commands accept beside `--plugins`: the name, the values, and the equivalent.
fn accepted() -> impl Iterator<Item = (&'static str, &'static [&'static str], Equivalent)> {
    OTHER_TOOLS
        .into_iter()
        .filter_map(|(typed, equivalent)| match equivalent {
            Ignored(values) => Some((typed.strip_prefix("--")?, values, equivalent)),
            _ => None,
        })
}

/// A plugin of kubebuilder, such as `go/v4`, or in full `helm.kubebuilder.io/v2-alpha`.
fn plugin(text: &str) -> Result<(String, Equivalent)> {
    let name = text.split(['/', '.']).next().unwrap_or(text);
    match equivalent(&format!("--plugins={name}")) {
        Some(equivalent) => Ok((format!("--plugins={text}"), equivalent)),
        None => {
            bail!("`{text}` is not a plugin of kubebuilder, such as `go/v4` or `helm/v2-alpha`")
        }
    }
}

impl Args for FlagsOfOtherTools {
    fn augment_args(command: Command) -> Command {
        let mut extended = command.arg(
            Arg::new("plugins")
                .long("plugins")
                .hide(true)
                .value_name("PLUGIN")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(plugin),
        );
        for (name, values, _) in accepted() {
            let flag = (Arg::new(name).long(name).hide(true))
                .value_parser(PossibleValuesParser::new(values));
            extended = extended.arg(if values == BOOL {
                flag.num_args(0..=1).default_missing_value("true")
            } else {
                flag
            });
        }
        extended
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FlagsOfOtherTools {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Vec::new();
        for (name, _, equivalent) in accepted() {
            if matches.value_source(name) == Some(ValueSource::CommandLine) {
                typed.push((format!("--{name}"), equivalent));
            }
        }
        typed.extend(matches.get_many("plugins").into_iter().flatten().cloned());
        Ok(Self(typed))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &str) -> FlagsOfOtherTools {
        let command = FlagsOfOtherTools::augment_args(Command::new("init").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments.split(' '));
        FlagsOfOtherTools::from_arg_matches(&matches.unwrap()).unwrap()
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
        let refused = "--plugins=deploy-image.go.kubebuilder.io/v1-alpha";
        let error = parsed(refused).features(false).unwrap_err();
        assert_eq!(error.to_string(), format!("`{refused}` needs an image"));
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
