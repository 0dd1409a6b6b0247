//! Tests that the benchmarks, which no other test runs, fit what rscaffold generates.

use std::fs;

use crate::project::Project;

#[path = "../benches/edits.rs"]
mod edits;

#[test]
fn generated_controllers_have_each_text_that_the_benchmarks_edit() {
    let project = Project::new(&[
        "init --domain example.com",
        "create api --group bench --version v1 --kind Bench --owns v1/ConfigMap",
        "create api --group bench --version v1 --kind Other",
    ]);
    for (name, (old, _)) in [
        ("bench", edits::DATA),
        ("bench", edits::NO_EVENTS),
        ("other", edits::NO_EVENTS),
    ] {
        let file = format!("src/controller/bench/{name}.rs");
        let text = fs::read_to_string(project.folder().join(&file)).expect("a controller");
        assert_eq!(text.matches(old).count(), 1, "{file}: {old}");
        assert!(text.contains(edits::MESSAGE), "{file}");
    }
}
