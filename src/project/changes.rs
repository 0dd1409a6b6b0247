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
            let after = after.dependency().map_or("none", Dependency::as_str);
            changes.extend(change("crate", before.as_str(), after));
        }
        if self.is_served() && after.has_api() {
            let served = |side: &Self| if side.is_served() { "yes" } else { "no" };
            changes.extend(change("served", served(self), served(after)));
        }
        changes.extend(self.changes_of_controllers(after));
        changes.extend(self.webhooks.changes(&after.webhooks));
        changes
    }

    /// The differences between the CRDs of two versions. All versions of a kind share one CRD.
    pub(super) fn changes_of_crd(&self, after: &Self) -> Vec<String> {
        let scope = |side: &Self| {
            if side.namespaced {
                "Namespaced"
            } else {
                "Cluster"
            }
        };
        let short_names = |side: &Self| match side.short_names.as_slice() {
            [] => "none".to_owned(),
            names => (names.iter().map(ShortName::as_str).collect::<Vec<_>>()).join(", "),
        };
        let changes = [
            change("plural", self.plural.as_str(), after.plural.as_str()),
            change("scope", scope(self), scope(after)),
            change("short names", &short_names(self), &short_names(after)),
        ];
        changes.into_iter().flatten().collect()
    }

    /// The controllers and settings that would be lost or changed if the controllers of `after` replaced these.
    pub(super) fn changes_of_controllers(&self, after: &Self) -> Vec<String> {
        let changes = self.controllers.iter().flat_map(|before| {
            let name = before.name.as_str();
            let Some(after) = after.controller(&before.name) else {
                return change("controller", name, "none").into_iter().collect();
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
        let conversion = |side: &Self| {
            side.own()
                .map(|own| own.conversion)
                .unwrap_or_default()
                .name()
        };
        let changes = self.changes_of_crd(other).into_iter();
        let conversion = change("conversion", conversion(self), conversion(other));
        changes.chain(conversion).next()
    }
}

impl Webhooks {
    /// The webhooks and paths that would be lost or changed if `after` replaced these webhooks.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let pairs = [
            ("defaulting", &self.defaulting, &after.defaulting),
            ("validating", &self.validation, &after.validation),
        ];
        let changes = pairs.into_iter().filter_map(|(name, before, after)| {
            let path = |webhook: &Webhook| {
                webhook
                    .path
                    .as_ref()
                    .map_or("default", WebhookPath::as_str)
                    .to_owned()
            };
            match (before, after) {
                (Some(_), None) => change(&format!("{name} webhook"), "yes", "no"),
                (Some(before), Some(after)) => change(
                    &format!("path of the {name} webhook"),
                    &path(before),
                    &path(after),
                ),
                (None, _) => None,
            }
        });
        changes.collect()
    }
}

/// The message about a setting that would change: "plural `guestbooks` -> `books`".
fn change(what: &str, before: &str, after: &str) -> Option<String> {
    (before != after).then(|| format!("{what} `{before}` -> `{after}`"))
}
