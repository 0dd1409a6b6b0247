//! Converts the bytes of an AdmissionReview to the bytes of its answer.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::{ByteString, api::authentication::v1::UserInfo};
use kube::core::{GroupVersionKind, Status};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Value, value::RawValue};

use super::{
    admission::{Defaulter, Validator},
    conversion::header::Header,
    endpoint::{Failure, Respond},
    patch,
    request::{Asked, Change, Operation, Request},
    room::{Permit, memory},
    verdict::{FieldError, Verdict},
};
use crate::runtime::closures;

/// The maximum size of a review: two objects of 3 MB, the limit of the API server, and the rest of the review.
pub(super) const MOST: usize = 8 << 20;

/// The most memory that the options of a request may take, in bytes: far more than those of any request need.
const MOST_OF_OPTIONS: usize = 2 << 20;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// A defaulter or a validator of any kind.
pub(super) trait Handler: Send + Sync {
    /// Answers `review`. Work that continues without the returned future must keep `permit`.
    fn handle<'a>(
        &'a self,
        review: &'a Review<'a>,
        permit: &'a Arc<Permit>,
    ) -> BoxFuture<'a, anyhow::Result<Answer>>;
}

impl Respond for Box<dyn Handler> {
    fn most(&self) -> usize {
        MOST
    }

    fn respond(
        &self,
        body: Vec<u8>,
        permit: Arc<Permit>,
    ) -> BoxFuture<'_, Result<Vec<u8>, Failure>> {
        async move { answer(&**self, &body, &permit).await }.boxed()
    }
}

/// The result of a webhook for a review.
pub(super) struct Answer {
    verdict: Verdict,
    patch: Option<json_patch::Patch>,
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        let patch = None;
        Self { verdict, patch }
    }
}

/// Answers the review in `body`.
pub(super) async fn answer(
    handler: &dyn Handler,
    body: &[u8],
    permit: &Arc<Permit>,
) -> Result<Vec<u8>, Failure> {
    let review = Review::read(body).map_err(Failure::Malformed)?;
    // After a panic, only state that the webhook itself shares between calls can be inconsistent.
    let handled = AssertUnwindSafe(handler.handle(&review, permit))
        .catch_unwind()
        .await;
    let Answer { verdict, patch } = match handled {
        Ok(answer) => answer.map_err(Failure::Failed)?,
        Err(panic) => return Err(Failure::Panicked(closures::message(panic.as_ref()))),
    };
    let refusal = verdict.refusal(&review.asked);
    let patch_json = match patch {
        Some(patch) if refusal.is_none() && !patch.0.is_empty() => {
            let json = serde_json::to_vec(&patch);
            Some(json.map_err(|error| Failure::Failed(error.into()))?)
        }
        _ => None,
    };
    let response = Response {
        uid: &review.uid,
        allowed: refusal.is_none(),
        status: refusal,
        patch_type: patch_json.is_some().then_some("JSONPatch"),
        patch: patch_json.map(ByteString),
        warnings: verdict.headers(),
    };
    serde_json::to_vec(&Outgoing::new(response)).map_err(|error| Failure::Failed(error.into()))
}

/// The answer that refuses the request of the review in `body`, because the webhook failed; `None` if `body` is not a
/// review.
pub(super) fn refuse(body: &[u8], message: String) -> Option<Vec<u8>> {
    let review = Review::read(body).ok()?;
    let status = Status::failure(&message, "InternalError").with_code(500);
    let response = Response {
        uid: &review.uid,
        allowed: false,
        status: Some(status),
        patch_type: None,
        patch: None,
        warnings: Vec::new(),
    };
    serde_json::to_vec(&Outgoing::new(response)).ok()
}

/// A review as it arrives. Its objects stay JSON text: as untyped JSON values, some texts would need a hundred times
/// their size in memory.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow)]
    request: Option<Incoming<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Incoming<'a> {
    uid: String,
    kind: GroupVersionKind,
    request_kind: Option<GroupVersionKind>,
    sub_resource: Option<String>,
    name: Option<String>,
    namespace: Option<String>,
    operation: Operation,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(borrow, default, deserialize_with = "object")]
    object: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "object")]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
    #[serde(borrow)]
    options: Option<&'a RawValue>,
}

fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    let text = Option::<&RawValue>::deserialize(deserializer)?;
    match text {
        Some(text) if !text.get().starts_with('{') => Err(D::Error::custom("expected a map")),
        text => Ok(text),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outgoing<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

impl<'a> Outgoing<'a> {
    fn new(response: Response<'a>) -> Self {
        Self {
            api_version: API_VERSION,
            kind: KIND,
            response,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<ByteString>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A review that has the objects for its operation.
pub(super) struct Review<'a> {
    uid: String,
    asked: Asked,
    request: Request,
    pub(super) objects: Objects<'a>,
}

/// The objects of a review. They may not fit the type of the webhook.
pub(super) enum Objects<'a> {
    Create(&'a RawValue),
    Update {
        old: &'a RawValue,
        new: &'a RawValue,
    },
    Delete(&'a RawValue),
}

impl<'a> Review<'a> {
    fn read(body: &'a [u8]) -> Result<Self, String> {
        let envelope: Envelope =
            serde_json::from_slice(body).map_err(|error| format!("this is no {KIND}: {error}"))?;
        if envelope.api_version != API_VERSION || envelope.kind != KIND {
            let (version, kind) = (envelope.api_version, envelope.kind);
            return Err(format!(
                "expected {KIND} of {API_VERSION}, not `{kind}` of `{version}`"
            ));
        }
        let incoming = envelope.request.ok_or("the review has no request")?;
        let new = incoming.object.ok_or("the request has no object");
        let old = incoming.old_object.ok_or("the request has no old object");
        let objects = match incoming.operation {
            Operation::Create | Operation::Connect => Objects::Create(new?),
            Operation::Update => Objects::Update {
                new: new?,
                old: old?,
            },
            Operation::Delete => Objects::Delete(old?),
        };
        let options = match incoming.options {
            Some(options) => read_options(options)?,
            None => None,
        };
        let kind = incoming.request_kind.unwrap_or(incoming.kind);
        // A request that deletes all objects of a namespace names none of them.
        let name = incoming
            .name
            .filter(|name| !name.is_empty())
            .or_else(|| match objects {
                Objects::Create(object)
                | Objects::Update { new: object, .. }
                | Objects::Delete(object) => {
                    let header: Header = serde_json::from_str(object.get()).ok()?;
                    header.metadata.name
                }
            });
        Ok(Self {
            uid: incoming.uid,
            asked: Asked {
                kind: kind.clone(),
                name: name.clone().unwrap_or_default(),
            },
            request: Request {
                operation: incoming.operation,
                user: incoming.user_info,
                dry_run: incoming.dry_run.unwrap_or_default(),
                namespace: incoming.namespace.filter(|name| !name.is_empty()),
                name,
                subresource: incoming.sub_resource.filter(|name| !name.is_empty()),
                options,
                kind: Some(kind),
                old: None,
            },
            objects,
        })
    }
}

/// Deserializes an object as its type.
fn typed<K: DeserializeOwned>(object: &RawValue) -> Result<K, FieldError> {
    let mut json = serde_json::Deserializer::from_str(object.get());
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let place = error.path().to_string();
        // Errors of the object as a whole have no path.
        let path = if place == "." { "" } else { &place };
        let text = error.inner().to_string();
        // The line number would not help the client, who does not see this text.
        let why = match text.split_once(" at line ") {
            Some((why, _)) => why,
            None => &text,
        };
        FieldError::type_invalid(path, why)
    })
}

/// The options of a request.
fn read_options(options: &RawValue) -> Result<Option<Value>, String> {
    if memory(options.get()) > MOST_OF_OPTIONS {
        return Err("the options of the request are too large".to_owned());
    }
    serde_json::from_str(options.get())
        .map_err(|error| format!("the request has bad options: {error}"))
}

/// The texts of the fields of `object` except its metadata.
fn but_metadata(object: &RawValue) -> serde_json::Result<BTreeMap<String, &str>> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object.get())?;
    let others = fields.into_iter().filter(|(name, _)| name != "metadata");
    Ok(others.map(|(name, value)| (name, value.get())).collect())
}

/// The verdict on an update in which the old or new object does not fit its type. The object must still be able to lose
/// its finalizers. So the update is allowed with a warning if the old object did not fit either, and only metadata
/// changes.
fn misfit<K: DeserializeOwned>(old: &RawValue, new: &RawValue, error: FieldError) -> Verdict {
    let are_equal = match (but_metadata(old), but_metadata(new)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    };
    if are_equal && typed::<K>(old).is_err() {
        let mut verdict = Verdict::allowed();
        verdict.warn(format!("the object does not fit its type: {error}"));
        verdict
    } else {
        Verdict::from(error)
    }
}

/// Calls a defaulter.
pub(super) struct Defaults<D>(pub D);

impl<D: Defaulter> Handler for Defaults<D> {
    fn handle<'a>(
        &'a self,
        review: &'a Review<'a>,
        permit: &'a Arc<Permit>,
    ) -> BoxFuture<'a, anyhow::Result<Answer>> {
        let call = async move {
            let (old, new) = match &review.objects {
                Objects::Create(new) => (None, new),
                Objects::Update { old, new } => (Some(old), new),
                // A deleted object needs no defaults.
                Objects::Delete(_) => return Ok(Verdict::allowed().into()),
            };
            // The typed object, and what it is before and after. The defaulter may read the old object.
            let texts = [new.get(), old.map_or("", |old| old.get())];
            let _memory = permit.objects(&texts, 3).await;
            let mut object: D::Object = match (typed(new), old) {
                (Ok(object), _) => object,
                (Err(error), Some(old)) => {
                    return Ok(misfit::<D::Object>(old, new, error).into());
                }
                (Err(error), None) => return Ok(Verdict::from(error).into()),
            };
            let before = serde_json::to_value(&object)?;
            let mut request = review.request.clone();
            request.old = old.map(|old| (*old).to_owned());
            let verdict = self.0.default(&mut object, &request).await?;
            let after = serde_json::to_value(&object)?;
            let patch = Some(patch::between(new, &before, &after)?);
            Ok(Answer { verdict, patch })
        };
        call.boxed()
    }
}

/// Calls a validator.
pub(super) struct Validates<V>(pub V);

impl<V: Validator> Handler for Validates<V> {
    fn handle<'a>(
        &'a self,
        review: &'a Review<'a>,
        permit: &'a Arc<Permit>,
    ) -> BoxFuture<'a, anyhow::Result<Answer>> {
        let call = async move {
            let request = &review.request;
            let _memory = match &review.objects {
                Objects::Update { old, new } => permit.objects(&[old.get(), new.get()], 1).await,
                Objects::Create(object) | Objects::Delete(object) => {
                    permit.objects(&[object.get()], 1).await
                }
            };
            let verdict = match &review.objects {
                Objects::Create(new) => match typed(new) {
                    Ok(new) => self.0.validate(Change::Create(&new), request).await?,
                    Err(error) => error.into(),
                },
                Objects::Update { old, new } => match (typed(old), typed(new)) {
                    (Ok(old), Ok(new)) => {
                        let change = Change::Update {
                            old: &old,
                            new: &new,
                        };
                        self.0.validate(change, request).await?
                    }
                    (Err(_), Ok(new)) => self.0.validate(Change::Create(&new), request).await?,
                    (_, Err(error)) => misfit::<V::Object>(old, new, error),
                },
                Objects::Delete(old) => match typed(old) {
                    Ok(old) => self.0.validate(Change::Delete(&old), request).await?,
                    // It must be possible to delete such an object.
                    Err(_) => Verdict::allowed(),
                },
            };
            Ok(verdict.into())
        };
        call.boxed()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    async fn answer(handler: &dyn Handler, body: &[u8]) -> Result<Vec<u8>, Failure> {
        super::answer(handler, body, &Arc::new(Permit::alone())).await
    }

    /// Adds an entry to ConfigMaps, and panics or fails on demand.
    struct Entries;

    impl Defaulter for Entries {
        type Object = ConfigMap;

        async fn default(&self, map: &mut ConfigMap, request: &Request) -> anyhow::Result<Verdict> {
            let data = map.data.get_or_insert_default();
            let mut verdict = Verdict::allowed();
            match data.get("does").map(String::as_str) {
                Some("panics") => panic!("at the disco"),
                Some("fails") => anyhow::bail!("no answer"),
                Some("warns") => verdict.warn("careful"),
                Some("refuses") => verdict.forbid("no"),
                _ => {}
            }
            let by = request.user.username.clone().unwrap_or_default();
            let old = request.old_object::<ConfigMap>();
            let old_by = old.and_then(|old| old.data?.remove("by"));
            data.entry("by".to_owned()).or_insert(old_by.unwrap_or(by));
            Ok(verdict)
        }
    }

    /// Refuses empty ConfigMaps, and shows the request in a warning.
    struct Filled;

    impl Validator for Filled {
        type Object = ConfigMap;

        async fn validate(
            &self,
            change: Change<'_, ConfigMap>,
            request: &Request,
        ) -> anyhow::Result<Verdict> {
            fn size(map: &ConfigMap) -> usize {
                map.data.as_ref().map_or(0, BTreeMap::len)
            }

            let mut verdict = Verdict::allowed();
            verdict.warn(match change {
                Change::Create(new) => format!("creates {}", size(new)),
                Change::Update { old, new } => format!("from {} to {}", size(old), size(new)),
                Change::Delete(old) => format!("deletes {}", size(old)),
            });
            if request.dry_run {
                verdict.warn("dry");
            }
            if change.after().is_some_and(|new| size(new) == 0) {
                verdict.error(FieldError::required("data", "say something"));
                verdict.error(FieldError::invalid("metadata.name", "x", "too short"));
            }
            Ok(verdict)
        }
    }

    fn review(operation: &str, old: Value, new: Value) -> Value {
        json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "7",
                "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
                "resource": {"group": "", "version": "v1", "resource": "configmaps"},
                "name": "settings",
                "namespace": "default",
                "operation": operation,
                "userInfo": {"username": "alice"},
                "oldObject": old,
                "object": new,
                "dryRun": false,
                "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
            },
        })
    }

    fn map(data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})
    }

    async fn asked(handler: &dyn Handler, review: &Value) -> Result<Value, Failure> {
        let answer = answer(handler, review.to_string().as_bytes()).await?;
        let mut answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["apiVersion"], API_VERSION);
        assert_eq!(answer["kind"], KIND);
        assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
        Ok(answer["response"].take())
    }

    async fn allows(handler: &dyn Handler, operation: &str, old: Value, new: Value) -> Value {
        let answer = asked(handler, &review(operation, old, new))
            .await
            .expect("an answer");
        assert_eq!(answer["allowed"], true, "{answer}");
        assert_eq!(answer.get("status"), None, "{answer}");
        answer
    }

    async fn refuses(handler: &dyn Handler, operation: &str, old: Value, new: Value) -> Value {
        let answer = asked(handler, &review(operation, old, new))
            .await
            .expect("an answer");
        assert_eq!(answer["allowed"], false, "{answer}");
        assert_eq!(answer.get("patch"), None, "{answer}");
        answer
    }

    /// The result of the patch in `answer`, applied to `object`.
    fn patched(answer: &Value, mut object: Value) -> Value {
        assert_eq!(answer["patchType"], "JSONPatch");
        let patch: ByteString = serde_json::from_value(answer["patch"].clone()).expect("base64");
        let patch: json_patch::Patch = serde_json::from_slice(&patch.0).expect("a patch");
        json_patch::patch(&mut object, &patch.0).expect("a patch that fits");
        object
    }

    #[tokio::test]
    async fn a_default_is_added_and_what_the_type_does_not_have_stays() {
        let entries = Defaults(Entries);
        let mut new = map(json!({"a": "b"}));
        new["future"] = json!({"field": 1});
        let answer = allows(&entries, "CREATE", Value::Null, new.clone()).await;
        let mut expected = new.clone();
        expected["data"]["by"] = "alice".into();
        assert_eq!(patched(&answer, new.clone()), expected);
        // The second call has nothing to do.
        let answer = allows(&entries, "UPDATE", new, expected).await;
        assert_eq!(answer, json!({"uid": "7", "allowed": true}));
        let answer = allows(&entries, "DELETE", map(json!({})), Value::Null).await;
        assert_eq!(answer, json!({"uid": "7", "allowed": true}));
    }

    #[tokio::test]
    async fn a_defaulter_can_keep_a_value_of_the_old_object() {
        let entries = Defaults(Entries);
        let new = map(json!({"a": "b"}));
        for (old, by) in [
            (json!({"by": "bob"}), "bob"),
            (json!({}), "alice"),
            (json!({"by": 7}), "alice"),
        ] {
            let answer = allows(&entries, "UPDATE", map(old), new.clone()).await;
            assert_eq!(patched(&answer, new.clone())["data"]["by"], by);
        }
    }

    #[tokio::test]
    async fn a_defaulter_can_warn_and_refuse() {
        let entries = Defaults(Entries);
        let new = map(json!({"does": "warns"}));
        let answer = allows(&entries, "CREATE", Value::Null, new).await;
        assert_eq!(answer["warnings"], json!(["careful"]));
        let new = map(json!({"does": "refuses"}));
        let answer = refuses(&entries, "CREATE", Value::Null, new).await;
        let status = json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "no",
            "details": {"name": "settings", "kind": "ConfigMap"}});
        assert_eq!(answer["status"], status);
    }

    #[tokio::test]
    async fn a_validator_sees_what_changes() {
        let (one, two) = (map(json!({"a": "1"})), map(json!({"a": "1", "b": "2"})));
        let cases = [
            ("CREATE", Value::Null, two.clone(), "creates 2"),
            ("UPDATE", one.clone(), two.clone(), "from 1 to 2"),
            ("DELETE", one.clone(), Value::Null, "deletes 1"),
            ("CONNECT", Value::Null, one.clone(), "creates 1"),
        ];
        for (operation, old, new, warning) in cases {
            let answer = allows(&Validates(Filled), operation, old, new).await;
            assert_eq!(answer["warnings"], json!([warning]));
        }
        let mut dry = review("CREATE", Value::Null, one);
        dry["request"]["dryRun"] = true.into();
        let answer = asked(&Validates(Filled), &dry).await.expect("an answer");
        assert_eq!(answer["warnings"], json!(["creates 1", "dry"]));
    }

    #[tokio::test]
    async fn a_refusal_has_the_causes_that_kubectl_prints() {
        let answer = refuses(&Validates(Filled), "CREATE", Value::Null, map(json!({}))).await;
        let status = json!({
            "status": "Failure",
            "code": 422,
            "reason": "Invalid",
            "message": "ConfigMap \"settings\" is invalid: [data: Required value: say something, \
                        metadata.name: Invalid value: \"x\": too short]",
            "details": {
                "name": "settings",
                "kind": "ConfigMap",
                "causes": [
                    {"reason": "FieldValueRequired", "field": "data",
                        "message": "Required value: say something"},
                    {"reason": "FieldValueInvalid", "field": "metadata.name",
                        "message": "Invalid value: \"x\": too short"},
                ],
            },
        });
        assert_eq!(answer["status"], status);
        assert_eq!(answer["warnings"], json!(["creates 0"]));
        let mut unnamed = review("CREATE", Value::Null, map(json!({})));
        unnamed["request"]["name"] = "".into();
        let answer = asked(&Validates(Filled), &unnamed)
            .await
            .expect("an answer");
        assert_eq!(answer["status"], status);
    }

    #[tokio::test]
    async fn an_object_that_does_not_fit_its_type_is_refused_with_the_field() {
        for handler in [&Validates(Filled) as &dyn Handler, &Defaults(Entries)] {
            let answer = refuses(handler, "CREATE", Value::Null, map(json!({"a": 1}))).await;
            assert_eq!(answer["status"]["code"], 422);
            let causes = &answer["status"]["details"]["causes"];
            assert_eq!(causes[0]["field"], "data.a");
            assert_eq!(causes[0]["reason"], "FieldValueTypeInvalid");
            let (good, bad) = (map(json!({"a": "1"})), map(json!({"a": 1})));
            refuses(handler, "UPDATE", good.clone(), bad.clone()).await;
            refuses(handler, "UPDATE", map(json!({"a": 2})), bad.clone()).await;
            let [one, other] = [1, 2].map(|inner| {
                let mut deep = bad.clone();
                deep["deep"] = (0..200).fold(json!(inner), |value, _| json!([value]));
                deep
            });
            refuses(handler, "UPDATE", one.clone(), other).await;
            allows(handler, "UPDATE", one.clone(), one).await;
            // A client can repair the object.
            allows(handler, "UPDATE", bad, good).await;
        }
    }

    #[tokio::test]
    async fn an_object_that_does_not_fit_its_type_can_always_be_deleted() {
        for handler in [&Validates(Filled) as &dyn Handler, &Defaults(Entries)] {
            let mut old = map(json!({"a": 1}));
            old["metadata"]["finalizers"] = json!(["a.b/c"]);
            let answer = allows(handler, "DELETE", old.clone(), Value::Null).await;
            assert_eq!(answer, json!({"uid": "7", "allowed": true}));
            let new = map(json!({"a": 1}));
            let answer = allows(handler, "UPDATE", old, new).await;
            let warning = answer["warnings"][0].as_str().expect("a warning");
            assert!(warning.starts_with("the object does not fit its type: data.a: "));
        }
    }

    #[tokio::test]
    async fn a_panic_and_an_error_are_failed_calls_alone() {
        let entries = Defaults(Entries);
        let failure = async |does| {
            let new = map(json!({"does": does}));
            asked(&entries, &review("CREATE", Value::Null, new))
                .await
                .expect_err(does)
        };
        assert_eq!(
            failure("panics").await.to_string(),
            "the webhook panicked: at the disco"
        );
        assert_eq!(failure("fails").await.to_string(), "no answer");
        allows(&entries, "CREATE", Value::Null, map(json!({}))).await;
    }

    #[tokio::test]
    async fn what_is_no_review_is_malformed() {
        let good = review("UPDATE", map(json!({})), map(json!({})));
        let wrong = |pointer: &str, value: Value| {
            let mut review = good.clone();
            *review.pointer_mut(pointer).expect("a field") = value;
            review
        };
        let cases = [
            (json!(null), "this is no AdmissionReview"),
            (json!({}), "not `` of ``"),
            (
                wrong("/apiVersion", json!("admission.k8s.io/v1beta1")),
                "v1beta1",
            ),
            (
                wrong("/kind", json!("ConversionReview")),
                "ConversionReview",
            ),
            (wrong("/request", json!(null)), "no request"),
            (wrong("/request/operation", json!("EAT")), "EAT"),
            (wrong("/request/object", json!(null)), "no object"),
            (wrong("/request/object", json!([])), "expected a map"),
            (wrong("/request/oldObject", json!(null)), "no old object"),
            (wrong("/request/uid", json!(7)), "expected a string"),
        ];
        let large = vec![json!({"a": 0}); 10_000];
        let large = (
            wrong("/request/options", large.into()),
            "options of the request are too large",
        );
        for (review, message) in cases.into_iter().chain([large]) {
            match asked(&Validates(Filled), &review).await {
                Err(Failure::Malformed(why)) => assert!(why.contains(message), "{why}"),
                other => panic!("{review} gives {other:?}"),
            }
        }
        let deep = "[".repeat(100_000);
        let deep = answer(&Validates(Filled), deep.as_bytes()).await;
        assert!(matches!(deep, Err(Failure::Malformed(_))));
    }

    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 20, 3, |inner| {
            let key = prop_oneof![
                Just("metadata".to_owned()),
                Just("data".to_owned()),
                Just("binaryData".to_owned()),
                Just("labels".to_owned()),
                ".{0,4}",
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(future)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn arbitrary_bytes_are_rejected(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let answer = block_on(answer(&Validates(Filled), &body));
            prop_assert!(matches!(answer, Err(Failure::Malformed(_))));
        }

        #[test]
        fn a_damaged_review_is_answered_or_rejected(
            at in any::<prop::sample::Index>(), byte: u8, operation in "CREATE|UPDATE|DELETE|CONNECT",
        ) {
            let data = map(json!({"a": "b"}));
            let mut body = review(&operation, data.clone(), data).to_string().into_bytes();
            let index = at.index(body.len());
            body[index] = byte;
            for handler in [&Validates(Filled) as &dyn Handler, &Defaults(Entries)] {
                let answer = block_on(answer(handler, &body));
                prop_assert!(matches!(answer, Ok(_) | Err(Failure::Malformed(_))));
            }
        }

        #[test]
        fn arbitrary_objects_are_answered(
            operation in "CREATE|UPDATE|DELETE|CONNECT", old in value(), new in value(),
        ) {
            let malformed = !match operation.as_str() {
                "UPDATE" => old.is_object() && new.is_object(),
                "DELETE" => old.is_object() && (new.is_object() || new.is_null()),
                _ => new.is_object() && (old.is_object() || old.is_null()),
            };
            let review = review(&operation, old, new);
            for handler in [&Validates(Filled) as &dyn Handler, &Defaults(Entries)] {
                let answer = block_on(asked(handler, &review));
                let as_expected = match answer {
                    Ok(answer) => {
                        let must = operation == "DELETE" && answer["allowed"] != true;
                        !malformed && !must
                    }
                    Err(Failure::Malformed(_)) => malformed,
                    Err(_) => false,
                };
                prop_assert!(as_expected, "{}", review);
            }
        }
    }
}
