//! The edits that the benchmarks make in a generated controller.

/// A text of the controller, and the text that replaces it.
pub type Edit = (&'static str, &'static str);

/// Writes data to the `ConfigMap` that an object owns.
pub const DATA: Edit = (
    "// The rest of its content goes here.",
    r#"data: Some([("title".to_owned(), object.spec.title.clone())].into()),"#,
);

/// Sends no events. The client of the Go operator drops events that come too fast, so the Go operator would send fewer
/// events than there are.
pub const NO_EVENTS: Edit = (
    r#"            let note = "Desired state reached";
            context.event(object, EventType::Normal, "Reconciled", note);
"#,
    "",
);

/// A text of the controller, which a build after a change replaces.
pub const MESSAGE: &str = "Desired state reached";
