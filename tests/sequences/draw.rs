//! Draws sequences of commands. Most commands of a sequence use the same few kinds, so that the commands affect each
//! other.
//!
//! Not every command is valid. A command that rscaffold refuses does not change the project.

use std::{env, fs, path::Path};

use clap::Parser;
use proptest::{
    collection::vec,
    option::weighted,
    prelude::*,
    sample::{Index, select},
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};

use rscaffold::{cli::Cli, command::report::Outcome, project::Feature};

use super::names::{
    BUILTIN, COMMANDS, CONTROLLERS, CRD, DOMAINS, EXTERNAL, GROUPS, IMAGES, KINDS, PATHS, PLURALS,
    PROJECTS, REPOS, SHORT_NAMES, TEXTS, VERSIONS,
};

/// The placeholder in an argument for the path of the step's file.
const FILE: &str = "{file}";

/// A command.
#[derive(Debug, Clone)]
pub struct Step {
    /// The words of the command, and its flags with their values.
    pub arguments: Vec<String>,
    /// The text of the file that an argument names.
    pub file: Option<String>,
}

impl Step {
    /// Runs the command in `folder`. The file of the step is beside the folder.
    pub fn run(&self, folder: &Path) -> Outcome {
        let file = folder.with_file_name("given");
        if let Some(text) = &self.file {
            fs::write(&file, text).expect("a writable file");
        }
        let file = file.display().to_string();
        let arguments = self.arguments.iter().map(|it| it.replace(FILE, &file));
        match Cli::try_parse_from(["rscaffold".to_owned()].into_iter().chain(arguments)) {
            Ok(cli) => cli.run(folder),
            Err(error) => Outcome {
                code: Outcome::USAGE,
                stderr: error.to_string(),
                ..Outcome::default()
            },
        }
    }
}

/// A kind of the project, with the names that commands use.
#[derive(Debug, Clone)]
struct Named {
    group: &'static str,
    kind: &'static str,
}

impl Named {
    fn id(&self, version: &str) -> Vec<String> {
        let Self { group, kind } = self;
        vec![
            format!("--group={group}"),
            format!("--version={version}"),
            format!("--kind={kind}"),
        ]
    }

    /// Returns the kind in the format of `--owns`.
    fn path(&self) -> String {
        let Self { group, kind } = self;
        format!("{group}/v1/{kind}")
            .trim_start_matches('/')
            .to_owned()
    }

    /// Returns the text of a CRD of the kind.
    fn crd(&self) -> String {
        let lower = self.kind.to_ascii_lowercase();
        let group = [self.group, DOMAINS[0]].join(".");
        CRD.replace("GROUP", group.trim_start_matches('.'))
            .replace("PLURAL", &format!("{lower}s"))
            .replace("SINGULAR", &lower)
            .replace("KIND", self.kind)
    }
}

type Flag = BoxedStrategy<Option<String>>;
type Flags = BoxedStrategy<Vec<String>>;

/// Returns a number from an environment variable; `usual` if the variable is not set.
pub fn variable(name: &str, usual: u64) -> u64 {
    let number = |text: String| {
        text.parse()
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    env::var(name).map_or(usual, number)
}

/// Returns the configuration of a test runner that draws one sequence from `seed`.
pub fn config(seed: u64) -> Config {
    Config {
        cases: 1,
        failure_persistence: None,
        max_shrink_iters: 400,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    }
}

/// Returns the sequence of `seed`.
pub fn of_seed(seed: u64) -> Vec<Step> {
    let mut runner = TestRunner::new(config(seed));
    let drawn = sequence().new_tree(&mut runner);
    drawn
        .expect("a sequence, because nothing is left out")
        .current()
}

/// Draws `init`, then a `create api` for each of a few kinds, then any commands.
pub fn sequence() -> impl Strategy<Value = Vec<Step>> {
    let kinds = vec((any::<Index>(), select(KINDS)), 2..5);
    let pool = (vec(select(GROUPS), 1..3), kinds).prop_map(|(groups, kinds)| {
        let named = |(group, kind): (Index, _)| Named {
            group: groups[group.index(groups.len())],
            kind,
        };
        kinds.into_iter().map(named).collect::<Vec<_>>()
    });
    pool.prop_flat_map(|pool| {
        let first: Vec<_> = pool
            .iter()
            .map(|named| create_api(named, &pool, Just("v1")))
            .collect();
        (init(), first, vec(command(&pool), 2..9))
    })
    .prop_map(|(init, first, rest)| [vec![init], first, rest].concat())
}

fn command(pool: &[Named]) -> BoxedStrategy<Step> {
    let shared = pool.to_vec();
    let of_kind = select(pool.to_vec()).prop_flat_map(move |named| {
        prop_oneof![
            5 => create_api(&named, &shared, select(VERSIONS)),
            5 => create_webhook(&named),
            2 => crd(&named, &shared),
            2 => create_controller(&named, &shared),
            3 => delete(&named),
        ]
    });
    prop_oneof![
        14 => of_kind,
        2 => builtin(pool),
        2 => external(pool),
        3 => edit(),
        2 => without_change(),
    ]
    .boxed()
}

fn init() -> BoxedStrategy<Step> {
    let all = vec![
        always("domain", select(DOMAINS)),
        value(0.9, "repo", select(REPOS)),
    ];
    step("init", [all, settings(), turn(0.05)].concat())
}

fn edit() -> BoxedStrategy<Step> {
    let all = vec![
        value(0.1, "domain", select(DOMAINS)),
        value(0.1, "repo", select(REPOS)),
    ];
    step("edit", [all, settings(), turn(0.05)].concat())
}

/// Returns the flags that `init` and `edit` have in common.
fn settings() -> Vec<Flag> {
    let features = || {
        let all = Feature::all().to_vec();
        vec(select(all), 1..4).prop_map(|features| {
            let names: Vec<_> = features.iter().map(ToString::to_string).collect();
            names.join(",")
        })
    };
    vec![
        value(0.2, "project-name", select(PROJECTS)),
        value(0.2, "license", select(&["apache2", "mit", "none"][..])),
        value(0.2, "owner", texts()),
        value(0.1, "license-file", select(&["", FILE][..])),
        boolean(0.1, "namespaced"),
        value(
            0.8,
            "runtime",
            select(&["registry", "registry", "registry", "vendored"][..]),
        ),
        value(0.4, "enable", features()),
        value(0.2, "disable", features()),
    ]
}

fn create_api(
    named: &Named,
    pool: &[Named],
    versions: impl Strategy<Value = &'static str> + 'static,
) -> BoxedStrategy<Step> {
    let of_kind = vec![
        value(0.05, "plural", select(PLURALS)),
        value(0.15, "short-name", select(SHORT_NAMES)),
        boolean(0.03, "resource"),
        boolean(0.1, "controller"),
        boolean(0.15, "namespaced"),
        boolean(0.1, "served"),
        switch(0.1, "storage"),
        prop_oneof![
            8 => Just(None),
            1 => Just(Some("--deprecated".to_owned())),
            1 => texts().prop_map(|text| Some(format!("--deprecated={text}"))),
        ]
        .boxed(),
        value(0.15, "conversion", select(&["none", "lossy"][..])),
        switch(0.2, "force"),
    ];
    let named = named.clone();
    let flags = (
        flags([of_kind, controller(pool), turn(0.05)].concat()),
        image(),
    );
    (versions, flags)
        .prop_map(move |(version, (flags, image))| {
            new(
                &["create", "api"],
                [named.id(version), flags, image].concat(),
            )
        })
        .boxed()
}

fn create_controller(named: &Named, pool: &[Named]) -> BoxedStrategy<Step> {
    let flags = flags([controller(pool), vec![switch(0.2, "force")], turn(0.05)].concat());
    let named = named.clone();
    (version(), flags, image())
        .prop_map(move |(version, flags, image)| {
            let all = [named.id(version), flags, image].concat();
            new(&["create", "controller"], all)
        })
        .boxed()
}

/// Draws the two commands for a controller of a kind that is not of the project: `create controller`, and the same as
/// `create api`.
fn controller_of(
    ids: impl Strategy<Value = Vec<String>> + 'static,
    pool: &[Named],
) -> BoxedStrategy<Step> {
    let flags = flags([controller(pool), turn(0.05)].concat());
    (ids, flags, any::<bool>(), weighted(0.1, Just(false)))
        .prop_map(|(id, flags, is_short, is_wanted)| {
            if is_short {
                return new(&["create", "controller"], [id, flags].concat());
            }
            let mut of_api = vec!["--resource=false".to_owned()];
            of_api.extend(is_wanted.map(|is_wanted| format!("--controller={is_wanted}")));
            new(&["create", "api"], [id, of_api, flags].concat())
        })
        .boxed()
}

/// Returns the flags of a controller.
fn controller(pool: &[Named]) -> Vec<Flag> {
    let own: Vec<_> = pool.iter().map(Named::path).collect();
    let kinds = || {
        let kind =
            prop_oneof![2 => select(BUILTIN).prop_map(ToOwned::to_owned), 1 => select(own.clone())];
        vec(kind, 1..4).prop_map(|kinds| kinds.join(","))
    };
    vec![
        value(0.15, "controller-name", select(CONTROLLERS)),
        boolean(0.2, "finalizer"),
        value(0.3, "owns", kinds()),
        value(0.3, "watches", kinds()),
    ]
}

/// Draws the flags for the image that a controller runs.
fn image() -> Flags {
    let all = vec![
        always("image", select(IMAGES)),
        value(0.5, "image-container-command", select(COMMANDS)),
        value(0.5, "image-container-port", 1..=65535_u16),
        value(
            0.5,
            "run-as-user",
            select(&[1_u32, 1001, 2_147_483_647][..]),
        ),
    ];
    weighted(0.12, flags(all))
        .prop_map(Option::unwrap_or_default)
        .boxed()
}

/// Draws `create api --crd`, which generates the types of a kind from a CRD. The kind is of the project or external.
fn crd(named: &Named, pool: &[Named]) -> BoxedStrategy<Step> {
    let named = named.clone();
    let id = vec![
        value(0.2, "kind", Just(named.kind)),
        value(0.2, "version", select(&["v1", "v1beta1"][..])),
        value(0.2, "resource", Just(false)),
        boolean(0.1, "controller"),
        switch(0.1, "force"),
    ];
    flags([id, controller(pool), turn(0.05)].concat())
        .prop_map(move |flags| Step {
            file: Some(named.crd()),
            ..new(
                &["create", "api"],
                [vec![format!("--crd={FILE}")], flags].concat(),
            )
        })
        .boxed()
}

/// Draws a controller or a webhook for a kind of Kubernetes.
fn builtin(pool: &[Named]) -> BoxedStrategy<Step> {
    let id = |path: &str| {
        let (group_version, kind) = path.rsplit_once('/').expect("a kind");
        let (group, version) = group_version
            .rsplit_once('/')
            .unwrap_or(("core", group_version));
        vec![
            format!("--group={group}"),
            format!("--version={version}"),
            format!("--kind={kind}"),
        ]
    };
    let webhook = (select(BUILTIN), flags(webhooks()));
    prop_oneof![
        controller_of(select(BUILTIN).prop_map(id), pool),
        webhook
            .prop_map(move |(path, flags)| new(&["create", "webhook"], [id(path), flags].concat())),
    ]
    .boxed()
}

/// Draws a controller or a webhook for a kind of the crate `widgets`.
fn external(pool: &[Named]) -> BoxedStrategy<Step> {
    let id = |(version, kind, path, more): (&str, &str, &str, &[&str])| {
        let mut id = vec![
            "--group=toys".to_owned(),
            format!("--version={version}"),
            format!("--kind={kind}"),
            format!("--external-api-path={path}"),
            "--external-api-domain=example.org".to_owned(),
            "--external-api-crate=widgets@../widgets".to_owned(),
        ];
        id.extend(more.iter().map(ToString::to_string));
        id
    };
    let webhook = (select(EXTERNAL), flags(webhooks()));
    prop_oneof![
        controller_of(select(EXTERNAL).prop_map(id), pool),
        webhook
            .prop_map(move |(kind, flags)| new(&["create", "webhook"], [id(kind), flags].concat())),
    ]
    .boxed()
}

fn create_webhook(named: &Named) -> BoxedStrategy<Step> {
    let conversion = vec![
        switch(0.5, "conversion"),
        value(
            0.1,
            "spoke",
            vec(select(VERSIONS), 1..3).prop_map(|all| all.join(",")),
        ),
    ];
    let all = flags([webhooks(), conversion, turn(0.05)].concat());
    let named = named.clone();
    (version(), all)
        .prop_map(move |(version, flags)| {
            new(&["create", "webhook"], [named.id(version), flags].concat())
        })
        .boxed()
}

/// Returns the flags of admission webhooks.
fn webhooks() -> Vec<Flag> {
    vec![
        switch(0.6, "defaulting"),
        switch(0.6, "programmatic-validation"),
        value(0.1, "defaulting-path", select(PATHS)),
        value(0.1, "validation-path", select(PATHS)),
        switch(0.1, "force"),
    ]
}

fn delete(named: &Named) -> BoxedStrategy<Step> {
    let webhooks = ["defaulting", "programmatic-validation", "conversion"];
    let webhooks = webhooks.map(|flag| switch(0.3, flag)).to_vec();
    let controller = value(0.4, "controller-name", select(CONTROLLERS));
    let named = named.clone();
    let what = prop_oneof![
        (
            Just("api"),
            flags([vec![switch(0.5, "force")], turn(0.15)].concat())
        ),
        (
            Just("controller"),
            flags([vec![controller], turn(0.15)].concat())
        ),
        (Just("webhook"), flags([webhooks, turn(0.15)].concat())),
    ];
    (version(), what)
        .prop_map(move |(version, (what, flags))| {
            new(&["delete", what], [named.id(version), flags].concat())
        })
        .boxed()
}

/// Draws a command that has nothing to do, or that only prints.
fn without_change() -> BoxedStrategy<Step> {
    let apply = vec![
        switch(0.4, "rebuild-base"),
        value(
            0.4,
            "restore",
            select(&["Makefile", "src/main.rs,PROJECT"][..]),
        ),
    ];
    let update = vec![value(
        0.3,
        "exclude",
        select(&["Makefile", ".github", "src,config"][..]),
    )];
    let diff = vec![switch(0.5, "exit-code"), conflict()];
    let version = vec![value(0.8, "output", select(&["text", "json"][..]))];
    prop_oneof![
        step("apply", [apply, turn(0.4)].concat()),
        step("update", [update, turn(0.4)].concat()),
        step("diff", diff),
        step("version", version),
        select(&["bash", "elvish", "fish", "powershell", "zsh"][..])
            .prop_map(|shell| new(&["completion"], vec![shell.to_owned()])),
    ]
    .boxed()
}

/// Returns the flags that every command that writes has. `dry_run` is the probability of `--dry-run`.
fn turn(dry_run: f64) -> Vec<Flag> {
    vec![switch(dry_run, "dry-run"), conflict()]
}

fn conflict() -> Flag {
    let how = &["abort", "ours", "theirs", "markers", "ours:Makefile"];
    value(0.2, "on-conflict", select(&how[..]))
}

/// Draws a version, mostly v1.
fn version() -> BoxedStrategy<&'static str> {
    prop_oneof![2 => Just("v1"), 1 => select(VERSIONS)].boxed()
}

fn texts() -> BoxedStrategy<&'static str> {
    select(TEXTS).boxed()
}

fn switch(chance: f64, flag: &'static str) -> Flag {
    weighted(chance, Just(format!("--{flag}"))).boxed()
}

fn boolean(chance: f64, flag: &'static str) -> Flag {
    let all = ["", "=true", "=false"].map(|value| format!("--{flag}{value}"));
    weighted(chance, select(all.to_vec())).boxed()
}

fn always<T: ToString>(flag: &'static str, values: impl Strategy<Value = T> + 'static) -> Flag {
    values
        .prop_map(move |value| Some(format!("--{flag}={}", value.to_string())))
        .boxed()
}

fn value<T: ToString>(
    chance: f64,
    flag: &'static str,
    values: impl Strategy<Value = T> + 'static,
) -> Flag {
    let text = values.prop_map(move |value| format!("--{flag}={}", value.to_string()));
    weighted(chance, text).boxed()
}

fn flags(all: Vec<Flag>) -> Flags {
    all.prop_map(|flags| flags.into_iter().flatten().collect())
        .boxed()
}

fn step(command: &'static str, all: Vec<Flag>) -> BoxedStrategy<Step> {
    flags(all)
        .prop_map(move |flags| new(&[command], flags))
        .boxed()
}

fn new(words: &[&str], flags: Vec<String>) -> Step {
    let words = words.iter().map(ToString::to_string).collect();
    let arguments = [words, flags].concat();
    // The file contains the license header of a project. `crd` replaces the text with a CRD.
    let has_file = arguments.iter().any(|it| it.contains(FILE));
    Step {
        file: has_file.then(|| "Copyright A & \"B\"\n*/ it's [= x =]".to_owned()),
        arguments,
    }
}
