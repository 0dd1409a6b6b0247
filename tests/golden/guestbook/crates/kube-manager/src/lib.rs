#![doc = include_str!("../README.md")]

mod runtime;

pub use runtime::*;
