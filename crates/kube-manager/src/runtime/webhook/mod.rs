//! Webhooks: typed functions that the API server calls before it stores an object, and to convert an object to
//! another version.
//!
//! A [`Defaulter`] sets defaults for fields that an object leaves out. A [`Validator`] decides whether an object may be
//! created, changed or deleted. Both are independent of the API server's protocol: objects arrive as their Rust type,
//! and the answer is a [`Verdict`].
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_manager::webhook::{Change, FieldError, Hook, Operation, Request, Validator, Verdict};
//!
//! struct Protection;
//!
//! impl Validator for Protection {
//!     type Object = ConfigMap;
//!
//!     const HOOK: Hook = Hook::new().operations(&[Operation::Update, Operation::Delete]);
//!
//!     async fn validate(
//!         &self,
//!         change: Change<'_, ConfigMap>,
//!         request: &Request,
//!     ) -> anyhow::Result<Verdict> {
//!         let mut verdict = Verdict::allowed();
//!         match change {
//!             Change::Update { old, new } if old.data != new.data => {
//!                 verdict.error(FieldError::forbidden("data", "field is immutable"));
//!             }
//!             Change::Delete(_) if request.user.username.as_deref() != Some("admin") => {
//!                 verdict.forbid("only admin may delete it");
//!             }
//!             _ => {}
//!         }
//!         Ok(verdict)
//!     }
//! }
//! ```
//!
//! [`Manager::add_defaulter`](crate::Manager::add_defaulter) and
//! [`Manager::add_validator`](crate::Manager::add_validator) register them. All replicas serve them on port 9443,
//! before the lease and before any watch: `/readyz` then reports whether webhooks are served, and `/readyz/controllers`
//! reports what the controllers wait for. After SIGTERM and after the loss of the lease, the webhooks are served for
//! 5 more seconds. [`Manager::write_manifests`](crate::Manager::write_manifests) writes the webhook configurations.
//!
//! # When a call fails
//!
//! No call fails while certificates are replaced, while a replica stops after SIGTERM, or after it has lost the lease:
//! the replica answers calls until it ends. These calls fail:
//!
//! - calls in a process that is killed. The API server does not repeat a call without an answer, because it cannot know
//!   whether the call had an effect.
//! - calls above the limits, with code 429: more than `--webhook-max-calls` calls, or more than 64 MiB of reviews at
//!   one time. The API server repeats such a call each second until its timeout. A conversion counts until it has ended,
//!   even if its call has timed out.
//! - calls that take too long, and calls in which the webhook returns an error or panics. A webhook has nine tenths of
//!   the timeout, or all but its last second: then the answer, with code 504, arrives while the API server still waits.
//!   A call whose client does not wait is logged too, and has the code 499 in the metrics.
//!
//! The [`FailurePolicy`] decides what happens to the request of a failed call.
//!
//! # Certificates
//!
//! There are three sources of certificates, and `rscaffold edit` switches between them.
//!
//! | source of the certificate | flag | who makes the API server trust it |
//! |---|---|---|
//! | the operator, which also renews it | none | the operator |
//! | a Secret that another program maintains, such as cert-manager | `--webhook-cert-secret` | the other program |
//! | a folder of files | `--webhook-cert-path` | the operator, if `ca.crt` is there; otherwise another program |
//!
//! **The operator.** It creates authorities, and with them a certificate for each replica. It needs
//!
//! - a Secret without data, with permission to `get` and `update` it: `--webhook-ca-secret` sets its name;
//! - the name of the Service for which the certificates are issued: `--webhook-service`;
//! - the webhook configurations, with permission to `get` and `patch` them: `--webhook-mutating-configuration` and
//!   `--webhook-validating-configuration`. The operator sets their `caBundle`.
//!
//! The replicas share the authorities in the Secret. No authority signs before all API servers know it, so no request
//! fails during a change.
//!
//! **A Secret.** The operator reads `tls.crt` and `tls.key`, and uses each new pair at once. It needs permission to
//! `list` and `watch` the Secret. If the certificate is renewed by the same authority, no request fails. The operator
//! does not check when such a certificate, or one in a folder, expires.
//!
//! **A folder.** The operator reads `tls.crt` and `tls.key` every 10 s. If `ca.crt` is there too, the operator writes
//! it into the webhook configurations, which needs the same permissions for them as above. Add a new authority to
//! `ca.crt`, next to the old one, some minutes before it signs.
//!
//! **A Pod is ready** when the API server can call it. `/readyz` has the reason if it cannot:
//!
//! | a webhook configuration, or a CRD with a conversion | the Pod |
//! |---|---|
//! | trusts the authority of the certificate | is ready, even if the operator may not change the configuration |
//! | does not trust it, and the API server refuses the change | is not ready: each call would fail |
//! | cannot be read | is ready if a replica has published the authority before; with a folder, always |
//! | is missing, or does not name the operator | is ready: the API server does not call the operator |
//! | has only webhooks that the API server may skip | is ready |
//!
//! Each configuration and CRD is changed on its own: `/readyz` and the log name all that cannot be changed.
//!
//! All of these permissions can be limited to the names of the objects. The Secret and the Service are in the
//! operator's namespace.
//!
//! # Conversion
//!
//! A [`Hub`] converts between the versions of a kind. One version is the hub, and the other versions are spokes. For
//! each spoke, the user writes the conversion to the hub and back, as plain `From` or `TryFrom` implementations. An
//! object of one spoke is converted to another spoke through the hub.
//!
//! **No data is lost** if a version cannot hold everything that another version holds. Each such difference is saved in
//! an annotation of the object, such as `v2.webapp.example.com/spec.colour` on an object of version v1. When the object
//! is converted to v2 again, the difference is restored if that part of the object has the value that it had when the
//! difference was saved. Otherwise the client's value wins.
//!
//! - If clients change a value in the stored version and later change it back, the difference is restored, too.
//! - If only v1 has the value `Teal`, only v2 has `Blue`, and both become `Green` in the other version, a client that
//!   replaces one by the other may see no change in the other version. Convert such values to different ones.
//! - A client that drops the annotations also drops the differences in them, for example a `PUT` of an object that the
//!   client has not read before. This cannot be prevented.
//! - Items of a list are matched by their keys if the list has the type `map`, as with `ListMerge::Map`. Any other list
//!   is saved as a whole: if a client changes one item, all differences of that list are lost.
//! - The API server limits the annotations of an object to 256 KiB. A write of an object with more differences is
//!   refused in every version: the operator serves a webhook for this, such as `/bound-webapp-example-com-guestbook`.
//!   If the webhook cannot be called, the write succeeds without this check. If such an object is stored nevertheless,
//!   it is still converted, but without these annotations, and the log has an error.
//! - The conversion of an object may take 256 MiB of memory. An object that would take more, such as 600 KB of objects
//!   with one field each, is refused when it is written. Large objects are converted one after the other, so all
//!   conversions together take this memory, and the texts of the reviews and of the answers.
//! - An object may lack fields that its schema requires, for example during a server-side apply. Then the converted
//!   object lacks the values that depend on these fields.
//!
//! [`Manager::write_manifests`](crate::Manager::write_manifests) writes the conversion into the CRD. The operator also
//! sets the `caBundle` there, which needs permission to `get` and `patch` the CRD. While the operator does not run, the
//! API server still serves objects in the version in which they are stored.
//!
//! # Outside of a cluster
//!
//! With `--webhook-url=auto`, the API server calls webhooks on the machine on which the operator runs. The operator
//! finds an address of the machine that the API server can reach, creates a certificate for it, and applies the
//! configurations `<name>-run-mutating-webhook-configuration` and `<name>-run-validating-webhook-configuration`. It
//! needs permission to do so, but no Secret and no Service. If the API server cannot reach any address, the log shows
//! the reason, and the operator continues without webhooks. A URL such as `--webhook-url=https://192.168.1.2:9443` sets
//! the address explicitly.
//!
//! The operator deletes these configurations when it ends. If the operator is killed, they stay; so their failure
//! policy is `Ignore`. While the operator runs, it refuses a request itself if a webhook with [`FailurePolicy::Fail`]
//! fails.
//!
//! A kind has only one conversion, in its CRD. While the operator runs, the CRD has the URL, and an annotation keeps
//! the deployed conversion. When the operator ends, it restores the deployed conversion. If the operator is killed, the
//! next run takes over, and `make install` restores the Service: the operator writes the CRD as the field manager
//! `<name>-make`. It needs permission to `get` and `patch` the CRD.
//!
//! # When not to use a webhook
//!
//! If the schema of a CRD can express a rule, as in `#[schemars(range(min = 0))]` or a CEL expression, the API server
//! checks the rule without a call. The next choice are the policies of the API server, ValidatingAdmissionPolicy and
//! MutatingAdmissionPolicy. Use a webhook for rules that neither of them can express.

mod admission;
mod authority;
mod by_url;
mod certificates;
mod configurations;
mod conversion;
mod detour;
mod endpoint;
mod files;
mod hook;
mod issued;
mod options;
mod patch;
mod request;
mod review;
mod room;
mod server;
mod verdict;
mod webhooks;

pub use admission::{Defaulter, Object, Validator};
pub use conversion::hub::{Hub, Versioned};
pub use hook::{
    FailurePolicy, Hook, Label, MatchPolicy, NAMESPACE_NAME, OWN_NAMESPACE, Reinvocation,
    SideEffects,
};
pub use request::{Change, Operation, Request};
pub use verdict::{FieldError, Verdict};
pub(super) use webhooks::Webhooks;
