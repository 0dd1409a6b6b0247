//! The name of a kind with its group and version.

use anyhow::{Result, bail};

use super::{
    check::traits,
    kind::Kind,
    kubernetes::{Group, Version},
};

/// A kind with its group and version: `apps/v1/Deployment`. Without a group, as in `v1/ConfigMap`, the kind is in the
/// core group of Kubernetes, or the project's domain is its group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    text: String,
    group: Group,
    version: Version,
    kind: Kind,
}

impl GroupVersionKind {
    /// The name of `kind` in this version of `group`.
    pub fn new(group: Group, version: Version, kind: Kind) -> Self {
        let text = if group.is_empty() {
            format!("{version}/{kind}")
        } else {
            format!("{group}/{version}/{kind}")
        };
        Self {
            text,
            group,
            version,
            kind,
        }
    }

    /// The group, which may be empty.
    pub fn group(&self) -> &Group {
        &self.group
    }

    /// The version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The kind.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The flags of a command that name the kind: `--group apps --version v1 --kind Deployment`.
    pub fn as_flags(&self) -> String {
        let group = self.group.as_argument();
        format!(
            "--group {group} --version {} --kind {}",
            self.version, self.kind
        )
    }

    /// The same without the version, for a command that knows which version is meant.
    pub fn kind_flags(&self) -> String {
        format!("--group {} --kind {}", self.group.as_argument(), self.kind)
    }

    fn read(text: &str) -> Result<Self> {
        let parts: Vec<_> = text.split('/').collect();
        let (group, version, kind) = match parts[..] {
            [version, kind] => ("", version, kind),
            [group, version, kind] if !group.is_empty() => (group, version, kind),
            _ => bail!(
                "`{text}` is not a kind with its group: the form is `<group>/<version>/<Kind>`, or \
                 `<version>/<Kind>` for the core group, as in `apps/v1/Deployment`"
            ),
        };
        Ok(Self::new(group.parse()?, version.parse()?, kind.parse()?))
    }
}

traits!(GroupVersionKind.text);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::builtin;

    fn error(text: &str) -> String {
        text.parse::<GroupVersionKind>().unwrap_err().to_string()
    }

    #[test]
    fn a_group_may_be_left_out() {
        let cases = [
            ("apps/v1/Deployment", "apps/v1/Deployment", "apps"),
            ("v1/ConfigMap", "v1/ConfigMap", ""),
            ("core/v1/ConfigMap", "core/v1/ConfigMap", "core"),
        ];
        for (text, canonical, group) in cases {
            let id: GroupVersionKind = text.parse().unwrap();
            assert_eq!(id.as_str(), canonical);
            assert_eq!(id.group().as_str(), group);
            assert_eq!(canonical.parse::<GroupVersionKind>().unwrap(), id);
        }
    }

    #[test]
    fn every_builtin_kind_has_a_valid_name() {
        for builtin in builtin::all() {
            let text = format!("{}/{}/{}", builtin.group, builtin.version, builtin.kind);
            let text = text.trim_start_matches('/');
            assert_eq!(text.parse::<GroupVersionKind>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn an_error_names_the_bad_part() {
        for text in ["", "Deployment", "a/b/c/d", "/v1/Deployment"] {
            let expected = format!(
                "`{text}` is not a kind with its group: the form is `<group>/<version>/<Kind>`, or \
                 `<version>/<Kind>` for the core group, as in `apps/v1/Deployment`"
            );
            assert_eq!(error(text), expected);
        }
        assert!(error("apps/v1/2fa").starts_with("`2fa` is not a kind"));
        assert!(error("apps/1/Deployment").starts_with("`1` is not an API version"));
        assert!(error("Apps/v1/Deployment").starts_with("`Apps` is not a group"));
    }
}
