//! The settings of a resource that another value of the resource would change, as text for messages.

use super::{
    resource::Resource,
    webhook::{Webhook, Webhooks},
};
use crate::names::{Dependency, ShortName, WebhookPath};

impl Resource {
    /// The settings that would be lost or changed if `after` replaced this resource.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = self.changes_of_crd(after);
        if let (Some(before), Some(after)) = (self.external(), after.external()) {
            changes.extend(change("type", before.as_str(), after.as_str()));
        }
        if let Some(before) = self.dependency() {
            let other = after.dependency().map_or("", Dependency::as_str);
            changes.extend(change("crate", before.as_str(), other));
        }
        if self.is_served() && after.has_api() && !after.is_served() {
            changes.extend(change("served", "yes", "no"));
        }
        changes.extend(self.changes_of_controllers(after));
        changes.extend(self.webhooks.changes(&after.webhooks));
        changes
    }

    /// The differences between the CRDs of two versions. All versions of a kind share one CRD.
    fn changes_of_crd(&self, after: &Self) -> Vec<String> {
        let changes = [
            change("plural", self.plural.as_str(), after.plural.as_str()),
            change("scope", self.scope(), after.scope()),
            change("short names", &self.short_names(), &after.short_names()),
        ];
        changes.into_iter().flatten().collect()
    }

    fn scope(&self) -> &'static str {
        if self.namespaced {
            "Namespaced"
        } else {
            "Cluster"
        }
    }

    fn short_names(&self) -> String {
        let names: Vec<_> = self.short_names.iter().map(ShortName::as_str).collect();
        names.join(", ")
    }

    /// The controllers and settings that would be lost or changed if the controllers of `after` replaced these.
    pub(super) fn changes_of_controllers(&self, after: &Self) -> Vec<String> {
        let changes = self.controllers.iter().flat_map(|before| {
            let name = before.name.as_str();
            let Some(after) = after.controller(&before.name) else {
                return change("controller", name, "").into_iter().collect();
            };
            let what = format!("finalizer of the controller `{name}`");
            let [was, is] =
                [before, after].map(|controller| if controller.finalizer { "yes" } else { "no" });
            let mut changes: Vec<_> = change(&what, was, is).into_iter().collect();
            if let (Some(was), Some(is)) = (&before.image, &after.image) {
                let what = format!("image of the controller `{name}`");
                changes.extend(change(&what, &was.to_string(), &is.to_string()));
            }
            changes
        });
        changes.collect()
    }

    /// The first difference between this version and another one that must not exist within a kind.
    pub(super) fn contradiction(&self, other: &Self) -> Option<String> {
        let of_crd = self.changes_of_crd(other).into_iter();
        let (before, after) = (self.conversion().name(), other.conversion().name());
        of_crd.chain(change("conversion", before, after)).next()
    }
}

impl Webhooks {
    /// The webhooks and paths that would be lost or changed if `after` replaced these webhooks.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        for (name, before, after) in [
            ("defaulting", &self.defaulting, &after.defaulting),
            ("validating", &self.validation, &after.validation),
        ] {
            changes.extend(match (before, after) {
                (Some(_), None) => change(&format!("{name} webhook"), "yes", "no"),
                (Some(before), Some(after)) => {
                    let what = format!("path of the {name} webhook");
                    change(&what, before.path_or_default(), after.path_or_default())
                }
                (None, _) => None,
            });
        }
        changes
    }
}

impl Webhook {
    fn path_or_default(&self) -> &str {
        self.path.as_ref().map_or("default", WebhookPath::as_str)
    }
}

/// The message about a setting that would change: "plural `guestbooks` -> `books`". An empty value is shown as none.
fn change(what: &str, before: &str, after: &str) -> Option<String> {
    let [before, after] = [before, after].map(|value| match value {
        "" => "none".to_owned(),
        value => format!("`{value}`"),
    });
    // After a name, the first value needs a mark.
    let mark = if what.ends_with('`') { ":" } else { "" };
    (before != after).then(|| format!("{what}{mark} {before} -> {after}"))
}
