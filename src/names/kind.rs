//! The name of a kind. It is also the name of a Rust type and of a Rust module.

use anyhow::{Result, bail, ensure};
use heck::{ToSnakeCase, ToUpperCamelCase};
use serde::Serialize;

use super::{
    ControllerName, Plural, allow_only, limit,
    plural::plural,
    read_or,
    rust::{has, module},
    traits,
};

/// A kind of objects: `Guestbook`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(String);

/// Names of types that break the code around them, by reason. They were found by compiling a
/// project for each name: `Clone`, `Box`, `Ok` and `Status` only look dangerous.
const TAKEN: &[(&str, &str)] = &[
    // No type can have it.
    ("it is a keyword of Rust", "Self"),
    // The type would shadow the name that the code beside it uses.
    (
        "the generated code uses the name from Rust's prelude",
        "Default Option Result String Vec",
    ),
    // The file of the type would have two types with this name.
    (
        "the file with its types imports another type with this name",
        "Condition Deserialize JsonSchema Serialize",
    ),
    // The file of the controller has its own item with this name, which hides the type from the `*`
    // import.
    (
        "the file with its controller uses another type with this name",
        "Action BTreeMap Children Context Controller Error EventType ObjectMeta ObjectRef Reconciler \
        ResourceExt Rule Verb",
    ),
    // Clippy refuses `New::new`, which kube derives.
    ("each kind has a constructor with this name", "New"),
];

impl Kind {
    const MAX: usize = 63;

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

    /// The usual plural: `guestbooks`.
    pub fn plural(&self) -> Plural {
        Plural::of(&self.lower())
    }

    fn read(text: &str) -> Result<Self> {
        if let Some(reason) = taken(text) {
            bail!("`{text}` cannot be a kind: {reason}, so add a word to it, as in `App{text}`");
        }
        let near = text.to_upper_camel_case();
        read_or(text, ("a kind", "Guestbook"), &near, Self::check)
    }

    fn check(text: &str) -> Result<Self> {
        ensure!(!text.is_empty(), "it must not be empty");
        let ok = |c: char| c.is_ascii_alphanumeric();
        allow_only(text, ok, ", only letters and digits")?;
        ensure!(
            text.starts_with(|c: char| c.is_ascii_uppercase()),
            "it must begin with an upper-case letter"
        );
        limit(text, Self::MAX)?;
        // `read` gives a better reason, but the suggested name may be taken, too.
        ensure!(taken(text).is_none(), "it is taken");
        Ok(Self(text.to_owned()))
    }

    /// The names of the kind in a controller's code. With the module of its `group`, they differ
    /// from the names of a kind with the same name in another group.
    pub fn identifiers(&self, group: Option<&str>) -> Identifiers {
        let (mut one, mut type_name) = (self.0.to_snake_case(), self.0.clone());
        if let Some(group) = group {
            type_name = format!("{}{type_name}", group.to_upper_camel_case());
            one = format!("{group}_{one}");
        }
        Identifiers {
            one: module(&one),
            many: module(&plural(&one)),
            type_name,
        }
    }
}

/// The names of a kind in Rust code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identifiers {
    /// An object: `http_route`.
    pub one: String,
    /// Several objects: `http_routes`.
    pub many: String,
    /// Its type: `HTTPRoute`.
    #[serde(rename = "type")]
    pub type_name: String,
}

traits!(Kind.0);

fn taken(kind: &str) -> Option<&'static str> {
    let (reason, _) = TAKEN.iter().find(|(_, names)| has(names, kind))?;
    Some(reason)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn error(text: &str) -> String {
        text.parse::<Kind>().unwrap_err().to_string()
    }

    #[test]
    fn a_kind_in_its_spellings() {
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
    fn a_kind_in_rust() {
        let cases = [
            ("Deployment", None, "deployment deployments Deployment"),
            ("HTTPRoute", None, "http_route http_routes HTTPRoute"),
            (
                "NetworkPolicy",
                None,
                "network_policy network_policies NetworkPolicy",
            ),
            ("Endpoints", None, "endpoints endpoints Endpoints"),
            ("Type", None, "type_ types Type"),
            (
                "Type",
                Some("air_traffic_control"),
                "air_traffic_control_type air_traffic_control_types AirTrafficControlType",
            ),
        ];
        for (kind, group, expected) in cases {
            let Identifiers {
                one,
                many,
                type_name,
            } = kind.parse::<Kind>().unwrap().identifiers(group);
            assert_eq!(format!("{one} {many} {type_name}"), expected);
        }
    }

    #[test]
    fn a_kind_with_no_room_for_an_ending_is_its_own_plural() {
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
                "`guestbook` is not a kind: it must begin with an upper-case letter; did you mean \
                 `Guestbook`?",
            ),
            (
                "guest-book",
                "`guest-book` is not a kind: `-` is not allowed, only letters and digits; did you \
                 mean `GuestBook`?",
            ),
            (
                "2fa",
                "`2fa` is not a kind: it must begin with an upper-case letter, as in `Guestbook`",
            ),
            (
                "Gästebuch",
                "`Gästebuch` is not a kind: `ä` is not allowed, only letters and digits, as in \
                 `Guestbook`",
            ),
            (
                "option",
                "`option` is not a kind: it must begin with an upper-case letter, as in \
                 `Guestbook`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected);
        }
        let long = "it has 64 characters, at most 63 are allowed, as in `Guestbook`";
        assert!(error(&"A".repeat(64)).ends_with(long));
    }

    #[test]
    fn a_taken_name_is_refused_with_who_has_it() {
        let cases = [
            (
                "Self",
                "`Self` cannot be a kind: it is a keyword of Rust, so add a word to it, as in \
                 `AppSelf`",
            ),
            (
                "Option",
                "`Option` cannot be a kind: the generated code uses the name from Rust's prelude, \
                 so add a word to it, as in `AppOption`",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(error(text), expected);
        }
    }

    #[test]
    fn names_that_only_look_dangerous_are_kinds() {
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
            assert!(text.parse::<Kind>().is_ok(), "{text}");
        }
    }

    /// If a template starts to use another type, a kind with the name of that type must not break.
    #[test]
    fn every_type_that_the_templates_name_is_taken() {
        // Names that are not taken: macros and values, which have their own namespace; items that
        // are reached through a type or a trait; and imports of controllers for built-in kinds
        // only.
        const HARMLESS: &[&str] = &[
            "CustomResource",
            "KubeSchema",
            "Err",
            "Ok",
            "Some",
            "Object",
            "WriteStatus",
            "Infallible",
        ];
        let known: BTreeSet<&str> = TAKEN
            .iter()
            .flat_map(|(_, names)| names.split(' '))
            .chain(HARMLESS.iter().copied())
            .collect();
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
        let mut seen = BTreeSet::new();
        for folder in ["api", "part"] {
            for entry in walkdir::WalkDir::new(templates.join(folder)) {
                let entry = entry.unwrap();
                let path = entry.path().to_string_lossy();
                // The imports of a conversion do not conflict with any name of a kind.
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

    /// The types that a template imports, or names without a path: not in its comments, texts,
    /// attributes and tests.
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

    /// Replaces everything between two marks, and the marks.
    fn replace(text: &str, from: &str, to: &str, by: &str) -> String {
        let mut kept = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(from) {
            kept = kept + before + by;
            rest = after.split_once(to).map_or("", |(_, rest)| rest);
        }
        kept + rest
    }
}
