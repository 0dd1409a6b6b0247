//! The edits that the benchmarks make in a generated controller. The operators of the benchmarks send no events: the
//! client of the Go operator drops events that come too fast, so the Go operator would send fewer events.

/// A text of the controller, and the text that replaces it.
pub type Edit = (&'static str, &'static str);

/// Edits the controller of a kind that owns a `ConfigMap`: writes data to the `ConfigMap`, and sends no events.
pub const OWNER: [Edit; 2] = [
    (
        "// The rest of its content goes here.",
        r#"data: Some([("title".to_owned(), object.spec.title.clone())].into()),"#,
    ),
    (
        r#"        let ready = matches!(applied, Ok(kube_manager::Readiness::Ready));
        if written.map_err(Error::WriteStatus)? && ready {
            let note = "Desired state reached";
            self.context
                .event(object, EventType::Normal, "Reconciled", note)
                .await;
        }
"#,
        WRITTEN,
    ),
];

/// Edits the controller of a kind that owns nothing: sends no events.
pub const NO_OWNER: [Edit; 1] = [(
    r#"        if written.map_err(Error::WriteStatus)? {
            let note = "Desired state reached";
            self.context
                .event(object, EventType::Normal, "Reconciled", note)
                .await;
        }
"#,
    WRITTEN,
)];

const WRITTEN: &str = "        written.map_err(Error::WriteStatus)?;\n";
