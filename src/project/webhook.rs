//! The admission webhooks of a version of a kind.

use crate::names::WebhookPath;

/// The admission webhooks of a version of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhooks {
    /// The webhook that sets the default values of an object.
    pub defaulting: Option<Webhook>,
    /// The webhook that accepts or rejects an object.
    pub validation: Option<Webhook>,
}

/// A webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Webhook {
    /// The path of the webhook, if it is not the default path.
    pub path: Option<WebhookPath>,
}

/// What an admission webhook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It sets the default values of an object.
    Defaulting,
    /// It accepts or rejects an object.
    Validation,
}

impl Webhooks {
    /// The webhook that does this.
    pub fn get(&self, admission: Admission) -> Option<&Webhook> {
        match admission {
            Admission::Defaulting => self.defaulting.as_ref(),
            Admission::Validation => self.validation.as_ref(),
        }
    }

    /// The path of the webhook that does this, if there is one with its own path.
    pub fn path(&self, admission: Admission) -> Option<&WebhookPath> {
        self.get(admission)?.path.as_ref()
    }

    /// Whether the version has no webhooks.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
