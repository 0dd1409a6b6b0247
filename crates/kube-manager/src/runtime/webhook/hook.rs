//! How the API server calls a webhook, as a value next to the webhook's code. `make manifests` writes the settings to
//! config/webhook/manifests.yaml.

use std::collections::BTreeSet;

use anyhow::ensure;
use k8s_openapi::{
    api::admissionregistration::v1::{
        MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
        ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};
use kube::{Resource, api::ObjectMeta};

use super::request::Operation;

/// What happens to a request if its webhook fails, because no replica answers, or the answer is late or an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The request fails.
    #[default]
    Fail,
    /// The request continues without the webhook.
    Ignore,
}

/// The versions of a kind for which the webhook is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchPolicy {
    /// All versions: the API server converts an object to the version of the webhook's type.
    #[default]
    Equivalent,
    /// Only the version of the webhook's type.
    Exact,
}

/// Whether a defaulter is called again if another webhook changes the object after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reinvocation {
    /// The defaulter is not called again.
    #[default]
    Never,
    /// The defaulter may be called again.
    IfNeeded,
}

/// Whether a call has effects besides its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SideEffects {
    /// A call has no side effects.
    #[default]
    None,
    /// A call has side effects, but not for a dry run.
    NoneOnDryRun,
}

/// A condition on a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The label has one of the values.
    In(&'static str, &'static [&'static str]),
    /// The label is missing, or has none of the values.
    NotIn(&'static str, &'static [&'static str]),
    /// The label exists.
    Exists(&'static str),
    /// The label does not exist.
    DoesNotExist(&'static str),
}

impl Label {
    /// The name of the label, and the values of the condition.
    fn parts(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::In(key, values) | Self::NotIn(key, values) => (key, values),
            Self::Exists(key) | Self::DoesNotExist(key) => (key, &[]),
        }
    }

    fn requirement(self) -> LabelSelectorRequirement {
        let (key, values) = self.parts();
        let operator = match self {
            Self::In(..) => "In",
            Self::NotIn(..) => "NotIn",
            Self::Exists(_) => "Exists",
            Self::DoesNotExist(_) => "DoesNotExist",
        };
        LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: Some(owned(values)).filter(|values| !values.is_empty()),
        }
    }
}

/// The label of each namespace whose value is the name of the namespace.
pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The namespace of the operator, as a value of [`NAMESPACE_NAME`]. kustomize and the Helm chart replace it with the
/// name of the namespace in the cluster.
pub const OWN_NAMESPACE: &str = "system";

/// When and how the API server calls a webhook.
///
/// ```
/// use kube_manager::webhook::{
///     FailurePolicy, Hook, Label, NAMESPACE_NAME, OWN_NAMESPACE, Operation,
/// };
///
/// const HOOK: Hook = Hook::new()
///     .operations(&[Operation::Create, Operation::Update, Operation::Delete])
///     .failure_policy(FailurePolicy::Ignore)
///     .namespaces(&[Label::NotIn(NAMESPACE_NAME, &["kube-system", OWN_NAMESPACE])])
///     .condition("not-by-nodes", "!('system:nodes' in request.userInfo.groups)");
/// # let _ = HOOK;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    name: Option<&'static str>,
    path: Option<&'static str>,
    operations: &'static [Operation],
    parent: Option<Parent>,
    subresources: &'static [&'static str],
    failure_policy: FailurePolicy,
    match_policy: MatchPolicy,
    reinvocation: Reinvocation,
    side_effects: SideEffects,
    timeout_seconds: u8,
    namespaces: &'static [Label],
    objects: &'static [Label],
    conditions: [Option<(&'static str, &'static str)>; CONDITIONS],
}

/// The most match conditions that a webhook can have in Kubernetes.
const CONDITIONS: usize = 64;

/// The kind whose subresource has the type of the webhook.
#[derive(Clone, Copy, Debug)]
struct Parent {
    group: Word,
    version: Word,
    plural: Word,
}

type Word = fn(&()) -> std::borrow::Cow<'_, str>;

impl Hook {
    /// A webhook that is called for each creation and each update of an object. A request fails if the webhook fails or
    /// takes longer than 10 s.
    pub const fn new() -> Self {
        Self {
            name: None,
            path: None,
            operations: &[Operation::Create, Operation::Update],
            parent: None,
            subresources: &[],
            failure_policy: FailurePolicy::Fail,
            match_policy: MatchPolicy::Equivalent,
            reinvocation: Reinvocation::Never,
            side_effects: SideEffects::None,
            timeout_seconds: 10,
            namespaces: &[],
            objects: &[],
            conditions: [None; CONDITIONS],
        }
    }

    /// Sets the name, a domain with at least two dots. The default is `mguestbook-v1.kb.io` for a defaulter and
    /// `vguestbook-v1.kb.io` for a validator.
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the path of the URL. The default is `/mutate-webapp-example-com-v1-guestbook` for a defaulter and
    /// `/validate-webapp-example-com-v1-guestbook` for a validator.
    #[must_use]
    pub const fn path(mut self, path: &'static str) -> Self {
        self.path = Some(path);
        self
    }

    /// Sets the operations for which the webhook is called. A defaulter has nothing to do for a deletion.
    #[must_use]
    pub const fn operations(mut self, operations: &'static [Operation]) -> Self {
        self.operations = operations;
        self
    }

    /// Calls the webhook also for these subresources, such as `status`, whose objects have the same type.
    #[must_use]
    pub const fn subresources(mut self, subresources: &'static [&'static str]) -> Self {
        self.subresources = subresources;
        self
    }

    /// Calls the webhook only for subresources of kind `K` that have their own type. For example, a webhook with the
    /// type `Scale` is called for `scale` of the kind `Guestbook`.
    #[must_use]
    pub const fn subresources_of<K: Resource<DynamicType = ()>>(
        mut self,
        subresources: &'static [&'static str],
    ) -> Self {
        self.parent = Some(Parent {
            group: K::group,
            version: K::version,
            plural: K::plural,
        });
        self.subresources = subresources;
        self
    }

    /// Sets what happens to a request if the webhook fails.
    #[must_use]
    pub const fn failure_policy(mut self, policy: FailurePolicy) -> Self {
        self.failure_policy = policy;
        self
    }

    /// Sets the versions of the kind for which the webhook is called.
    #[must_use]
    pub const fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.match_policy = policy;
        self
    }

    /// Sets whether a defaulter is called again if another webhook changes the object after it. This has no effect for
    /// a validator.
    #[must_use]
    pub const fn reinvocation(mut self, reinvocation: Reinvocation) -> Self {
        self.reinvocation = reinvocation;
        self
    }

    /// Sets whether a call has side effects.
    #[must_use]
    pub const fn side_effects(mut self, effects: SideEffects) -> Self {
        self.side_effects = effects;
        self
    }

    /// Sets how many seconds the API server waits for an answer: 1 to 30.
    #[must_use]
    pub const fn timeout_seconds(mut self, seconds: u8) -> Self {
        self.timeout_seconds = seconds;
        self
    }

    /// Calls the webhook only for objects in namespaces with these labels. The label [`NAMESPACE_NAME`] of each
    /// namespace has the name of the namespace. Cluster-scoped objects are not affected.
    ///
    /// If the operator is [`namespaced`](crate::Operator::namespaced) and no condition uses that label, the webhook is
    /// called only for the operator's own namespace.
    #[must_use]
    pub const fn namespaces(mut self, labels: &'static [Label]) -> Self {
        self.namespaces = labels;
        self
    }

    /// Calls the webhook only for objects that have these labels before or after the change.
    #[must_use]
    pub const fn objects(mut self, labels: &'static [Label]) -> Self {
        self.objects = labels;
        self
    }

    /// Calls the webhook only for requests for which this CEL expression is true. If there are several expressions, all
    /// must be true. Error messages contain `name`.
    ///
    /// # Panics
    ///
    /// When there are more than 64 expressions, the limit of the API server.
    #[must_use]
    pub const fn condition(mut self, name: &'static str, expression: &'static str) -> Self {
        let mut index = 0;
        while self.conditions[index].is_some() {
            index += 1;
        }
        self.conditions[index] = Some((name, expression));
        self
    }
}

impl Default for Hook {
    fn default() -> Self {
        Self::new()
    }
}

/// What a webhook does with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Default,
    Validate,
}

/// A hook with the kind of its objects.
#[derive(Clone, Debug)]
pub(super) struct Webhook {
    purpose: Purpose,
    name: String,
    path: String,
    rule: RuleWithOperations,
    hook: Hook,
    /// Whether it is called for all namespaces, also if the operator is for one namespace.
    is_everywhere: bool,
}

/// How many seconds the API server waits for the webhook that refuses objects which cannot be converted: a write should
/// not wait long for a webhook that may be skipped.
const BOUND_SECONDS: u8 = 5;

impl Webhook {
    pub fn new<K: Resource<DynamicType = ()>>(purpose: Purpose, hook: Hook) -> Self {
        let (group, version) = (K::group(&()), K::version(&()));
        let kind = K::kind(&()).to_lowercase();
        let (letter, verb) = match purpose {
            Purpose::Default => ('m', "mutate"),
            Purpose::Validate => ('v', "validate"),
        };
        let dashed = group.replace('.', "-");
        let parent = hook.parent.unwrap_or(Parent {
            group: K::group,
            version: K::version,
            plural: K::plural,
        });
        let plural = (parent.plural)(&());
        let objects = hook.parent.is_none().then(|| plural.clone().into_owned());
        let subresources = hook
            .subresources
            .iter()
            .map(|subresource| format!("{plural}/{subresource}"));
        let operations = hook.operations.iter();
        Self {
            purpose,
            name: hook
                .name
                .map_or_else(|| format!("{letter}{kind}-{version}.kb.io"), str::to_owned),
            path: hook.path.map_or_else(
                || format!("/{verb}-{dashed}-{version}-{kind}"),
                str::to_owned,
            ),
            rule: RuleWithOperations {
                api_groups: Some(vec![(parent.group)(&()).into_owned()]),
                api_versions: Some(vec![(parent.version)(&()).into_owned()]),
                operations: Some(
                    operations
                        .map(|operation| operation.name().to_owned())
                        .collect(),
                ),
                resources: Some(objects.into_iter().chain(subresources).collect()),
                scope: None,
            },
            hook,
            is_everywhere: false,
        }
    }

    /// The webhook that limits the size of converted objects. It is called for the version that the client writes.
    /// Requests succeed if it does not answer. It is called for all namespaces, because the API server converts the objects
    /// of all namespaces.
    pub fn bound(name: String, path: String, rule: RuleWithOperations) -> Self {
        Self {
            purpose: Purpose::Validate,
            name,
            path,
            rule,
            hook: Hook::new()
                .failure_policy(FailurePolicy::Ignore)
                .match_policy(MatchPolicy::Exact)
                .timeout_seconds(BOUND_SECONDS),
            is_everywhere: true,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub fn failure_policy(&self) -> FailurePolicy {
        self.hook.failure_policy
    }

    fn conditions(&self) -> Option<Vec<MatchCondition>> {
        let conditions = self.hook.conditions.iter().flatten();
        some_unless_empty(conditions.map(|(name, expression)| MatchCondition {
            name: (*name).to_owned(),
            expression: (*expression).to_owned(),
        }))
    }

    fn namespace_selector(&self, namespaces: &Namespaces<'_>) -> Option<LabelSelector> {
        let mut conditions = requirements(self.hook.namespaces);
        let mut are_named = false;
        for condition in conditions
            .iter_mut()
            .filter(|condition| condition.key == NAMESPACE_NAME)
        {
            are_named = true;
            for name in condition.values.iter_mut().flatten() {
                if name == OWN_NAMESPACE {
                    namespaces.own.clone_into(name);
                }
            }
        }
        if !are_named && !self.is_everywhere && !namespaces.only.is_empty() {
            conditions.push(LabelSelectorRequirement {
                key: NAMESPACE_NAME.to_owned(),
                operator: "In".to_owned(),
                values: Some(namespaces.only.to_vec()),
            });
        }
        selector(conditions)
    }

    fn mutating(
        &self,
        namespaces: &Namespaces<'_>,
        client: WebhookClientConfig,
    ) -> MutatingWebhook {
        MutatingWebhook {
            admission_review_versions: owned(&["v1"]),
            client_config: client,
            failure_policy: Some(format!("{:?}", self.hook.failure_policy)),
            match_conditions: self.conditions(),
            match_policy: Some(format!("{:?}", self.hook.match_policy)),
            name: self.name.clone(),
            namespace_selector: self.namespace_selector(namespaces),
            object_selector: selector(requirements(self.hook.objects)),
            reinvocation_policy: Some(format!("{:?}", self.hook.reinvocation)),
            rules: Some(vec![self.rule.clone()]),
            side_effects: format!("{:?}", self.hook.side_effects),
            timeout_seconds: Some(self.hook.timeout_seconds.into()),
        }
    }

    fn validating(
        &self,
        namespaces: &Namespaces<'_>,
        client: WebhookClientConfig,
    ) -> ValidatingWebhook {
        let MutatingWebhook {
            admission_review_versions,
            client_config,
            failure_policy,
            match_conditions,
            match_policy,
            name,
            namespace_selector,
            object_selector,
            reinvocation_policy: _,
            rules,
            side_effects,
            timeout_seconds,
        } = self.mutating(namespaces, client);
        ValidatingWebhook {
            admission_review_versions,
            client_config,
            failure_policy,
            match_conditions,
            match_policy,
            name,
            namespace_selector,
            object_selector,
            rules,
            side_effects,
            timeout_seconds,
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn requirements(labels: &[Label]) -> Vec<LabelSelectorRequirement> {
    labels.iter().map(|label| label.requirement()).collect()
}

fn selector(conditions: Vec<LabelSelectorRequirement>) -> Option<LabelSelector> {
    (!conditions.is_empty()).then_some(LabelSelector {
        match_expressions: Some(conditions),
        match_labels: None,
    })
}

/// Whether the API server accepts `name` as the name of a webhook.
fn is_qualified(name: &str) -> bool {
    name.split('.').count() > 2 && name.split('.').all(is_label)
}

/// Whether `text` is a part of a DNS name.
fn is_label(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Checks that the API server would accept the webhooks, and that names and paths are unique.
pub(super) fn check(webhooks: &[Webhook]) -> anyhow::Result<()> {
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    for webhook in webhooks {
        let Webhook { name, path, .. } = webhook;
        ensure!(
            is_qualified(name),
            "`{name}` cannot be the name of a webhook: give a domain with two dots at least by `Hook::name`"
        );
        ensure!(
            !webhook.hook.operations.is_empty(),
            "the webhook `{name}` is called for nothing: give it an operation by `Hook::operations`"
        );
        ensure!(
            names.insert(name),
            "two webhooks have the name `{name}`: give one another by `Hook::name`"
        );
        ensure!(
            paths.insert(path),
            "two webhooks have the path `{path}`: give one another by `Hook::path`"
        );
        ensure!(
            path.starts_with('/'),
            "the path `{path}` of the webhook `{name}` must begin with `/`"
        );
        let seconds = webhook.hook.timeout_seconds;
        ensure!(
            (1..=30).contains(&seconds),
            "the timeout of the webhook `{name}` is {seconds} s, but must be 1 to 30 s"
        );
        for label in webhook.hook.namespaces {
            let (key, values) = label.parts();
            ensure!(
                key == NAMESPACE_NAME || !values.contains(&OWN_NAMESPACE),
                "the label `{key}` in `Hook::namespaces` of the webhook `{name}` cannot have the value \
                 `{OWN_NAMESPACE}`, which kustomize takes for the operator's namespace: use another \
                 label, or `Hook::condition`"
            );
        }
    }
    Ok(())
}

/// The namespaces of an operator.
pub(super) struct Namespaces<'a> {
    /// The operator's own namespace, which replaces [`OWN_NAMESPACE`].
    pub own: &'a str,
    /// The namespaces for which a webhook is called if its hook names none; empty for all namespaces.
    pub only: &'a [String],
}

/// The configurations of all `webhooks`. `client` returns how the API server reaches the webhook with a path.
pub(super) fn configurations(
    webhooks: &[Webhook],
    namespaces: &Namespaces<'_>,
    client: impl Fn(&str) -> WebhookClientConfig,
) -> (
    Option<MutatingWebhookConfiguration>,
    Option<ValidatingWebhookConfiguration>,
) {
    let (mut mutating, mut validating) = (Vec::new(), Vec::new());
    for webhook in webhooks {
        let client_config = client(&webhook.path);
        match webhook.purpose {
            Purpose::Default => mutating.push(webhook.mutating(namespaces, client_config)),
            Purpose::Validate => validating.push(webhook.validating(namespaces, client_config)),
        }
    }
    (
        some_unless_empty(mutating).map(|webhooks| MutatingWebhookConfiguration {
            metadata: named_metadata("mutating-webhook-configuration"),
            webhooks: Some(webhooks),
        }),
        some_unless_empty(validating).map(|webhooks| ValidatingWebhookConfiguration {
            metadata: named_metadata("validating-webhook-configuration"),
            webhooks: Some(webhooks),
        }),
    )
}

fn some_unless_empty<T>(items: impl IntoIterator<Item = T>) -> Option<Vec<T>> {
    let all = Vec::from_iter(items);
    (!all.is_empty()).then_some(all)
}

fn named_metadata(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::admissionregistration::v1::ServiceReference,
        api::{apps::v1::Deployment, autoscaling::v1::Scale, core::v1::Pod},
    };
    use serde_json::json;

    use super::*;

    fn configured(webhooks: &[Webhook]) -> serde_json::Value {
        let (own, only) = (OWN_NAMESPACE, &[]);
        configured_in(&Namespaces { own, only }, webhooks)
    }

    fn configured_in(namespaces: &Namespaces<'_>, webhooks: &[Webhook]) -> serde_json::Value {
        serde_json::to_value(configurations(webhooks, namespaces, service)).expect("JSON")
    }

    fn service(path: &str) -> WebhookClientConfig {
        WebhookClientConfig {
            service: Some(ServiceReference {
                name: "webhook-service".to_owned(),
                namespace: "system".to_owned(),
                path: Some(path.to_owned()),
                port: None,
            }),
            ..WebhookClientConfig::default()
        }
    }

    #[test]
    fn names_and_paths_are_those_of_kubebuilder() {
        let pod = Webhook::new::<Pod>(Purpose::Default, Hook::new());
        assert_eq!(pod.name(), "mpod-v1.kb.io");
        assert_eq!(pod.path(), "/mutate--v1-pod");
        let deployment = Webhook::new::<Deployment>(Purpose::Validate, Hook::new());
        assert_eq!(deployment.name(), "vdeployment-v1.kb.io");
        assert_eq!(deployment.path(), "/validate-apps-v1-deployment");
        let hook = Hook::new().name("a.b.c").path("/custom");
        let custom = Webhook::new::<Deployment>(Purpose::Validate, hook);
        assert_eq!((custom.name(), custom.path()), ("a.b.c", "/custom"));
    }

    #[test]
    fn a_hook_without_settings_fails_closed() {
        let webhooks = [Webhook::new::<Deployment>(Purpose::Default, Hook::new())];
        let expected = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "mutating-webhook-configuration"},
            "webhooks": [{
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {
                    "name": "webhook-service", "namespace": "system", "path": "/mutate-apps-v1-deployment"}},
                "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
                "name": "mdeployment-v1.kb.io",
                "reinvocationPolicy": "Never",
                "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["deployments"]}],
                "sideEffects": "None",
                "timeoutSeconds": 10,
            }],
        });
        assert_eq!(configured(&webhooks), json!([expected, null]));
    }

    #[test]
    fn each_setting_is_in_the_configuration() {
        let hook = Hook::new()
            .operations(&[Operation::Delete, Operation::Connect])
            .subresources(&["status"])
            .failure_policy(FailurePolicy::Ignore)
            .match_policy(MatchPolicy::Exact)
            .side_effects(SideEffects::NoneOnDryRun)
            .reinvocation(Reinvocation::IfNeeded)
            .timeout_seconds(3)
            .namespaces(&[
                Label::In("a", &["b"]),
                Label::NotIn(NAMESPACE_NAME, &["c", "d"]),
            ])
            .objects(&[Label::Exists("e"), Label::DoesNotExist("f")])
            .condition("one", "true")
            .condition("two", "1 == 1");
        let configured = configured(&[Webhook::new::<Deployment>(Purpose::Validate, hook)]);
        let webhook = &configured[1]["webhooks"][0];
        let expected = json!({
            "admissionReviewVersions": ["v1"],
            "clientConfig": webhook["clientConfig"],
            "failurePolicy": "Ignore",
            "matchConditions": [
                {"name": "one", "expression": "true"}, {"name": "two", "expression": "1 == 1"}],
            "matchPolicy": "Exact",
            "name": "vdeployment-v1.kb.io",
            "namespaceSelector": {"matchExpressions": [
                {"key": "a", "operator": "In", "values": ["b"]},
                {"key": NAMESPACE_NAME, "operator": "NotIn", "values": ["c", "d"]}]},
            "objectSelector": {"matchExpressions": [
                {"key": "e", "operator": "Exists"}, {"key": "f", "operator": "DoesNotExist"}]},
            "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["DELETE", "CONNECT"],
                "resources": ["deployments", "deployments/status"]}],
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": 3,
        });
        assert_eq!(*webhook, expected);
    }

    #[test]
    fn a_namespaced_operator_gets_calls_for_its_own_namespaces_only() {
        fn selected(only: &[String], labels: &'static [Label]) -> serde_json::Value {
            let hook = Hook::new().namespaces(labels);
            let webhook = Webhook::new::<Deployment>(Purpose::Default, hook);
            let configured = configured_in(&Namespaces { own: "own", only }, &[webhook]);
            configured[0]["webhooks"][0]["namespaceSelector"]["matchExpressions"].clone()
        }

        let only = ["own".to_owned()];
        let own = json!({"key": NAMESPACE_NAME, "operator": "In", "values": ["own"]});
        assert_eq!(selected(&[], &[]), serde_json::Value::Null);
        assert_eq!(selected(&only, &[]), json!([own]));
        let tier = json!({"key": "tier", "operator": "Exists"});
        assert_eq!(
            selected(&only, &[Label::Exists("tier")]),
            json!([tier, own])
        );
        // A hook that names namespaces has to name all of them.
        let both = json!({"key": NAMESPACE_NAME, "operator": "In", "values": ["own", "shop"]});
        let named = selected(
            &only,
            &[Label::In(NAMESPACE_NAME, &[OWN_NAMESPACE, "shop"])],
        );
        assert_eq!(named, json!([both]));

        // The API server converts the objects of all namespaces.
        let rule = RuleWithOperations::default();
        let bound = Webhook::bound("bound.kb.io".to_owned(), "/bound".to_owned(), rule);
        let configured = configured_in(
            &Namespaces {
                own: "own",
                only: &only,
            },
            &[bound],
        );
        let selector = &configured[1]["webhooks"][0]["namespaceSelector"];
        assert_eq!(*selector, serde_json::Value::Null);
    }

    #[test]
    fn a_subresource_may_have_a_type_of_its_own() {
        let hook = Hook::new().subresources_of::<Deployment>(&["scale"]);
        let webhook = Webhook::new::<Scale>(Purpose::Validate, hook);
        assert_eq!(webhook.path(), "/validate-autoscaling-v1-scale");
        assert_eq!(webhook.rule.api_groups, Some(owned(&["apps"])));
        assert_eq!(webhook.rule.resources, Some(owned(&["deployments/scale"])));
    }

    #[test]
    fn webhooks_that_the_api_server_refuses_are_refused() {
        fn pod(hook: Hook) -> Webhook {
            Webhook::new::<Pod>(Purpose::Default, hook)
        }
        fn wrong(hook: Hook) -> String {
            let checked = check(&[pod(Hook::new()), pod(hook)]);
            checked.expect_err("wrong").to_string()
        }

        for name in ["a.b", "a..b", "a.b.C", "-a.b.c", "a.b.c.", ""] {
            let why = wrong(Hook::new().name(name));
            assert!(why.starts_with(&format!("`{name}` cannot be")), "{why}");
        }
        assert!(wrong(Hook::new().operations(&[])).contains("is called for nothing"));
        assert!(wrong(Hook::new()).contains("the name `mpod-v1.kb.io`"));
        assert!(wrong(Hook::new().name("a.b.c")).contains("the path `/mutate--v1-pod`"));
        let other = Hook::new().name("a.b.c");
        assert!(wrong(other.path("pod")).contains("must begin with `/`"));
        assert!(wrong(other.path("/pod").timeout_seconds(31)).contains("must be 1 to 30 s"));
        let system = other.path("/pod");
        let own = system.namespaces(&[Label::In(NAMESPACE_NAME, &[OWN_NAMESPACE])]);
        let another = system.namespaces(&[Label::In("tier", &[OWN_NAMESPACE])]);
        assert!(wrong(another).contains("the label `tier`"));
        assert!(check(&[pod(Hook::new()), pod(own)]).is_ok());
    }
}
