//! Leader election of the Go operator: whether it is on, the name of the Lease, and what cannot be taken over.

use std::{collections::BTreeSet, ops::Range};

use super::{
    deployed::Deployed,
    deployment::Deployment,
    go::{Go, GoValue},
    go_file::{File, Place},
    go_tokens::Token,
    lost::Lost,
    path::is_in_test_folder,
    source::Source,
};
use crate::{names::LeaseName, visible::visible, yaml::documents};

/// The largest number of lines in the report about settings that cannot be taken over.
const MAX_LINES: usize = 100;

/// Leader election of the Go operator.
#[derive(Debug, Default)]
pub(super) struct Election {
    /// Whether it is on; `None` if nothing says so.
    pub is_on: Option<bool>,
    /// The name of the Lease.
    pub lease: Option<LeaseName>,
}

/// The settings of leader election in a configuration file: `leaderElection` of a `ControllerManagerConfig`, or of a
/// kind that a project has for its own settings.
#[derive(Debug, Default)]
struct Settings {
    switches: BTreeSet<bool>,
    leases: BTreeSet<String>,
}

impl Election {
    /// Reads the arguments of the Deployment first, which count more than configuration files and the code.
    pub fn new(source: &Source, deployed: &Deployed, lost: &mut Lost) -> Self {
        let go = &source.go;
        let deployment = deployed.deployment.as_ref();
        let arguments = deployment.map(Deployment::arguments).unwrap_or_default();
        let settings = settings(source);
        let lease = lease(go, &arguments, &settings, lost);
        let is_on = switched(&arguments)
            .or_else(|| settings.switches.last().copied())
            .or_else(|| in_code(go, deployment, lost));
        let mut lines = BTreeSet::new();
        for file in go.code() {
            add_lines(go, file, deployed, &mut lines);
        }
        lost.add_all(lines.into_iter().take(MAX_LINES));
        Self { is_on, lease }
    }
}

/// The words of a name in lower case, joined: `leaderelectionid` for `--leader-election-id` and `LeaderElectionID`.
fn joined(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.collect::<String>().to_ascii_lowercase()
}

/// The name without the words for leader election, such as `id`; `None` if it does not have them.
fn without_election(name: &str) -> Option<String> {
    let joined = joined(name);
    let words = ["leaderelection", "leaderelect", "leaderelector"];
    let word = words.into_iter().find(|word| joined.contains(word))?;
    Some(joined.replacen(word, "", 1))
}

/// An argument as the name of a flag, and its value if there is one.
fn flag(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((flag, value)) => (flag, Some(value)),
        None => (argument, None),
    }
}

/// Whether the name is that of a switch for leader election, and whether it turns leader election on.
fn switch(name: &str) -> Option<bool> {
    match without_election(name)?.as_str() {
        "" | "enable" | "enabled" | "use" | "with" => Some(true),
        "disable" | "disabled" | "no" | "without" => Some(false),
        _ => None,
    }
}

/// Whether the name is that of the name of the Lease.
fn is_lease_name(name: &str) -> bool {
    let rest = without_election(name);
    matches!(
        rest.as_deref(),
        Some("id" | "name" | "resourcename" | "leasename" | "lockname")
    ) || matches!(joined(name).as_str(), "leasename" | "leaseid")
}

/// Whether a flag is about leader election.
pub(super) fn is_about(flag: &str) -> bool {
    let name = flag.trim_start_matches('-').to_ascii_lowercase();
    without_election(flag).is_some() || name.starts_with("lease")
}

/// Whether an argument with this flag is neither the switch nor the name of the Lease.
pub(super) fn is_left(flag: &str) -> bool {
    flag.starts_with('-') && is_about(flag) && switch(flag).is_none() && !is_lease_name(flag)
}

/// Whether the arguments turn leader election on or off.
fn switched(arguments: &[&str]) -> Option<bool> {
    let mut is_on = None;
    for argument in arguments.iter().filter(|text| text.starts_with('-')) {
        let (name, value) = flag(argument);
        let is_true = !matches!(value, Some("false" | "f" | "F" | "FALSE" | "False" | "0"));
        if let Some(turns_on) = switch(name) {
            // The last argument counts.
            is_on = Some(turns_on == is_true);
        }
    }
    is_on
}

/// The settings in all configuration files, including those in a `ConfigMap`.
fn settings(source: &Source) -> Settings {
    let mut settings = Settings::default();
    for (path, text) in source.manifest_files("") {
        if is_in_test_folder(path) {
            continue;
        }
        for document in about_election(text) {
            settings.read(&document["leaderElection"]);
            for (_, file) in document["data"].as_object().into_iter().flatten() {
                for inner in file.as_str().into_iter().flat_map(about_election) {
                    settings.read(&inner["leaderElection"]);
                }
            }
        }
    }
    settings
}

/// The documents of a text that says something about leader election. A text that is not valid YAML, such as the template
/// of a chart, has none.
fn about_election(text: &str) -> Vec<serde_json::Value> {
    if !text.contains("leaderElection") {
        return Vec::new();
    }
    documents(text).unwrap_or_default()
}

impl Settings {
    fn read(&mut self, value: &serde_json::Value) {
        self.switches.extend(value["leaderElect"].as_bool());
        let lease = value["resourceName"].as_str();
        self.leases.extend(lease.map(str::to_owned));
    }
}

/// A name of the Lease, with its place in the Go code.
type LocatedName = (GoValue, Option<Place>);

/// The name of the Lease that the replicas of the Go operator share.
fn lease(go: &Go, arguments: &[&str], settings: &Settings, lost: &mut Lost) -> Option<LeaseName> {
    let mut found = in_arguments(arguments);
    if found.is_empty() {
        for name in &settings.leases {
            found.insert((GoValue::Known(name.clone()), None));
        }
        found.extend(names_in_code(go));
    }
    let mut names = BTreeSet::new();
    for (value, _) in &found {
        if let GoValue::Known(text) = value {
            names.extend(lost.name::<LeaseName>("the name of the Lease", text));
        }
    }
    if names.len() == 1 {
        return names.pop_first();
    }
    let names: Vec<_> = names
        .iter()
        .map(|name| shown(&found, name.as_str()))
        .collect();
    if !names.is_empty() {
        lost.add(format!(
            "the name of the Lease: the Go code has {}; set `lease` in PROJECT to the right one",
            names.join(" and ")
        ));
    }
    for (value, _) in &found {
        if let GoValue::Unknown(expression) = value {
            lost.add(format!(
                "the name of the Lease: the Go code computes it by {}; set `lease` in PROJECT",
                shown(&found, expression)
            ));
        }
    }
    None
}

/// A name of the Lease in backticks, with its places in parentheses.
fn shown(found: &BTreeSet<LocatedName>, name: &str) -> String {
    let own = found.iter().filter(|(value, _)| value.text() == name);
    let places: Vec<_> = own.filter_map(|(_, place)| place.as_ref()).collect();
    let places: Vec<_> = places.iter().map(ToString::to_string).collect();
    match places.join(", ").as_str() {
        "" => format!("`{}`", visible(name)),
        places => format!("`{}` ({places})", visible(name)),
    }
}

/// The names in arguments: in a flag, or after it.
fn in_arguments(arguments: &[&str]) -> BTreeSet<LocatedName> {
    let mut found = BTreeSet::new();
    for (at, argument) in arguments.iter().enumerate() {
        let (flag, value) = flag(argument);
        let name = value.or(arguments.get(at + 1).copied());
        if flag.starts_with('-')
            && is_lease_name(flag)
            && let Some(name) = name
        {
            found.insert((GoValue::Known(name.to_owned()), None));
        }
    }
    found
}

/// The names in the code: the default of a flag, a setting, or what the code gives to client-go, as in `LeaseMeta:
/// metav1.ObjectMeta{Name: …}`.
fn names_in_code(go: &Go) -> Vec<LocatedName> {
    const MAX_TOKENS: usize = 20;
    let mut found = Vec::new();
    for definition in go.definitions("LeaderElectionID") {
        let value = go.defined(definition);
        if matches!(value, GoValue::Known(_)) {
            found.push((value, Some(definition.place.clone())));
        }
    }
    for file in go.code() {
        for (at, value) in file.set_to("LeaderElectionID") {
            found.push((go.value(file, &value), Some(file.place(at))));
        }
        for (_, lock) in file.set_to("LeaseMeta") {
            let mut tokens = lock.take(MAX_TOKENS);
            if let Some(name) = tokens.find(|at| file.name(*at) == Some("Name"))
                && let Some(value) = file.value(name)
            {
                found.push((go.value(file, &value), Some(file.place(name))));
            }
        }
    }
    found
}

/// Whether the code turns leader election on. Without a Deployment, the arguments of the operator are unknown, so the
/// default of a flag says nothing.
fn in_code(go: &Go, deployment: Option<&Deployment>, lost: &mut Lost) -> Option<bool> {
    let (mut is_off, mut is_literal, mut computed) = (false, true, Vec::new());
    for file in go.code() {
        for (at, value) in file.set_to("LeaderElection") {
            match go.value(file, &value) {
                GoValue::Known(text) if text == "true" => return Some(true),
                GoValue::Known(text) if text == "false" => {
                    is_off = true;
                    is_literal &= file.name(value.start) == Some("false");
                }
                GoValue::Known(text) | GoValue::Unknown(text) => computed.push(format!(
                    "whether leader election is on: the Go code computes it by `{}` ({}); here it is on",
                    visible(&text),
                    file.place(at)
                )),
            }
        }
    }
    lost.add_all(&computed);
    if go.code().any(|file| file.mentions("RunOrDie")) {
        return Some(true);
    }
    // Without a word, controller-runtime does not elect a leader.
    (computed.is_empty() && (deployment.is_some() || is_off && is_literal)).then_some(false)
}

/// The fields that have a flag here, with the flag.
const FLAGS: [(&str, &str); 4] = [
    ("LeaseDuration", "--leader-elect-lease-duration"),
    ("RenewDeadline", "--leader-elect-renew-deadline"),
    ("RetryPeriod", "--leader-elect-retry-period"),
    (
        "LeaderElectionNamespace",
        "--leader-elect-resource-namespace",
    ),
];

/// Adds the lines about what the file says of leader election and Leases, and is not taken over.
fn add_lines(go: &Go, file: &File, deployed: &Deployed, lines: &mut BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    let mut tokens = file.tokens.iter();
    let is_about =
        tokens.any(|token| matches!(token, Token::Name(name) if without_election(name).is_some()));
    for (at, token) in file.tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        let place = file.place(at);
        let value = file.value(at);
        if let Some((_, flag)) = FLAGS.iter().find(|(field, _)| field == name) {
            // Other structs and other code may have these names, too.
            let is_option = match file.literal_around(at) {
                Some((_, of)) if file.is_key(at) => {
                    of.ends_with("Options") || without_election(of).is_some()
                }
                _ => is_about,
            };
            if !is_option {
                continue;
            }
            let Some(value) = value else { continue };
            let known = go.value(file, &value);
            let is_same = matches!(&known, GoValue::Known(text)
                if text.is_empty() || deployed.namespace.as_ref() == Some(text));
            if !is_same && seen.insert(name.as_str()) {
                lines.insert(format!(
                    "`{name}` of leader election, which is `{}` in Go ({place}): add `{flag}` to the arguments in \
                     `config/manager/manager.yaml`",
                    known.text()
                ));
            }
            continue;
        }
        let is_code = match file.tokens.get(at + 1..at + 3) {
            Some([Token::Sign('.'), after]) => !after.is_name("LeasesResourceLock"),
            _ => false,
        };
        let what = match name.as_str() {
            "NeedLeaderElection" => "`NeedLeaderElection`: code that may run in each replica",
            "leaderelection" | "resourcelock" if is_code => {
                "the leader election by client-go: here, each controller waits for the Lease"
            }
            "LeaderElectionConfig"
            | "LeaderElectionResourceLockInterface"
            | "LeaderElectionResourceLock"
                if value
                    .as_ref()
                    .is_some_and(|value| !is_lease_lock(go, file, value)) =>
            {
                "the lock of leader election: here, it is a Lease"
            }
            "Lease" | "LeaseList" | "LeaseSpec" if is_of_kubernetes(file, at) => {
                "the Leases that the Go code works with"
            }
            _ => continue,
        };
        if seen.insert(what) {
            lines.insert(format!("{what} ({place})"));
        }
    }
}

/// Whether the lock of leader election is a Lease, the default.
fn is_lease_lock(go: &Go, file: &File, value: &Range<usize>) -> bool {
    file.name(value.end - 1) == Some("LeasesResourceLock")
        || go.value(file, value) == GoValue::Known("leases".to_owned())
}

/// Whether the type at this index is of the group `coordination.k8s.io`.
fn is_of_kubernetes(file: &File, at: usize) -> bool {
    let package = file.qualifier(at);
    let import = package.and_then(|package| file.import(package));
    import.is_some_and(|path| path.starts_with("k8s.io/api/coordination/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_of_leader_election_is_found_by_its_name() {
        for (argument, expected) in [
            ("--leader-elect", Some(true)),
            ("--leader-elect=true", Some(true)),
            ("--leader-elect=false", Some(false)),
            ("-enable-leader-election", Some(true)),
            ("--leaderElection.enabled=true", Some(true)),
            ("--disable-leader-election", Some(false)),
            ("--disable-leader-election=false", Some(true)),
            ("--leader-election-id=a", None),
            ("--leader-elect-lease-duration=1m", None),
            ("--metrics-bind-address=:8080", None),
            ("leader-elect", None),
        ] {
            assert_eq!(switched(&[argument]), expected, "{argument}");
        }
        let both = ["--leader-elect", "--leader-elect=false"];
        assert_eq!(switched(&both), Some(false));
    }

    #[test]
    fn a_flag_about_leases_begins_with_the_word() {
        for flag in ["--lease", "-leaseDuration", "--leaseName", "--lease-name"] {
            assert!(is_about(flag), "{flag}");
        }
        for flag in ["--release", "--helm-releases", "--please", "--released-at"] {
            assert!(!is_about(flag), "{flag}");
        }
    }
}
