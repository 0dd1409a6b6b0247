//! Names that sequences are drawn from. Most of these names may break code or manifests.

/// Groups: keywords, names of crates and modules, digits, dots and dashes, and the empty name, for which the domain is
/// the whole group. No name is long, because the names in a controller may contain the group, and then the code has the
/// format of rustfmt only up to a [length](../../docs/layout.md#long-names).
pub const GROUPS: &[&str] = &[
    "",
    "3scale",
    "a",
    "x-y.ops",
    "api",
    "apps",
    "batch-jobs",
    "const",
    "core-x",
    "kube",
    "metadata",
    "mod",
    "null",
    "on",
    "self",
    "shop",
    "std",
    "type",
    "v1",
    "webhook",
    "x.k8s.io",
];

/// Kinds of the project.
pub const KINDS: &[&str] = &[
    // Ordinary kinds, and kinds with an irregular plural or without a plural.
    "Guestbook",
    "Person",
    "Policy",
    "Index",
    "Sheep",
    "Data",
    "Analysis",
    "Settings",
    "ClusterRoleBinding",
    // Acronyms and digits.
    "HTTPRoute",
    "URL",
    "DNSRecord",
    "IPv4Pool",
    "S3Bucket",
    "Ec2Instance",
    "OAuth2Client",
    "K8s",
    "A1",
    "V1",
    "READY",
    "NAME",
    // One letter.
    "A",
    "K",
    "S",
    "T",
    "X",
    // Keywords of Rust, crates, and names that Windows reserves.
    "Async",
    "Con",
    "Core",
    "Crate",
    "Dyn",
    "Fn",
    "Gen",
    "Kube",
    "Match",
    "Mod",
    "Self",
    "Std",
    "Super",
    "Type",
    // Names of Rust's prelude.
    "Box",
    "Clone",
    "Copy",
    "Default",
    "Drop",
    "Eq",
    "Err",
    "From",
    "Into",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Result",
    "Send",
    "Sized",
    "Some",
    "String",
    "ToOwned",
    "ToString",
    "Vec",
    // Types that generated files import or declare.
    "Action",
    "BTreeMap",
    "Children",
    "Condition",
    "Context",
    "Controller",
    "CustomResource",
    "Defaulter",
    "Deserialize",
    "Error",
    "EventType",
    "Hub",
    "Infallible",
    "IntOrString",
    "JsonSchema",
    "KubeSchema",
    "ListMerge",
    "Message",
    "New",
    "ObjectMeta",
    "ObjectRef",
    "Reason",
    "Reconciler",
    "ResourceExt",
    "Rule",
    "Schema",
    "Serialize",
    "Time",
    "Validator",
    "Value",
    "Verb",
    // Functions, modules and variables of generated files.
    "All",
    "Api",
    "Image",
    "Labels",
    "Name",
    "Note",
    "Object",
    "Observe",
    "Owned",
    "Readiness",
    "ReferencedSecret",
    "RestrictedPod",
    "Sample",
    "Storage",
    "Tests",
    "Webhook",
    // Suffixes of types.
    "Spec",
    "Status",
    "GuestbookList",
    "GuestbookSpec",
    // Kinds of Kubernetes.
    "ConfigMap",
    "Deployment",
    "Event",
    "Namespace",
    "Node",
    "Pod",
    "Secret",
    "Service",
];

/// Versions of a kind.
pub const VERSIONS: &[&str] = &["v1", "v1alpha1", "v1beta1", "v1beta12", "v2", "v10"];

/// Kinds of Kubernetes that a controller may own or watch.
pub const BUILTIN: &[&str] = &[
    "v1/ConfigMap",
    "v1/Secret",
    "v1/Service",
    "v1/Pod",
    "v1/Event",
    "v1/ServiceAccount",
    "v1/Namespace",
    "v1/Node",
    "v1/PersistentVolumeClaim",
    "apps/v1/Deployment",
    "apps/v1/StatefulSet",
    "apps/v1/DaemonSet",
    "batch/v1/Job",
    "batch/v1/CronJob",
    "events.k8s.io/v1/Event",
    "networking.k8s.io/v1/Ingress",
    "networking/v1/NetworkPolicy",
    "storage/v1/StorageClass",
    "rbac.authorization.k8s.io/v1/Role",
];

/// Kinds of the crate `widgets`: version, kind, path, and further flags.
pub const EXTERNAL: &[(&str, &str, &str, &[&str])] = &[
    ("v1", "Widget", "widgets::v1::Widget", &[]),
    (
        "v1alpha1",
        "HTTPBox",
        "widgets::v1alpha1::HttpBox",
        &["--namespaced=false", "--plural=crates"],
    ),
    (
        "v1beta1",
        "Lid",
        "widgets::v1beta1::Lid",
        &["--namespaced=false"],
    ),
    // The file of the controller imports another `Context`.
    ("v1", "Context", "widgets::v1::Context", &[]),
];

/// Domains. No other test has objects in these domains, so the CRDs can be applied to a shared cluster. None is long,
/// because a domain can be the whole group.
pub const DOMAINS: &[&str] = &["seq.example.com", "seq", "s.e-q.io", "3.seq.net", "k8s.io"];

/// Repositories. The last part of the path is the name of the crate.
pub const REPOS: &[&str] = &[
    "guestbook",
    "github.com/me/type-operator",
    "https://git.example.com:8443/My.Op",
    "git@github.com:me/a_b.git",
    "x",
    "lib",
    "shop",
    "core2",
    "example.com/o'x/y",
];

/// Names of projects.
pub const PROJECTS: &[&str] = &["library", "a", "true", "on-1", "null", "x9-y"];

/// Texts of one line, with characters that are special in YAML, Rust, TOML, make, a shell, Markdown or a template.
pub const TEXTS: &[&str] = &[
    "use v1",
    "The Guestbook Authors",
    "O'Reilly & \"Sons\" <x@example.com>",
    "a: b # c",
    "- x",
    "{{ .Values.x }}",
    "[= api.kind =] [% if %] [# #]",
    "$(HOME) ${HOME} `id` \\",
    "100% *really*",
    "日本語 é",
    "null",
    "1.0",
    "@me",
    "!tag",
    "| > %",
    "*/ // \"#",
    "__x__ [a](b)",
];

/// Images.
pub const IMAGES: &[&str] = &[
    "memcached:1.6.26-alpine3.19",
    "busybox",
    "registry.example.com:5000/a/b_c.d:v1.0-x",
    "ghcr.io/x/y@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
];

/// Commands of containers, with commas between the words.
pub const COMMANDS: &[&str] = &[
    "memcached,--memory-limit=64,-v",
    "sh,-c,echo \"$X\" '{}' \\n",
    "x",
];

/// Names of controllers.
pub const CONTROLLERS: &[&str] = &[
    "backup",
    "match",
    "mod",
    "a",
    "tests",
    "nightly-index",
    "kube",
    "x9",
    "ready",
];

/// Short names of a kind for kubectl.
pub const SHORT_NAMES: &[&str] = &["gb", "x", "a1", "gb,g", "no", "y"];

/// Plurals.
pub const PLURALS: &[&str] = &["things", "x", "a-b", "people"];

/// Paths of webhooks.
pub const PATHS: &[&str] = &["/mutate", "/custom/validate-it", "/a", "/a-b_c.d"];

/// A template of a `CustomResourceDefinition`. The types that are generated from it need all possible imports.
pub const CRD: &str = include_str!("crd.yaml");
