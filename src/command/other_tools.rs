//! Commands and flags of other tools, each with its equivalent in rscaffold.

use std::{path::Path, sync::LazyLock};

use clap::{
    Command, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};

use self::Equivalent::{Flag, Hint, Ignored, Run, Unknown};
use crate::{
    names::{Version, in_rust},
    project::Feature,
    visible::quoted,
};

/// The equivalent of a command or a flag of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equivalent {
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

pub(super) const BOOL: &[&str] = &["true", "false"];
const V1: &[&str] = &["v1"];

const INIT_REPO: Equivalent = Run("rscaffold init --repo <REPO>", IN_FOLDER);
const IN_FOLDER: &str = "a project starts in the current folder";
const INIT: Equivalent = Run(
    "mkdir -p <FOLDER> && cd <FOLDER> && rscaffold init",
    IN_FOLDER,
);
const CREATE_API: Equivalent = Run(
    "rscaffold create api --group <GROUP> --version <VERSION> --kind <KIND>",
    "it adds a kind with its types, CRD and controller",
);
const CREATE_CONTROLLER: Equivalent = Run(
    "rscaffold create controller --group <GROUP> --version <VERSION> --kind <KIND>",
    "it adds a controller for an existing kind",
);
const CREATE_WEBHOOK: Equivalent = Run(
    "rscaffold create webhook --group <GROUP> --version <VERSION> --kind <KIND> \
     --programmatic-validation",
    "`--defaulting` and `--conversion` add other webhooks",
);
const DELETE_API: Equivalent = Run(
    "rscaffold delete api --group <GROUP> --version <VERSION> --kind <KIND>",
    "it removes a version of a kind",
);
const FROM_CRD: Equivalent = Run("rscaffold create api --crd <FILE>", "it writes Rust types");
const FROM_GO: Equivalent = Run("rscaffold init --from <FOLDER>", "start in an empty folder");

const APPLY: Equivalent = Run(
    "rscaffold apply",
    "it renders `PROJECT` again and keeps your edits",
);
const UPDATE: Equivalent = Run(
    "rscaffold update",
    "it merges the new templates with your edits",
);
const ENABLE: Equivalent = Run("rscaffold edit --enable <FEATURE>", "");
const DISABLE: Equivalent = Run("rscaffold edit --disable <FEATURE>", "");
const NAMESPACE: Equivalent = Hint("set `namespace` in `PROJECT`, then run `rscaffold apply`");
/// The flag of operator-sdk with group and version: `--api-version=webapp.example.com/v1`.
pub const OF_GROUP: Equivalent = Hint("use `--group` and `--version`");
const COLOR: Equivalent = Hint("set the environment variable `NO_COLOR=1` to turn off colour");
/// Of the flags of a webhook. Other commands of other tools have flags of these names, too.
pub const IN_HOOK: Equivalent =
    Hint("set it in the constant `HOOK` of the webhook's file, then run `make manifests`");
const YES: Equivalent = Hint("leave it out; `--on-conflict` decides conflicts in advance");

/// Commands and flags of other tools, each with its equivalent. In a command, `|` separates words that mean the same.
/// `--plugins` stands with each name of a plugin, without its domain and its version.
pub const OTHER_TOOLS: [(&str, Equivalent); 100] = [
    // Commands of cargo, helm, kopium, kubebuilder, kubectl and operator-sdk
    ("init|new", INIT),
    ("api|crd", CREATE_API),
    ("controller", CREATE_CONTROLLER),
    ("webhook", CREATE_WEBHOOK),
    ("init|new .", Run("rscaffold init", IN_FOLDER)),
    ("create|add|new app|operator|project", INIT),
    (
        "create|add|new|scaffold api|apis|cr|crd|kind|resource|type|types|version",
        CREATE_API,
    ),
    ("create|add|scaffold", CREATE_API),
    (
        "create|add|new|scaffold group",
        Run(
            "rscaffold create api --version <VERSION> --kind <KIND> --group <GROUP>",
            "a group comes with its first kind",
        ),
    ),
    (
        "create|add|new|scaffold spoke",
        Hint(
            "run `rscaffold create webhook --conversion --group <GROUP> --kind <KIND>`: all other versions become spokes",
        ),
    ),
    (
        "create|add|new|scaffold controller|controllers|reconciler",
        CREATE_CONTROLLER,
    ),
    (
        "create|add|new|scaffold webhook|webhooks|validating|validating-webhook|validation|validator",
        CREATE_WEBHOOK,
    ),
    (
        "create|add|new|scaffold defaulter|defaulting|mutating|mutating-webhook|mutation",
        Run(
            "rscaffold create webhook --group <GROUP> --version <VERSION> --kind <KIND> \
             --defaulting",
            "`--programmatic-validation` and `--conversion` add other webhooks",
        ),
    ),
    (
        "create|add conversion",
        Run(
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
        Run(
            "rscaffold delete controller --group <GROUP> --version <VERSION> --kind <KIND>",
            "",
        ),
    ),
    (
        "delete|destroy|remove|rm webhook|webhooks",
        Run(
            "rscaffold delete webhook --group <GROUP> --version <VERSION> --kind <KIND>",
            "",
        ),
    ),
    (
        "create|add|new chart|helm|helm-chart",
        Run("rscaffold edit --enable helm", "it adds a chart"),
    ),
    (
        "delete|destroy|remove|rm chart|helm|helm-chart",
        Run("rscaffold edit --disable helm", ""),
    ),
    ("create|add|new feature|plugin", ENABLE),
    ("delete|destroy|remove|rm feature|plugin", DISABLE),
    (
        "delete|destroy|remove|rm operator|project",
        Hint("run `make undeploy`, then delete the folder"),
    ),
    ("convert|from-crd|import|kopium", FROM_CRD),
    ("migrate|port", FROM_GO),
    (
        "edit PROJECT",
        Hint("edit the file in your editor, then run `rscaffold apply`"),
    ),
    ("edit|enable", ENABLE),
    ("disable", DISABLE),
    (
        "chart|helm|package|template",
        Run("rscaffold edit --enable helm", "it adds a chart"),
    ),
    ("rename", Run("rscaffold edit --project-name <NAME>", "")),
    ("alpha generate", APPLY),
    ("refresh|regenerate|render|sync", APPLY),
    ("alpha update", UPDATE),
    ("upgrade", UPDATE),
    (
        "check|plan|status|validate|verify",
        Run(
            "rscaffold diff",
            "it prints what `rscaffold apply` would change",
        ),
    ),
    (
        "describe|get|info|list|ls|show",
        Run("cat PROJECT", "it lists kinds, controllers and webhooks"),
    ),
    (
        "gen|generate",
        Run(
            "make manifests",
            "it writes CRDs and RBAC from your code; `rscaffold apply` renders the other files",
        ),
    ),
    (
        "build|build-installer|deploy|docker-build|fmt|install|lint|manifests|run|test|undeploy|uninstall",
        Run("make <TYPED>", "`make help` lists all targets"),
    ),
    ("clean", Hint("`cargo clean` deletes what cargo has built")),
    (
        "revert|rollback|undo",
        Hint(
            "`git diff` shows what has changed since your last commit, and `git restore <FILE>` takes it back",
        ),
    ),
    (
        "bundle|olm",
        Hint("there are no bundles for OLM; `make build-installer` writes one manifest"),
    ),
    // Flags with another name
    ("-f", Flag("crd")),
    ("-g", Flag("group")),
    ("-k", Flag("kind")),
    ("-v", Flag("version")),
    ("--features", Flag("enable")),
    ("--file", Flag("crd")),
    ("--filename", Flag("crd")),
    ("--from", Flag("crd")),
    ("--from-crd", Flag("crd")),
    ("--module", Flag("repo")),
    ("--mutate", Flag("defaulting")),
    ("--mutating", Flag("defaulting")),
    ("--name", Flag("project-name")),
    ("--scope", Flag("namespaced")),
    ("--short-names", Flag("short-name")),
    ("--validate", Flag("programmatic-validation")),
    ("--validating", Flag("programmatic-validation")),
    ("--validation", Flag("programmatic-validation")),
    // Flags that need another form
    ("-n", NAMESPACE),
    ("--namespace", NAMESPACE),
    ("--api-version", OF_GROUP),
    ("--apiVersion", OF_GROUP),
    ("--color", COLOR),
    ("--no-color", COLOR),
    ("--operations", IN_HOOK),
    ("--failure-policy", IN_HOOK),
    ("--timeout", IN_HOOK),
    ("--cluster", Hint("use `--namespaced=false`")),
    ("--cluster-scoped", Hint("use `--namespaced=false`")),
    ("--no-controller", Hint("use `--controller=false`")),
    ("--no-resource", Hint("use `--resource=false`")),
    ("--overwrite", Hint("use `--on-conflict=theirs`")),
    (
        "--conversion=webhook",
        Hint(
            "a webhook that converts is added with `rscaffold create webhook --conversion --group <GROUP> --kind <KIND>`",
        ),
    ),
    ("--yes", YES),
    ("-y", YES),
    // Flags of kubebuilder
    ("--crd-version", Ignored(V1)),
    ("--make", Ignored(BOOL)),
    ("--fetch-deps", Ignored(BOOL)),
    ("--skip-go-version-check", Ignored(BOOL)),
    ("--project-version", Ignored(&["3"])),
    ("--multigroup", Ignored(BOOL)),
    ("--ssa", Ignored(BOOL)),
    ("--webhook-version", Ignored(V1)),
    (
        "--plugins=autoupdate",
        Equivalent::Feature(Feature::Autoupdate),
    ),
    ("--plugins=base", Equivalent::Always),
    (
        "--plugins=deploy-image",
        Equivalent::Image(
            "`rscaffold create api --image IMAGE` makes a controller that runs an image",
        ),
    ),
    ("--plugins=go", Equivalent::Always),
    ("--plugins=grafana", Equivalent::Feature(Feature::Grafana)),
    ("--plugins=helm", Equivalent::Feature(Feature::Helm)),
    ("--plugins=kustomize", Equivalent::Always),
    ("--cli-version", Unknown),
    ("--component-config", Unknown),
    ("--input-dir", Unknown),
    ("--legacy", Unknown),
    ("--manifests", Unknown),
    ("--open-gh-issue", Unknown),
    ("--output-dir", Unknown),
    ("--pattern", Unknown),
    ("--verbose", Unknown),
];

/// The equivalent of the flag `typed`, which has no value.
pub fn equivalent(typed: &str) -> Option<Equivalent> {
    let row = OTHER_TOOLS.iter().find(|(of_row, _)| *of_row == typed)?;
    Some(row.1)
}

/// Finds the row for `typed`. Returns it with the number of words that it matches. The row with the most words counts.
pub fn command(typed: &[&str]) -> Option<(usize, Equivalent)> {
    let commands = OTHER_TOOLS
        .iter()
        .filter(|(of_row, _)| !of_row.starts_with('-'));
    let matching = commands.filter_map(|(of_row, equivalent)| {
        let words: Vec<_> = of_row.split(' ').collect();
        let mut pairs = words.iter().zip(typed);
        let is_typed = pairs.all(|(names, word)| names.split('|').any(|name| name == *word));
        (is_typed && words.len() <= typed.len()).then_some((words.len(), *equivalent))
    });
    let (count, row) = matching.max_by_key(|(count, _)| *count)?;
    let path = typed[count..].last().unwrap_or(&"");
    let is_manifest = [".json", ".yaml", ".yml"]
        .iter()
        .any(|end| path.ends_with(end));
    let host = path.split_once('/').map_or("", |(host, _)| host);
    let is_repo = host.contains('.') && !host.starts_with('.');
    // The name of a feature is in lower case; a kind is not.
    let is_feature = count == 1 && Feature::from_str(path, false).is_ok();
    let of_path = match row {
        CREATE_API if is_feature => ENABLE,
        DELETE_API if is_feature => DISABLE,
        CREATE_API if is_manifest => FROM_CRD,
        INIT if is_repo => INIT_REPO,
        FROM_CRD if Path::new(path).is_dir() => FROM_GO,
        ENABLE | DISABLE if !path.is_empty() && Feature::from_str(path, true).is_err() => {
            Hint("`rscaffold edit --help` lists the settings and the features")
        }
        row => row,
    };
    Some((count, of_path))
}

/// The flags of `create webhook` that replace the one in its row.
const OTHER_PURPOSES: [&str; 2] = ["--conversion", "--defaulting"];

/// The command of a row, with what the user typed: the words, of which the row has the first `count`, and the flags.
pub fn filled(command: &str, typed: &[&str], count: usize, flags: &[String]) -> String {
    let is_given = |name: &str| {
        flags
            .iter()
            .any(|flag| flag.split('=').next() == Some(name))
    };
    let of_command: Vec<_> = command.split(' ').collect();
    let open = of_command
        .windows(2)
        .filter(|pair| pair[1].starts_with('<') && !is_given(pair[0]));
    let mut places: Vec<_> = open.map(|pair| pair[1]).collect();
    places.dedup();
    // A kind may be one word: `webapp/v1/Guestbook`. A path is one word, too.
    let separators: &[char] = if places.len() > 1 { &['/'] } else { &[] };
    let parts = typed[count..]
        .iter()
        .flat_map(|word| word.split(separators));
    let mut parts: Vec<_> = parts.collect();
    // As kubectl names a kind: `guestbooks.webapp.example.com`.
    let is_group = places.last() == Some(&"<GROUP>");
    let dotted = parts.last().and_then(|word| word.split_once('.'));
    let dotted = dotted.filter(|_| !is_group && places.len() > 1 && parts.len() == 1);
    // A new kind is in upper camel case. An existing kind may come from a CRD and be in lower case, as in
    // `acid/v1/postgresql`. In a word alone, the case does not tell the name: kubectl takes any.
    let is_new_kind = command.starts_with("rscaffold create api ");
    let is_exact = !is_new_kind && typed[count..].iter().any(|word| word.contains('/'));
    // A version looks like one, or is between the group and the kind. The other words come in their order: `v2 Guestbook`,
    // `Guestbook v2`. The last place is first, so that `Guestbook` alone is the kind.
    let values: Vec<_> = if let Some((plural, group)) = dotted {
        // The plural does not tell the name of an existing kind.
        let kind = is_new_kind.then_some(("<KIND>", plural));
        kind.into_iter().chain([("<GROUP>", group)]).collect()
    } else {
        let has_version = places.contains(&"<VERSION>");
        places.retain(|place| *place != "<VERSION>");
        let looks_like_one = |part: &&str| part.parse::<Version>().is_ok();
        let middle = (parts.len() == 3).then_some(1);
        let at = parts.iter().position(looks_like_one).or(middle);
        let version = at
            .filter(|_| has_version)
            .map(|at| ("<VERSION>", parts.remove(at)));
        let others = places.into_iter().rev().zip(parts.into_iter().rev());
        version.into_iter().chain(others).collect()
    };
    let mut words = Vec::new();
    let mut of_command = of_command.into_iter();
    while let Some(word) = of_command.next() {
        if is_given(word) {
            // The user gave this flag, whose value comes next.
            of_command.next();
            continue;
        }
        let has_other = flags
            .iter()
            .any(|flag| OTHER_PURPOSES.contains(&flag.as_str()));
        if has_other && word == "--programmatic-validation" {
            continue;
        }
        let value = values.iter().find(|(place, _)| *place == word);
        words.push(match (word, value) {
            ("<TYPED>", _) => quoted(typed[0]),
            ("<KIND>", Some((_, kind))) if !is_exact => quoted(&in_rust(kind)),
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
    let named = command.mut_args(|mut arg| {
        for (typed, flag) in FLAGS.iter() {
            if arg.get_long() != Some(flag) {
                continue;
            }
            arg = match typed.strip_prefix("--") {
                Some(long) => arg.alias(long),
                None => arg.short_alias(typed.chars().nth(1)),
            };
        }
        arg
    });
    named.mut_subcommands(with_other_names)
}

/// The flags of other tools that are a flag of rscaffold, with that flag.
static FLAGS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let mut flags = Vec::new();
    for (typed, equivalent) in OTHER_TOOLS {
        if let Flag(flag) = equivalent {
            flags.push((typed, flag));
        }
    }
    flags
});

/// Parses a boolean, also in upper case, as Go takes it.
pub fn boolean() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(BOOL).map(|text| text.eq_ignore_ascii_case("true"))
}

/// Parses `--namespaced`, also from the values of a CRD's `scope`.
pub fn namespaced() -> impl TypedValueParser<Value = bool> {
    let values = [("true", "Namespaced"), ("false", "Cluster")];
    let values = values.map(|(value, scope)| PossibleValue::new(value).alias(scope));
    PossibleValuesParser::new(values)
        .map(|text| ["true", "namespaced"].contains(&text.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn a_boolean_may_be_in_upper_case() {
        let flag = Arg::new("resource").ignore_case(true);
        for (text, expected) in [("True", true), ("FALSE", false)] {
            let command = Command::new("create");
            let parsed = boolean().parse_ref(&command, Some(&flag), OsStr::new(text));
            assert_eq!(parsed.unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_there_twice() {
        for (index, (typed, _)) in OTHER_TOOLS.iter().enumerate() {
            let mut others = OTHER_TOOLS[..index].iter();
            assert!(others.all(|(other, _)| other != typed), "{typed}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "there are many forms of a command")]
    fn a_command_is_filled_with_what_the_user_typed() {
        let api = "rscaffold create api --group";
        for (typed, flags, expected) in [
            (
                "new foo",
                "",
                "mkdir -p foo && cd foo && rscaffold init".to_owned(),
            ),
            (
                "new My App",
                "",
                "mkdir -p App && cd App && rscaffold init".to_owned(),
            ),
            (
                "new foo",
                "--domain com",
                "mkdir -p foo && cd foo && rscaffold init --domain com".to_owned(),
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
            ("new .", "", "rscaffold init".to_owned()),
            (
                "create crd a/x.yaml",
                "",
                "rscaffold create api --crd a/x.yaml".to_owned(),
            ),
            (
                "add b.json",
                "--group app",
                "rscaffold create api --crd b.json --group app".to_owned(),
            ),
            ("import src", "", "rscaffold init --from src".to_owned()),
            (
                "create database.app.x.io",
                "",
                format!("{api} app.x.io --version <VERSION> --kind Database"),
            ),
            (
                "delete api databases.app.x.io",
                "",
                "rscaffold delete api --group app.x.io --version <VERSION> --kind <KIND>".to_owned(),
            ),
            (
                "create controller deployments.apps",
                "",
                "rscaffold create controller --group apps --version <VERSION> --kind <KIND>".to_owned(),
            ),
            (
                "delete database",
                "",
                "rscaffold delete api --group <GROUP> --version <VERSION> --kind Database".to_owned(),
            ),
            (
                "create group foo",
                "",
                "rscaffold create api --version <VERSION> --kind <KIND> --group foo".to_owned(),
            ),
            (
                "create group webapp.example.com",
                "",
                "rscaffold create api --version <VERSION> --kind <KIND> --group webapp.example.com"
                    .to_owned(),
            ),
            (
                "create webhook Page",
                "--conversion",
                "rscaffold create webhook --group <GROUP> --version <VERSION> --kind Page --conversion"
                    .to_owned(),
            ),
            (
                "create validation Page",
                "--group=a",
                "rscaffold create webhook --version <VERSION> --kind Page \
                 --programmatic-validation --group=a"
                    .to_owned(),
            ),
            ("fmt", "", "make fmt".to_owned()),
            (
                "create api Database v2",
                "",
                format!("{api} <GROUP> --version v2 --kind Database"),
            ),
            (
                "create api webapp Page",
                "",
                format!("{api} webapp --version <VERSION> --kind Page"),
            ),
            (
                "create version v2",
                "",
                format!("{api} <GROUP> --version v2 --kind <KIND>"),
            ),
            (
                "create version v2",
                "--kind Database --group=app",
                "rscaffold create api --version v2 --kind Database --group=app".to_owned(),
            ),
            (
                "create api app",
                "--kind Page",
                "rscaffold create api --group app --version <VERSION> --kind Page".to_owned(),
            ),
            (
                "delete api acid/stable/postgresql",
                "",
                "rscaffold delete api --group acid --version stable --kind postgresql".to_owned(),
            ),
            ("add helm", "", "rscaffold edit --enable helm".to_owned()),
            ("create leader-election", "", "rscaffold edit --enable leader-election".to_owned()),
            ("delete network-policy", "", "rscaffold edit --disable network-policy".to_owned()),
            ("create plugin grafana", "", "rscaffold edit --enable grafana".to_owned()),
            ("rm feature agents", "", "rscaffold edit --disable agents".to_owned()),
            ("remove chart", "", "rscaffold edit --disable helm".to_owned()),
        ] {
            let words: Vec<_> = typed.split(' ').collect();
            let flags: Vec<_> = flags.split_whitespace().map(str::to_owned).collect();
            let Some((count, Equivalent::Run(command, _))) = command(&words) else {
                panic!("{typed}");
            };
            assert_eq!(filled(command, &words, count, &flags), expected, "{typed}");
        }
        assert_eq!(command(&["frobnicate"]), None);
    }
}
