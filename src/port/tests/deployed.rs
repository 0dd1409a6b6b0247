//! What a Go project deploys: it is taken over, or named in the report.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    CONTROLLER, all_files, controllers, lost, lost_about, mini, read, read_changed, resource, texts,
};
use crate::{
    command::init::read_folder,
    crd::tests::is_formatted,
    names::WebhookPath,
    port::{Port, REPORT, kustomized},
    project::{Feature, License},
    visible::is_hidden,
};

const DEFAULT: &str = "config/default/kustomization.yaml";
const MANAGER: &str = "config/manager/manager.yaml";
const NAMESPACE: &str = "config/manager/namespace.yaml";
const HOOKS: &str = "config/webhook/manifests.yaml";

/// A file of the small Go project with `text` replaced by `by`.
fn mini_with(path: &str, text: &str, by: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let file = std::fs::read_to_string(folder.join(path)).unwrap();
    assert!(file.contains(text), "{text}");
    file.replacen(text, by, 1)
}

#[test]
fn the_settings_of_webhooks_are_taken_over() {
    let manifest = "\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mfoo.kb.io
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-g-x-io-v1-foo}}
  reinvocationPolicy: IfNeeded
  sideEffects: NoneOnDryRun
  namespaceSelector: {matchLabels: {tier: gold}}
  objectSelector:
    matchExpressions:
    - {key: example.com/a-rather-long-key-of-a-label, operator: NotIn, values: [one, two]}
    - {key: b, operator: Exists}
  matchConditions:
  - {name: not-nodes, expression: \"!('system:nodes' in request.userInfo.groups) && request.name != 'x'\"}
  rules: [{apiGroups: [g.x.io], apiVersions: [v1], operations: [CREATE], resources: [foos, foos/status]}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vfoo.kb.io
  admissionReviewVersions: [v1]
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-g-x-io-v1-foo}}
  timeoutSeconds: 30
  rules:
  - apiGroups: [g.x.io]
    apiVersions: [v1]
    operations: [CREATE, UPDATE, DELETE]
    resources: [foos]
    scope: Namespaced
  - {apiGroups: [g.x.io], apiVersions: [v1], operations: [DELETE], resources: [foos/status]}
- name: sfoo.kb.io
  rules: [{apiGroups: [g.x.io], apiVersions: [v1], operations: [CREATE], resources: [foos]}]
";
    let port = mini(&[(HOOKS, manifest)]);
    let webhooks = &texts(&port)["src/webhook/g/foo.rs"];
    for expected in [
        ".reinvocation(webhook::Reinvocation::IfNeeded)\n",
        ".side_effects(webhook::SideEffects::NoneOnDryRun)\n",
        ".namespaces(&[webhook::Label::In(\"tier\", &[\"gold\"])])\n",
        "webhook::Label::Exists(\"b\"),\n",
        ".subresources(&[\"status\"])\n",
        ".operations(&[webhook::Operation::Create]);\n",
        ".timeout_seconds(30)\n",
        "            webhook::Operation::Delete,\n        ]);\n",
        "\"!('system:nodes' in request.userInfo.groups) && request.name != 'x'\",",
    ] {
        assert!(
            webhooks.contains(expected),
            "{expected}: {}",
            webhooks.content()
        );
    }
    is_formatted(webhooks.content());
    assert_eq!(
        lost_about(&port, "Namespaced"),
        [
            "`config/webhook/manifests.yaml:32`: `scope: Namespaced` of a webhook, which `Hook` does not have"
        ]
    );
    assert_eq!(
        lost_about(&port, "a further rule"),
        [
            "`config/webhook/manifests.yaml:35`: a further rule for `foos` of `g.x.io` in a \
             ValidatingWebhookConfiguration: here, only the first one counts"
        ]
    );
    assert_eq!(
        lost_about(&port, "`Foo`: write"),
        [
            "`config/webhook/manifests.yaml:33`: the webhook for `status` of `Foo`: write it as another webhook with the \
             type of the subresource, such as `Eviction` for `eviction`, and with `subresources_of::<Foo>` in its `HOOK`"
        ]
    );
}

#[test]
fn the_policies_of_webhooks_are_taken_over() {
    let webhooks = &texts(&mini(&[]))["src/webhook/g/foo.rs"];
    let calls = [
        ".failure_policy(webhook::FailurePolicy::Ignore)",
        ".match_policy(webhook::MatchPolicy::Exact)",
        ".timeout_seconds(5)",
        ".operations(&[webhook::Operation::Delete])",
    ];
    for call in calls {
        assert!(webhooks.contains(call), "{call}: {}", webhooks.content());
    }
}

/// The PROJECT file with webhooks for Pods.
fn mini_with_pods_in_project() -> String {
    mini_with(
        "PROJECT",
        "resources:\n",
        "resources:\n- {core: true, group: core, kind: Pod, version: v1, webhooks: {defaulting: true, validation: true}}\n",
    )
}

/// The project with webhooks for Pods, and the manifest of the validating one with these fields.
fn mini_with_pods(fields: &str) -> Port {
    let project = mini_with_pods_in_project();
    let manifest = format!(
        "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: validating-webhook-configuration}}
webhooks:
- name: vpod-v1.kb.io
  admissionReviewVersions: [v1]
  clientConfig: {{service: {{name: webhook-service, namespace: system, path: /validate--v1-pod}}}}
  {fields}
  sideEffects: None
"
    );
    mini(&[("PROJECT", &project), (HOOKS, &manifest)])
}

#[test]
fn kinds_whose_webhooks_have_one_path_are_taken_over_with_their_own_paths() {
    let pods =
        "rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}, ";
    let hooks = mini_with(HOOKS, "rules: [", pods).replace("/validate-g-x-io-v1-foo", "/validate");
    let port = mini(&[("PROJECT", &mini_with_pods_in_project()), (HOOKS, &hooks)]);
    let paths = ["Foo", "Pod"].map(|kind| {
        let webhook = resource(&port, kind).webhooks.validation.as_ref().unwrap();
        webhook.path.as_ref().map(WebhookPath::as_str)
    });
    assert_eq!(paths, [Some("/validate"), None]);
    let line = "the path of a webhook of `Pod`, which is `/validate` in Go: another webhook has this path, so here it is \
                `/validate--v1-pod`";
    assert_eq!(lost_about(&port, "the path of"), [line]);
}

const PODS: &str = "rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]";

#[test]
fn a_webhook_of_a_built_in_kind_keeps_its_settings() {
    let hooks = |port: &Port| {
        let text = texts(port).remove("src/webhook/core/pod.rs").unwrap();
        is_formatted(text.content());
        let (defaulter, validator) = text.content().split_once("pub struct Validator").unwrap();
        [defaulter, validator].map(|part| {
            let (_, hook) = part.split_once("webhook::Hook::new()").unwrap();
            hook.split(';').next().unwrap().to_owned()
        })
    };
    for (fields, calls, is_warned) in [
        (
            "failurePolicy: Fail",
            ".failure_policy(webhook::FailurePolicy::Fail)",
            true,
        ),
        // The default of the API server.
        (
            "timeoutSeconds: 10",
            ".failure_policy(webhook::FailurePolicy::Fail)",
            true,
        ),
        (
            "failurePolicy: Ignore",
            ".failure_policy(webhook::FailurePolicy::Ignore)",
            false,
        ),
        (
            "namespaceSelector: {matchLabels: {tier: gold}}",
            ".failure_policy(webhook::FailurePolicy::Fail)\n        \
             .namespaces(&[webhook::Label::In(\"tier\", &[\"gold\"])])",
            false,
        ),
    ] {
        let port = mini_with_pods(&format!("{fields}\n  {PODS}"));
        let [defaulter, validator] = hooks(&port);
        let expected = format!(
            "\n        // From the webhook of the Go operator.\n        {calls}\n        \
             // Add `Operation::Delete` to also check deletions.\n        \
             .operations(&[webhook::Operation::Create, webhook::Operation::Update])"
        );
        assert_eq!(validator, expected);
        // A webhook without a manifest in Go has the settings of a new one.
        assert!(defaulter.contains("FailurePolicy::Ignore"), "{defaulter}");
        assert!(defaulter.contains("kube-system"), "{defaulter}");
        assert_eq!(
            lost_about(&port, "of a webhook of `Pod`"),
            [
                "the settings of a webhook of `Pod`, which is in no manifest of the Go project: compare `HOOK` in \
                 `src/webhook/core/pod.rs` with the marker `+kubebuilder:webhook`"
            ]
        );
        let report = texts(&port).remove(REPORT).unwrap();
        let warning = "- [ ] `config/webhook/manifests.yaml:5`: the webhook for all `pods` has the failure policy `Fail`";
        assert_eq!(report.contains(warning), is_warned, "{report}");
    }
}

#[test]
fn a_webhook_of_a_subresource_with_another_type_is_not_one_of_the_object() {
    let line = |subresources: &str| {
        format!(
            "`config/webhook/manifests.yaml:8`: the webhook for {subresources} of `Pod`: write it as another webhook with \
             the type of the subresource, such as `Eviction` for `eviction`, and with `subresources_of::<Pod>` in its \
             `HOOK`"
        )
    };
    for (resources, calls, lines) in [
        (
            "pods, pods/status",
            Some(".subresources(&[\"status\"])"),
            vec![],
        ),
        ("pods, nodes/status", Some(""), vec![]),
        (
            "pods, pods/resize, pods/eviction, pods/log",
            Some(".subresources(&[\"resize\"])"),
            vec![line("`eviction`, `log`")],
        ),
        ("pods/eviction", None, vec![line("`eviction`")]),
        ("pods/status", None, vec![line("`status`")]),
    ] {
        let rule = PODS.replace("[pods]", &format!("[{resources}]"));
        let port = mini_with_pods(&rule);
        let text = all_files(&port)["src/webhook/core/pod.rs"]
            .content()
            .to_owned();
        let hook = text.split_once("pub struct Validator");
        assert_eq!(hook.is_some(), calls.is_some(), "{resources}: {text}");
        if let (Some((_, hook)), Some(calls)) = (hook, calls) {
            assert_eq!(hook.contains(".subresources"), !calls.is_empty(), "{text}");
            assert!(hook.contains(calls), "{calls}: {text}");
        }
        let pod = resource(&port, "Pod");
        assert_eq!(pod.webhooks.validation.is_some(), calls.is_some());
        assert_eq!(lost_about(&port, "of `Pod`: write"), lines, "{resources}");
    }
    // A kind without other webhooks is not in the project.
    let text = "webhooks: {defaulting: true, validation: true}";
    let project = mini_with_pods_in_project().replace(text, "webhooks: {validation: true}");
    let manifest = mini_with(HOOKS, "[g.x.io]", "['']").replace("foos", "pods/eviction");
    let port = mini(&[("PROJECT", &project), (HOOKS, &manifest)]);
    assert_eq!(port.project.resources.len(), 1);
    let lines = lost_about(&port, "of `Pod`: write");
    assert_eq!(lines, [line("`eviction`").replace(":8`", ":11`")]);
}

#[test]
fn what_a_kustomization_changes_in_crds_is_taken_over() {
    let crds = "\
resources: [bases/g.x.io_foos.yaml]
labels: [{pairs: {example.com/team: books}}]
patches:
- target: {kind: CustomResourceDefinition, name: foos.*}
  patch: |-
    - {op: add, path: /spec/names/shortNames, value: [fo]}
    - {op: add, path: /spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size, value: {type: integer}}
";
    let texts = texts(&mini(&[("config/crd/kustomization.yaml", crds)]));
    let types = &texts["src/api/g/v1/foo.rs"];
    for expected in [
        "shortname = \"fo\"",
        "size:",
        "\"example.com/team\", \"books\"",
    ] {
        assert!(types.contains(expected), "{expected}: {}", types.content());
    }
    assert!(!types.contains("helm.sh"), "{}", types.content());
}

#[test]
fn the_names_in_a_crd_are_kept_or_named_once() {
    let path = "config/crd/bases/g.x.io_foos.yaml";
    let crd = mini_with(path, "singular: foo", "singular: one");
    let crd = crd.replace("listKind: FooList", "listKind: Foos");
    let port = mini(&[(path, &crd)]);
    let texts = texts(&port);
    let types = &texts["src/api/g/v1/foo.rs"];
    assert!(types.contains("singular = \"one\""), "{types}");
    let report = &texts[REPORT];
    assert!(!report.contains("singular"), "{report}");
    let listed = "`listKind` is `FooList` instead of `Foos`: kube cannot set it";
    assert!(report.contains(listed), "{report}");
    assert_eq!(report.content().matches("`Foos`").count(), 1, "{report}");
}

#[test]
fn permissions_of_any_bound_role_are_taken_over() {
    let role = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: books-role}
rules:
- {apiGroups: [batch], resources: [jobs], verbs: [create]}
- {apiGroups: [\"\"], resources: [serviceaccounts/token], resourceNames: [controller-manager, other], verbs: [create]}
- {apiGroups: [apps], resources: [deployments], verbs: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: others-role}
rules:
- {apiGroups: [batch], resources: [cronjobs], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: books-rolebinding, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: books-role}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]
";
    let default = mini_with(DEFAULT, "- policy.yaml", "- ../elsewhere");
    let port = mini(&[
        (DEFAULT, &default),
        (
            "config/elsewhere/kustomization.yaml",
            "resources: [role.yaml]\n",
        ),
        ("config/elsewhere/role.yaml", role),
    ]);
    let controller = &texts(&port)["src/controller/g/foo.rs"];
    // The binding limits the role to one namespace.
    let expected = "batch::v1::Job>(&[Verb::Create]).in_namespace(\"mini-system\")";
    let joined = controller.content().replace("\n            ", "");
    assert!(joined.contains(expected), "{joined}");
    assert!(
        joined.contains("core::v1::Secret>(&[Verb::Get])"),
        "{joined}"
    );
    assert!(!joined.contains("CronJob"), "{joined}");
    // The account of the operator has another name here.
    let expected = "&[\"mini-controller-manager\", \"other\"]";
    assert!(joined.contains(expected), "{joined}");
    let line =
        "- [ ] `config/rbac/role.yaml:7`, `config/elsewhere/role.yaml:7`: the verb `*` became";
    assert!(lost(&port).contains(line), "{}", lost(&port));
    assert_eq!(
        lost_about(&port, "others-role"),
        [
            "`config/elsewhere/role.yaml:10`: the ClusterRole `mini-others-role`: copy it to `config/default`, and add \
             the file to `config/default/kustomization.yaml`"
        ]
    );
}

#[test]
fn permissions_without_a_controller_are_only_reported() {
    let project = mini_with("PROJECT", "  controller: true\n", "");
    let port = mini(&[("PROJECT", &project), (CONTROLLER, "")]);
    let report = texts(&port).remove(REPORT).unwrap();
    assert!(!report.contains("as `RULES` of"), "{report}");
    let line = "the permissions of the manager's role, because the project has no controller";
    assert_eq!(lost_about(&port, "of the manager's role"), [line]);
}

#[test]
fn a_binding_to_a_role_that_is_not_deployed_is_reported() {
    const WITHIN: &str = " in the namespace `mini-system`";
    for (kind, binding, within) in [
        ("ClusterRole", "ClusterRoleBinding", ""),
        ("ClusterRole", "RoleBinding", WITHIN),
        ("Role", "RoleBinding", WITHIN),
    ] {
        for name in ["cluster-admin", "view", "system:auth-delegator"] {
            let text = format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: {binding}\nmetadata: {{name: more}}\n\
                 roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: '{name}'}}\n\
                 subjects: [{{kind: ServiceAccount, name: controller-manager, namespace: system}}]\n"
            );
            let list = "resources: [role.yaml, role_binding.yaml, more.yaml]\n";
            let port = mini(&[
                ("config/rbac/more.yaml", &text),
                ("config/rbac/kustomization.yaml", list),
            ]);
            let expected = format!(
                "the permissions of the {kind} `{name}` (`config/rbac/more.yaml:4`), which the {binding} `mini-more` gives \
                 to the Go operator{within}: the deployed manifests do not have this role; write those that the new \
                 operator needs as `RULES` of its controllers"
            );
            assert_eq!(lost_about(&port, "more"), [expected]);
        }
    }
}

/// The small project, whose only role is in a namespace, with more of the Deployment's variables and more code.
fn mini_in_namespace(namespace: &str, variables: &str, code: &str) -> Port {
    let role = format!(
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: manager-role, namespace: {namespace}}}
rules:
- {{apiGroups: [g.x.io], resources: [foos], verbs: [get, list, watch]}}
- {{apiGroups: [\"\"], resources: [secrets], verbs: [get]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: manager-rolebinding, namespace: {namespace}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: manager-role}}
subjects: [{{kind: ServiceAccount, name: controller-manager, namespace: mini-system}}]
"
    );
    let own = mini_with(NAMESPACE, "name: system", "name: mini-system");
    let manager = mini_with(MANAGER, "namespace: system", "namespace: mini-system");
    let manager = manager.replace("value: eu}", &format!("value: eu}}{variables}"));
    mini(&[
        ("config/rbac/role.yaml", &role),
        ("config/rbac/role_binding.yaml", "{}"),
        ("config/components/rbac/role.yaml", "{}"),
        (MANAGER, &manager),
        (NAMESPACE, &own),
        (
            DEFAULT,
            "namePrefix: mini-\nresources: [../crd, ../rbac, ../manager, ../webhook]\n",
        ),
        ("cmd/cache.go", code),
    ])
}

#[test]
fn permissions_in_the_own_namespace_make_a_namespaced_project() {
    let own = ", {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}";
    let cache = "package main\nvar options = cache.Options{DefaultNamespaces: namespaces()}\n";
    let port = mini_in_namespace("mini-system", own, cache);
    assert!(port.project.namespaced);
    let texts = texts(&port);
    let controller = texts["src/controller/g/foo.rs"].content();
    // The chart may be installed into another namespace.
    assert!(
        controller.contains("core::v1::Secret>(&[Verb::Get])"),
        "{controller}"
    );
    assert!(!controller.contains("in_namespace"), "{controller}");
    let taken =
        "- the operator watches its own namespace only, and has Roles instead of ClusterRoles\n";
    assert!(texts[REPORT].contains(taken), "{}", texts[REPORT].content());
    assert_eq!(lost_about(&port, "namespace"), [""; 0]);
}

#[test]
fn permissions_in_other_namespaces_are_not_widened_silently() {
    let cache = "package main\nvar options = cache.Options{DefaultNamespaces: namespaces()}\n";
    let port = mini_in_namespace("shop", ", {name: WATCH_NAMESPACE, value: shop}", cache);
    assert!(!port.project.namespaced);
    let starts = [
        "the permissions for `foos`, which the Go operator has only in `shop`: here, the controllers have a ClusterRole",
        "`config/manager/manager.yaml:19`: the variable `WATCH_NAMESPACE`, which the new operator does not read: here, it \
         watches all namespaces; to watch others, add `--namespace=<NAMESPACE>`",
        "the namespaces that the Go code gives to the cache (`cmd/cache.go:2`): here, the operator watches all",
    ];
    let lines = lost_about(&port, "namespaces");
    assert_eq!(lines.len(), starts.len(), "{lines:?}");
    for (line, start) in lines.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}");
    }
    let old = "package main\nvar m, _ = ctrl.NewManager(c, ctrl.Options{Scheme: s, Namespace: namespace})\n";
    let line = "the namespaces that the Go code gives to the cache (`cmd/cache.go:2`)";
    assert_eq!(
        lost_about(&mini_in_namespace("shop", "", old), line).len(),
        1
    );
    let port = mini_in_namespace("mini-system", ", {name: WATCH_NAMESPACE, value: shop}", "");
    assert_eq!(lost_about(&port, "it watches its own namespace;").len(), 1);
}

/// The name in the file counts: the name with the prefix of the kustomization ends like the name of another role.
#[test]
fn roles_whose_names_end_alike_are_told_apart() {
    let roles = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-reader}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop-metrics-reader}
rules:
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: leader-election-role}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop-proxy-role}
rules:
- {apiGroups: [batch], resources: [jobs], verbs: [create, none]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shop-proxy-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shop-proxy-role}
subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]
";
    let by_hand = roles.replace("name: metrics", "name: mini-metrics");
    let by_hand = by_hand.replace("name: leader", "name: mini-leader");
    let by_hand = by_hand.replace("name: controller", "name: mini-controller");
    let manager = mini_with(
        MANAGER,
        "name: controller-manager",
        "name: mini-controller-manager",
    );
    let manager = manager.replace("serviceAccountName: ", "serviceAccountName: mini-");
    let account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: mini-controller-manager, namespace: system}}";
    for (default, manager, roles, account) in [
        (
            mini_with(
                DEFAULT,
                "namePrefix: mini-",
                "namePrefix: mini-\nnameSuffix: -blue",
            ),
            mini_with(MANAGER, "", ""),
            roles.to_owned(),
            "",
        ),
        (
            mini_with(DEFAULT, "namePrefix: mini-\n", ""),
            manager,
            by_hand,
            account,
        ),
    ] {
        let default = default.replace("- policy.yaml", "- roles.yaml\n- account.yaml");
        let port = mini(&[
            (DEFAULT, &default),
            (MANAGER, &manager),
            ("config/default/roles.yaml", &roles),
            ("config/default/account.yaml", account),
        ]);
        let controller = &texts(&port)["src/controller/g/foo.rs"];
        assert!(
            controller.contains("batch::v1::Job>(&[Verb::Create])"),
            "{controller}"
        );
        assert!(!controller.contains("Lease"), "{controller}");
        assert_eq!(
            lost_about(&port, "`none`"),
            ["`config/default/roles.yaml:23`: the verb `none`, which `Verb` does not have"]
        );
        let [line] = &lost_about(&port, "metrics-reader")[..] else {
            panic!("{}", lost(&port));
        };
        assert!(
            line.starts_with("`config/default/roles.yaml:8`: the ClusterRole `"),
            "{line}"
        );
        assert!(line.contains("shop-metrics-reader"), "{line}");
        assert!(line.contains("`: copy it to `config/default`"), "{line}");
        assert!(
            lost_about(&port, "leader-election-role").is_empty(),
            "{}",
            lost(&port)
        );
    }
}

#[test]
fn the_kustomization_that_make_deploy_builds_counts() {
    let makefile = "\
OVERLAY ?= production
.PHONY: undeploy
undeploy:
\tkustomize build config/other | kubectl delete -f -
deploy: manifests kustomize ## Deploy.
\tcd config/manager && $(KUSTOMIZE) edit set image controller=${IMG}
\t$(KUSTOMIZE) build ./config/overlays/$(OVERLAY) | $(KUBECTL) apply -f -
";
    let overlay = "\
namespace: foo-production
namePrefix: foo-
resources: [../../crd, ../../rbac, ../../manager, ../../webhook]
";
    let port = mini(&[
        ("Makefile", makefile),
        (DEFAULT, "resources: [../crd]\n"),
        ("config/overlays/production/kustomization.yaml", overlay),
    ]);
    assert_eq!(port.project.namespace_name(), "foo-production");
    let report = texts(&port).remove(REPORT).unwrap();
    for row in [
        "| namespace | `foo-production` | `foo-production` |",
        "| Deployment | `foo-controller-manager` | `foo-controller-manager` |",
    ] {
        assert!(report.contains(row), "{row}: {}", report.content());
    }
}

#[test]
fn the_folder_that_make_deploy_builds_is_found_in_each_form_of_its_recipe() {
    for command in [
        "kustomize build config/other | kubectl apply -f -",
        "$(KUSTOMIZE) build ./config/other/ | $(KUBECTL) apply -f -",
        "@cd config/manager && kustomize edit set image a=b && cd ../.. && kubectl apply -k config/other",
        "cd config/other && $(KUSTOMIZE) build . | kubectl apply -f -",
        "cd config/other && $(KUSTOMIZE) edit add resource ../manager && $(KUSTOMIZE) build . | kubectl apply -f -",
        "kubectl apply --kustomize=$(CURDIR)/config/other",
        "kustomize build --load-restrictor LoadRestrictionsNone config/other | kubectl apply -f -",
        "kubectl kustomize --enable-helm \"$(OVERLAY)\" | kubectl apply -f -",
    ] {
        let makefile = format!("OVERLAY := config/other\ndeploy:\n\t{command}\n");
        let other = "namespace: elsewhere\nresources: [../manager]\n";
        let port = mini(&[
            ("Makefile", &makefile),
            ("config/other/kustomization.yaml", other),
        ]);
        assert_eq!(port.project.namespace_name(), "elsewhere", "{command}");
    }
}

#[test]
fn the_folder_that_make_deploy_builds_is_found_in_each_form_of_a_makefile() {
    let overlay = "namespace: elsewhere\nnamePrefix: pre-\nresources: [../../crd, ../../rbac, ../../manager]\n";
    for (makefile, included) in [
        (
            "deploy:\n\tcd config/overlays/prod && $(KUSTOMIZE) edit set image controller=$(IMG) && \\\n\
             \t$(KUSTOMIZE) build . | kubectl apply -f -\n",
            "",
        ),
        (
            "deploy: manifests ; $(KUSTOMIZE) build config/overlays/prod | kubectl apply -f -\n",
            "",
        ),
        (
            "DIR := ./\ninclude $(DIR)build.mk other.mk\n",
            "deploy:\n\tkustomize build config/overlays/prod | kubectl apply -f -\n",
        ),
        (
            "-include build.mk\n",
            "OVERLAY := prod\ndeploy: \\\n  manifests\n\tkubectl apply -k config/overlays/$(OVERLAY)\n",
        ),
    ] {
        let makefile = makefile.replace("\\\n", "\\\r\n");
        let port = mini(&[
            ("Makefile", &makefile),
            ("build.mk", included),
            ("config/overlays/prod/kustomization.yaml", overlay),
        ]);
        assert_eq!(port.project.namespace_name(), "elsewhere", "{makefile}");
    }
    // A Makefile that includes itself ends.
    mini(&[("Makefile", "include Makefile Makefile\n")]);
}

#[test]
fn kustomizations_with_a_namespace_are_named_if_none_is_the_deployed_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    for makefile in ["", "deploy:\n\t./hack/deploy.sh\n"] {
        let mini = read_folder(&folder).unwrap();
        let port = read_changed(
            mini,
            &[
                ("Makefile", Some(makefile)),
                (DEFAULT, None),
                ("config/default/policy.yaml", None),
                (
                    "config/overlays/dev/kustomization.yml",
                    Some("namespace: dev\nresources: [../../manager]\n"),
                ),
                (
                    "config/overlays/prod/kustomization.yaml",
                    Some("namespace: prod\nresources: [../../manager]\n"),
                ),
            ],
        );
        let expected = "the namespace and the names of the deployed objects: the Makefile does not say what `make deploy` \
                        builds; `config/overlays/dev` and `config/overlays/prod` have a kustomization with a namespace; \
                        to take one over, let the target `deploy` of the Makefile run `kustomize build <FOLDER>`, and \
                        repeat `init --from`";
        assert_eq!(lost_about(&port.unwrap(), "overlays"), [expected]);
    }
}

#[test]
fn what_the_reader_of_kustomizations_does_not_know_is_named() {
    let default = mini_with(
        DEFAULT,
        "- policy.yaml",
        "- https://github.com/me/base?ref=v1\n- gone.yaml\nconfigMapGenerator: [{name: a, literals: [b=c]}]\n\
         replacements: []\nhelmCharts: [{name: c}]",
    );
    let port = mini(&[(DEFAULT, &default)]);
    let lost = lost(&port);
    for expected in [
        "`config/default/kustomization.yaml:9`: the remote base `https://github.com/me/base?ref=v1`, which `init --from` \
         does not fetch",
        "`config/default/kustomization.yaml:10`: `gone.yaml`, which was not found",
        "`config/default/kustomization.yaml:11`: `configMapGenerator`, which `init --from` does not apply",
        "`config/default/kustomization.yaml:13`: `helmCharts`, which `init --from` does not apply",
        "`config/default/kustomization.yaml:12`: `replacements`, which `init --from` does not apply",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
}

#[test]
fn a_kustomization_that_grows_without_end_is_cut_off() {
    let mut files = Vec::new();
    for level in 0..40 {
        let below = format!("resources: [../level{0}, ../level{0}/.]\n", level + 1);
        files.push((format!("config/level{level}/kustomization.yaml"), below));
    }
    files.push((
        "config/level40/kustomization.yaml".to_owned(),
        "resources: [../level3]\n".to_owned(),
    ));
    files.push((
        DEFAULT.to_owned(),
        "resources: [../crd, ../level0]\n".to_owned(),
    ));
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let lost = lost(&mini(&files));
    assert!(lost.contains("too many folders or objects"), "{lost}");
    assert!(
        lost.contains("a kustomization that contains itself"),
        "{lost}"
    );

    let copies = "[{op: copy, from: /metadata, path: /metadata/a}]";
    let default = mini_with(
        DEFAULT,
        "resources:",
        &format!("patches: [{{patch: '{copies}', target: {{}}}}]\nresources:"),
    );
    let lines = lost_about(&mini(&[(DEFAULT, &default)]), "copy`");
    assert_eq!(
        lines,
        ["`config/default/kustomization.yaml:3`: a patch: it has the operation `copy`"]
    );
}

/// A Deployment with many settings.
const BUSY: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: system, annotations: {reloader: \"on\"}}
spec:
  replicas: 3
  strategy: {type: RollingUpdate}
  revisionHistoryLimit: 2
  selector:
    matchLabels: {control-plane: controller-manager}
  template:
    metadata:
      labels: {control-plane: controller-manager}
      annotations: {prometheus.io/scrape: \"true\"}
    spec:
      serviceAccountName: controller-manager
      priorityClassName: system-cluster-critical
      terminationGracePeriodSeconds: 60
      nodeSelector: {kubernetes.io/os: linux}
      securityContext: {runAsNonRoot: true, fsGroup: 2000}
      volumes:
      - {name: settings, configMap: {name: settings}}
      - {name: cert, secret: {secretName: webhook-server-cert}}
      containers:
      - name: kube-rbac-proxy
        image: proxy
      - name: side
        image: side:1
      - name: manager
        image: registry.example.com:5000/team/mini@sha256:abc
        imagePullPolicy: Always
        terminationMessagePolicy: FallbackToLogsOnError
        command: [/manager, serve, --tenants=3]
        args: [--leader-elect-id, mini, --feature-gates=A=true, --health-probe-bind-address=:8081]
        env:
        - {name: REGION, value: eu}
        - name: NODE
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        envFrom: [{configMapRef: {name: settings}}]
        ports:
        - {containerPort: 9443, name: webhook-server}
        - {containerPort: 9090, name: api}
        resources: {limits: {memory: 1Gi}}
        livenessProbe:
          httpGet: {path: /healthz, port: 8081}
          initialDelaySeconds: 15
          periodSeconds: 20
          timeoutSeconds: 7
        volumeMounts:
        - {name: settings, mountPath: /etc/mini}
        - {name: cert, mountPath: /tmp/k8s-webhook-server/serving-certs, readOnly: true}
";

#[test]
fn the_settings_of_the_deployment_are_taken_over() {
    let port = mini(&[(MANAGER, BUSY)]);
    let texts = texts(&port);
    let here = &texts[MANAGER];
    let documents = crate::yaml::documents(here.content()).unwrap();
    let spec = &documents[1]["spec"];
    assert_eq!(spec["replicas"], 3);
    assert_eq!(spec["revisionHistoryLimit"], 2);
    let pod = &spec["template"]["spec"];
    assert_eq!(
        spec["template"]["metadata"]["annotations"]["prometheus.io/scrape"],
        "true"
    );
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(pod["nodeSelector"]["kubernetes.io/os"], "linux");
    assert_eq!(pod["volumes"][0]["configMap"]["name"], "settings");
    assert_eq!(pod["volumes"].as_array().unwrap().len(), 1);
    assert_eq!(pod["containers"][0]["name"], "side");
    assert_eq!(pod["containers"].as_array().unwrap().len(), 2);
    let container = &pod["containers"][1];
    assert_eq!(container["env"][0]["value"], "eu");
    assert_eq!(
        container["env"][1]["valueFrom"]["fieldRef"]["fieldPath"],
        "spec.nodeName"
    );
    assert_eq!(container["envFrom"][0]["configMapRef"]["name"], "settings");
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert!(container["resources"]["requests"].is_null());
    assert_eq!(
        container["terminationMessagePolicy"],
        "FallbackToLogsOnError"
    );
    assert_eq!(container["volumeMounts"][0]["mountPath"], "/etc/mini");
    assert_eq!(container["volumeMounts"].as_array().unwrap().len(), 1);
    let ports = container["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["containerPort"] == 9090));
    assert_eq!(ports.len(), 4);
    assert_eq!(documents[2]["kind"], "PodDisruptionBudget");
    let image = "IMG ?= registry.example.com:5000/team/mini:latest\n";
    assert!(
        texts["Makefile"].contains(image),
        "{}",
        texts["Makefile"].content()
    );

    let lost = lost(&port);
    for expected in [
        "`config/manager/manager.yaml:3`: `metadata.annotations.reloader: \"on\"` of the Deployment",
        "`config/manager/manager.yaml:17`: `terminationGracePeriodSeconds: 60`: here, it is 10",
        "`config/manager/manager.yaml:19`: `securityContext.fsGroup: 2000` of the Deployment",
        "`config/manager/manager.yaml:24`: the container `kube-rbac-proxy`: here, the operator itself checks",
        "`config/manager/manager.yaml:30`: `imagePullPolicy: \"Always\"` of the Deployment",
        "`config/manager/manager.yaml:32`: the argument `serve`: add it to `src/cli.rs`",
        "`config/manager/manager.yaml:32`: the argument `--tenants=3`: add it to `src/cli.rs`",
        "`config/manager/manager.yaml:33`: the argument `--feature-gates=A=true`: add it to `src/cli.rs`",
        "`config/manager/manager.yaml:47`: `livenessProbe.timeoutSeconds: 7` of the Deployment",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
    for taken_over in [
        "--health-probe",
        "readOnly",
        "terminationMessage",
        "the argument `mini`",
        "webhook-server",
        "periodSeconds",
    ] {
        assert!(!lost.contains(taken_over), "{taken_over}: {lost}");
    }

    assert_eq!(spec["strategy"]["type"], "RollingUpdate");
    let without_leader = BUSY.replace("--leader-elect-id, mini", "--leader-elect=false");
    assert_eq!(
        lost_about(&mini(&[(MANAGER, &without_leader)]), "strategy"),
        [
            "`config/manager/manager.yaml:6`: `strategy: {\"type\":\"RollingUpdate\"}`: here, it is `Recreate`, because \
             without leader election, two Pods would work at the same time"
        ]
    );
}

#[test]
fn the_container_of_the_operator_is_found_beside_others() {
    const PROXY: &str = "{name: kube-rbac-proxy, image: 'quay.io/brancz/kube-rbac-proxy:v0.18'}";
    const OTHER_PROXY: &str = "{name: proxy, image: 'quay.io/openshift/origin-oauth-proxy:4'}";
    const OPERATOR: &str = "{name: operator, image: 'ghcr.io/me/ship:v3', env: [{name: A, value: b}], \
                            command: [/ship], args: [--leader-elect-id=ship]}";
    const SIDE: &str = "{name: side, image: 'side:1', args: [--leader-elect-id=side]}";
    let shown = "\n      annotations: {kubectl.kubernetes.io/default-container: operator}\n";
    for (annotation, containers, is_clear, count) in [
        ("\n", [PROXY, OPERATOR].join(", "), true, 1),
        ("\n", [OTHER_PROXY, OPERATOR].join(", "), true, 2),
        (shown, [SIDE, OPERATOR].join(", "), true, 2),
        ("\n", [SIDE, OPERATOR].join(", "), false, 1),
    ] {
        let start = BUSY.find("      annotations: {prom").unwrap();
        let manager = format!(
            "{}{}    spec:\n      serviceAccountName: controller-manager\n      containers: [{containers}]\n",
            &BUSY[..start],
            annotation.trim_start_matches('\n'),
        );
        let port = mini(&[(MANAGER, &manager)]);
        let texts = texts(&port);
        let documents = crate::yaml::documents(texts[MANAGER].content()).unwrap();
        let here = documents[1]["spec"]["template"]["spec"]["containers"].as_array();
        let container = here.unwrap().last().unwrap();
        assert_eq!(here.unwrap().len(), count, "{containers}");
        let has_settings = container["env"][0]["value"] == "b";
        assert_eq!(has_settings, is_clear, "{containers}");
        let lease = if is_clear { "ship" } else { "mini" };
        assert_eq!(port.project.lease_name(), lease, "{containers}");
        let lines = lost_about(&port, "runs the operator");
        assert_eq!(lines.is_empty(), is_clear, "{lines:?}");
    }
}

#[test]
fn a_port_with_the_name_of_a_port_here_is_named() {
    let manager = mini_with(
        MANAGER,
        "        env:",
        "        ports:\n        - {containerPort: 9090, name: metrics}\n        - {containerPort: 8443, name: probes}\n\
         \x20       - {containerPort: 9091, name: webhooks}\n        - {containerPort: 9092, name: api}\n\
         \x20       - {containerPort: 8080, name: rest}\n        - {containerPort: 8080, name: http-metrics}\n        env:",
    );
    let port = mini(&[(MANAGER, &manager)]);
    let documents = crate::yaml::documents(texts(&port)[MANAGER].content()).unwrap();
    let container = &documents[1]["spec"]["template"]["spec"]["containers"][0];
    let mut ports = Vec::new();
    for port in container["ports"].as_array().unwrap() {
        ports.push((
            port["name"].as_str().unwrap(),
            port["containerPort"].as_u64().unwrap(),
        ));
    }
    assert_eq!(
        ports,
        [
            ("metrics", 8443),
            ("probes", 8081),
            ("webhooks", 9443),
            ("api", 9092),
            // Metrics have another port here.
            ("rest", 8080)
        ]
    );
    let mut expected = Vec::new();
    for (line, number, name) in [
        (20, 9090, "metrics"),
        (21, 8443, "probes"),
        (22, 9091, "webhooks"),
    ] {
        expected.push(format!(
            "`config/manager/manager.yaml:{line}`: the port {number} with the name `{name}`: another port has this name \
             or this number here; if the new operator needs it, add it to `config/manager/manager.yaml` with another one"
        ));
    }
    expected.push(
        "`config/manager/manager.yaml:25`: the port 8080 of metrics: here, the port is 8443, with HTTPS and for \
         authorized clients only; change what reads the metrics, or `--metrics-bind-address` and `--metrics-secure` in \
         `config/manager/manager.yaml`"
            .to_owned(),
    );
    assert_eq!(lost_about(&port, "the port "), expected);
    // Metrics of a namespaced project have the port 8080.
    let project = mini_with(
        "PROJECT",
        "projectName: mini\n",
        "projectName: mini\nnamespaced: true\n",
    );
    let port = mini(&[("PROJECT", &project), (MANAGER, &manager)]);
    assert_eq!(
        lost_about(&port, "the port 8080 with the name `rest`").len(),
        1
    );
    assert_eq!(lost_about(&port, "--metrics-bind-address"), [""; 0]);
}

/// PROJECT of the small project with a chart.
fn mini_with_chart() -> String {
    mini_with(
        "PROJECT",
        "projectName: mini\n",
        "projectName: mini\nplugins: {helm.kubebuilder.io/v2-alpha: {}}\n",
    )
}

#[test]
fn the_chart_has_the_settings_of_the_deployment_or_the_report_names_them() {
    let port = mini(&[("PROJECT", &mini_with_chart()), (MANAGER, BUSY)]);
    let values = texts(&port).remove("charts/mini/values.yaml").unwrap();
    let values = &crate::yaml::documents(values.content()).unwrap()[0];
    assert_eq!(values["podAnnotations"]["prometheus.io/scrape"], "true");
    assert_eq!(values["priorityClassName"], "system-cluster-critical");
    assert_eq!(values["nodeSelector"]["kubernetes.io/os"], "linux");
    assert_eq!(values["strategy"]["type"], "RollingUpdate");
    assert_eq!(values["extraVolumes"][0]["configMap"]["name"], "settings");
    assert_eq!(values["extraVolumeMounts"][0]["mountPath"], "/etc/mini");
    assert_eq!(values["tolerations"].as_array().unwrap().len(), 0);
    assert_eq!(
        lost_about(&port, "the chart has no value"),
        [
            "`config/manager/manager.yaml:15`: the chart has no value for `revisionHistoryLimit`, `envFrom`, \
             `terminationMessagePolicy`, the container `side`, the port 9090 of the Deployment: if the new operator \
             needs it, add it to `charts/mini/templates/deployment.yaml`"
        ]
    );
    assert_eq!(lost_about(&mini(&[(MANAGER, BUSY)]), "the chart"), [""; 0]);
}

#[test]
fn the_namespace_is_as_in_the_go_project() {
    const ADVICE: &str =
        "set `restricted` in `config/manager/manager.yaml` if no Pod of the namespace needs more";
    let of_go = "as in the Go project";
    let none = format!(
        "`config/manager/namespace.yaml:4`: the namespace has no level of Pod Security, {of_go}: {ADVICE}"
    );
    let baseline = format!(
        "`config/manager/namespace.yaml:5`: the namespace has the level `baseline` of Pod Security, {of_go}: {ADVICE}"
    );
    let unknown = format!(
        "the Pod Security level of the namespace, which is unknown: here, the namespace has no level; {ADVICE}"
    );
    let missing = "the namespace `mini-system`: the Go project does not make it, so `make deploy` does not make it here; make \
                   it first";
    let with_selector = format!(
        "{missing}; kustomize then keeps `system` in a `namespaceSelector` of `config/webhook/manifests.yaml`: replace it by \
         `mini-system` with a patch in `config/default/kustomization.yaml`"
    );
    let of_default = "`config/manager/namespace.yaml:5`: `metadata.labels.pod-security.kubernetes.io/enforce: \"baseline\"` of \
                      the Namespace `default`: set it in `config/manager/manager.yaml`";
    let no_level = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: system\n";
    let of_level = |level: &str| {
        format!("{no_level}  labels: {{pod-security.kubernetes.io/enforce: {level}}}\n")
    };
    let build = mini_with(DEFAULT, "", "");
    let of_kubernetes = mini_with(DEFAULT, "mini-system", "default");
    for (default, namespace, expected, line) in [
        (build.as_str(), "", None, missing),
        (&build, no_level, Some(""), &none),
        (&build, &of_level("baseline"), Some("baseline"), &baseline),
        (&build, &of_level("restricted"), Some("restricted"), ""),
        // It only names the namespace for webhooks.
        (
            &of_kubernetes,
            &of_level("baseline"),
            Some("no labels"),
            of_default,
        ),
        (&of_kubernetes, "", Some("no labels"), ""),
        ("", "", Some(""), &unknown),
    ] {
        let port = mini(&[(DEFAULT, default), (NAMESPACE, namespace)]);
        let files = all_files(&port);
        let objects = crate::yaml::documents(files[MANAGER].content()).unwrap();
        let mut objects = objects.iter();
        let made = objects.find(|object| object["kind"] == "Namespace");
        let level = made.map(|made| {
            let labels = &made["metadata"]["labels"];
            if labels.is_null() {
                return "no labels";
            }
            let level = &labels["pod-security.kubernetes.io/enforce"];
            level.as_str().unwrap_or("")
        });
        assert_eq!(level, expected, "{default} {namespace}");
        let script = files["tests/e2e.sh"].content();
        let is_made = level.is_some_and(|level| level != "no labels");
        assert_eq!(script.contains("create namespace"), !is_made);
        assert_eq!(script.contains("\"namespace/$namespace\""), is_made);
        let is_unknown = texts(&port)[REPORT].contains("kubectl --namespace <NAMESPACE> delete ");
        assert_eq!(is_unknown, default.is_empty());
        let mut lines = lost_about(&port, "the namespace has");
        lines.extend(lost_about(&port, "does not make it"));
        lines.extend(lost_about(&port, "the Namespace `"));
        assert_eq!(lines.join(""), line, "{default} {namespace}");
    }
    let project = mini_with_pods_in_project();
    let port = mini(&[("PROJECT", &project), (NAMESPACE, "")]);
    assert_eq!(lost_about(&port, "does not make it"), [with_selector]);
}

#[test]
fn the_image_is_that_of_the_makefile_if_the_manifest_has_none() {
    let makefile = "TAG_BASE ?= ghcr.io/me/ship\nIMG ?= $(TAG_BASE):v1.2.3\n";
    let computed = "IMG ?= $(shell ./image.sh):v1\n";
    for (image, makefile, expected, lines) in [
        ("controller:latest", makefile, "ghcr.io/me/ship", 0),
        ("ko://example.com/mini/cmd", makefile, "ghcr.io/me/ship", 0),
        (
            "ghcr.io/example/mini:v3",
            makefile,
            "ghcr.io/example/mini",
            0,
        ),
        ("controller:latest", computed, "mini", 1),
        ("ko://example.com/mini/cmd", computed, "mini", 1),
        ("controller:latest", "IMG ?= controller:latest\n", "mini", 0),
    ] {
        let manager = mini_with(MANAGER, "ghcr.io/example/mini:v3", image);
        let port = mini(&[(MANAGER, &manager), ("Makefile", makefile)]);
        let text = all_files(&port).remove("Makefile").unwrap();
        let line = format!("\nIMG ?= {expected}:latest\n");
        assert!(text.contains(&line), "{image} {}", text.content());
        assert_eq!(lost_about(&port, "the image `").len(), lines, "{image}");
    }
}

#[test]
fn several_replicas_are_taken_over_only_with_leader_election() {
    const VALUES: &str = "charts/mini/values.yaml";
    let project = mini_with_chart();
    let none = mini_with(MANAGER, "replicas: 2", "replicas: 0");
    let no_leader_and_none = none.replace("\"--metrics", "--leader-elect=false, \"--metrics");
    let without_leader = mini_with(MANAGER, "\"--metrics", "--leader-elect=false, \"--metrics");
    for (manager, replicas) in [
        (mini_with(MANAGER, "", ""), 2),
        (without_leader, 1),
        (none, 0),
        (no_leader_and_none, 0),
    ] {
        let port = mini(&[("PROJECT", &project), (MANAGER, &manager)]);
        let files = all_files(&port);
        for (path, indent) in [(MANAGER, "  "), (VALUES, "")] {
            let line = format!("\n{indent}replicas: {replicas}\n");
            assert!(
                files[path].contains(&line),
                "{line}: {}",
                files[path].content()
            );
        }
        let has_budget = files[MANAGER].contains("kind: PodDisruptionBudget");
        assert_eq!(has_budget, replicas > 1);
        let expected = "`config/manager/manager.yaml:7`: `replicas: 2`: here, it is 1, because without leader election, \
            all replicas would work at the same time";
        let is_lost = replicas == 1;
        assert_eq!(lost_about(&port, "replicas").len(), usize::from(is_lost));
        assert_eq!(lost(&port).contains(expected), is_lost, "{}", lost(&port));
    }
}

#[test]
fn hidden_characters_of_the_deployment_are_escaped() {
    let manager = mini_with(MANAGER, "value: eu", "value: \"e\u{202e}u\"");
    let manager = manager.replace("--metrics-bind", "--met\u{202e}rics-bind");
    let port = mini(&[(MANAGER, &manager)]);
    for (path, text) in &texts(&port) {
        let mut characters = text.content().chars();
        let hidden = characters.find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t'));
        assert_eq!(hidden, None, "{path}: {}", text.content());
    }
}

#[test]
fn the_target_of_a_patch_has_patterns() {
    let files = BTreeMap::from([
        (
            "x/kustomization.yaml",
            "resources: [all.yaml]\npatches:\n\
             - {patch: '[{op: add, path: /a, value: 1}]', target: {kind: 'Secret|Deployment', version: v.}}\n\
             - {patch: '[{op: add, path: /b, value: 1}]', target: {group: app., kind: Deploy}}\n\
             - {patch: '[{op: add, path: /c, value: 1}]', target: {group: app.}}\n",
        ),
        (
            "x/all.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\n\
             {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}",
        ),
    ]);
    let (objects, left) = kustomized(&files, "x");
    let found = ["a", "b", "c"].map(|field| [0, 1].map(|number| objects[number][field] == 1));
    assert_eq!(found, [[true, true], [false, false], [false, true]]);
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn init_containers_refer_to_objects_with_a_prefix() {
    let files = BTreeMap::from([
        (
            "x/kustomization.yaml",
            "resources: [all.yaml]\nnamePrefix: a-\nimages: [{name: a@b/c, newTag: '2'}]",
        ),
        (
            "x/all.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: keys}}\n---\n\
             {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {template: {spec: {\
             initContainers: [{name: c, image: a@b/c, envFrom: [{secretRef: {name: keys}}]}]}}}}",
        ),
    ]);
    let (objects, left) = kustomized(&files, "x");
    let container = &objects[1]["spec"]["template"]["spec"]["initContainers"][0];
    assert_eq!(container["envFrom"][0]["secretRef"]["name"], "a-keys");
    // A digest cannot be before a slash, so this is the name.
    assert_eq!(container["image"], "a@b/c:2");
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_role_refers_to_objects_with_a_prefix_by_a_configuration() {
    let files = BTreeMap::from([
        (
            "x/kustomization.yaml",
            "resources: [all.yaml]\nnamePrefix: a-\nconfigurations: [names.yaml]",
        ),
        (
            "x/names.yaml",
            "nameReference: [{kind: Secret, fieldSpecs: [{kind: Role, path: 'rules[]/resourceNames'}]}]\n\
             namespace: []\nimages: []",
        ),
        (
            "x/all.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: keys}}\n---\n\
             {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: b}, \
             rules: [{resourceNames: [keys]}]}",
        ),
    ]);
    let (objects, left) = kustomized(&files, "x");
    assert_eq!(objects[1]["rules"][0]["resourceNames"][0], "a-keys");
    let line = "`x/names.yaml:3`: `images`, which `init --from` does not apply";
    assert_eq!(left, BTreeSet::from([line.to_owned()]));
}

#[test]
fn the_name_of_an_image_is_data_and_never_code() {
    for image in ["a$(shell id)", "a b", "a\\n\\tid", "a;id", "a#b", "a`id`"] {
        let manager = mini_with(MANAGER, "ghcr.io/example/mini:v3", &format!("\"{image}\""));
        let port = mini(&[(MANAGER, &manager)]);
        let makefile = texts(&port).remove("Makefile");
        assert!(makefile.is_none_or(|text| text.contains("IMG ?= mini:latest\n")));
        assert_eq!(lost_about(&port, "the image `").len(), 1, "{}", lost(&port));
    }
}

#[test]
fn objects_beside_the_operator_are_named() {
    let objects = "\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: controller-manager
  namespace: system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::1:role/mini
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: system}
---
apiVersion: v1
kind: Service
metadata:
  name: controller-manager-metrics-service
  namespace: system
  annotations: {prometheus.io/scrape: \"true\"}
spec:
  ports: [{name: https, port: 9443, protocol: TCP, targetPort: https}]
  selector: {control-plane: controller-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: foo-viewer-role}
rules:
- {apiGroups: [g.x.io], resources: [foos], verbs: [get]}
- {apiGroups: [\"\"], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leader-election-rolebinding, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader-election-role}
subjects:
- {kind: ServiceAccount, name: controller-manager, namespace: system}
- {kind: User, name: alice}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving-cert, namespace: system}
spec: {duration: 1h, secretName: webhook-server-cert}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: allow-metrics-traffic, namespace: system}
";
    let default = mini_with(DEFAULT, "- policy.yaml", "- objects.yaml");
    let hooks = mini_with(
        HOOKS,
        "configuration}",
        "configuration, annotations: {a: b}}",
    );
    let default = default + "labels: [{pairs: {team: books}}]\n";
    let port = mini(&[
        (DEFAULT, &default),
        ("config/default/objects.yaml", objects),
        (HOOKS, &hooks),
    ]);
    let lost = lost(&port);
    for expected in [
        "`config/default/objects.yaml:10`: the DaemonSet `mini-agent`: copy it",
        "`config/default/objects.yaml:14`: the ConfigMap `mini-settings`: copy it",
        "`config/default/objects.yaml:7`: `metadata.annotations.eks.amazonaws.com/role-arn: \
         \"arn:aws:iam::1:role/mini\"` of the ServiceAccount `mini-controller-manager`: set it in \
         `config/rbac/service_account.yaml`",
        "`config/default/objects.yaml:22`: `metadata.annotations.prometheus.io/scrape: \"true\"` of the Service \
         `mini-controller-manager-metrics-service`: set it in `config/default/metrics_service.yaml`",
        "`config/default/objects.yaml:24`: `spec.ports.0.port: 9443` of the Service",
        "`config/default/objects.yaml:32`: `rules.1: {\"apiGroups\":[\"\"],\"resources\":[\"secrets\"],\
         \"verbs\":[\"get\"]}` of the ClusterRole `mini-foo-viewer-role`: set it in \
         `config/rbac/g_foo_viewer_role.yaml`",
        "`config/default/objects.yaml:40`: `subjects.1: {\"kind\":\"User\",\"name\":\"alice\"}` of the RoleBinding \
         `mini-leader-election-rolebinding`: add a patch",
        "`config/default/objects.yaml:45`: `spec.duration: \"1h\"` of the Certificate `mini-serving-cert`: the new \
         project has no such object",
        "`config/default/objects.yaml:48`: the NetworkPolicy `mini-allow-metrics-traffic`: copy it",
        "`config/webhook/manifests.yaml:3`: `metadata.annotations.a: \"b\"` of the ValidatingWebhookConfiguration \
         `mini-validating-webhook-configuration`: add a patch",
        "`labels.team: \"books\"` of all objects: set it in `config/default/kustomization.yaml`",
    ] {
        assert!(lost.contains(expected), "{expected}: {lost}");
    }
    assert_eq!(lost.matches("objects.yaml").count(), 9, "{lost}");
}

#[test]
fn webhooks_that_would_call_the_go_operator_are_a_warning() {
    const WARNING: &str = "kubectl delete validatingwebhookconfiguration";
    let report = |port: &Port| texts(port).remove(REPORT).unwrap().content().to_owned();
    let other_namespace = mini_with(DEFAULT, "mini-system", "books-prod")
        .replace("namePrefix: mini-", "namePrefix: books-");
    let port = mini(&[(DEFAULT, &other_namespace)]);
    assert_eq!(port.project.project_name.as_str(), "books");
    assert_eq!(port.project.namespace_name(), "books-prod");
    assert!(!report(&port).contains(WARNING), "{}", report(&port));

    // The prefix is that of the Deployment, wherever it comes from.
    let inner = mini_with(DEFAULT, "namespace: mini-system\n", "")
        .replace("namePrefix: mini-", "namePrefix: books-")
        .replace("../", "../../");
    let port = mini(&[
        (DEFAULT, "namespace: mini-system\nresources: [base]\n"),
        ("config/default/base/kustomization.yaml", &inner),
        ("config/default/base/policy.yaml", ""),
    ]);
    assert_eq!(port.project.project_name.as_str(), "books");

    let hooks = mini_with(HOOKS, "validating-webhook-configuration", "checks");
    let report = report(&mini(&[(HOOKS, &hooks)]));
    let expected = "- [ ] the ValidatingWebhookConfiguration `mini-checks` of the Go operator: the new project has none with \
                    this name, so the API server still calls the Go operator after `make deploy`; delete it then: \
                    `kubectl delete validatingwebhookconfiguration mini-checks`";
    assert!(report.contains(expected), "{report}");

    // Without a kustomization, the name in a cluster is unknown.
    let patch = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: \
                 validating-webhook-configuration}\n";
    let port = mini(&[(DEFAULT, ""), ("config/webhook/patch.yaml", patch)]);
    let report = texts(&port).remove(REPORT).unwrap();
    let expected = "- [ ] the ValidatingWebhookConfiguration `validating-webhook-configuration` of the Go operator, to which a \
                    kustomization may give another name: if the new project has none with this other name, the API server \
                    still calls the Go operator after `make deploy`; delete it then: `kubectl delete \
                    validatingwebhookconfiguration <NAME>`";
    assert!(report.contains(expected), "{report}");
    assert_eq!(
        report
            .content()
            .matches("webhookconfiguration <NAME>")
            .count(),
        1
    );
}

#[test]
fn the_secret_of_a_certificate_may_have_any_name() {
    let certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: serving-cert, namespace: system}\n\
                       spec: {secretName: mini-cert}\n";
    let default = mini_with(DEFAULT, "- policy.yaml", "- objects.yaml\n- ../certmanager");
    let manager = BUSY.replace("webhook-server-cert", "mini-cert");
    let port = mini(&[
        (DEFAULT, &default),
        ("config/default/objects.yaml", ""),
        (
            "config/certmanager/kustomization.yaml",
            "resources: [certificate.yaml]\n",
        ),
        ("config/certmanager/certificate.yaml", certificate),
        (MANAGER, &manager),
    ]);
    let texts = texts(&port);
    assert!(
        !texts[MANAGER].contains("mini-cert"),
        "{}",
        texts[MANAGER].content()
    );
    assert_eq!(lost_about(&port, "secretName"), [""; 0]);
}

#[test]
fn what_each_project_of_kubebuilder_has_is_not_named() {
    let objects = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: foo-viewer-role}
rules: [{apiGroups: [g.x.io], resources: [foos], verbs: [get]}]
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service, namespace: system}
spec: {ports: [{port: 443, protocol: TCP, targetPort: webhook-server}], selector: {control-plane: controller-manager}}
---
apiVersion: v1
kind: Service
metadata: {name: controller-manager-metrics-service, namespace: system}
spec: {ports: [{name: https, port: 8443, targetPort: https}], selector: {control-plane: controller-manager}}
---
apiVersion: config.example.com/v1
kind: OperatorConfig
logs: all
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader-election-role, namespace: system, creationTimestamp: null}
";
    let default = mini_with(DEFAULT, "- policy.yaml", "- objects.yaml");
    let manager = mini_with(
        MANAGER,
        "--metrics-bind-address=:8080",
        "--webhook-port=9443",
    );
    let port = mini(&[
        (DEFAULT, &default),
        ("config/default/objects.yaml", objects),
        (MANAGER, &manager),
    ]);
    assert!(port.project.features.contains(&Feature::UserRoles));
    assert_eq!(lost_about(&port, "objects.yaml"), [""; 0]);
    assert_eq!(lost_about(&port, "the argument"), [""; 0]);
}

#[test]
fn a_controller_whose_kind_the_setup_does_not_name_is_reported() {
    for (path, code, expected) in [
        (
            "internal/controller/provider.go",
            "package controller\nfunc (r *R) SetupWithManager(mgr ctrl.Manager) error {\n\
             \treturn ctrl.NewControllerManagedBy(mgr).For(r.Provider).Complete(r)\n}\n\
             var r = &R{Provider: &v1.Foo{}}\n",
            "a controller (`internal/controller/provider.go:3`) that is not built by \
             `NewControllerManagedBy(mgr).For(&Kind{})`; if it is not listed above,",
        ),
        (
            "internal/controller/foo_agent.go",
            "package controller\nimport \"sigs.k8s.io/controller-runtime/pkg/controller\"\n\
             func Add(mgr ctrl.Manager) error {\n\
             \tc, err := controller.New(\"agent\", mgr, controller.Options{Reconciler: r})\n\treturn err\n}\n",
            "a controller (`internal/controller/foo_agent.go:4`) that is not built by \
             `NewControllerManagedBy(mgr).For(&Kind{})`; if it is not listed above,",
        ),
        (
            "internal/controller/other.go",
            "package controller\nimport \"sigs.k8s.io/controller-runtime/pkg/controller\"\n\
             var c, _ = controller.NewUnmanaged(\"agent\", mgr)\n",
            "a controller (`internal/controller/other.go:3`) that is not built by \
             `NewControllerManagedBy(mgr).For(&Kind{})`; if it is not listed above,",
        ),
    ] {
        let port = mini(&[(path, code)]);
        let lines = lost_about(&port, "a controller (");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with(expected), "{lines:?}");
    }
    assert_eq!(lost_about(&mini(&[]), "a controller ("), [""; 0]);
}

#[test]
fn a_controller_is_found_by_each_name_of_its_builder() {
    const START: &str = "ctrl.NewControllerManagedBy(mgr).For(&v1.Foo{})";
    let project = mini_with("PROJECT", "  controller: true\n", "");
    let with_code = |by: &str| {
        let code = mini_with(CONTROLLER, START, by);
        let code = code.replace("import (", "import (\n\tcorev1 \"k8s.io/api/core/v1\"");
        mini(&[("PROJECT", &project), (CONTROLLER, &code)])
    };
    for builder in [
        "ctrl.NewControllerManagedBy(mgr)",
        "builder.ControllerManagedBy(mgr)",
        "builder.TypedControllerManagedBy[reconcile.Request](mgr)",
    ] {
        let port = with_code(&format!(
            "{builder}.For(&v1.Foo{{}}).Watches(&corev1.Secret{{}}, h)"
        ));
        assert_eq!(
            controllers(&port, "Foo"),
            ["foo x.io/volume-guard - v1/Secret"],
            "{builder}"
        );
        assert_eq!(lost_about(&port, "a controller ("), [""; 0], "{builder}");
        // A kind that PROJECT lacks.
        let port = with_code(&format!("{builder}.For(&corev1.Pod{{}})"));
        let lines = lost_about(&port, "a controller (");
        let expected = "a controller (`internal/controller/foo_controller.go:32`) for Pod, a kind that PROJECT does not have;";
        assert!(
            lines.len() == 1 && lines[0].starts_with(expected),
            "{builder}: {lines:?}"
        );
    }
}

#[test]
fn kinds_of_a_project_file_without_domains_are_not_reported() {
    for (text, by) in [
        ("  domain: x.io\n", ""),
        ("- api: {crdVersion: v1, namespaced: true}\n  ", "- "),
    ] {
        let project = mini_with("PROJECT", text, by);
        let project = project.replace("  domain: x.io\n", "");
        let port = mini(&[("PROJECT", &project)]);
        assert_eq!(lost_about(&port, "in PROJECT"), [""; 0]);
        assert_eq!(port.project.resources.len(), 1);
        assert_eq!(port.project.controllers().count(), 1);
    }
}

#[test]
fn plugins_are_taken_over_or_named() {
    let project = mini_with(
        "PROJECT",
        "projectName: mini\n",
        "projectName: mini\nplugins:\n  helm.kubebuilder.io/v2-alpha: {}\n  scorecard.sdk.operatorframework.io/v2: {}\n  \
         deploy-image.go.kubebuilder.io/v1-alpha:\n    resources:\n    - {domain: x.io, group: g, kind: Bar, version: v1, \
         options: {image: 'memcached:1.6', containerPort: '11211', runAsUser: '1001'}}\n",
    );
    let port = mini(&[("PROJECT", &project)]);
    let lines = lost_about(&port, "plugin");
    let expected = [
        "`PROJECT:8`: the controller of Bar that the plugin deploy-image wrote: `rscaffold create api --group g --version v1 --kind \
         Bar --image memcached:1.6 --image-container-port 11211 --run-as-user 1001 --force` makes one that runs the \
         same image",
        "`PROJECT:6`: the plugin `scorecard.sdk.operatorframework.io/v2`",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_command_for_an_image_works_and_is_data_and_never_code() {
    let project = |image: &str, kind: &str| {
        mini_with(
            "PROJECT",
            "projectName: mini\n",
            &format!(
                "projectName: mini\nplugins:\n  deploy-image.go.kubebuilder.io/v1-alpha:\n    resources:\n    - {{domain: \
                 x.io, group: g, kind: {kind}, version: v1, options: {{image: \"{image}\"}}}}\n"
            ),
        )
    };
    let port = mini(&[("PROJECT", &project("a; id", "Bar"))]);
    let lines = lost_about(&port, "deploy-image");
    assert!(lines[0].contains("--image 'a; id' --force`"), "{lines:?}");
    // The types of Foo come from a CRD, which has no fields for an image.
    let port = mini(&[("PROJECT", &project("memcached:1.6", "Foo"))]);
    assert_eq!(
        lost_about(&port, "deploy-image"),
        [
            "`PROJECT:6`: the controller of Foo that the plugin deploy-image wrote: write the Deployment with the image \
             `memcached:1.6` in `reconcile`; `--image` is not for types from a CRD"
        ]
    );
}

#[test]
fn a_webhook_for_other_versions_is_named() {
    let manifest = |versions: &str, policy: &str, more: &str| {
        let text = mini_with(
            HOOKS,
            "[v1], operations: [DELETE]",
            &format!("[{versions}], operations: [CREATE]"),
        );
        text.replace("matchPolicy: Exact", &format!("matchPolicy: {policy}")) + more
    };
    let second = "- name: second.kb.io\n  rules: [{apiGroups: [g.x.io], apiVersions: [v1], operations: [DELETE], resources: \
                  [foos]}]\n";
    for (versions, policy, more, is_taken, line) in [
        ("v1", "Exact", "", true, ""),
        ("\"*\"", "Equivalent", "", true, ""),
        (
            "v2",
            "Equivalent",
            "",
            true,
            "the webhook of `Foo` for `v2`: here, it gets objects of the version `v1`, and the API server converts",
        ),
        (
            "v1, v2",
            "Exact",
            "",
            true,
            "the webhook of `Foo` for `v2`: here, it gets objects of the version `v1`, and `matchPolicy: Exact` leaves",
        ),
        (
            "v2",
            "Exact",
            "",
            false,
            "the webhook of `Foo` with `matchPolicy: Exact` for `v2`: here, the webhooks of a kind are for the stored",
        ),
        (
            "v2",
            "Exact",
            second,
            true,
            "the webhook of `Foo` with `matchPolicy: Exact` for `v2`: here, the webhooks of a kind are for the stored",
        ),
    ] {
        let port = mini(&[(HOOKS, &manifest(versions, policy, more))]);
        let webhooks = &resource(&port, "Foo").webhooks;
        assert_eq!(
            webhooks.validation.is_some(),
            is_taken,
            "{versions} {policy}"
        );
        let lines = lost_about(&port, "the webhook of `Foo`");
        assert_eq!(
            lines.is_empty(),
            line.is_empty(),
            "{versions} {policy}: {lines:?}"
        );
        assert!(lines.iter().all(|found| found.contains(line)), "{lines:?}");
    }
}

#[test]
fn a_chart_in_place_of_config_has_crds_and_the_rest_is_named() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let crd = mini_with("config/crd/bases/g.x.io_foos.yaml", "", "");
    let [without, with] = [None, Some(crd.as_str())].map(|crd| {
        let mut files = read_folder(&folder).unwrap();
        files.texts.retain(|path, _| !path.starts_with("config/"));
        read_changed(files, &[("charts/mini/crds/foos.yaml", crd)]).unwrap()
    });
    assert!(resource(&with, "Foo").has_given_types());
    for port in [&with, &without] {
        assert_eq!(
            lost_about(port, "no such folder"),
            [
                "`config/default`: there is no such folder, and no `config`, so the Deployment, the permissions and the \
                 webhooks of the Go operator are unknown: compare `config` here with what deploys the Go operator"
            ]
        );
        assert_eq!(lost_about(port, "`+kubebuilder:rbac`").len(), 1);
    }
    assert_eq!(lost_about(&with, "the fields of"), [""; 0]);
    let lines = lost_about(
        &without,
        "the fields of `Foo`: neither `config` nor a folder `crds`",
    );
    assert_eq!(lines.len(), 1, "{}", lost(&without));
    let report = texts(&without).remove(REPORT).unwrap();
    let types =
        "`api/v1/foo_types.go`: types: write their fields and methods in `src/api/g/v1/foo.rs`";
    assert!(report.contains(types), "{}", report.content());
}

#[test]
fn the_license_is_that_of_the_go_project() {
    for (path, text, license) in [
        ("LICENSE", "MIT License\n", License::Mit),
        ("LICENSE.md", "# Apache License\n", License::Apache2),
        (
            "hack/boilerplate.go.txt",
            "/*\nLicensed under the Apache License, Version 2.0\n*/\n",
            License::Apache2,
        ),
        (
            "hack/boilerplate.go.txt",
            "// Copyright me\n",
            License::None,
        ),
        ("LICENSE", "All rights reserved\n", License::None),
        ("README.md", "MIT License\n", License::None),
    ] {
        let port = mini(&[("hack/boilerplate.go.txt", ""), (path, text)]);
        assert_eq!(port.project.license, license, "{path}");
        let is_lost = !lost_about(&port, "the license: ").is_empty();
        assert_eq!(is_lost, license == License::None, "{path}");
    }
}

#[test]
fn only_the_program_of_the_operator_counts() {
    let agent = "\
package main
import \"example.com/mini/internal/agent\"
func main() {
\tmgr, _ := ctrl.NewManager(config, ctrl.Options{LeaderElectionID: \"agent\"})
\tagent.Setup(mgr)
}
";
    let code = "\
package agent
func Setup(mgr ctrl.Manager) {
\tctrl.NewControllerManagedBy(mgr).For(&v1.Foo{}).Complete(r)
\tc.Patch(ctx, foo, client.Apply, client.FieldOwner(\"agent\"))
}
";
    let port = mini(&[
        ("cmd/agent/main.go", agent),
        ("internal/agent/foo.go", code),
    ]);
    assert_eq!(port.project.lease_name(), "mini");
    let report = texts(&port).remove(REPORT).unwrap();
    assert!(!report.contains("internal/agent"), "{}", report.content());
    assert!(!report.contains("| `agent` |"), "{}", report.content());
    assert_eq!(
        lost_about(&port, "cmd/agent"),
        [
            "`cmd/agent/main.go`: another program of the Go project, with a manager of its own; it is not ported"
        ]
    );

    // The Dockerfile says which program is the operator.
    let dockerfile = "RUN CGO_ENABLED=0 go build -a -o manager ./cmd/agent\n";
    let port = mini(&[
        ("Dockerfile", dockerfile),
        ("cmd/agent/main.go", agent),
        ("internal/agent/foo.go", code),
    ]);
    assert_eq!(port.project.lease_name(), "agent");
    assert_eq!(lost_about(&port, "cmd/main.go").len(), 1);
}

/// A program that starts a manager in another package, with a field manager of its own.
fn programs(folders: [&str; 2]) -> Port {
    let main =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini/cmd/main.go"));
    let agent =
        "package main\nimport \"example.com/mini/internal/agent\"\nfunc main() { agent.Run() }\n";
    let code = "\
package agent
func Run() {
\tmgr, _ := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
\tctrl.NewControllerManagedBy(mgr).For(&v1.Foo{}).Complete(r)
\tcontrollerutil.AddFinalizer(foo, \"x.io/agent\")
\tc.Patch(ctx, foo, client.Apply, client.FieldOwner(\"agent\"))
}
";
    let [operator, other] = folders.map(|folder| format!("{folder}/main.go"));
    mini(&[
        ("cmd/main.go", "package cmd"),
        (&operator, &main.unwrap()),
        (&other, agent),
        ("internal/agent/foo.go", code),
    ])
}

#[test]
fn a_program_counts_if_a_package_that_it_imports_makes_a_manager() {
    for folders in [
        ["cmd", "cmd/agent"],
        ["cmd/mini-operator", "cmd/zzz"],
        ["cmd/mini", "cmd/agent"],
        ["cmd/some-operator", "cmd/agent"],
    ] {
        let port = programs(folders);
        assert_eq!(
            controllers(&port, "Foo"),
            ["foo x.io/volume-guard - "],
            "{folders:?}"
        );
        let expected = format!("`{}/main.go`: another program", folders[1]);
        assert!(
            lost_about(&port, "program")[0].starts_with(&expected),
            "{folders:?}"
        );
    }
    // It is not clear which program is the operator: what only one of them says does not count.
    for folders in [["cmd/one", "cmd/two"], ["cmd/a-operator", "cmd/b-operator"]] {
        let port = programs(folders);
        assert_eq!(controllers(&port, "Foo"), ["foo - - "], "{folders:?}");
        let lines = lost_about(&port, "program");
        for (line, folder) in lines.iter().zip(folders) {
            let expected = format!("`{folder}/main.go`: one of several programs with a manager,");
            assert!(line.starts_with(&expected), "{lines:?}");
        }
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}

#[test]
fn a_stateful_set_that_runs_the_operator_becomes_the_deployment() {
    for kind in ["StatefulSet", "DaemonSet"] {
        let manager = mini_with(MANAGER, "kind: Deployment", &format!("kind: {kind}"));
        let manager = manager.replace("  selector:", "  serviceName: mini\n  selector:");
        // A Deployment beside it.
        let other =
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: proxy, namespace: system}\n";
        let port = mini(&[
            (MANAGER, &format!("{manager}---\n{other}")),
            (
                "config/manager/kustomization.yaml",
                "resources: [manager.yaml]\n",
            ),
        ]);
        let lines = lost_about(&port, kind);
        let place = "`config/manager/manager.yaml";
        let expected = [
            format!(
                "{place}:2`: the {kind} `mini-controller-manager`, which runs the Go operator: here, a Deployment does; do \
                 not copy the {kind}, and delete it before `make deploy` by `kubectl --namespace mini-system delete {} \
                 mini-controller-manager`",
                kind.to_lowercase()
            ),
            format!(
                "{place}:8`: `serviceName: \"mini\"` of the {kind}: a Deployment does not have this field"
            ),
        ];
        assert_eq!(lines, expected);
        assert_eq!(lost_about(&port, "ClusterRoleBinding"), [""; 0]);
        assert_eq!(
            lost_about(&port, "the Deployment `mini-proxy`: copy it").len(),
            1
        );
        let texts = texts(&port);
        for text in ["value: eu", "replicas: 2", "cpu: 100m"] {
            assert!(
                texts["config/manager/manager.yaml"].contains(text),
                "{text}"
            );
        }
        assert!(texts[REPORT].contains("| Deployment | - | `mini-controller-manager` |"));
    }
}

#[test]
fn a_sample_that_is_not_one_object_in_yaml_is_named() {
    const PATH: &str = "config/samples/g_v1_foo.yaml";
    let foo = "apiVersion: g.x.io/v1\nkind: Foo\nmetadata: {name: a}\nspec: {}\n";
    let port = mini(&[(PATH, &foo.replace('\n', "\r\n"))]);
    assert_eq!(texts(&port)[PATH], foo);
    assert_eq!(lost_about(&port, "sample"), [""; 0]);
    for kind in ["List", "FooList"] {
        let item = foo.replace('\n', "\n  ");
        let list = format!(
            "apiVersion: v1\nkind: {kind}\nitems:\n- {}\n",
            item.trim_end()
        );
        let lines = lost_about(&mini(&[(PATH, &list)]), "sample");
        let expected = "`config/samples/g_v1_foo.yaml:2`: the sample is a list: copy each item to its own file in `config/samples`";
        assert_eq!(lines, [expected]);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go-mini");
    let mut mini = read_folder(&folder).unwrap();
    mini.others
        .insert("config/samples/foo.json".to_owned(), 100);
    let port = read_changed(mini, &[]).unwrap();
    assert_eq!(lost_about(&port, "foo.json").len(), 1);
}

#[test]
fn a_sample_may_have_more_objects() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {a: b}\n";
    let foo = "apiVersion: g.x.io/v1\nkind: Foo\nmetadata: {name: with-a-key}\nspec: {}\n";
    let both = format!("{secret}---\n{foo}");
    let path = "config/samples/g_v1_foo.yaml";
    let port = mini(&[(path, &both)]);
    assert_eq!(texts(&port)[path], both.as_str());
    let port = mini(&[(path, secret)]);
    assert_eq!(
        lost_about(&port, "`config/samples/g_v1_foo.yaml:2`: the sample").len(),
        1
    );
    let port = read(&[]).unwrap();
    assert_eq!(lost_about(&port, "several objects"), [""; 0]);
}

#[test]
fn the_operator_is_found_among_several_deployments() {
    const LIST: &str = "config/manager/kustomization.yaml";
    const LINE: &str = "several Deployments may be the operator: `mini-agent` (`config/manager/a.yaml:2`) was taken; if it is \
                        another one, repeat `init --from` with the others left out of the kustomization";
    let agent = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: agent, namespace: system}
spec:
  replicas: 7
  template:
    spec:
      serviceAccountName: agent
      containers: [{name: agent, image: agent:v1, env: [{name: AGENT}]}]
";
    for (name, container, command, is_certain) in [
        ("operator", "manager", "/manager", true),
        ("server", "main", "/manager", true),
        ("server", "manager", "/main", true),
        ("my-manager", "main", "/main", true),
        ("server", "main", "/main", false),
    ] {
        let manager = mini_with(
            MANAGER,
            "name: controller-manager\n",
            &format!("name: {name}\n"),
        );
        let manager = manager.replace(
            "- name: manager\n",
            &format!("- name: {container}\n        command: [{command}]\n"),
        );
        let port = mini(&[
            ("config/manager/a.yaml", agent),
            (LIST, "resources: [a.yaml, manager.yaml]\n"),
            (MANAGER, &manager),
        ]);
        let texts = texts(&port);
        let manager = &texts[MANAGER];
        assert_eq!(manager.contains("value: eu"), is_certain, "{manager}");
        assert_eq!(manager.contains("AGENT"), !is_certain, "{manager}");
        let delete = format!("delete deployment mini-{name}`");
        assert_eq!(texts[REPORT].contains(&delete), is_certain, "{name}");
        let delete = texts[REPORT].contains(" delete deployment ");
        assert_eq!(delete, is_certain, "{name}");
        let lines = lost_about(&port, "may be the operator");
        assert_eq!(lines, if is_certain { vec![] } else { vec![LINE] });
    }
}

#[test]
fn another_program_is_not_taken_for_the_operator() {
    const LINE: &str = "the Deployment `mini-grafana` (`config/manager.yaml:2`) was taken for the operator, because the \
                        kustomization has no other one; if it is another program, repeat `init --from` without it in the \
                        kustomization";
    let grafana = mini_with(MANAGER, "name: controller-manager\n", "name: grafana\n");
    let grafana = grafana.replace("- name: manager\n", "- name: grafana\n");
    let build = mini_with(DEFAULT, "../manager", "../manager.yaml");
    for (default, is_taken) in [(build.as_str(), true), ("", false)] {
        let port = mini(&[
            (MANAGER, ""),
            ("config/manager/kustomization.yaml", ""),
            ("config/manager.yaml", &grafana),
            (DEFAULT, default),
        ]);
        let report = texts(&port).remove(REPORT).unwrap();
        assert_eq!(report.contains("| `mini-grafana` |"), is_taken, "{report}");
        assert!(!report.contains(" delete deployment "), "{report}");
        let lines = lost_about(&port, "for the operator");
        assert_eq!(lines, if is_taken { vec![LINE] } else { vec![] });
    }
}

#[test]
fn what_is_about_the_program_in_go_is_not_copied_to_the_container() {
    let more = "        startupProbe: {httpGet: {path: /healthz, port: health}}\n        \
                lifecycle: {preStop: {exec: {command: [sleep, '5']}}}\n        image:";
    let manager = mini_with(MANAGER, "        image:", more);
    let port = mini(&[(MANAGER, &manager)]);
    let line = |number: u32, field: &str| {
        format!(
            "`config/manager/manager.yaml:{number}`: `{field}` of the Deployment: it is about the program and the ports of \
             the Go operator; here, the port is `probes`, and the image has no shell; add what is needed to \
             `config/manager/manager.yaml`"
        )
    };
    assert_eq!(
        lost_about(&port, "the port is `probes`"),
        [
            line(
                18,
                "lifecycle: {\"preStop\":{\"exec\":{\"command\":[\"sleep\",\"5\"]}}}"
            ),
            line(
                17,
                "startupProbe: {\"httpGet\":{\"path\":\"/healthz\",\"port\":\"health\"}}"
            ),
        ]
    );
    let manager = &texts(&port)[MANAGER];
    assert!(
        !manager.contains("port: health") && !manager.contains("sleep"),
        "{manager}"
    );
}

#[test]
fn permissions_of_aggregated_roles_are_taken_over() {
    let role = |name: &str, labels: &str, resource: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}, labels: {labels}}}\n\
             rules: [{{apiGroups: [batch], resources: [{resource}], verbs: [create]}}]\n---\n"
        )
    };
    let roles =
        role("manager-role", "{a: b, c: d}", "jobs") + &role("other-role", "{e: f}", "cronjobs");
    let selectors = "[{matchLabels: {a: b, c: d}}, {matchLabels: {}}, {matchLabels: {e: g}}, {matchLabels: {e: f}, \
                     matchExpressions: [{key: x, operator: Exists}]}]";
    let all = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: all-role}}\n\
         aggregationRule: {{clusterRoleSelectors: {selectors}}}\n"
    );
    let binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all}\n\
                   roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all-role}\n\
                   subjects: [{kind: ServiceAccount, name: controller-manager, namespace: system}]\n";
    let bound = |binding: &str| {
        mini(&[
            ("config/rbac/role.yaml", &(roles.clone() + &all)),
            ("config/rbac/role_binding.yaml", binding),
            ("config/components/rbac/role.yaml", "{}"),
        ])
    };
    let port = bound(binding);
    let controller = &texts(&port)["src/controller/g/foo.rs"];
    assert!(
        controller.contains("batch::v1::Job>(&[Verb::Create])"),
        "{controller}"
    );
    assert!(!controller.contains("CronJob"), "{controller}");
    assert_eq!(lost_about(&port, "rules."), [""; 0]);
    let lines = lost_about(&port, "aggregationRule");
    let advice = "of the ClusterRole `mini-all-role`: write the permissions that it adds from roles of other projects as \
                  `RULES` of a controller";
    assert!(lines.len() == 1 && lines[0].ends_with(advice), "{lines:?}");

    // `make manifests` writes the role of the manager, so nobody sets its rules there.
    let port = bound(&binding.replace("all-role", "other-role"));
    let controller = &texts(&port)["src/controller/g/foo.rs"];
    assert!(controller.contains("CronJob"), "{controller}");
    assert_eq!(
        lost_about(&port, "rules.0"),
        [
            "`config/rbac/role.yaml:4`: `rules.0: {\"apiGroups\":[\"batch\"],\"resources\":[\"jobs\"],\"verbs\":[\"create\"]}` \
             of the ClusterRole `mini-manager-role`: write it as `RULES` of a controller"
        ]
    );
}

#[test]
fn a_rule_of_a_webhook_for_other_kinds_is_named_once() {
    for (groups, resources, what) in [
        (
            "''",
            "pods",
            "`pods` of the core group, which is not a kind",
        ),
        (
            "apps, g.x.io, ''",
            "pods, foos, foos/status, deployments",
            "`deployments`, `pods` of the groups `\"\"`, `apps`, `g.x.io`, which are no kinds",
        ),
        ("apps", "'*'", "`*` of `apps`, which is not a kind"),
    ] {
        let hooks = mini_with(HOOKS, "g.x.io], apiV", &format!("{groups}], apiV"));
        let hooks = hooks.replace("resources: [foos]", &format!("resources: [{resources}]"));
        let port = mini(&[(HOOKS, &hooks)]);
        let line = format!(
            "`config/webhook/manifests.yaml:11`: the webhook for {what} of the project: for a kind of Kubernetes, add the \
             webhook with `rscaffold create webhook`"
        );
        assert_eq!(lost_about(&port, "of the project: for"), [line]);
    }
}

#[test]
fn a_budget_gets_one_of_two_fields() {
    let budget = "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: controller-manager, namespace: system}
spec: {minAvailable: 1, selector: {matchLabels: {control-plane: controller-manager}}}
";
    let default = mini_with(DEFAULT, "- policy.yaml", "- budget.yaml");
    let port = mini(&[(DEFAULT, &default), ("config/default/budget.yaml", budget)]);
    assert_eq!(
        lost_about(&port, "budget.yaml"),
        [
            "`config/default/budget.yaml:4`: `spec.minAvailable: 1` of the PodDisruptionBudget `mini-controller-manager`: set \
             it in `config/manager/manager.yaml`, instead of `maxUnavailable`"
        ]
    );
}

#[test]
fn the_path_of_a_webhook_is_from_the_go_operator() {
    let path = mini_with(HOOKS, "/validate-g-x-io-v1-foo", "/m1");
    // Only the path is unusual.
    let only = path
        .replace("  failurePolicy: Ignore\n", "")
        .replace("  timeoutSeconds: 5\n", "")
        .replace("  matchPolicy: Exact\n", "")
        .replace("[DELETE]", "[CREATE, UPDATE]");
    for hooks in [path, only] {
        let text = &texts(&mini(&[(HOOKS, &hooks)]))["src/webhook/g/foo.rs"];
        let expected = "        // From the Go operator.\n        .path(\"/m1\")\n";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("From a flag"), "{text}");
        is_formatted(text.content());
    }
}
