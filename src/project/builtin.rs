//! The built-in kinds of Kubernetes, as k8s-openapi 0.29 (feature `latest`) defines them.

use std::sync::LazyLock;

use crate::names::GroupVersionKind;

/// The columns are group, version, kind, plural, scope and Rust path. A controller must list the objects of its kind, so
/// kinds that cannot be listed are left out.
const TABLE: &str = include_str!("builtin/kinds.tsv");

static KINDS: LazyLock<Vec<Builtin>> = LazyLock::new(|| TABLE.lines().filter_map(row).collect());

/// A built-in kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its API group: `apps`, `networking.k8s.io`, empty for the core group.
    pub group: &'static str,
    /// Its version: `v1`.
    pub version: &'static str,
    /// Its kind: `Deployment`.
    pub kind: &'static str,
    /// The name of its resource: `deployments`.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Its Rust type: `k8s_openapi::api::apps::v1::Deployment`.
    pub path: &'static str,
}

impl Builtin {
    /// Who defines these kinds, for messages.
    pub const DEFINER: &'static str = "Kubernetes";

    /// Returns whether `group` is a name of the API group. The core group is `core` or empty, and the suffix `.k8s.io`
    /// is optional.
    pub fn is_in(&self, group: &str) -> bool {
        let full = if group == "core" { "" } else { group };
        self.group == full || self.group.strip_suffix(".k8s.io") == Some(full)
    }

    /// Its name with the full group: `apps/v1/Deployment`, or `v1/ConfigMap` for the core group.
    pub fn id(&self) -> String {
        let id = format!("{}/{}/{}", self.group, self.version, self.kind);
        id.trim_start_matches('/').to_owned()
    }

    /// The API group as in `PROJECT`, without `.k8s.io`: `networking`. The core group is `core`.
    pub fn short_group(&self) -> &'static str {
        match self.group {
            "" => "core",
            group => group.strip_suffix(".k8s.io").unwrap_or(group),
        }
    }
}

/// Finds a built-in kind. `group` can be any name that [`Builtin::is_in`] accepts.
pub fn find(group: &str, version: &str, kind: &str) -> Option<Builtin> {
    all().find(|builtin| builtin.kind == kind && builtin.version == version && builtin.is_in(group))
}

/// Like [`find`], for a group, version and kind in one value.
pub fn named(id: &GroupVersionKind) -> Option<Builtin> {
    let (group, version, kind) = (id.group(), id.version(), id.kind());
    find(group.as_str(), version.as_str(), kind.as_str())
}

/// Every built-in kind, sorted by group, version and kind. The newest version is the last one.
pub fn all() -> impl Iterator<Item = Builtin> {
    KINDS.iter().copied()
}

fn row(line: &'static str) -> Option<Builtin> {
    let mut columns = line.split('\t');
    Some(Builtin {
        group: columns.next()?,
        version: columns.next()?,
        kind: columns.next()?,
        plural: columns.next()?,
        namespaced: columns.next()? == "Namespaced",
        path: columns.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_returns_all_columns_of_a_deployment() {
        let expected = Builtin {
            group: "apps",
            version: "v1",
            kind: "Deployment",
            plural: "deployments",
            namespaced: true,
            path: "k8s_openapi::api::apps::v1::Deployment",
        };
        assert_eq!(find("apps", "v1", "Deployment"), Some(expected));
    }

    #[test]
    fn the_core_group_has_two_names() {
        let node = find("core", "v1", "Node").unwrap();
        assert_eq!(node.group, "");
        assert_eq!(
            (node.id(), node.short_group()),
            ("v1/Node".to_owned(), "core")
        );
        assert!(!node.namespaced);
        assert_eq!(find("", "v1", "Node"), Some(node));
    }

    #[test]
    fn the_suffix_k8s_io_is_optional() {
        let ingress = find("networking", "v1", "Ingress").unwrap();
        assert_eq!(ingress.group, "networking.k8s.io");
        assert_eq!(ingress.short_group(), "networking");
        assert_eq!(find("networking.k8s.io", "v1", "Ingress"), Some(ingress));
        let role = find("rbac.authorization", "v1", "Role").unwrap();
        assert_eq!(role.group, "rbac.authorization.k8s.io");
    }

    #[test]
    fn unknown_kinds_are_not_found() {
        assert_eq!(find("apps", "v2", "Deployment"), None);
        assert_eq!(find("webapp", "v1", "Deployment"), None);
        assert_eq!(find("app", "v1", "Deployment"), None);
        assert_eq!(find("k8s.io", "v1", "Ingress"), None);
    }

    #[test]
    fn kinds_that_cannot_be_listed_are_left_out() {
        assert_eq!(find("authentication", "v1", "TokenReview"), None);
        assert_eq!(find("policy", "v1", "Eviction"), None);
    }

    #[test]
    fn each_line_of_the_table_is_found() {
        assert_eq!(all().count(), TABLE.lines().count());
        for builtin in all() {
            let found = find(builtin.group, builtin.version, builtin.kind);
            assert_eq!(found, Some(builtin));
            assert!(builtin.path.ends_with(&format!("::{}", builtin.kind)));
        }
    }
}
