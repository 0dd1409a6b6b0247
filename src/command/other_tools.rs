//! What people type who know another tool, and what does it here.

use anyhow::{Result, bail};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser,
    parser::ValueSource,
};

use super::report::UsageError;
use crate::project::Feature;

/// What does here what a command or a flag of another tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// This text names the command.
    Command(&'static str),
    /// This feature.
    Feature(Feature),
    /// Nothing needs to be done: the flag is accepted with one of these values, and a note names it.
    Ignored(&'static [&'static str]),
    /// Every project has what the plugin writes: a note names the flag.
    Always,
    /// The flag `--image`. Without an image, the flag is refused with this text.
    Image(&'static str),
    /// The flag is refused with this text.
    Refused(&'static str),
    /// Nothing. clap's tip for such a flag would be a flag with a similar spelling, but with another meaning.
    Unknown,
}

const BOOL: &[&str] = &["true", "false"];

/// Each command or flag of another tool, with what does it here. `--plugins` stands with each name of a plugin, without
/// its domain and its version.
pub const TYPED: [(&str, Here); 26] = [
    // kubebuilder
    (
        "alpha generate",
        Here::Command("`rscaffold apply`: it renders `PROJECT` again and keeps your edits"),
    ),
    (
        "alpha update",
        Here::Command("`rscaffold update`: it merges the new templates with your edits"),
    ),
    ("--make", Here::Ignored(BOOL)),
    ("--fetch-deps", Here::Ignored(BOOL)),
    ("--skip-go-version-check", Here::Ignored(BOOL)),
    ("--project-version", Here::Ignored(&["3"])),
    ("--multigroup", Here::Ignored(BOOL)),
    (
        "--ssa",
        Here::Refused("leave it out, every controller uses server-side apply"),
    ),
    ("--plugins=autoupdate", Here::Feature(Feature::Autoupdate)),
    ("--plugins=base", Here::Always),
    (
        "--plugins=deploy-image",
        Here::Image("`rscaffold create api --image IMAGE` makes a controller that runs an image"),
    ),
    ("--plugins=go", Here::Always),
    ("--plugins=grafana", Here::Feature(Feature::Grafana)),
    ("--plugins=helm", Here::Feature(Feature::Helm)),
    ("--plugins=kustomize", Here::Always),
    ("--cli-version", Here::Unknown),
    ("--component-config", Here::Unknown),
    ("--crd-version", Here::Unknown),
    ("--input-dir", Here::Unknown),
    ("--legacy", Here::Unknown),
    ("--manifests", Here::Unknown),
    ("--open-gh-issue", Here::Unknown),
    ("--output-dir", Here::Unknown),
    ("--pattern", Here::Unknown),
    ("--verbose", Here::Unknown),
    ("--webhook-version", Here::Unknown),
];

/// What does `typed` here, a flag without its value or a command.
pub fn here(typed: &str) -> Option<Here> {
    let row = TYPED.iter().find(|(of_row, _)| *of_row == typed)?;
    Some(row.1)
}

/// The error that names the command to type instead of a command of another tool, such as `alpha generate`.
pub fn refused_command(words: &[&str]) -> Option<UsageError> {
    for count in (1..=words.len()).rev() {
        let typed = words[..count].join(" ");
        if let Some(Here::Command(command)) = here(&typed) {
            return Some(UsageError(format!("instead of `{typed}`, run {command}")));
        }
    }
    None
}

/// The flags of other tools that a user typed: each as typed, with what does it here. The help does not show them.
#[derive(Debug, Default)]
pub struct FlagsOfOtherTools(Vec<(String, Here)>);

impl FlagsOfOtherTools {
    /// The features that correspond to the flags. `has_image` says whether the command has an image.
    ///
    /// # Errors
    /// When a flag needs another command here.
    pub fn features(&self, has_image: bool) -> Result<Vec<Feature>> {
        let mut features = Vec::new();
        for (typed, here) in &self.0 {
            match here {
                Here::Feature(feature) => features.push(*feature),
                Here::Image(_) if has_image => {}
                Here::Image(why) | Here::Refused(why) => {
                    bail!(UsageError(format!("`{typed}` is not supported: {why}")));
                }
                Here::Always | Here::Command(_) | Here::Ignored(_) | Here::Unknown => {}
            }
        }
        Ok(features)
    }

    /// A note that names the flags without effect.
    pub fn note(&self) -> Option<String> {
        let rows = self.0.iter();
        let ignored = rows.filter(|(_, here)| matches!(here, Here::Always | Here::Ignored(_)));
        let flags: Vec<_> = ignored.map(|(typed, _)| format!("`{typed}`")).collect();
        let shown = flags.join(", ");
        (!flags.is_empty())
            .then(|| format!("flags of kubebuilder that have no effect here: {shown}"))
    }
}

/// The flags that commands accept beside `--plugins`: the name, the values, and what does it here.
fn accepted() -> impl Iterator<Item = (&'static str, &'static [&'static str], Here)> {
    TYPED.into_iter().filter_map(|(typed, here)| match here {
        Here::Ignored(values) => Some((typed.strip_prefix("--")?, values, here)),
        Here::Refused(_) => Some((typed.strip_prefix("--")?, BOOL, here)),
        _ => None,
    })
}

/// A plugin of kubebuilder, such as `go/v4`, or in full `helm.kubebuilder.io/v2-alpha`.
fn plugin(text: &str) -> Result<(String, Here)> {
    let name = text.split(['/', '.']).next().unwrap_or(text);
    match here(&format!("--plugins={name}")) {
        Some(here) => Ok((format!("--plugins={text}"), here)),
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
                flag.num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("true")
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
        for (name, _, here) in accepted() {
            if matches.value_source(name) == Some(ValueSource::CommandLine) {
                typed.push((format!("--{name}"), here));
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

    #[test]
    fn a_row_is_of_what_people_type_and_nothing_is_there_twice() {
        for (index, (typed, here)) in TYPED.iter().enumerate() {
            let is_command = matches!(here, Here::Command(_));
            assert_eq!(typed.starts_with("--"), !is_command, "{typed}");
            let mut others = TYPED[..index].iter();
            assert!(others.all(|(other, _)| other != typed), "{typed}");
        }
    }

    #[test]
    fn a_command_of_another_tool_gets_the_command_that_does_it_here() {
        let refused = refused_command(&["alpha", "generate", "there"]).unwrap();
        let start = "instead of `alpha generate`, run `rscaffold apply`: ";
        assert!(refused.to_string().starts_with(start), "{refused}");
        for words in [&[][..], &["alpha"], &["generate"], &["--make"]] {
            assert!(refused_command(words).is_none(), "{words:?}");
        }
    }
}
