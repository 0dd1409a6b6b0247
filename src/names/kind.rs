//! The name of a kind, which is a Rust type, a Rust module and a Kubernetes name at once.

use std::iter;

use anyhow::{Result, ensure};
use heck::{ToSnakeCase, ToUpperCamelCase};
use serde::Serialize;

use super::{
    check::{allow_only, limit, names, read_or},
    kubernetes::{ControllerName, Plural},
    plural::plural,
    rust::module,
};

names! {
    /// A kind of objects: `Guestbook`. The kind of a CRD can also be `postgresql` or `guest-book`.
    Kind: "a kind", "Guestbook", str::to_upper_camel_case, check;
}

/// The longest kind that an API server takes.
const MAX: usize = 63;

/// The longest identifier for objects of a kind, so that each line of a controller has room for it.
const LONGEST: usize = 27;

/// Names that the Rust type of a kind cannot have, because the code around the type would not compile. Found by
/// compiling a project for each name: `Clone`, `Box`, `Ok` and `Status` do compile.
const TAKEN: [&str; 29] = [
    // A keyword.
    "Self",
    // The code beside the type uses the item with this name from Rust's prelude.
    "Default",
    "Option",
    "Result",
    "String",
    "ToString",
    "Vec",
    // The file of the types imports another type of this name.
    "Condition",
    "Deserialize",
    "JsonSchema",
    "Serialize",
    // The file of the controller imports or declares another type of this name.
    "Action",
    "BTreeMap",
    "Children",
    "Context",
    "Controller",
    "Error",
    "EventType",
    "Infallible",
    "ObjectMeta",
    "ObjectRef",
    "Reconciler",
    "ResourceExt",
    "Rule",
    "Verb",
    // Clippy refuses `New::new`, which kube derives.
    "New",
    // The code that kube derives uses these names for a type parameter, a type and a trait.
    "Repr",
    "S",
    "SerializeStruct",
];

/// More types that a types file from a CRD may import.
const TAKEN_IN_TYPES_FROM_CRD: [&str; 3] = ["IntOrString", "Time", "Value"];

/// The types that the file of webhooks declares.
const TAKEN_BY_WEBHOOKS: [&str; 2] = ["Defaulter", "Validator"];

impl Kind {
    /// Refuses a kind that is not in upper camel case, because it is probably misspelled.
    ///
    /// # Errors
    /// Suggest the kind in upper camel case.
    pub fn ensure_usual(&self) -> Result<()> {
        let near = self.0.to_upper_camel_case();
        read_or(&self.0, ("a kind", "Guestbook"), &near, check_usual)
    }

    /// The kind as a Rust type, or as the start of the name of one: `Postgresql` for `postgresql`.
    pub fn in_rust(&self) -> String {
        in_rust(&self.0)
    }

    /// The singular of the resource: `guestbook`.
    pub fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The Rust module of the kind: `http_route`.
    pub fn module(&self) -> String {
        module(&self.0.to_snake_case())
    }

    /// The default name of the kind's controller: `guestbook`.
    pub fn controller(&self) -> ControllerName {
        ControllerName::of(self.lower())
    }

    /// Whether a name is that of the kind's own controller, in this or another form: `httproute` or `http-route`.
    pub fn is_of_controller(&self, name: &ControllerName) -> bool {
        *name == self.controller() || name.module() == self.module()
    }

    /// The usual plural: `guestbooks`.
    pub fn plural(&self) -> Plural {
        Plural::of(&self.lower())
    }

    /// Whether the Rust type of the kind needs another name. `has_types_from_crd` says whether the types come from a CRD.
    pub fn is_taken(&self, has_types_from_crd: bool) -> bool {
        let name = self.in_rust();
        TAKEN.contains(&&*name) || has_types_from_crd && TAKEN_IN_TYPES_FROM_CRD.contains(&&*name)
    }

    /// Whether the file of the kind's webhooks declares a type of this name.
    pub fn is_taken_by_webhooks(&self) -> bool {
        TAKEN_BY_WEBHOOKS.contains(&&*self.in_rust())
    }

    /// The name of the Rust type, with the last words of the module of the kind's group as a prefix: `ShopController`. It
    /// has at most the length of a kind, `suffix` included.
    pub fn type_in(&self, group: &str, suffix: &str) -> String {
        let mut kind = self.in_rust();
        kind.truncate(MAX - suffix.len());
        let room = MAX - suffix.len() - kind.len();
        let words = last_words(group, |words| in_type(words).len() <= room);
        let mut prefix = in_type(words.unwrap_or_else(|| last_word(group)));
        prefix.truncate(room);
        prefix + &kind + suffix
    }

    /// The identifiers for objects of the kind in a controller's code: the last words of a long name.
    pub fn identifiers(&self) -> Identifiers {
        Identifiers::within(&self.0.to_snake_case(), "")
    }

    /// Like [`Kind::identifiers`], with the module of the `group` as a prefix, to distinguish kinds of the same name in
    /// different groups, and with a `suffix` such as `_2`.
    pub fn identifiers_in(&self, group: &str, suffix: &str) -> Identifiers {
        let name = format!("{group}_{}", self.0.to_snake_case());
        Identifiers::within(&name, suffix)
    }
}

/// The last words of `name`, which is in snake case: as many as `fits` allows.
fn last_words(name: &str, fits: impl Fn(&str) -> bool) -> Option<&str> {
    let ends = name.match_indices('_').map(|(end, _)| &name[end + 1..]);
    iter::once(name).chain(ends).find(|words| fits(words))
}

fn last_word(name: &str) -> &str {
    name.rsplit('_').next().unwrap_or(name)
}

/// Words in snake case as the start of a type's name, which cannot begin with a digit: `_3scale`.
fn in_type(words: &str) -> String {
    let digit = if words.starts_with(|c: char| c == '_' || c.is_ascii_digit()) {
        "_"
    } else {
        ""
    };
    format!("{digit}{}", words.to_upper_camel_case())
}

/// The kind of a CRD as a Rust type.
pub(crate) fn in_rust(kind: &str) -> String {
    match check_usual(kind) {
        Ok(()) => kind.to_owned(),
        Err(_) => kind.to_upper_camel_case(),
    }
}

/// Allows what the API server allows.
fn check(text: &str) -> Result<()> {
    ensure!(!text.is_empty(), "it must not be empty");
    allow_only(
        text,
        |c| c.is_ascii_alphanumeric() || c == '-',
        ", only letters and digits",
    )?;
    ensure!(
        text.starts_with(|c: char| c.is_ascii_alphabetic()),
        "it must begin with a letter"
    );
    ensure!(!text.ends_with('-'), "it must not end with `-`");
    limit(text, MAX)
}

fn check_usual(text: &str) -> Result<()> {
    allow_only(
        text,
        |c| c.is_ascii_alphanumeric(),
        ", only letters and digits",
    )?;
    ensure!(
        text.starts_with(|c: char| c.is_ascii_uppercase()),
        "it must begin with an upper-case letter"
    );
    Ok(())
}

/// The identifiers for objects of a kind in Rust code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identifiers {
    /// One of its objects: `http_route`.
    pub one: String,
    /// Its objects: `http_routes`.
    pub many: String,
}

impl Identifiers {
    /// The identifiers with `suffix` at the end.
    fn of(one: &str, suffix: &str) -> Self {
        Self {
            one: module(&format!("{one}{suffix}")),
            many: module(&format!("{}{suffix}", plural(one))),
        }
    }

    /// The identifiers of the last words of `name`, which is in snake case, with at most [`LONGEST`] characters.
    fn within(name: &str, suffix: &str) -> Self {
        let fits = |words: &str| Self::of(words, suffix).many.len() <= LONGEST;
        let words = last_words(name, fits).unwrap_or_else(|| {
            // A plural can have two more letters, and a name that begins with a digit gets one more character.
            &last_word(name)[..LONGEST - "_es".len() - suffix.len()]
        });
        Self::of(words, suffix)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn error(text: &str) -> String {
        let usual = text.parse::<Kind>().and_then(|kind| kind.ensure_usual());
        usual.unwrap_err().to_string()
    }

    #[test]
    fn a_kind_has_a_lower_case_name_and_a_module() {
        let cases = [
            ("Guestbook", "guestbook", "guestbook"),
            ("HTTPRoute", "httproute", "http_route"),
            ("Ec2Instance", "ec2instance", "ec2_instance"),
            ("Type", "type", "type_"),
            ("Mod", "mod", "mod_"),
            ("Match", "match", "match_"),
            ("Override", "override", "override_"),
            ("Aux", "aux", "aux_"),
            ("X", "x", "x"),
        ];
        for (text, lower, module) in cases {
            let kind: Kind = text.parse().unwrap();
            assert_eq!(kind.as_str(), text);
            assert_eq!(kind.lower(), lower);
            assert_eq!(kind.module(), module);
        }
    }

    #[test]
    fn irregular_plurals() {
        let cases = [
            ("Guestbook", "guestbooks"),
            ("Person", "people"),
            ("Policy", "policies"),
            ("Gateway", "gateways"),
            ("Index", "indices"),
            ("Sheep", "sheep"),
            ("Status", "statuses"),
            ("Ingress", "ingresses"),
            ("Endpoints", "endpoints"),
            ("HTTPRoute", "httproutes"),
        ];
        for (kind, plural) in cases {
            assert_eq!(kind.parse::<Kind>().unwrap().plural().as_str(), plural);
        }
    }

    #[test]
    fn identifiers_of_a_kind() {
        let cases = [
            ("Deployment", None, "deployment deployments"),
            ("HTTPRoute", None, "http_route http_routes"),
            ("NetworkPolicy", None, "network_policy network_policies"),
            ("Endpoints", None, "endpoints endpoints"),
            ("Type", None, "type_ types"),
            ("Self", None, "self_ selfs"),
            (
                "ValidatingAdmissionPolicyBinding",
                None,
                "admission_policy_binding admission_policy_bindings",
            ),
            (
                "Abcdefghijklmnopqrstuvwxyzab",
                None,
                "abcdefghijklmnopqrstuvwx abcdefghijklmnopqrstuvwxes",
            ),
            (
                "Type",
                Some("air_traffic_control"),
                "air_traffic_control_type air_traffic_control_types",
            ),
            ("Type", Some("_3scale"), "_3scale_type _3scale_types"),
            (
                "Type",
                Some("gateway_api_of_the_whole_company"),
                "of_the_whole_company_type of_the_whole_company_types",
            ),
        ];
        for (text, group, expected) in cases {
            let kind: Kind = text.parse().unwrap();
            let Identifiers { one, many } = match group {
                Some(group) => kind.identifiers_in(group, ""),
                None => kind.identifiers(),
            };
            assert_eq!(format!("{one} {many}"), expected);
        }
        let kind: Kind = "ValidatingAdmissionPolicyBinding".parse().unwrap();
        let Identifiers { one, many } = kind.identifiers_in("shop", "_12");
        assert_eq!(
            format!("{one} {many}"),
            "policy_binding_12 policy_bindings_12"
        );
    }

    #[test]
    fn a_type_with_the_name_of_its_group() {
        let cases = [
            ("shop", "ShopController"),
            ("air_traffic_control", "AirTrafficControlController"),
            ("_3scale", "_3scaleController"),
            ("type_", "TypeController"),
        ];
        for (group, expected) in cases {
            let kind: Kind = "Controller".parse().unwrap();
            assert_eq!(kind.type_in(group, ""), expected);
        }
        let long = "gateways_and_routes_for_all_of_the_clusters_that_belong_to_us_all";
        let (a, g) = (&*"A".repeat(63), &*"g".repeat(63));
        for (kind, group, suffix, expected) in [
            (
                "Controller",
                long,
                "2",
                "AndRoutesForAllOfTheClustersThatBelongToUsAllController2",
            ),
            ("Controller", g, "", &format!("G{}Controller", &g[..52])),
            (a, "shop", "", a),
            (a, "shop", "2", &format!("{}2", &a[..62])),
        ] {
            let kind: Kind = kind.parse().unwrap();
            assert_eq!(kind.type_in(group, suffix), expected);
        }
    }

    #[test]
    fn a_kind_of_maximum_length_is_its_own_plural() {
        let kind: Kind = format!("A{}", "b".repeat(62)).parse().unwrap();
        assert_eq!(kind.plural().as_str(), kind.lower());
    }

    #[test]
    fn each_misspelling_has_its_own_text() {
        let cases = [
            (
                "",
                "`` is not a kind: it must not be empty, as in `Guestbook`",
            ),
            (
                "guestbook",
                "`guestbook` is not a kind: it must begin with an upper-case letter, as in \
                 `Guestbook`",
            ),
            (
                "guest-book",
                "`guest-book` is not a kind: `-` is not allowed, only letters and digits, as in \
                 `GuestBook`",
            ),
            (
                "2fa",
                "`2fa` is not a kind: it must begin with a letter, as in `Guestbook`",
            ),
            (
                "Gästebuch",
                "`Gästebuch` is not a kind: `ä` is not allowed, only letters and digits, as in \
                 `Guestbook`",
            ),
            (
                "option",
                "`option` is not a kind: it must begin with an upper-case letter, as in \
                 `Option`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected);
        }
        let long = "it has 64 characters, at most 63 are allowed, as in `Guestbook`";
        assert!(error(&"A".repeat(64)).ends_with(long));
    }

    fn kind(text: &str) -> Kind {
        text.parse().unwrap()
    }

    #[test]
    fn a_kind_of_a_crd_may_be_in_lower_case_or_have_dashes() {
        for (text, in_rust, module) in [
            ("postgresql", "Postgresql", "postgresql"),
            ("guest-book", "GuestBook", "guest_book"),
            ("Guest-Book", "GuestBook", "guest_book"),
            ("HTTPRoute", "HTTPRoute", "http_route"),
        ] {
            assert_eq!(kind(text).in_rust(), in_rust);
            assert_eq!(kind(text).module(), module);
        }
        for text in ["guest-", "-book", "guest_book"] {
            assert!(text.parse::<Kind>().is_err(), "{text}");
        }
        assert!(kind("option").is_taken(false));
        assert_eq!(kind("option").type_in("shop", ""), "ShopOption");
    }

    #[test]
    fn types_from_a_crd_and_webhooks_take_more_names() {
        assert!(kind("Option").is_taken(false) && kind("S").is_taken(false));
        assert!(kind("Time").is_taken(true) && !kind("Time").is_taken(false));
        assert!(kind("Validator").is_taken_by_webhooks() && !kind("Validator").is_taken(true));
    }

    #[test]
    fn names_that_compile_are_allowed() {
        for text in [
            "Status",
            "Clone",
            "Send",
            "Box",
            "Ok",
            "Spec",
            "Pod",
            "Deployment",
        ] {
            assert!(!text.parse::<Kind>().unwrap().is_taken(true), "{text}");
        }
    }

    /// If a template starts to use another type, a kind with the name of that type must not break.
    #[test]
    fn no_kind_has_the_name_of_a_type_in_the_templates() {
        // Macros and values, which live beside the types of the same name; what is reached through
        // a type or a trait; and what only the controllers of built-in kinds import.
        const HARMLESS: &[&str] = &[
            "CustomResource",
            "KubeSchema",
            "Err",
            "Ok",
            "Some",
            "Object",
            "WriteStatus",
        ];
        let known: BTreeSet<&str> = TAKEN
            .into_iter()
            .chain(TAKEN_BY_WEBHOOKS)
            .chain(HARMLESS.iter().copied())
            .collect();
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        let mut seen = BTreeSet::new();
        for folder in ["api", "part", "webhook"] {
            for entry in walkdir::WalkDir::new(templates.join(folder)) {
                let entry = entry.unwrap();
                let path = entry.path().to_string_lossy();
                // A conversion refers to the types by paths, so no name of a kind can conflict with its imports.
                let has_the_kind = !path.contains("conversion_module");
                if has_the_kind && path.ends_with(".rs.tera") {
                    seen.extend(types(&fs::read_to_string(entry.path()).unwrap()));
                }
            }
        }
        assert!(
            seen.contains("Condition") && seen.contains("Action"),
            "{seen:?}"
        );
        let new: Vec<_> = seen
            .iter()
            .filter(|name| !known.contains(name.as_str()))
            .collect();
        assert!(
            new.is_empty(),
            "in the templates, but not in TAKEN: {new:?}"
        );
    }

    /// The types that a template imports, or names without a path. Ignores comments, strings, attributes and tests.
    fn types(template: &str) -> BTreeSet<String> {
        let code = template.split("#[cfg(test)]").next().unwrap();
        let code = [
            ("[#", "#]", ""),
            ("//", "\n", ""),
            ("[%", "%]", ""),
            ("[=", "=]", "_"),
            ("\"", "\"", ""),
            ("#[", "]", ""),
        ]
        .iter()
        .fold(code.to_owned(), |code, (from, to, by)| {
            replace(&code, from, to, by)
        });
        code.split(';')
            .map(
                |statement| match statement.trim_start().strip_prefix("use ") {
                    Some(import) => import.replace("::", " "),
                    None => statement.to_owned(),
                },
            )
            .flat_map(|statement| {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
                let words: Vec<_> = statement.split(|c| !word(c)).map(str::to_owned).collect();
                words
            })
            .filter_map(|path| path.split(':').next().map(str::to_owned))
            .filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
            .filter(|name| name.contains(|c: char| c.is_ascii_lowercase()))
            .collect()
    }

    /// Replaces everything between two markers, and the markers.
    fn replace(text: &str, from: &str, to: &str, by: &str) -> String {
        let mut stripped = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(from) {
            stripped = stripped + before + by;
            rest = after.split_once(to).map_or("", |(_, rest)| rest);
        }
        stripped + rest
    }
}
