//! Tests the Grafana dashboard.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::project::Project;

#[test]
fn the_panels_of_the_dashboard_do_not_overlap() {
    let project = Project::new(&["init --domain com --repo guestbook --enable grafana"]);
    let dashboard = project.read("config/grafana/dashboard.json");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("a list") {
        let at = |name: &str| panel["gridPos"][name].as_u64().expect("a number");
        assert!(at("x") + at("w") <= 24, "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{panel}");
            }
        }
        assert!(ids.insert(panel["id"].as_u64()), "{panel}");
    }
}
