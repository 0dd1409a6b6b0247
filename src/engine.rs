//! The engine: brings the files in a folder in line with a new render, without losing an edit of the user. To
//! change a command or a template, you need not read this folder.
//!
//! The engine knows three texts of each file: base, ours and theirs. It does not know what is rendered, or from what:
//! what it must know of the files is in [`Conventions`].

mod conventions;
pub mod digest;
pub mod files;
pub mod reconcile;
mod text;
pub mod worktree;

#[cfg(test)]
pub use self::conventions::OF_TESTS;
pub use self::{
    conventions::{Attribute, Conventions, Entry, List, Vendored},
    text::{Text, Texts},
};
