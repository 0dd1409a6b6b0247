//! Names in Kubernetes: of groups, versions, resources and the project's objects.

use std::cmp::Ordering;

use anyhow::{Result, anyhow, bail, ensure};

use super::{
    check::{limit, names, traits},
    dns::Form,
    plural::plural,
    rust::module,
};
use crate::yaml;

/// The largest number of characters of a label of DNS, and of a whole name.
const LABEL: usize = 63;
const NAME: usize = 253;

names! {
    /// The domain of a project's API groups: `com`, `example.com`.
    Domain: "a domain", "example.com", near_name, check_name;

    /// An API group without its domain: `webapp`, `batch-jobs.infra`. If the group is empty, the domain
    /// alone is the group.
    Group: "a group", "webapp", near_name, |text| match text {
        "" => Ok(()),
        text => check_name(text),
    };

    /// The name of a resource in URLs and RBAC rules: `guestbooks`.
    Plural: "a plural", "guestbooks", near_label, check_label;

    /// An abbreviation of a resource for kubectl: `gb`.
    ShortName: "a short name", "gb", near_label, check_label;

    /// The name of a controller, unique in its group: `backup`.
    ControllerName: "the name of a controller", "backup", near_label, check_label;

    /// The name of the Lease that replicas share: `guestbook.example.com`.
    LeaseName: "the name of a Lease", "guestbook.example.com", near_name, check_name;

    /// The namespace that the operator is deployed to: `guestbook-system`.
    NamespaceName: "the name of a namespace", "guestbook-system", near_namespace, check_namespace;

    /// The name of the project, and the prefix of the names of its objects: `guestbook`.
    ProjectName: "a project name", "guestbook", near_label, check_project;
}

fn near_namespace(text: &str) -> String {
    match yaml::misread(text) {
        Some(_) => format!("ns-{text}"),
        None => near_label(text),
    }
}

fn check_namespace(text: &str) -> Result<()> {
    Form::LabelOrNumber.check(text, LABEL)?;
    if let Some(other) = yaml::misread(text) {
        bail!("kustomize writes it without quotes, and YAML reads it as {other}; add a letter");
    }
    Ok(())
}

fn near_name(text: &str) -> String {
    Form::Subdomain.near(text)
}

fn check_name(text: &str) -> Result<()> {
    Form::Subdomain.check(text, NAME)
}

fn near_label(text: &str) -> String {
    Form::Label.near(text)
}

fn check_label(text: &str) -> Result<()> {
    Form::Label.check(text, LABEL)
}

fn check_project(text: &str) -> Result<()> {
    // The name of the Service of its webhooks, `<name>-webhook-service`, has at most 63 characters and begins with a
    // letter. A project may get webhooks at any time.
    const MAX: usize = 47;
    Form::Label.check(text, MAX)
}

impl Group {
    /// The group without `domain`, if it ends with `domain`: `webapp` of `webapp.com`. A domain without a dot cannot be a
    /// group, so the group of this name is in the domain.
    #[must_use]
    pub fn without(&self, domain: &Domain) -> Self {
        if self.0 == domain.0 && self.0.contains('.') {
            return Self::none();
        }
        match self.0.strip_suffix(&format!(".{domain}")) {
            Some(short) => Self(short.to_owned()),
            None => self.clone(),
        }
    }

    /// `name` with the group as prefix, as kubebuilder names files and roles.
    pub fn prefixed(&self, name: &str, separator: char) -> String {
        match self.0.as_str() {
            "" => name.to_owned(),
            group => format!("{group}{separator}{name}"),
        }
    }

    /// The name of Kubernetes' core group in commands and in `PROJECT`.
    pub fn core() -> Self {
        Self("core".to_owned())
    }

    /// No group: the domain alone is the group.
    pub fn none() -> Self {
        Self(String::new())
    }

    /// Whether the domain alone is the group.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The group as an argument in a shell: `webapp`, or `""`.
    pub fn as_argument(&self) -> &str {
        match self.as_str() {
            "" => "\"\"",
            group => group,
        }
    }

    /// The Rust module of the group, or of its `domain` if the group is empty: `batch_jobs_infra`.
    pub fn module(&self, domain: &Domain) -> String {
        module(if self.is_empty() { &domain.0 } else { &self.0 })
    }
}

impl ControllerName {
    /// The Rust module of the controller: `nightly_backup`.
    pub fn module(&self) -> String {
        module(&self.0)
    }

    /// The default name of the controller of a kind: `guestbook`.
    pub(super) fn of(singular: String) -> Self {
        Self(singular)
    }
}

impl Plural {
    /// The usual plural of a word, or the word itself if the plural would be too long.
    pub(super) fn of(singular: &str) -> Self {
        plural(singular)
            .parse()
            .unwrap_or_else(|_| Self(singular.to_owned()))
    }
}

impl ProjectName {
    /// Turns the name of a folder into a project name: `My App` becomes `my-app`.
    pub fn from_folder(folder: &str) -> Result<Self> {
        if let Ok(name) = folder.parse() {
            return Ok(name);
        }
        let lower = folder.to_lowercase();
        let mut words: Vec<_> = lower.split(['_', '.', ' ', '-']).collect();
        words.retain(|word| !word.is_empty());
        let name = words.join("-");
        if let Err(reason) = check_project(&name) {
            bail!("the folder's name `{folder}` cannot be the name of the project: {reason}");
        }
        Ok(Self(name))
    }
}

/// A version of an API: `v1`, `v1beta2`, `v2alpha1`, or one from a CRD such as `v1api20230701preview`. Its Rust module has
/// the same name.
///
/// Ordered by Kubernetes' version priority, the least first: `v1b < v1a < v2alpha1 < v1beta1 < v1 < v2`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(String);

/// Stability and numbers of a version: `v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?`. The numbers have no leading zeros, so
/// the longer number is greater.
fn priority(version: &str) -> Option<(&str, [(usize, &str); 2])> {
    let rest = version.strip_prefix('v')?;
    // `alpha`, `beta` and the empty stability of a stable version compare in this order.
    let unstable = ["alpha", "beta"].into_iter().find_map(|stability| {
        let (major, minor) = rest.split_once(stability)?;
        Some((stability, [major, minor]))
    });
    let (stability, numbers) = unstable.unwrap_or(("stable", [rest, "1"]));
    let are_numbers = numbers.into_iter().all(|number| {
        number.starts_with(|c: char| c != '0') && number.bytes().all(|b| b.is_ascii_digit())
    });
    are_numbers.then(|| (stability, numbers.map(|number| (number.len(), number))))
}

/// Whether `text` is a version that Kubernetes accepts and that can be a Rust module: `v[1-9][a-z0-9]*`.
fn is_version(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next() == Some(b'v')
        && bytes.next().is_some_and(|b| matches!(b, b'1'..=b'9'))
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_priority = priority(&self.0).cmp(&priority(&other.0));
        // Both have a priority and are equal, or have none, and then the first one in alphabetical order is the greater.
        by_priority.then_with(|| other.0.cmp(&self.0))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Version {
    fn read(text: &str) -> Result<Self> {
        if !is_version(text) {
            let near = format!("v{}", text.to_ascii_lowercase().trim_start_matches('v'));
            let form = match priority(&near) {
                Some(_) => format!("`{near}`"),
                None => USUAL.to_owned(),
            };
            bail!("`{text}` is not an API version: it must look like {form}");
        }
        limit(text, LABEL).map_err(|reason| anyhow!("`{text}` is not an API version: {reason}"))?;
        Ok(Self(text.to_owned()))
    }

    /// Refuses a version without a priority in Kubernetes, such as `v1alpha`, because it is probably misspelled.
    pub fn ensure_usual(&self) -> Result<()> {
        ensure!(
            priority(&self.0).is_some(),
            "`{}` is an unusual version: a new one must look like {USUAL}",
            self.0
        );
        Ok(())
    }
}

/// What new versions look like, for errors.
const USUAL: &str = "`v1`, `v1beta2` or `v2alpha1`";

traits!(Version.0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_names_of_each_type() {
        assert!("com".parse::<Domain>().is_ok());
        assert!("batch-jobs.infra".parse::<Group>().is_ok());
        assert!("3d-models".parse::<ProjectName>().is_err());
        assert!("3d-models".parse::<Plural>().is_err());
        assert!("3d".parse::<ShortName>().is_err());
        assert!("nightly-backup".parse::<ControllerName>().is_ok());
        assert!("nightly.backup".parse::<ControllerName>().is_err());
        assert!("3scale".parse::<NamespaceName>().is_ok());
        for bad in ["", "a.b", "-a", "a-", "A", &"a".repeat(64)] {
            assert!(bad.parse::<NamespaceName>().is_err(), "{bad}");
        }
        for (bad, other) in [
            ("2024", "a number"),
            ("1e3", "a number"),
            ("0x1f", "a number"),
            ("2024-01-01", "a date"),
            ("true", "a boolean"),
            ("off", "a boolean"),
            ("n", "a boolean"),
            ("null", "null"),
        ] {
            assert_eq!(
                bad.parse::<NamespaceName>().unwrap_err().to_string(),
                format!(
                    "`{bad}` is not the name of a namespace: kustomize writes it without quotes, and YAML reads it \
                     as {other}; add a letter, as in `ns-{bad}`"
                )
            );
        }
        for good in [
            "2024a", "2024-01", "1-2", "on-call", "nullable", "e3", "inf",
        ] {
            assert!(good.parse::<NamespaceName>().is_ok(), "{good}");
        }
        let error = "example.com/".parse::<Domain>().unwrap_err();
        let expected = "`example.com/` is not a domain: `/` is not allowed, only lower-case \
                        letters, digits, `.` and `-`, as in `example.com`";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_group_becomes_a_valid_module() {
        let cases = [
            ("webapp", "webapp"),
            ("batch-jobs.infra", "batch_jobs_infra"),
            ("3scale", "_3scale"),
            ("static", "static_"),
            ("kube", "kube_"),
            ("xn--abc", "xn_abc"),
            ("", "my_domain_com"),
        ];
        let domain = "my-domain.com".parse().unwrap();
        for (group, module) in cases {
            assert_eq!(group.parse::<Group>().unwrap().module(&domain), module);
        }
    }

    #[test]
    fn a_folder_gives_the_project_name() {
        for (folder, name) in [
            ("guestbook", "guestbook"),
            ("My_App 2.0", "my-app-2-0"),
            ("foo - bar", "foo-bar"),
            ("-guestbook.", "guestbook"),
            ("foo--bar", "foo--bar"),
        ] {
            assert_eq!(ProjectName::from_folder(folder).unwrap().as_str(), name);
        }
        let error = ProjectName::from_folder("büro").unwrap_err().to_string();
        let expected = "the folder's name `büro` cannot be the name of the project: `ü` is not \
                        allowed, only lower-case letters, digits and `-`";
        assert_eq!(error, expected);
    }

    #[test]
    fn good_versions() {
        for version in ["v1", "v10", "v1beta2", "v2alpha1", "v12alpha34"] {
            let parsed: Version = version.parse().unwrap();
            assert_eq!(parsed.as_str(), version);
        }
    }

    #[test]
    fn bad_versions() {
        let bad = [
            "", "v", "1", "v0", "v01", "v1.0", "V1", "latest", " v1", "v1 ", "v1Beta1", "v+1", "v١",
        ];
        for version in bad {
            assert!(version.parse::<Version>().is_err(), "{version}");
        }
        for version in [
            "v1gamma1",
            "v1alpha",
            "v1beta0",
            "v1beta1alpha1",
            "v1api20230701preview",
        ] {
            let parsed: Version = version.parse().unwrap();
            assert!(parsed.ensure_usual().is_err(), "{version}");
        }
        let error = |text: &str| text.parse::<Version>().unwrap_err().to_string();
        let rule = "is not an API version: it must look like";
        let forms = "`v1`, `v1beta2` or `v2alpha1`";
        assert_eq!(error("latest"), format!("`latest` {rule} {forms}"));
        assert_eq!(error("1"), format!("`1` {rule} `v1`"));
        assert_eq!(error("V1Beta1"), format!("`V1Beta1` {rule} `v1beta1`"));
        let long = format!("v{}", "1".repeat(63));
        assert!(error(&long).ends_with("it has 64 characters, at most 63 are allowed"));
    }

    #[test]
    fn versions_are_ordered_by_priority() {
        let ordered = [
            "v1beta0",
            "v1api20230701preview",
            "v1api20230701",
            "v1alpha1",
            "v1alpha2",
            "v1alpha10",
            "v11alpha1",
            "v1beta1",
            "v2beta1",
            "v2beta2",
            "v1",
            "v2",
            "v9",
            "v10",
        ];
        let versions: Vec<Version> = ordered.iter().map(|text| text.parse().unwrap()).collect();
        assert!(versions.is_sorted_by(|a, b| a < b));
    }
}
