//! Reads from a tutorial the steps that its reader does.
//!
//! - A block `console` contains commands after `$ `, which the reader types in the first terminal, and their output.
//!   `console NAME` is another terminal, in which a program may keep running: the program prints the shown lines in
//!   this order, perhaps with other lines between, and `^C` ends the program.
//! - A block right after a paragraph with only a path and a colon is the whole text of that file.
//! - A block `diff` is a patch.
//! - A block `mermaid` is a picture, which is no step. Any other block is an error, so a tutorial shows nothing that
//!   its test does not do.

use anyhow::{Context, Result, bail};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// An action of the reader, and its line in the tutorial.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub line: usize,
    pub action: Action,
}

/// An action of the reader.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Typing commands in the terminal with this name; `lines` also contains their output.
    Type {
        terminal: String,
        lines: Vec<String>,
    },
    /// A file to create with this text.
    Write { path: String, text: String },
    /// A patch to apply.
    Patch { text: String },
}

/// Returns the steps of a tutorial, in order.
pub fn steps(markdown: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut path = None;
    let mut paragraph = Vec::new();
    let mut block: Option<(String, String)> = None;
    for (event, range) in Parser::new(markdown).into_offset_iter() {
        match event {
            Event::Start(Tag::Paragraph) => paragraph.clear(),
            Event::End(TagEnd::Paragraph) => path = path_of(&paragraph),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                block = Some((info.to_string(), String::new()));
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
                bail!(
                    "line {}: a block needs a fence",
                    line(markdown, range.start)
                )
            }
            Event::End(TagEnd::CodeBlock) => {
                let (info, text) = block.take().context("an end without a start")?;
                let line = line(markdown, range.start);
                let action = action(&info, text, path.take())
                    .with_context(|| format!("line {line}: the block `{info}`"))?;
                steps.extend(action.map(|action| Step { line, action }));
            }
            event => match (&mut block, event) {
                (Some((_, code)), Event::Text(text)) => code.push_str(&text),
                (_, event) => {
                    path = None;
                    paragraph.push(event);
                }
            },
        }
    }
    Ok(steps)
}

/// Returns the path of a paragraph that consists of a path and a colon.
fn path_of(paragraph: &[Event]) -> Option<String> {
    match paragraph {
        [Event::Code(path), Event::Text(colon)] if &**colon == ":" => Some(path.to_string()),
        _ => None,
    }
}

fn action(info: &str, text: String, path: Option<String>) -> Result<Option<Action>> {
    let (language, terminal) = info.split_once(' ').unwrap_or((info, ""));
    let action = match (language, path) {
        ("console", None) => Action::Type {
            terminal: terminal.to_owned(),
            lines: text.lines().map(str::to_owned).collect(),
        },
        ("diff", None) => Action::Patch { text },
        ("mermaid", None) => return Ok(None),
        (_, Some(path)) => Action::Write { path, text },
        (_, None) => {
            bail!("would not be done: a file has its path before it, as in `src/main.rs`:")
        }
    };
    Ok(Some(action))
}

fn line(text: &str, offset: usize) -> usize {
    text[..offset].lines().count() + 1
}

#[test]
fn what_is_shown_is_done() {
    let text = "\
Make a folder:

```console
$ mkdir a
```

`a/b.rs`:

```rust
mod c;

mod d;
```

```mermaid
graph
```

Run it:

```console operator
$ make run
started
```

```diff
--- a/b.rs
```
";
    let steps = steps(text).unwrap();
    let actions: Vec<_> = steps.iter().map(|step| (step.line, &step.action)).collect();
    let typed = |terminal: &str, lines: &[&str]| Action::Type {
        terminal: terminal.to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let expected = [
        (3, typed("", &["$ mkdir a"])),
        (
            9,
            Action::Write {
                path: "a/b.rs".to_owned(),
                text: "mod c;\n\nmod d;\n".to_owned(),
            },
        ),
        (21, typed("operator", &["$ make run", "started"])),
        (
            26,
            Action::Patch {
                text: "--- a/b.rs\n".to_owned(),
            },
        ),
    ];
    assert_eq!(
        actions,
        expected
            .iter()
            .map(|(line, action)| (*line, action))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_block_that_would_not_be_done_is_an_error() {
    let error = steps("Look:\n\n```rust\nmod a;\n```\n").unwrap_err();
    assert!(
        format!("{error:#}").starts_with("line 3: the block `rust`"),
        "{error:#}"
    );
}
