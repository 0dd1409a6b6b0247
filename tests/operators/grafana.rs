//! Tests the dashboard for Grafana. The tests in `serving`, which run an operator, check that the operator has the
//! series that the dashboard queries.

use std::collections::{BTreeMap, BTreeSet};

use promql_parser::{
    parser::{self, Expr, VectorSelector},
    util::{ExprVisitor, walk_expr},
};
use serde_json::Value;

use crate::{
    manifests::{items, kustomize, text},
    project::Project,
};

/// The labels that Prometheus itself adds to each series.
const OF_PROMETHEUS: [&str; 3] = ["instance", "job", "namespace"];

/// A query of the dashboard.
#[derive(Debug, Default)]
struct Query {
    /// The series that the query reads.
    series: BTreeSet<String>,
    /// The labels that the query selects, groups by, or shows.
    labels: BTreeSet<String>,
}

impl Query {
    /// Parses a query as Prometheus gets it, with an interval instead of Grafana's variable.
    fn parse(promql: &str) -> Self {
        let promql = promql.replace("$__rate_interval", "5m");
        let expr = parser::parse(&promql).unwrap_or_else(|error| panic!("{promql}: {error}"));
        let mut query = Self::default();
        let Ok(_) = walk_expr(&mut query, &expr);
        assert!(!query.series.is_empty(), "{promql}");
        query
    }

    fn selects(&mut self, selector: &VectorSelector) {
        self.series.extend(selector.name.clone());
        let matchers = &selector.matchers;
        let all = matchers.or_matchers.iter().flatten();
        let names = all.chain(&matchers.matchers).map(|it| it.name.clone());
        self.labels.extend(names);
    }
}

impl ExprVisitor for Query {
    type Error = std::convert::Infallible;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, Self::Error> {
        match expr {
            Expr::Aggregate(aggregate) => {
                let labels = aggregate.modifier.iter().flat_map(|it| &it.labels().labels);
                self.labels.extend(labels.cloned());
            }
            Expr::VectorSelector(selector) => self.selects(selector),
            Expr::MatrixSelector(matrix) => self.selects(&matrix.vs),
            _ => {}
        }
        Ok(true)
    }
}

/// Returns each text between a `start` and the next `end`.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    let rest = text.split(start).skip(1);
    rest.filter_map(move |rest| rest.split(end).next())
}

/// Returns all queries of a dashboard: the queries of its panels, and the queries for the values of its variables.
fn queries(dashboard: &Value) -> Vec<Query> {
    let panels = items(&dashboard["panels"]).iter();
    let targets = panels.flat_map(|panel| items(&panel["targets"]));
    let mut queries: Vec<_> = targets
        .map(|target| {
            let mut query = Query::parse(&text(&target["expr"]));
            let legend = text(&target["legendFormat"]);
            let shown = between(&legend, "{{", "}}").map(str::to_owned);
            query.labels.extend(shown);
            query
        })
        .collect();
    let variables = items(&dashboard["templating"]["list"]).iter();
    for variable in variables.filter(|variable| variable["type"] == "query") {
        let query = text(&variable["query"]);
        let parts = query.strip_prefix("label_values(");
        let parts = parts.and_then(|query| query.strip_suffix(')')?.rsplit_once(", "));
        let (selector, label) = parts.unwrap_or_else(|| panic!("{query}"));
        let mut query = Query::parse(selector);
        query.labels.insert(label.to_owned());
        queries.push(query);
    }
    queries
}

/// Checks that `metrics`, as an operator serves them, have all series and labels that the dashboard in `text` queries.
pub fn finds_its_series(text: &str, metrics: &str) {
    let mut labels_of = BTreeMap::<&str, BTreeSet<&str>>::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').expect("a value");
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels = labels.trim_end_matches('}').split("\",");
        let labels = labels.filter_map(|label| Some(label.split_once('=')?.0));
        labels_of.entry(name).or_default().extend(labels);
    }
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    for query in queries(&dashboard) {
        for series in &query.series {
            let labels = labels_of.get(series.as_str());
            let labels = labels.unwrap_or_else(|| panic!("there is no {series}:\n{metrics}"));
            for label in &query.labels {
                let known = labels.contains(label.as_str());
                let is_of_prometheus = OF_PROMETHEUS.contains(&label.as_str());
                assert!(known || is_of_prometheus, "{series} has no {label}");
            }
        }
    }
}

#[test]
fn a_dashboard_query_for_a_missing_series_is_detected() {
    let dashboard = |expr: &str, legend: &str| {
        let panel = serde_json::json!({"targets": [{"expr": expr, "legendFormat": legend}]});
        serde_json::json!({"panels": [panel], "templating": {"list": []}}).to_string()
    };
    let metrics = "# TYPE a counter\na{b=\"1,2\",c=\"x=y\"} 1\na_bucket{le=\"+Inf\"} 2\n";
    let finds = |expr: &str, legend: &str| {
        let dashboard = dashboard(expr, legend);
        std::panic::catch_unwind(|| finds_its_series(&dashboard, metrics)).is_ok()
    };
    let good = "sum by (b) (rate(a{c=\"1\", job=\"x\"}[$__rate_interval]))";
    assert!(finds(good, "{{b}}"));
    assert!(finds("sum(a_bucket{le=\"1\"})", "{{instance}}"));
    for (expr, legend) in [
        ("sum by (b) (rate(other{c=\"1\"}[5m]))", ""),
        ("sum by (d) (rate(a[5m]))", ""),
        ("rate(a{d=\"1\"}[5m])", ""),
        ("rate(a[5m])", "{{b}} {{d}}"),
        ("rate(a[5m]", ""),
        ("1", ""),
    ] {
        assert!(!finds(expr, legend), "{expr}");
    }
}

#[test]
fn the_sidecar_of_grafana_finds_the_dashboard() {
    let names = "--repo pages --project-name guestbook";
    let project = Project::new(&[&format!("init --domain com {names} --enable grafana")]);
    let manifests = kustomize(&project.folder().join("config/grafana"));
    let [manifest] = manifests.as_slice() else {
        panic!("{manifests:?}");
    };
    assert_eq!(manifest["kind"], "ConfigMap");
    assert_eq!(manifest["metadata"]["name"], "guestbook-dashboard");
    assert_eq!(manifest["metadata"]["labels"]["grafana_dashboard"], "1");
    let dashboard = project.read("config/grafana/dashboard.json");
    assert_eq!(manifest["data"]["guestbook.json"], dashboard);
    // The operator has its name, not that of its crate, in `build_info`.
    assert!(
        project
            .read("src/main.rs")
            .contains(r#"NAME: &str = "guestbook""#)
    );
    let builds: Vec<_> = between(&dashboard, "build_info{name=", ",").collect();
    assert!(!builds.is_empty());
    assert!(
        builds
            .iter()
            .all(|name| name.starts_with(r#"\"guestbook\""#)),
        "{builds:?}"
    );
}
