//! What people type who know another tool, and what does it here.

use anyhow::{Result, bail};
use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    parser::ValueSource,
};

use super::report::UsageError;
use crate::{
    hint::OrHint,
    names::{in_backticks, in_rust},
    project::Feature,
    visible::quoted,
};

/// What does here what a command or a flag of another tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// This command, for this reason. What the user typed replaces the words in `<>`: `<TYPED>` is the first word, the
    /// others are the words after the row's.
    Run(&'static str, &'static str),
    /// What this hint says; the flag or command is refused.
    Hint(&'static str),
    /// The flag of this name, which each command that has the flag also takes under the name of the row.
    Flag(&'static str),
    /// This feature.
    Feature(Feature),
    /// Nothing needs to be done: the flag is accepted with one of these values, and a note names it.
    Ignored(&'static [&'static str]),
    /// Every project has what the plugin writes: a note names the flag.
    Always,
    /// The flag `--image`. Without an image, the flag is refused with this text.
    Image(&'static str),
    /// Nothing. clap's suggestion for such a flag would be a flag with a similar spelling, but with another meaning.
    Unknown,
}

const BOOL: &[&str] = &["true", "false"];
const V1: &[&str] = &["v1"];

const INIT: Here = Here::Run(
    "mkdir <FOLDER> && cd <FOLDER> && rscaffold init",
    "a project starts in the current folder",
);
const CREATE_API: Here = Here::Run(
    "rscaffold create api --group <GROUP> --version <VERSION> --kind <KIND>",
    "it adds a kind with its types, CRD and controller",
);
const DELETE_API: Here = Here::Run(
    "rscaffold delete api --group <GROUP> --version <VERSION> --kind <KIND>",
    "it removes a version of a kind",
);

const APPLY: Here = Here::Run(
    "rscaffold apply",
    "it renders `PROJECT` again and keeps your edits",
);
const UPDATE: Here = Here::Run(
    "rscaffold update",
    "it merges the new templates with your edits",
);
const NAMESPACE: Here = Here::Hint("set `namespace` in `PROJECT`, then run `rscaffold apply`");
const YES: Here = Here::Hint("leave it out; `--on-conflict` decides conflicts in advance");

/// Each command or flag that users of other tools type, with what does it here. In a command, `|` separates words that
/// mean the same. `--plugins` stands with each name of a plugin, without its domain and its version.
pub const TYPED: [(&str, Here); 73] = [
    // Commands of cargo, helm, kopium, kubebuilder, kubectl and operator-sdk
    ("init|new", INIT),
    ("create|add|new app|operator|project", INIT),
    (
        "create|add|new|scaffold api|cr|crd|kind|resource|type|types|version",
        CREATE_API,
    ),
    ("create|add|scaffold", CREATE_API),
    (
        "create|add|new|scaffold controller|reconciler",
        Here::Run(
            "rscaffold create controller --group <GROUP> --version <VERSION> --kind <KIND>",
            "it adds a controller for an existing kind",
        ),
    ),
    (
        "create|add|new|scaffold webhook|webhooks",
        Here::Run(
            "rscaffold create webhook --group <GROUP> --version <VERSION> --kind <KIND> \
             --programmatic-validation",
            "`--defaulting` and `--conversion` add other webhooks",
        ),
    ),
    (
        "create|add conversion",
        Here::Run(
            "rscaffold create webhook --group <GROUP> --version <VERSION> --kind <KIND> --conversion",
            "the version is the hub",
        ),
    ),
    (
        "delete|destroy|remove|rm api|crd|kind|resource|type|version",
        DELETE_API,
    ),
    ("delete|destroy|remove|rm", DELETE_API),
    (
        "delete|destroy|remove|rm controller",
        Here::Run(
            "rscaffold delete controller --group <GROUP> --version <VERSION> --kind <KIND>",
            "",
        ),
    ),
    (
        "delete|destroy|remove|rm webhook|webhooks",
        Here::Run(
            "rscaffold delete webhook --group <GROUP> --version <VERSION> --kind <KIND>",
            "",
        ),
    ),
    (
        "convert|from-crd|import|kopium",
        Here::Run("rscaffold create api --crd <FILE>", "it writes Rust types"),
    ),
    (
        "migrate|port",
        Here::Run("rscaffold init --from <FOLDER>", "start in an empty folder"),
    ),
    (
        "edit|enable",
        Here::Run("rscaffold edit --enable <FEATURE>", ""),
    ),
    (
        "disable",
        Here::Run("rscaffold edit --disable <FEATURE>", ""),
    ),
    (
        "chart|package|template",
        Here::Run("rscaffold edit --enable helm", "it adds a chart"),
    ),
    (
        "rename",
        Here::Run("rscaffold edit --project-name <NAME>", ""),
    ),
    ("alpha generate", APPLY),
    ("refresh|regenerate|render|sync", APPLY),
    ("alpha update", UPDATE),
    ("upgrade", UPDATE),
    (
        "check|plan|status|validate|verify",
        Here::Run(
            "rscaffold diff",
            "it prints what `rscaffold apply` would change",
        ),
    ),
    (
        "describe|get|info|list|ls|show",
        Here::Run("cat PROJECT", "it lists kinds, controllers and webhooks"),
    ),
    (
        "generate",
        Here::Run(
            "make manifests",
            "it writes CRDs and RBAC from your code; `rscaffold apply` renders the other files",
        ),
    ),
    (
        "build|build-installer|deploy|docker-build|fmt|install|lint|manifests|run|test|undeploy|uninstall",
        Here::Run("make <TYPED>", "`make help` lists all targets"),
    ),
    (
        "bundle|olm",
        Here::Hint("there are no bundles for OLM; `make build-installer` writes one manifest"),
    ),
    // Flags with another name here
    ("-f", Here::Flag("crd")),
    ("-g", Here::Flag("group")),
    ("-k", Here::Flag("kind")),
    ("-v", Here::Flag("version")),
    ("--features", Here::Flag("enable")),
    ("--filename", Here::Flag("crd")),
    ("--from-crd", Here::Flag("crd")),
    ("--module", Here::Flag("repo")),
    ("--mutating", Here::Flag("defaulting")),
    ("--name", Here::Flag("project-name")),
    ("--scope", Here::Flag("namespaced")),
    ("--short-names", Here::Flag("short-name")),
    ("--validating", Here::Flag("programmatic-validation")),
    ("--validation", Here::Flag("programmatic-validation")),
    // Flags that need another form here
    ("-n", NAMESPACE),
    ("--namespace", NAMESPACE),
    ("--api-version", Here::Hint("use `--group` and `--version`")),
    ("--cluster-scoped", Here::Hint("use `--namespaced=false`")),
    ("--no-controller", Here::Hint("use `--controller=false`")),
    ("--no-resource", Here::Hint("use `--resource=false`")),
    ("--overwrite", Here::Hint("use `--on-conflict=theirs`")),
    ("--yes", YES),
    ("-y", YES),
    // Flags of kubebuilder
    ("--crd-version", Here::Ignored(V1)),
    ("--make", Here::Ignored(BOOL)),
    ("--fetch-deps", Here::Ignored(BOOL)),
    ("--skip-go-version-check", Here::Ignored(BOOL)),
    ("--project-version", Here::Ignored(&["3"])),
    ("--multigroup", Here::Ignored(BOOL)),
    ("--ssa", Here::Ignored(BOOL)),
    ("--webhook-version", Here::Ignored(V1)),
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
    ("--input-dir", Here::Unknown),
    ("--legacy", Here::Unknown),
    ("--manifests", Here::Unknown),
    ("--open-gh-issue", Here::Unknown),
    ("--output-dir", Here::Unknown),
    ("--pattern", Here::Unknown),
    ("--verbose", Here::Unknown),
];

/// What does `typed` here, a flag without its value.
pub fn here(typed: &str) -> Option<Here> {
    let row = TYPED.iter().find(|(of_row, _)| *of_row == typed)?;
    Some(row.1)
}

/// What does a command of another tool here, and how many of the words `typed` name that command. The row with the most
/// words counts.
pub fn command(typed: &[&str]) -> Option<(usize, Here)> {
    let commands = TYPED.iter().filter(|(of_row, _)| !of_row.starts_with('-'));
    let matching = commands.filter_map(|(of_row, here)| {
        let words: Vec<_> = of_row.split(' ').collect();
        let mut pairs = words.iter().zip(typed);
        let is_typed = pairs.all(|(names, word)| names.split('|').any(|name| name == *word));
        (is_typed && words.len() <= typed.len()).then_some((words.len(), *here))
    });
    matching.max_by_key(|(count, _)| *count)
}

/// The command of a row, with what the user typed: the words, of which the row has the first `count`, and the flags.
pub fn filled(command: &str, typed: &[&str], count: usize, flags: &[String]) -> String {
    let mut places: Vec<_> = command.split(' ').collect();
    places.retain(|word| word.starts_with('<'));
    places.dedup();
    // A kind may be one word: `webapp/v1/Guestbook`. A path is one word, too.
    let separators: &[char] = if places.len() > 1 { &['/'] } else { &[] };
    let mut given = Vec::new();
    for word in &typed[count..] {
        given.extend(word.split(separators));
    }
    // The last place is first, so that `Guestbook` alone is the kind.
    let values: Vec<_> = places.iter().rev().zip(given.iter().rev()).collect();
    let mut words = Vec::new();
    // A new kind is in upper camel case. An existing kind may come from a CRD, such as `postgresql`.
    let is_new_kind = command.starts_with("rscaffold create api ");
    let mut of_command = command.split(' ');
    while let Some(word) = of_command.next() {
        if flags
            .iter()
            .any(|flag| flag.split('=').next() == Some(word))
        {
            // The user gave this flag, whose value comes next.
            of_command.next();
            continue;
        }
        let value = values.iter().find(|(place, _)| **place == word);
        words.push(match (word, value) {
            ("<TYPED>", _) => quoted(typed[0]),
            ("<KIND>", Some((_, kind))) if is_new_kind => quoted(&in_rust(kind)),
            (_, Some((_, value))) => quoted(value),
            (word, None) => word.to_owned(),
        });
    }
    words.extend(flags.iter().map(|flag| quoted(flag)));
    words.join(" ")
}

/// Adds to each flag of `command` and its subcommands the names that other tools have for it. The help does not show
/// them.
pub fn with_other_names(command: Command) -> Command {
    let named = command.mut_args(|arg| {
        let mut named = arg;
        for (typed, here) in TYPED {
            if !matches!(here, Here::Flag(flag) if named.get_long() == Some(flag)) {
                continue;
            }
            named = match typed.strip_prefix("--") {
                Some(long) => named.alias(long),
                None => named.short_alias(typed.chars().nth(1)),
            };
        }
        named
    });
    named.mut_subcommands(with_other_names)
}

/// Parses `--namespaced`, also from the values of a CRD's `scope`.
pub fn namespaced() -> impl TypedValueParser<Value = bool> {
    let values = [("true", "Namespaced"), ("false", "Cluster")];
    let values = values.map(|(value, scope)| PossibleValue::new(value).alias(scope));
    PossibleValuesParser::new(values)
        .map(|text| ["true", "namespaced"].contains(&text.to_lowercase().as_str()))
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
                Here::Image(why) => {
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
        let ignored = rows.filter(|(_, here)| matches!(here, Here::Always | Here::Ignored(_)));
        let flags: Vec<_> = ignored.map(|(typed, _)| typed).collect();
        let shown = in_backticks(&flags);
        (!flags.is_empty())
            .then(|| format!("flags of kubebuilder that have no effect here: {shown}"))
    }
}

/// The flags that commands accept beside `--plugins`: the name, the values, and what does it here.
fn accepted() -> impl Iterator<Item = (&'static str, &'static [&'static str], Here)> {
    TYPED.into_iter().filter_map(|(typed, here)| match here {
        Here::Ignored(values) => Some((typed.strip_prefix("--")?, values, here)),
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

    #[test]
    fn nothing_is_there_twice() {
        for (index, (typed, _)) in TYPED.iter().enumerate() {
            let mut others = TYPED[..index].iter();
            assert!(others.all(|(other, _)| other != typed), "{typed}");
        }
    }

    #[test]
    fn a_command_is_filled_with_what_the_user_typed() {
        let api = "rscaffold create api --group";
        for (typed, flags, expected) in [
            (
                "new foo",
                "",
                "mkdir foo && cd foo && rscaffold init".to_owned(),
            ),
            (
                "new My App",
                "",
                "mkdir App && cd App && rscaffold init".to_owned(),
            ),
            (
                "new foo",
                "--domain com",
                "mkdir foo && cd foo && rscaffold init --domain com".to_owned(),
            ),
            (
                "create crd",
                "",
                format!("{api} <GROUP> --version <VERSION> --kind <KIND>"),
            ),
            (
                "create database",
                "",
                format!("{api} <GROUP> --version <VERSION> --kind Database"),
            ),
            (
                "add webapp/v1/Page",
                "",
                format!("{api} webapp --version v1 --kind Page"),
            ),
            (
                "add api v1 Page",
                "",
                format!("{api} <GROUP> --version v1 --kind Page"),
            ),
            (
                "create Page",
                "--group web --version=v1",
                "rscaffold create api --kind Page --group web --version=v1".to_owned(),
            ),
            (
                "create api HTTPRoute",
                "",
                format!("{api} <GROUP> --version <VERSION> --kind HTTPRoute"),
            ),
            (
                "delete controller gateway/v1/HTTPRoute",
                "",
                "rscaffold delete controller --group gateway --version v1 --kind HTTPRoute"
                    .to_owned(),
            ),
            (
                "create controller acid/v1/postgresql",
                "",
                "rscaffold create controller --group acid --version v1 --kind postgresql"
                    .to_owned(),
            ),
            (
                "import my;crd.yaml",
                "",
                "rscaffold create api --crd 'my;crd.yaml'".to_owned(),
            ),
            ("fmt", "", "make fmt".to_owned()),
        ] {
            let words: Vec<_> = typed.split(' ').collect();
            let flags: Vec<_> = flags.split_whitespace().map(str::to_owned).collect();
            let Some((count, Here::Run(command, _))) = command(&words) else {
                panic!("{typed}");
            };
            assert_eq!(filled(command, &words, count, &flags), expected, "{typed}");
        }
        assert_eq!(command(&["frobnicate"]), None);
    }
}
