//! Fuzzes the text of the record.

use rscaffold::{engine::worktree::Record, visible::is_hidden};

pub fn seeds() -> Vec<Vec<u8>> {
    let union = "{\"project\":\"domain: com\\n\"}\n{\"project\":\"domain: org\\n\"}\n{\"marked\":\"src/lib.rs\"}\n\
                 [\"src/lib.rs\",\"pub mod api;\\n\"]\n[\"src/main.rs\",\"\"]\n[\"src/lib.rs\",\"a\\u001b\\\"\"]\n";
    let hostile = "[\"../a\",\"\"]\n[\"/a\",\"\"]\n[\".git/HEAD\",\"\"]\n[\"a/./b\",\"\"]\n[\"GIT~1\",\"\"]\n";
    let lines = hostile
        .split_inclusive('\n')
        .map(|line| line.as_bytes().to_owned());
    [union.as_bytes().to_owned()]
        .into_iter()
        .chain(lines)
        .collect()
}

pub fn run(data: &[u8]) {
    let Ok(record) = Record::parse(&String::from_utf8_lossy(data)) else {
        return;
    };
    for path in record.texts.keys() {
        let is_bad = |part: &str| {
            let of_git = [".git", "git~1"];
            ["", ".", ".."].contains(&part) || of_git.contains(&part.to_lowercase().as_str())
        };
        assert!(
            !path.split('/').any(is_bad) && !path.contains(is_hidden),
            "{path:?}"
        );
    }
    let mut written = Vec::new();
    record
        .write(&mut written)
        .expect("a record that was read can be written");
    let written = String::from_utf8(written).expect("a record is UTF-8");
    assert_eq!(
        Record::parse(&written).expect("what was written can be read"),
        record
    );
}
