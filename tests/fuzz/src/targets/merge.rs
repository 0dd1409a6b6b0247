//! Fuzzes merges of base, ours and theirs, which end with the byte 255, and conflict markers in these texts.

use rscaffold::engine::reconcile::{
    FileChange, OnConflict, Policy, Sides,
    branches::{self, Side, three_way},
    markers::Marked,
    reconcile,
};
use rscaffold::{
    engine::{Text, Texts},
    render::CONVENTIONS,
};

use super::files;
use crate::golden_projects;

/// A file that is merged, and a file that is kept when it differs.
const PATHS: [&str; 2] = ["src/lib.rs", "config/rbac/role.yaml"];

const POLICIES: [OnConflict; 4] = [
    OnConflict::Abort,
    OnConflict::Ours,
    OnConflict::Theirs,
    OnConflict::Markers,
];

pub fn seeds() -> Vec<Vec<u8>> {
    let small = |path: &str| path.ends_with("mod.rs") && !path.contains("crates");
    let files = files(golden_projects::folder(), small)
        .into_iter()
        .filter(|(_, text)| text.len() < 1_000);
    let texts: Vec<_> = files.map(|(_, text)| text.into_bytes()).take(40).collect();
    let separate = |texts: &[Vec<u8>]| texts.join(&255);
    let marked = "a\n<<<<<<< HEAD\nb\n||||||| 012\nx\n=======\nc\n>>>>>>> main\n";
    let own = "<<<<<<< yours\r\nb\r\n=======\n>>>>>>> rscaffold\n";
    let lines: [&[u8]; 3] = [b"a\nb\nc\n", b"a\r\nc", marked.as_bytes()];
    let others = [
        lines.join(&255),
        [own, "", marked].map(str::as_bytes).join(&255),
    ];
    texts.windows(3).map(separate).chain(others).collect()
}

pub fn run(data: &[u8]) {
    let mut texts = data.split(|byte| *byte == 255);
    let mut next = || {
        texts
            .next()
            .map(|it| Text::from(String::from_utf8_lossy(it).into_owned()))
    };
    let [base, ours, theirs] = [next(), next(), next()];
    for text in [&base, &ours, &theirs].into_iter().flatten() {
        let text = text.content();
        if let Some(marked) = Marked::parse(text) {
            assert!(marked.line <= text.lines().count());
            assert!(marked.ours.len() < text.len() && marked.theirs.len() < text.len());
        }
    }
    for path in PATHS {
        for policy in POLICIES {
            let [base, ours, theirs] = [&base, &ours, &theirs].map(Option::as_ref);
            check(path, policy, base, ours, theirs);
        }
    }
    let merged = three_way(base.clone(), ours.clone(), theirs.clone(), &[]);
    let mirrored = three_way(base.clone(), theirs.clone(), ours.clone(), &[]);
    assert_eq!(merged.is_ok(), mirrored.is_ok());
    let side = |base: &Option<Text>, ours: &Option<Text>| Side {
        base: base.clone(),
        ours: ours.clone(),
    };
    let (ours, theirs) = (side(&base, &ours), side(&base, &theirs));
    let _ = branches::merge(Some(side(&base, &base)), ours, theirs, base.as_ref(), &[]);
}

/// Checks that a second run changes nothing.
fn check(
    path: &str,
    policy: OnConflict,
    base: Option<&Text>,
    ours: Option<&Text>,
    theirs: Option<&Text>,
) {
    let texts = |text: Option<&Text>| -> Texts {
        let texts = text.into_iter();
        texts.map(|text| (path.to_owned(), text.clone())).collect()
    };
    let policy = Policy {
        everywhere: policy,
        ..Policy::default()
    };
    let sides = Sides::new(&CONVENTIONS, texts(base), texts(ours), texts(theirs));
    let plan = reconcile(&sides, &policy);
    let Some(change) = plan.changes.get(path) else {
        return;
    };
    if matches!(change, FileChange::Conflict(_)) {
        return;
    }
    let ours = ours.map(Text::content);
    let after = change.after(ours).map(|text| Text::from(text.to_owned()));
    let again = Sides::new(
        &CONVENTIONS,
        texts(theirs),
        texts(after.as_ref()),
        texts(theirs),
    );
    let again = reconcile(&again, &policy);
    let text = again.changes.get(path).and_then(FileChange::text);
    assert!(
        text.is_none() || text == after.as_ref().map(Text::content),
        "{change:?}, then {text:?}"
    );
}
