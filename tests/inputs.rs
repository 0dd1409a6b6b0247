//! Tests rscaffold with unusual values and inputs. `make fuzz` tries more of them.

#[path = "fuzz/src/targets/mod.rs"]
mod targets;

use proptest::{
    prelude::*,
    sample::{Index, select},
};

use self::targets::{
    TARGETS, Target,
    values::{CHARACTERS, FIELDS, PAYLOADS, check},
};
use crate::cases::cases;

/// Returns a strategy for the index of a field and a value of this field. The value is a payload or strange characters,
/// alone or inserted into the harmless value.
fn value() -> impl Strategy<Value = (usize, String)> {
    let strange = proptest::collection::vec(select(&CHARACTERS[..]), 0..8);
    let strange = strange.prop_map(String::from_iter);
    let strange = prop_oneof![select(&PAYLOADS[..]).prop_map(str::to_owned), strange];
    let form = (any::<bool>(), any::<Index>());
    (0..FIELDS.len(), strange, form).prop_map(|(index, strange, (is_alone, at))| {
        let mut value = FIELDS[index].harmless.to_owned();
        if is_alone {
            value = strange;
        } else {
            value.insert_str(at.index(value.len() + 1), &strange);
        }
        (index, value)
    })
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn every_value_that_is_accepted_appears_unchanged_in_the_files((index, value) in value()) {
        if let Err(error) = check(index, &value) {
            prop_assert!(false, "{:?} with {value:?}: {error}", FIELDS[index]);
        }
    }
}

#[test]
fn harmless_values_are_taken() {
    for (index, field) in FIELDS.iter().enumerate() {
        assert_eq!(check(index, field.harmless), Ok(true), "{field:?}");
    }
}

/// Checks that these fields accept every visible character.
#[test]
fn free_text_can_have_every_visible_character() {
    let is_visible = |payload: &&&str| !payload.contains(char::is_control);
    let payloads: Vec<_> = PAYLOADS.iter().filter(is_visible).copied().collect();
    for place in [
        "/owner",
        "/licenseHeader",
        "image/command/0",
        "/deprecationWarning",
    ] {
        let mut fields = FIELDS.iter();
        let index = fields.position(|it| format!("{it:?}").contains(place));
        // The length of an owner is limited.
        for payloads in payloads.chunks(20) {
            let value = payloads.join(" ").trim().to_owned();
            let taken = check(index.unwrap(), &value);
            assert_eq!(taken, Ok(true), "{place}: {value:?}");
        }
    }
}

/// A change of an input.
#[derive(Debug, Clone)]
enum Edit {
    /// Removes this many bytes at a place.
    Cut(Index, usize),
    /// Inserts a text at a place.
    Insert(Index, String),
    /// Inserts a part of the input at a place.
    Repeat(Index, Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let strange = prop_oneof![
        select(&PAYLOADS[..]).prop_map(str::to_owned),
        select(&CHARACTERS[..]).prop_map(String::from),
    ];
    let at = any::<Index>;
    prop_oneof![
        (at(), 1..40_usize).prop_map(|(at, length)| Edit::Cut(at, length)),
        (at(), strange).prop_map(|(at, text)| Edit::Insert(at, text)),
        (at(), at(), 1..200_usize).prop_map(|(at, from, length)| Edit::Repeat(at, from, length)),
    ]
}

fn edited(seed: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut input = seed.to_owned();
    for edit in edits {
        let place = |at: &Index| at.index(input.len() + 1);
        let (at, length, new) = match edit {
            Edit::Cut(at, length) => (place(at), *length, Vec::new()),
            Edit::Insert(at, text) => (place(at), 0, text.clone().into_bytes()),
            Edit::Repeat(at, from, length) => {
                let from = place(from);
                let part = &input[from..input.len().min(from + length)];
                (place(at), 0, part.to_owned())
            }
        };
        let end = input.len().min(at + length);
        input.splice(at..end, new);
    }
    input
}

/// Runs a target with its seeds, and with `few` edits of them or more.
fn try_target(name: &str, few: u32) {
    let target = TARGETS.iter().find(|target| target.name == name);
    let Target { seeds, run, .. } = target.expect("a target");
    let seeds = seeds();
    for seed in &seeds {
        run(seed);
    }
    let edits = proptest::collection::vec(edit(), 1..6);
    proptest!(cases(few), |(seed in select(seeds), edits in edits)| {
        run(&edited(&seed, &edits));
    });
}

#[test]
fn strange_arguments_are_read_or_refused() {
    try_target("arguments", 256);
}

#[test]
fn strange_projects_are_read_or_refused() {
    try_target("project", 64);
}

#[test]
fn strange_records_are_read_or_refused() {
    try_target("record", 256);
}

#[test]
fn strange_texts_are_merged() {
    try_target("merge", 256);
}

#[test]
fn strange_crds_are_read_or_refused() {
    try_target("crd", 48);
}

#[test]
fn strange_go_projects_are_read_or_refused() {
    try_target("go", 24);
}
