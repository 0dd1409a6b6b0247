//! Writes the text of a `PROJECT` with many APIs.

/// Returns the text `project`, which has no resources, with this number of APIs added: twenty in each group.
pub fn with_apis(project: &str, count: usize) -> String {
    let resources = (0..count).map(|number| {
        let group = format!("group{:02}", number / 20);
        format!(
            "- api:\n    crdVersion: v1\n    namespaced: true\n  controller: true\n  group: {group}\n  \
             kind: Kind{number:03}\n  path: shop::api::{group}::v1\n  plural: kind{number:03}s\n  \
             version: v1\n"
        )
    });
    let resources: String = resources.collect();
    project.replace("resources: []\n", &format!("resources:\n{resources}"))
}
