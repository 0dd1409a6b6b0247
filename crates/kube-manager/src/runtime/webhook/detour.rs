//! Conversions by an operator outside of the cluster: while it runs, the CRD has a URL of this machine in place of the
//! deployed Service.
//!
//! A conversion has either a Service or a URL. So the operator applies the CRD as the field manager of `make install`,
//! with all fields that this manager owns, but with another conversion. The next `make install` or `make deploy` then
//! replaces the URL with the Service. If another field manager owned the URL, the CRD would have both, which the API
//! server refuses.
//!
//! An annotation keeps the deployed conversion and its field managers. The operator restores it when it ends. If the
//! operator is killed, the next run finds the annotation and takes over.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::{
    ByteString, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::conversion::conversions::PATH;
use crate::runtime::failure;

/// The annotation that names the process to which an object belongs.
pub(super) const RUN_BY: &str = "kube-manager/run-by";

/// The annotation that keeps the deployed conversion.
const DEPLOYED: &str = "kube-manager/deployed";

/// The prefix of the annotations that make cert-manager write the `caBundle`.
const INJECTS: &str = "cert-manager.io/inject-";

/// How many times a change is tried while other clients change the CRD.
const TRIES: usize = 5;

/// The operation of a server-side apply in `managedFields`.
const APPLY: &str = "Apply";

/// Selects objects by the process to which they belong.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Whose {
    /// Only the objects of this process.
    Own,
    /// The objects of any process, including those that a killed process left behind.
    Any,
}

/// Moves conversions to this process, and restores them.
pub(super) struct Detours {
    client: Client,
    /// The field manager of `make install`.
    manager: String,
    /// The value of the annotation [`RUN_BY`] for this process.
    identity: String,
    /// The names of the CRDs whose versions the operator converts.
    crds: Vec<String>,
}

/// The CRDs whose conversion this process has moved to its URL.
#[derive(Default)]
pub(super) struct Led(BTreeMap<String, Look>);

/// The state of a CRD after this process applied it.
#[derive(PartialEq)]
struct Look {
    generation: Option<i64>,
    bundle: String,
}

/// The result of one check of the CRDs.
pub(super) enum DetourStatus {
    /// The API server calls this machine for conversions.
    Led,
    /// A CRD is missing or changes; the message says which one.
    Missing(String),
    /// Another process has taken over.
    Another,
}

impl Detours {
    pub fn new(client: Client, operator: &str, identity: String, crds: Vec<String>) -> Self {
        Self {
            client,
            manager: format!("{operator}-make"),
            identity,
            crds,
        }
    }

    /// Makes the API server call `url` for conversions, and trust `bundle`. The first call also takes over CRDs from
    /// another process.
    pub async fn look(&self, url: &str, bundle: &str, led: &mut Led) -> Result<DetourStatus> {
        let (mut missing, mut errors) = (Vec::new(), Vec::new());
        for name in &self.crds {
            match self.look_at(name, url, bundle, led).await {
                Ok(DetourStatus::Led) => {}
                Ok(DetourStatus::Another) => return Ok(DetourStatus::Another),
                Ok(DetourStatus::Missing(what)) => missing.push(what),
                Err(error) => errors.push(Some(error)),
            }
        }
        combined(errors)?;
        Ok(if missing.is_empty() {
            DetourStatus::Led
        } else {
            DetourStatus::Missing(missing.join("; "))
        })
    }

    async fn look_at(
        &self,
        name: &str,
        url: &str,
        bundle: &str,
        led: &mut Led,
    ) -> Result<DetourStatus> {
        let what = format!("CustomResourceDefinition `{name}`");
        let found = self.api().get_metadata_opt(name).await;
        let Some(there) = found.with_context(|| format!("cannot read the {what}"))? else {
            led.0.remove(name);
            return Ok(DetourStatus::Missing(format!(
                "there is no {what}: `make install` installs it"
            )));
        };
        let run_by = there.annotations().get(RUN_BY);
        let before = led.0.get(name);
        if before.is_some() && run_by.is_some_and(|identity| *identity != self.identity) {
            return Ok(DetourStatus::Another);
        }
        let now = Look {
            generation: there.metadata.generation,
            bundle: bundle.to_owned(),
        };
        if run_by.is_some() && before == Some(&now) {
            return Ok(DetourStatus::Led);
        }
        let applied = self.lead(name, url, bundle).await;
        let Some((applied, deployed)) =
            applied.with_context(|| format!("cannot change the {what}"))?
        else {
            // The next check finds out the reason.
            return Ok(DetourStatus::Missing(format!("the {what} changes")));
        };
        let instead_of = deployed.place();
        if before.is_none() {
            tracing::info!(
                crd = name,
                url,
                instead_of,
                "this machine converts between the versions: the API server calls it until this run ends"
            );
        } else if run_by.is_none() {
            tracing::info!(
                crd = name,
                url,
                instead_of,
                "the CRD was installed anew: this machine converts again"
            );
        }
        let now = Look {
            generation: applied["metadata"]["generation"].as_i64(),
            ..now
        };
        led.0.insert(name.to_owned(), now);
        Ok(DetourStatus::Led)
    }

    /// Moves the conversion of a CRD to `url`. Returns the changed CRD and the deployed conversion; `None` if the CRD
    /// was deleted or changed in between.
    async fn lead(
        &self,
        name: &str,
        url: &str,
        bundle: &str,
    ) -> kube::Result<Option<(Value, Deployed)>> {
        for _ in 0..TRIES {
            let Some(mut crd) = self.get(name).await? else {
                return Ok(None);
            };
            let noted = run_by(&crd).and_then(|_| Deployed::noted(&crd));
            let deployed = noted.unwrap_or_else(|| Deployed::of(&crd));
            // If another field manager owned the Service, it would stay.
            let adopted = deployed.adopted(&crd, &self.manager);
            if adopted != managed(&crd) {
                match settled(self.own(&crd, &adopted).await)? {
                    Some(changed) => crd = changed,
                    None => continue,
                }
            }
            let led = deployed.led(&crd, &self.manager, &self.identity, url, bundle);
            if let Some(applied) = settled(self.apply(name, &led).await)? {
                return Ok(Some((applied, deployed)));
            }
        }
        Ok(None)
    }

    /// Logs that this machine converts nothing.
    pub fn says_off(&self) {
        if !self.crds.is_empty() {
            tracing::info!(crds = ?self.crds, "conversions stay where they are deployed");
        }
    }

    /// Restores the deployed conversions.
    pub async fn end(&self, whose: Whose) -> Result<()> {
        let mut errors = Vec::new();
        for name in &self.crds {
            let put_back = self.put_back(name, whose).await.with_context(|| {
                format!("cannot put back the conversion of the CustomResourceDefinition `{name}`")
            });
            // The other conversions are restored even if one fails.
            errors.push(put_back.err());
        }
        combined(errors)
    }

    async fn put_back(&self, name: &str, whose: Whose) -> Result<()> {
        for _ in 0..TRIES {
            let Some(crd) = self.get(name).await? else {
                return Ok(());
            };
            match run_by(&crd) {
                Some(identity) if whose == Whose::Any || identity == self.identity => {}
                _ => return Ok(()),
            }
            let Some(deployed) = Deployed::noted(&crd) else {
                bail!(
                    "the annotation `{DEPLOYED}` is damaged: `make install` repairs the conversion"
                );
            };
            let back = deployed.back(&crd, &self.manager);
            let Some(crd) = settled(self.apply(name, &back).await)? else {
                continue;
            };
            tracing::info!(
                crd = name,
                to = deployed.place(),
                "the conversion is put back"
            );
            return self.hand_back(crd, &deployed).await;
        }
        bail!("it changes all the time");
    }

    /// Gives the fields of the conversion back to their former field managers, so that the next `make install` has the
    /// same effect as without the detour.
    async fn hand_back(&self, mut crd: Value, deployed: &Deployed) -> Result<()> {
        for _ in 0..TRIES {
            let owners = deployed.owned_as_before(&crd);
            if crd["spec"]["conversion"] != deployed.conversion || owners == managed(&crd) {
                return Ok(());
            }
            if settled(self.own(&crd, &owners).await)?.is_some() {
                return Ok(());
            }
            match self.get(&name(&crd)).await? {
                Some(there) => crd = there,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The CRDs as untyped JSON: a type would drop fields that only newer API servers know.
    fn api(&self) -> Api<DynamicObject> {
        let resource = ApiResource::erase::<CustomResourceDefinition>(&());
        Api::all_with(self.client.clone(), &resource)
    }

    async fn get(&self, name: &str) -> kube::Result<Option<Value>> {
        let there = self.api().get_opt(name).await?;
        there.map(|crd| value(&crd)).transpose()
    }

    async fn apply(&self, name: &str, crd: &Value) -> kube::Result<Value> {
        let params = PatchParams::apply(&self.manager).force();
        let applied = self.api().patch(name, &params, &Patch::Apply(crd)).await?;
        value(&applied)
    }

    /// Changes only the owners of the fields of a CRD.
    async fn own(&self, crd: &Value, owners: &[Value]) -> kube::Result<Value> {
        let version = &crd["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version, "managedFields": owners}});
        let (name, params) = (name(crd), PatchParams::default());
        let patched = self
            .api()
            .patch(&name, &params, &Patch::Merge(patch))
            .await?;
        value(&patched)
    }
}

fn value(object: &DynamicObject) -> kube::Result<Value> {
    serde_json::to_value(object).map_err(kube::Error::SerdeError)
}

/// The result of a request; `None` if the object has changed or was deleted in between.
fn settled<T>(ended: kube::Result<T>) -> kube::Result<Option<T>> {
    match ended {
        Ok(value) => Ok(Some(value)),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn name(crd: &Value) -> String {
    let name = crd["metadata"]["name"].as_str();
    name.unwrap_or_default().to_owned()
}

fn managed(crd: &Value) -> &[Value] {
    let managed = crd["metadata"]["managedFields"].as_array();
    managed.map_or(&[], Vec::as_slice)
}

/// The process to which the conversion of `crd` was moved, if it was moved.
fn run_by(crd: &Value) -> Option<&str> {
    let is_led = crd["spec"]["conversion"]["webhook"]["clientConfig"]["url"].is_string();
    let run_by = crd["metadata"]["annotations"][RUN_BY].as_str();
    run_by.filter(|_| is_led)
}

/// A conversion as it was deployed.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Deployed {
    conversion: Value,
    /// The annotations that make other programs write to the conversion.
    annotations: BTreeMap<String, String>,
    /// Entries of `managedFields`, limited to the fields of the conversion and of these annotations.
    owners: Vec<Value>,
}

/// The path of a field in `managedFields`.
type Path = Vec<String>;

impl Deployed {
    /// The conversion that `crd` has now.
    fn of(crd: &Value) -> Self {
        let all = crd["metadata"]["annotations"].as_object();
        let annotations = all.into_iter().flatten().filter_map(|(name, value)| {
            let text = value.as_str().filter(|_| name.starts_with(INJECTS))?;
            Some((name.clone(), text.to_owned()))
        });
        let mut deployed = Self {
            conversion: crd["spec"]["conversion"].clone(),
            annotations: annotations.collect(),
            owners: Vec::new(),
        };
        let paths = deployed.paths();
        deployed.owners = managed(crd)
            .iter()
            .filter_map(|entry| {
                let mut fields = json!({});
                for path in &paths {
                    if let Some(part) = part(&entry["fieldsV1"], path) {
                        put(&mut fields, path, part.clone());
                    }
                }
                let mut owner = entry.clone();
                owner["fieldsV1"] = fields;
                (!is_empty(&owner["fieldsV1"])).then_some(owner)
            })
            .collect();
        deployed
    }

    /// The conversion that an earlier process has saved.
    fn noted(crd: &Value) -> Option<Self> {
        let text = crd["metadata"]["annotations"][DEPLOYED].as_str()?;
        serde_json::from_str(text).ok()
    }

    /// The target of the API server's calls, for messages.
    fn place(&self) -> String {
        let client = &self.conversion["webhook"]["clientConfig"];
        let service = &client["service"];
        match (client["url"].as_str(), service["name"].as_str()) {
            (Some(url), _) => url.to_owned(),
            (None, Some(name)) => {
                let namespace = service["namespace"].as_str().unwrap_or_default();
                format!("Service {namespace}/{name}")
            }
            (None, None) => "no webhook".to_owned(),
        }
    }

    fn paths(&self) -> Vec<Path> {
        let annotations = self
            .annotations
            .keys()
            .map(|annotation| path_to(&["metadata", "annotations", annotation]));
        annotations
            .chain([path_to(&["spec", "conversion"])])
            .collect()
    }

    /// The `managedFields` of `crd`, changed so that only `manager` owns the conversion and the annotations.
    fn adopted(&self, crd: &Value, manager: &str) -> Vec<Value> {
        let mut fields = json!({});
        for path in self.paths() {
            let there = path.iter().try_fold(crd, |there, key| {
                there.get(key.strip_prefix("f:").unwrap_or(key))
            });
            if let Some(there) = there {
                put(&mut fields, &path, all_of(there));
            }
        }
        let owner = json!({
            "manager": manager,
            "operation": APPLY,
            "apiVersion": CustomResourceDefinition::api_version(&()),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        });
        with_owners(managed(crd), &self.paths(), &[owner])
    }

    /// The `managedFields` of `crd`, changed so that the former field managers own their fields again.
    fn owned_as_before(&self, crd: &Value) -> Vec<Value> {
        with_owners(managed(crd), &self.paths(), &self.owners)
    }

    /// The object to apply to move the conversion of `crd` to `url`.
    fn led(&self, crd: &Value, manager: &str, identity: &str, url: &str, bundle: &str) -> Value {
        let mut led = applied(crd, manager);
        let bundle = ByteString(bundle.as_bytes().to_vec());
        led["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": format!("{url}{PATH}"), "caBundle": bundle},
                "conversionReviewVersions": ["v1"],
            },
        });
        let annotations = &mut led["metadata"]["annotations"];
        if let Value::Object(annotations) = &mut *annotations {
            annotations.retain(|name, _| !self.annotations.contains_key(name));
        }
        annotations[RUN_BY] = identity.into();
        annotations[DEPLOYED] = json!(self).to_string().into();
        led
    }

    /// The object to apply to restore the deployed conversion.
    fn back(&self, crd: &Value, manager: &str) -> Value {
        let mut back = applied(crd, manager);
        back["spec"]["conversion"] = self.conversion.clone();
        let annotations = &mut back["metadata"]["annotations"];
        for (name, text) in &self.annotations {
            annotations[name] = text.as_str().into();
        }
        if let Value::Object(annotations) = annotations {
            annotations.remove(RUN_BY);
            annotations.remove(DEPLOYED);
        }
        if is_empty(annotations) {
            cut(&mut back, &["metadata", "annotations"]);
        }
        back
    }
}

/// The object to apply as `manager` to change nothing. The apply fails if the CRD has changed.
fn applied(crd: &Value, manager: &str) -> Value {
    let mut entries = managed(crd).iter();
    let own = entries.find(|entry| entry["manager"] == manager && entry["operation"] == APPLY);
    let mut applied = own.map_or_else(|| json!({}), |own| owned(&own["fieldsV1"], crd));
    for field in ["annotations", "labels"] {
        // Then the manager owns the map, but no entry of it.
        let fields = own.map(|own| &own["fieldsV1"]["f:metadata"][format!("f:{field}")]);
        if fields.and_then(Value::as_object).is_some_and(Map::is_empty) {
            applied["metadata"][field] = json!({});
        }
    }
    for field in ["apiVersion", "kind"] {
        applied[field] = crd[field].clone();
    }
    for field in ["name", "uid", "resourceVersion"] {
        applied["metadata"][field] = crd["metadata"][field].clone();
    }
    applied
}

/// The part of `value` whose fields are in `fields`, which has the format of `managedFields`.
fn owned(fields: &Value, value: &Value) -> Value {
    let Some(fields) = fields.as_object().filter(|fields| !fields.is_empty()) else {
        return value.clone();
    };
    match value {
        Value::Object(all) => {
            let owned = fields.iter().filter_map(|(key, below)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), owned(below, all.get(name)?)))
            });
            Value::Object(owned.collect())
        }
        Value::Array(items) => {
            let owned = items
                .iter()
                .filter(|owned| fields.keys().any(|key| is_key(key, owned)));
            owned.cloned().collect()
        }
        _ => value.clone(),
    }
}

/// Whether `key`, in the format of `managedFields`, is the key of the list item `item`.
fn is_key(key: &str, item: &Value) -> bool {
    let (form, text) = key.split_once(':').unwrap_or_default();
    match (form, serde_json::from_str(text)) {
        ("v", Ok::<Value, _>(value)) => *item == value,
        ("k", Ok(Value::Object(keys))) => keys.iter().all(|(name, it)| item[name] == *it),
        _ => false,
    }
}

/// All fields of `value`, in the format of `managedFields`. Each list in a conversion is owned as a whole.
fn all_of(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    let all = fields.map(|(name, below)| (format!("f:{name}"), all_of(below)));
    Value::Object(all.collect())
}

/// The path to a field, in the format of `managedFields`.
fn path_to(parts: &[&str]) -> Path {
    parts.iter().map(|part| format!("f:{part}")).collect()
}

/// `managed`, with the fields at `paths` removed from all managers and given to `owners`. Each owner is an entry with
/// only such fields.
fn with_owners(managed: &[Value], paths: &[Path], owners: &[Value]) -> Vec<Value> {
    let mut changed = managed.to_vec();
    for entry in &mut changed {
        for path in paths {
            cut(&mut entry["fieldsV1"], path);
        }
    }
    for owner in owners {
        let same_owner = changed.iter_mut().find(|entry| {
            ["manager", "operation", "apiVersion", "subresource"]
                .iter()
                .all(|field| entry[*field] == owner[*field])
        });
        let Some(entry) = same_owner else {
            changed.push(owner.clone());
            continue;
        };
        for path in paths {
            if let Some(part) = part(&owner["fieldsV1"], path) {
                put(&mut entry["fieldsV1"], path, part.clone());
            }
        }
    }
    changed.retain(|entry| !is_empty(&entry["fieldsV1"]));
    changed
}

fn is_empty(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

fn part<'a>(fields: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(fields, |fields, key| fields.get(key))
}

/// Puts `part` at `path`. An empty entry on the way is a field that is owned itself, so it gets the key `.`.
fn put(fields: &mut Value, path: &[String], part: Value) {
    let mut place = fields;
    for (depth, key) in path.iter().enumerate() {
        if depth > 0 && place.as_object().is_some_and(Map::is_empty) {
            place["."] = json!({});
        }
        place = &mut place[key];
    }
    *place = part;
}

/// Removes the part at `path`, and the entries that become empty: an empty entry would mean the whole field.
fn cut(fields: &mut Value, path: &[impl AsRef<str>]) -> Option<Value> {
    let (fields, (step, rest)) = (fields.as_object_mut()?, path.split_first()?);
    let first = step.as_ref();
    if rest.is_empty() {
        return fields.remove(first);
    }
    let below = fields.get_mut(first)?;
    let part = cut(below, rest)?;
    if is_empty(below) {
        fields.remove(first);
    }
    Some(part)
}

/// All of these errors as one error, if there are any.
pub(super) fn combined(errors: impl IntoIterator<Item = Option<anyhow::Error>>) -> Result<()> {
    let messages: Vec<_> = errors
        .into_iter()
        .flatten()
        .map(|error| failure::message(error.as_ref()))
        .collect();
    ensure!(messages.is_empty(), "{}", messages.join("; "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const MAKE: &str = "shop-make";
    const URL: &str = "https://192.0.2.1:9443";

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        let mut entry = json!({
            "manager": manager,
            "operation": operation,
            "apiVersion": "apiextensions.k8s.io/v1",
            "fieldsType": "FieldsV1",
            "time": format!("of {manager}"),
        });
        entry["fieldsV1"] = fields;
        entry
    }

    /// A CRD that `installer` has installed. The operator in the cluster has written the `caBundle`.
    fn deployed(installer: &str, operation: &str) -> Value {
        let service = json!({"name": "s", "namespace": "n", "path": "/convert", "port": 443});
        let client = json!({"service": service, "caBundle": "ZGVwbG95ZWQ="});
        let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v1"]});
        let fields = json!({"f:service": {".": {}, "f:name": {}, "f:namespace": {}, "f:path": {}}});
        let fields = json!({"f:clientConfig": fields, "f:conversionReviewVersions": {}});
        let installed = json!({
            "f:metadata": {
                "f:annotations": {"f:cert-manager.io/inject-ca-from": {}, "f:own": {}},
                "f:finalizers": {"v:\"own\"": {}},
            },
            "f:spec": {
                "f:conversion": {"f:strategy": {}, "f:webhook": fields},
                "f:names": {"f:kind": {}},
                "f:versions": {},
            },
        });
        let fields = json!({"f:clientConfig": {"f:caBundle": {}}});
        let injected = json!({"f:spec": {"f:conversion": {"f:webhook": fields}}});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "books.example.com",
                "uid": "1",
                "resourceVersion": "2",
                "annotations": {"cert-manager.io/inject-ca-from": "n/c", "own": "a", "other": "b"},
                "finalizers": ["other", "own"],
                "managedFields": [
                    entry(installer, operation, installed),
                    entry("operator", "Update", injected),
                ],
            },
            "spec": {
                "conversion": {"strategy": "Webhook", "webhook": webhook},
                "names": {"kind": "Book", "plural": "books"},
                "versions": [{"name": "v1", "schema": {"a": {}}}],
            },
        })
    }

    /// The CRD after `applied` is applied, as far as these tests need it.
    fn apply(crd: &Value, applied: &Value) -> Value {
        let mut after = crd.clone();
        let metadata = &mut after["metadata"];
        let entries = metadata["managedFields"].as_array_mut().expect("a list");
        let own = entries
            .iter_mut()
            .find(|entry| entry["manager"] == MAKE && entry["operation"] == APPLY)
            .expect("an entry");
        let mut fields = all_of(applied);
        for field in ["f:apiVersion", "f:kind"] {
            cut(&mut fields, &[field]);
        }
        for field in ["f:name", "f:uid", "f:resourceVersion"] {
            cut(&mut fields, &["f:metadata", field]);
        }
        if fields["f:metadata"]["f:finalizers"].is_object() {
            fields["f:metadata"]["f:finalizers"] = json!({"v:\"own\"": {}});
        } else {
            cut(&mut fields, &["f:metadata", "f:finalizers"]);
        }
        let before = std::mem::replace(&mut own["fieldsV1"], fields);
        let before = before["f:metadata"]["f:annotations"].as_object().cloned();
        let mut annotations = metadata["annotations"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        annotations.retain(|name, _| {
            let mut fields = before.iter().flatten();
            !fields.any(|(key, _)| key.strip_prefix("f:") == Some(name))
        });
        let new = applied["metadata"]["annotations"].as_object().cloned();
        annotations.extend(new.into_iter().flatten());
        metadata["annotations"] = annotations.into();
        after["spec"]["conversion"] = applied["spec"]["conversion"].clone();
        after
    }

    fn led(crd: &Value, identity: &str) -> Value {
        let deployed = Deployed::of(crd);
        let mut adopted = crd.clone();
        adopted["metadata"]["managedFields"] = deployed.adopted(crd, MAKE).into();
        apply(
            &adopted,
            &deployed.led(&adopted, MAKE, identity, URL, "own"),
        )
    }

    #[test]
    fn the_url_takes_the_place_of_the_service() {
        let crd = deployed(MAKE, APPLY);
        let now = Deployed::of(&crd);
        let adopted = now.adopted(&crd, MAKE);
        // No other manager owns a part of the conversion, and `make` still owns its other fields.
        assert_eq!(adopted.len(), 1, "{adopted:#?}");
        let fields = &adopted[0]["fieldsV1"];
        assert_eq!(fields["f:spec"]["f:versions"], json!({}));
        let client = &fields["f:spec"]["f:conversion"]["f:webhook"]["f:clientConfig"];
        assert_eq!(client["f:caBundle"], json!({}));
        assert_eq!(client["f:service"]["f:port"], json!({}));

        let led = now.led(&crd, MAKE, "me", URL, "own");
        let client = json!({"url": format!("{URL}/convert"), "caBundle": "b3du"});
        let webhook = json!({"clientConfig": client, "conversionReviewVersions": ["v1"]});
        let spec = json!({
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            // Fields of other managers are not applied.
            "names": {"kind": "Book"},
            "versions": [{"name": "v1", "schema": {"a": {}}}],
        });
        assert_eq!(led["spec"], spec);
        let metadata = &led["metadata"];
        assert_eq!(metadata["finalizers"], json!(["own"]));
        assert_eq!(metadata["annotations"][RUN_BY], "me");
        assert_eq!(metadata["annotations"]["own"], "a");
        let annotations = metadata["annotations"].as_object().expect("a map");
        let names: BTreeSet<_> = annotations.keys().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from([DEPLOYED, RUN_BY, "own"]));
        // A newer CRD, or another CRD with the same name, is not overwritten.
        assert_eq!([&metadata["uid"], &metadata["resourceVersion"]], ["1", "2"]);
    }

    #[test]
    fn what_was_deployed_comes_back_with_its_owners() {
        for (installer, operation) in [(MAKE, APPLY), (MAKE, "Update"), ("helm", "Update")] {
            let crd = deployed(installer, operation);
            let led = led(&crd, "me");
            assert_eq!(run_by(&led), Some("me"));
            let noted = Deployed::noted(&led).expect("an annotation");
            assert_eq!(noted, Deployed::of(&crd));
            let mut back = apply(&led, &noted.back(&led, MAKE));
            assert_eq!(run_by(&back), None);
            let mut owners = noted.owned_as_before(&back);
            owners.sort_by_key(|owner| owner["manager"] == "operator");
            back["metadata"]["managedFields"] = owners.into();
            assert_eq!(back, crd, "{installer} {operation}");
        }
    }

    #[test]
    fn the_next_process_keeps_what_the_first_one_found() {
        let crd = deployed(MAKE, APPLY);
        let first = led(&crd, "first");
        let noted = Deployed::noted(&first).expect("an annotation");
        assert_eq!(noted.adopted(&first, MAKE), managed(&first));
        let second = apply(&first, &noted.led(&first, MAKE, "second", URL, "own"));
        assert_eq!(run_by(&second), Some("second"));
        assert_eq!(Deployed::noted(&second), Some(noted));
        // A CRD that was installed again does not belong to a process, even if annotations remain.
        let mut installed = second;
        installed["spec"]["conversion"] = crd["spec"]["conversion"].clone();
        assert_eq!(run_by(&installed), None);
    }

    #[test]
    fn a_crd_without_a_webhook_has_none_again() {
        let mut crd = deployed(MAKE, APPLY);
        crd["spec"]["conversion"] = json!({"strategy": "None"});
        crd["metadata"]["annotations"] = Value::Null;
        let fields = json!({"f:spec": {"f:names": {"f:kind": {}}, "f:versions": {}}});
        crd["metadata"]["managedFields"] = json!([entry(MAKE, APPLY, fields)]);
        let led = led(&crd, "me");
        let noted = Deployed::noted(&led).expect("an annotation");
        assert_eq!(noted.place(), "no webhook");
        let back = noted.back(&led, MAKE);
        assert_eq!(back["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(back["metadata"].get("annotations"), None);
        let owners = noted.owned_as_before(&apply(&led, &back));
        assert_eq!(owners, managed(&crd));
    }

    #[test]
    fn a_map_is_owned_with_nothing_in_it() {
        let path = ["f:metadata", "f:annotations", "f:a"].map(str::to_owned);
        let before = json!({"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}});
        let mut fields = before.clone();
        cut(&mut fields, &path);
        // The API server writes the same.
        assert_eq!(fields, json!({"f:metadata": {"f:annotations": {".": {}}}}));
        let mut fields = json!({"f:metadata": {"f:annotations": {}}});
        put(&mut fields, &path, json!({}));
        assert_eq!(fields, before);
        let mut fields = json!({});
        put(&mut fields, &path, json!({}));
        assert_eq!(
            fields,
            json!({"f:metadata": {"f:annotations": {"f:a": {}}}})
        );

        // Fields that others have written do not become fields of `make`.
        let mut crd = deployed("helm", "Update");
        let fields = json!({"f:metadata": {"f:annotations": {}}});
        crd["metadata"]["managedFields"] = json!([entry(MAKE, APPLY, fields)]);
        assert_eq!(applied(&crd, MAKE)["metadata"]["annotations"], json!({}));
    }

    #[test]
    fn keys_of_lists_are_those_of_their_items() {
        assert!(is_key("v:\"own\"", &"own".into()));
        assert!(!is_key("v:\"own\"", &"other".into()));
        assert!(is_key(
            "k:{\"uid\":\"1\"}",
            &json!({"uid": "1", "name": "a"})
        ));
        assert!(!is_key("k:{\"uid\":\"1\"}", &json!({"uid": "2"})));
        assert!(!is_key(".", &"own".into()));
    }
}
