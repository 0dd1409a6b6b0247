//! Everything that the user sees. Data goes to stdout, messages go to stderr. All texts are readable without color.
//!
//! Pure functions build the texts, and [`Outcome::print`] prints them at the end. Only questions are printed earlier.
//! Text from a file, the record or the command line goes through [`visible`](crate::visible) before it is printed to a
//! terminal.

mod conflicts;
mod diff;
mod message;
mod outcome;
mod plan;

pub use self::{
    conflicts::{show as show_conflict, text as conflicts},
    diff::text as diff,
    message::say,
    outcome::{Outcome, UsageError},
    plan::{NextStep, Story, notes, size, text as plan},
};
