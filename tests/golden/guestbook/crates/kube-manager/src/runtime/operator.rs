//! The operator that a manager runs.

/// The settings that are the same in each run of an operator. [`Options`](super::Options) has the settings that differ.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    pub(super) name: &'static str,
    domain: &'static str,
    pub(super) version: &'static str,
    pub(super) namespaced: bool,
    pub(super) chart: Option<&'static str>,
    lease: Option<&'static str>,
}

impl Operator {
    /// An operator that works in all namespaces.
    ///
    /// Name and domain, such as `guestbook` and `example.com`, must be unique among the operators of a cluster. The
    /// name is the value of a label of all children, so it has at most 63 characters.
    pub const fn new(name: &'static str, domain: &'static str) -> Self {
        Self {
            name,
            domain,
            version: "",
            namespaced: false,
            chart: None,
            lease: None,
        }
    }

    /// Sets the version for the log and for the metric `build_info`.
    #[must_use]
    pub const fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// Makes the operator work in single namespaces, with a Role in each. Without this setting, the operator has a
    /// ClusterRole. The webhooks of a namespaced operator are called only for objects in its own namespace, unless
    /// their `HOOK` names namespaces.
    #[must_use]
    pub const fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    /// Sets the folder of the operator's Helm chart, such as `charts/guestbook`.
    #[must_use]
    pub const fn chart(mut self, folder: &'static str) -> Self {
        self.chart = Some(folder);
        self
    }

    /// Sets the name of the Lease that the replicas share; by default, it is `<name>.<domain>`. An operator that
    /// replaces another one uses the same Lease, so that both never work at the same time.
    #[must_use]
    pub const fn lease(mut self, name: &'static str) -> Self {
        self.lease = Some(name);
        self
    }

    /// The name of the Lease that the operator's replicas share.
    pub(super) fn lease_name(&self) -> String {
        match self.lease {
            Some(name) => name.to_owned(),
            None => format!("{}.{}", self.name, self.domain),
        }
    }
}
