//! All integration tests, in one binary: one link instead of many, and they share a control plane.

mod builtin;
mod cli;
mod end_to_end;
mod golden;
mod scaffold;
