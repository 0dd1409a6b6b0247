use super::*;
use crate::crd::tests::is_formatted;

const PATHS: [&str; 2] = ["src/api/shop/v2/book.rs", "src/api/shop/v1/book.rs"];

fn file(side: usize, text: &str) -> File<'_> {
    File {
        path: PATHS[side],
        text: Some(text),
    }
}

/// The code between two files with these items, after the imports and the spec with these fields.
fn code(spoke: [&str; 3], hub: [&str; 3]) -> Code {
    let texts = [spoke, hub].map(|[imports, fields, items]| {
        format!(
            "{imports}\n#[derive(CustomResource)]\n#[kube(group = \"shop\", kind = \"Book\")]\n\
             pub struct BookSpec {{ {fields} }}\n{items}\n"
        )
    });
    convert("Book", file(0, &texts[0]), file(1, &texts[1]))
}

/// The code between two equal versions.
fn equal(imports: &str, fields: &str, items: &str) -> String {
    code([imports, fields, items], [imports, fields, items]).text
}

/// The values of the hub's fields in the conversion up.
fn values(code: &str) -> Vec<&str> {
    let (_, body) = code.split_once(" = value;").unwrap();
    let (_, body) = body.split_once("Self {").unwrap();
    let (body, _) = body.split_once('}').unwrap();
    let values = body.split(',').map(str::trim);
    values.filter(|value| !value.is_empty()).collect()
}

#[test]
fn a_type_is_the_same_in_both_versions_if_its_full_path_is() {
    let cases = [
        // imports, the type of a field `a`, its value
        ("", "String", "a"),
        ("", "Option<Vec<i64>>", "a"),
        ("", "Box<str>", "a: through_json(&a)?"),
        ("use k8s_openapi::a::Time;", "Time", "a"),
        ("use k8s_openapi::{a as b, c::{self, D}};", "b::Time", "a"),
        ("use k8s_openapi::{a as b, c::{self, D}};", "Vec<c::D>", "a"),
        ("use crate::api::common::Time;", "Time", "a"),
        ("use super::super::common::Time;", "Option<Time>", "a"),
        (
            "use std::collections::HashMap;",
            "HashMap<String, f64>",
            "a",
        ),
        ("", "serde_json::Map<String, serde_json::Value>", "a"),
        // These are different types in each version, or unknown ones.
        ("use super::other::Time;", "Time", "a: through_json(&a)?"),
        ("use super::*;", "Time", "a: through_json(&a)?"),
        ("mod inner {}", "inner::Time", "a: through_json(&a)?"),
        ("", "[u8; 4]", "a: through_json(&a)?"),
        ("", "<Time as Trait>::Type", "a: through_json(&a)?"),
        ("", "impl_type!()", "a: through_json(&a)?"),
    ];
    for (imports, ty, expected) in cases {
        let code = equal(imports, &format!("pub a: {ty}"), "");
        assert_eq!(values(&code), [expected], "{imports} {ty}");
        assert_eq!(code.contains("TryFrom"), expected != "a", "{ty}");
    }
}

#[test]
fn a_type_of_the_file_is_taken_apart() {
    let items = [
        // the item `Item`, the value of a field of this type
        ("pub struct Item { pub b: i32 }", "a: a.into()"),
        (
            "pub(crate) struct Item { pub(crate) b: i32 }",
            "a: a.into()",
        ),
        ("pub struct Item(pub i32);", "a: a.into()"),
        ("pub enum Item { B, C(i32) }", "a: a.into()"),
        (
            "type Item = Other; pub struct Other { pub b: i32 }",
            "a: a.into()",
        ),
        ("type Item = Vec<String>;", "a"),
        // What another module cannot name, or what is not simple.
        ("struct Item { pub b: i32 }", "a: through_json(&a)?"),
        ("pub struct Item { b: i32 }", "a: through_json(&a)?"),
        ("pub struct Item(i32);", "a: through_json(&a)?"),
        (
            "pub struct Item { #[cfg(unix)] pub b: i32 }",
            "a: through_json(&a)?",
        ),
        ("pub enum Item { B { c: i32 } }", "a: through_json(&a)?"),
        ("pub struct Item; ", "a: through_json(&a)?"),
        ("type Item = Item;", "a: through_json(&a)?"),
        // What contains such a type.
        ("pub struct Item { pub b: [i32; 2] }", "a: a.try_into()?"),
        (
            "pub struct Item { pub b: Inner } pub struct Inner { pub c: [i32; 2] }",
            "a: a.try_into()?",
        ),
    ];
    for (item, expected) in items {
        let code = equal("", "pub a: Item", item);
        assert_eq!(values(&code), [expected], "{item}");
    }
}

#[test]
fn a_version_can_use_the_types_of_another_one() {
    let item = "pub struct Item { pub b: [i32; 2] }";
    let hub = ["", "pub a: Item", item];
    // The second path is valid if v1/mod.rs exports the type.
    for path in [
        "super::super::v1::book::Item",
        "crate::api::shop::v1::book::Item",
        "crate::api::shop::v1::Item",
    ] {
        let field = format!("pub a: {path}");
        let imported = format!("use {path};");
        for spoke in [["", &field, ""], [&imported, "pub a: Item", ""]] {
            let code = code(spoke, hub).text;
            assert_eq!(values(&code), ["a"], "{spoke:?}");
            assert_eq!(code.matches("impl From").count(), 2, "{code}");
        }
    }
    // The spoke has a type of this name, but the hub uses another one.
    let field = "pub a: super::Item";
    let code = code(["", "pub a: Item", item], ["", field, ""]).text;
    assert_ne!(values(&code), ["a"]);
}

#[test]
fn types_that_contain_themselves_are_converted() {
    let item = "pub struct Item { pub children: Vec<Item>, pub more: Option<Vec<Item>> }";
    let code = equal("", "pub a: Item", item);
    assert_eq!(
        code.matches("more: more.map(self::list)").count(),
        2,
        "{code}"
    );
    let newtype = equal("", "pub a: Item", "pub struct Item(pub Vec<Item>);");
    assert!(newtype.contains("Self(self::list(value.0))"), "{newtype}");
}

/// The value that the hub has in the field `a` of type `Item0`, if the spoke has no such field.
fn first_item(items: &str) -> String {
    let code = code(["", "", ""], ["", "pub a: Item0", items]).text;
    let (_, value) = code.split_once("            a: ").unwrap();
    let (value, _) = value.split_once("        }\n    }\n}").unwrap();
    value.split_whitespace().collect()
}

/// Such types do not compile, or are unusual. They must not end the program, nor fill the memory.
#[test]
fn the_first_value_of_a_type_ends_whatever_the_type_contains() {
    for item in [
        "pub struct Item0 { pub b: Item1 } pub struct Item1 { pub c: Item0 }",
        "pub struct Item0 { pub b: Item1 } pub enum Item1 { C(Item0) }",
        "pub struct Item0(pub Item1); pub struct Item1(pub Item0);",
    ] {
        let value = first_item(item);
        assert_eq!(value.matches("Default::default()").count(), 1, "{value}");
        assert_eq!(value.matches("Item0").count(), 1, "{value}");
    }
    assert_eq!(
        first_item(
            "pub struct Item0 { pub b: Item1, pub c: Item1 } pub struct Item1 { pub d: u8 }"
        ),
        "hub::Item0{b:hub::Item1{d:0},c:hub::Item1{d:0},},"
    );
    let chain = (0..10_000).map(|depth| {
        let next = depth + 1;
        format!("pub struct Item{depth} {{ pub b: Item{next}, pub c: Item{next} }}")
    });
    let value = first_item(&chain.collect::<String>());
    assert!(value.contains("Default::default()"), "{value}");
    assert!(value.len() < 10_000, "{value}");
}

#[test]
fn a_field_of_one_version_has_its_default_in_the_other_one() {
    let cases = [
        // the field `a`, other items, its value
        ("pub a: Option<Item>", "", "None"),
        ("pub a: u16", "", "0"),
        (
            "#[serde(default = \"one\")] pub a: i32",
            "fn one() -> i32 { -1 }",
            "-1",
        ),
        (
            "#[serde(rename = \"b\", default = \"one\")] pub a: String",
            "fn one() -> String { \"one\\n\".into() }",
            "\"one\\n\".to_owned()",
        ),
        (
            "#[serde(default = \"one\")] pub a: Item",
            "fn one() -> Item { Item::B } pub enum Item { A, B }",
            "hub::Item::B",
        ),
        // Only a simple value can stand in another file.
        (
            "#[serde(default = \"one\")] pub a: i32",
            "fn one() -> i32 { CONSTANT }",
            "0",
        ),
        (
            "pub a: Item",
            "#[derive(Clone, Default)] pub struct Item { pub b: i32 }",
            "hub::Item::default()",
        ),
        (
            "pub a: Item",
            "pub struct Item(pub String); impl Default for Item {}",
            "hub::Item::default()",
        ),
        (
            "pub a: Item",
            "pub struct Item(pub String);",
            "hub::Item(String::new())",
        ),
        ("pub a: [i32; 2]", "", "Default::default()"),
    ];
    for (field, items, expected) in cases {
        let code = code(["", "", ""], ["", field, items]);
        let line = format!("            a: {expected},");
        assert!(
            code.text.lines().any(|other| other == line),
            "{field}: {}",
            code.text
        );
    }
}

#[test]
fn the_status_is_converted_if_both_versions_have_one() {
    let own = ", status = \"State\"";
    let cases = [
        ([own, own], true, 4),
        ([own, ""], false, 2),
        (["", ""], false, 2),
        // Both versions have the same type.
        (
            [
                ", status = \"Shared\"",
                ", status = \"super::super::common::Shared\"",
            ],
            true,
            2,
        ),
    ];
    for (statuses, has_status, implementations) in cases {
        let texts = statuses.map(|status| {
            format!(
                "use super::super::common::Shared;\n#[kube(kind = \"Book\"{status})]\n\
                 pub struct BookSpec {{}}\npub struct State {{ pub a: i32 }}\n"
            )
        });
        let code = convert("Book", file(0, &texts[0]), file(1, &texts[1]));
        assert_eq!(code.has_status, has_status, "{statuses:?}");
        assert_eq!(
            code.text.matches("impl ").count(),
            implementations,
            "{statuses:?}"
        );
    }
}

/// The code between versions with a status `State`, for the items and imports of each version.
fn with_status(items: [&str; 2]) -> Code {
    let texts = items.map(|items| {
        format!("{items}\n#[kube(kind = \"Book\", status = \"State\")]\npub struct BookSpec {{}}\n")
    });
    convert("Book", file(0, &texts[0]), file(1, &texts[1]))
}

#[test]
fn a_status_in_another_file_is_converted_unless_both_versions_share_it() {
    let state = "pub struct State { pub a: i32 }";
    for items in [
        ["use super::status::State;"; 2],
        ["use super::status::*;"; 2],
        ["use super::status::*;", "use super::status::State;"],
        ["use super::status::State;", state],
        ["state!();"; 2],
        // One name in two types.
        ["use crate::a::*; use super::*;"; 2],
        ["use crate::a::*; type State = Of<Own>; struct Own;"; 2],
    ] {
        let code = with_status(items);
        assert!(code.has_status);
        for part in [
            "type SpokeStatus = <spoke::Book as kube::core::object::HasStatus>::Status;\n",
            "type HubStatus = <hub::Book as kube::core::object::HasStatus>::Status;\n",
            "impl TryFrom<SpokeStatus> for HubStatus {\n    type Error = serde_json::Error;\n",
            "    fn try_from(value: SpokeStatus) -> Result<Self, Self::Error> {\n",
            "        through_json(&value)\n",
            "impl TryFrom<HubStatus> for SpokeStatus {\n",
            "fn through_json<",
        ] {
            assert!(code.text.contains(part), "{items:?}: {part}: {}", code.text);
        }
    }
    for items in [
        [
            "use super::super::status::State;",
            "use crate::api::shop::status::State;",
        ],
        [
            "use super::super::status::*;",
            "use crate::api::shop::status::*;",
        ],
        ["use crate::a::*;", "use crate::a::State;"],
        ["use super::super::v1::book::State;", state],
        ["use super::super::v1::book::*;", state],
    ] {
        let code = with_status(items);
        assert!(code.has_status);
        assert_eq!(code.text.matches("impl ").count(), 2, "{items:?}");
    }
}

#[test]
fn a_field_that_only_one_version_requires_keeps_its_value() {
    let items = "pub enum Item { A { b: i32 } } \
                 #[derive(Default)] pub struct Outer { pub c: Item }";
    for (ty, converted, missing) in [
        ("Item", "through_json(&VALUE)?", "Default::default()"),
        ("[i32; 2]", "through_json(&VALUE)?", "Default::default()"),
        ("Vec<Item>", "through_json(&VALUE)?", "Vec::new()"),
        ("Outer", "VALUE.try_into()?", "spoke::Outer::default()"),
    ] {
        let required = ["", &format!("pub a: {ty}"), items];
        let optional = ["", &format!("pub a: Option<{ty}>"), items];
        let text = code(required, optional).text;
        let [up, down] = ["a", "value"].map(|value| converted.replace("VALUE", value));
        for part in [
            format!("            a: Some({up}),\n"),
            format!("                Some(value) => {down},\n                None => {missing},\n"),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        for nothing in ["Without a value", "a: _"] {
            assert!(!text.contains(nothing), "{text}");
        }
    }
}

#[test]
fn types_that_differ_beside_a_part_that_is_converted_by_json_are_taken_apart() {
    let other = "pub struct Other(u8);";
    let items = [
        // the item in the spoke and in the hub, the lines of its conversion to the hub
        (
            "pub struct Item { pub b: Other }",
            "pub struct Item { pub b: Other, pub c: u8 }",
            "        Ok(Self {
            b: through_json(&b)?,
            // Without a value in the spoke.
            c: 0,
        })
",
        ),
        (
            "pub enum Item { A(Other), B }",
            "pub enum Item { A(Other), C }",
            "        Ok(match value {
            spoke::Item::A(value) => Self::A(through_json(&value)?),
            // Without a value of the same name.
            spoke::Item::B => Self::C,
        })
",
        ),
        (
            "pub struct Item(pub Other);",
            "pub struct Item(pub Option<Other>);",
            "        Ok(Self(Some(through_json(&value.0)?)))\n",
        ),
    ];
    let fields = "pub a: Item, pub list: Vec<Item>, pub map: BTreeMap<String, Item>, \
                  pub option: Option<Item>, pub lists: Option<Vec<Item>>, \
                  pub an_option_with_a_long_name: Option<Item>";
    let imports = "use std::collections::BTreeMap;";
    for (spoke, hub, lines) in items {
        let [spoke, hub] = [spoke, hub].map(|item| format!("{item} {other}"));
        let text = code([imports, fields, &spoke], [imports, fields, &hub]).text;
        assert_eq!(
            values(&text),
            [
                "a: a.try_into()?",
                "list: self::try_list(list)?",
                "map: self::try_map(map)?",
                "option: option.map(TryInto::try_into).transpose()?",
                "lists: lists.map(self::try_list).transpose()?",
                "an_option_with_a_long_name: an_option_with_a_long_name\n                \
                 .map(TryInto::try_into)\n                .transpose()?",
            ]
        );
        assert!(text.contains(lines), "{text}");
    }
}

#[test]
fn a_field_whose_types_differ_is_no_field_of_one_version() {
    for (spoke, hub, dropped) in [
        ("String", "i32", 2),
        // A larger integer can hold the smaller one.
        ("i64", "i32", 1),
        ("Option<Item>", "Option<Vec<Item>>", 2),
    ] {
        let [spoke, hub] = [spoke, hub].map(|ty| format!("pub a: {ty}, pub b: Box<str>"));
        let text = code(["", &spoke, ""], ["", &(hub + ", pub c: u8"), ""]).text;
        assert_eq!(text.matches("a: _").count(), dropped, "{text}");
        let comments = text.lines().map(str::trim);
        let comments: Vec<_> = comments.filter(|line| line.starts_with("// ")).collect();
        let expected = [
            "// Without a value in the spoke.",
            "// With another type in the spoke. Convert the value.",
            "// With another type in the hub. Convert the value.",
        ];
        assert_eq!(comments, expected[..=dropped], "{text}");
    }
    let text = code(
        ["", "pub a: Item", "pub enum Item { A(String), B, C }"],
        ["", "pub a: Item", "pub enum Item { A(i32), B(i32), D }"],
    )
    .text;
    let arms = "            // With a value of another type. Convert the value.
            spoke::Item::A(_) => Self::D,
            spoke::Item::B => Self::D,
            // Without a value of the same name.
            spoke::Item::C => Self::D,
";
    assert!(text.contains(arms), "{text}");
}

#[test]
fn an_enum_is_not_converted_to_a_struct_of_its_name() {
    let [spoke, hub] = ["pub enum Item { A, B }", "pub struct Item { pub b: i32 }"];
    let imports = "use std::collections::BTreeMap;";
    for field in [
        "pub a: Item",
        "pub a: Option<Item>",
        "pub a: Vec<Item>",
        "pub a: Option<Vec<Item>>",
        "pub a: BTreeMap<String, Item>",
    ] {
        let text = code([imports, field, spoke], [imports, field, hub]).text;
        assert!(!text.contains("through_json"), "{field}: {text}");
        for module in ["spoke", "hub"] {
            let comment = format!("// With another type in the {module}. Convert the value.");
            assert!(text.contains(&comment), "{field}: {text}");
        }
    }
}

/// Field names of CRDs are long, such as `preferred_during_scheduling_ignored_during_execution`.
#[test]
fn a_field_of_each_length_is_formatted_like_rustfmt() {
    let imports = "use std::collections::BTreeMap;";
    let items = "pub struct Item { pub b: i32 } pub struct Own { c: i32 }";
    let types = [
        "Item",
        "Vec<Item>",
        "Own",
        "Vec<Own>",
        "BTreeMap<String, Item>",
    ];
    let mut texts = String::new();
    for length in 1..=64 {
        let name = "a".repeat(length);
        for ty in types {
            let [required, optional] = [
                format!("pub {name}: {ty}"),
                format!("pub {name}: Option<{ty}>"),
            ];
            texts += &code([imports, &required, items], [imports, &required, items]).text;
            texts += &code([imports, &optional, items], [imports, &optional, items]).text;
            // rustfmt breaks the line before the brace of a `match` whose line is just too long.
            if length != 40 {
                texts += &code([imports, &required, items], [imports, &optional, items]).text;
            }
        }
    }
    is_formatted(&texts);
}

fn deep(start: &str, end: &str) -> String {
    let (start, end) = (start.repeat(100_000), end.repeat(100_000));
    format!("#[kube(kind = \"Book\")] pub struct BookSpec {{ pub a: {start}i32{end} }}")
}

/// A parser that goes as deep as the text would end the program.
#[test]
fn a_file_that_is_no_rust_is_converted_without_its_types() {
    let status = format!(
        "#[kube(kind = \"Book\", status = \"{}T\")] pub struct BookSpec;",
        "&".repeat(100_000)
    );
    let texts = [
        deep("(", ")"),
        deep("&", ""),
        deep("Vec<", ">"),
        deep("fn() -> ", ""),
        format!("fn a() {{ {}1 }}", "-".repeat(100_000)),
        format!("fn a() {{ {}1 }}", "return ".repeat(100_000)),
        "pub struct BookSpec {".to_owned(),
        "pub struct BookSpec {}".to_owned(),
        "#[kube(kind = \"Page\")] pub struct BookSpec {}".to_owned(),
        String::new(),
    ];
    for text in texts.iter().map(Some).chain([None]) {
        let [spoke, hub] = PATHS.map(|path| File {
            path,
            text: text.map(String::as_str),
        });
        let code = convert("Book", spoke, hub);
        assert_eq!(
            code.text.matches("through_json(&value)\n").count(),
            4,
            "{}",
            code.text
        );
        assert!(code.has_status);
    }
    assert!(!convert("Book", file(0, &status), file(1, &status)).has_status);
}
