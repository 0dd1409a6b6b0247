//! Rust code as data: types, literals and attributes, and the layout that rustfmt gives them.

mod layout;
pub(crate) mod literal;
mod types;

pub(crate) use self::{
    layout::{
        ARGUMENTS, Attribute, CHAIN, Code, LINE, Meta, braces, chain, function_head, is_within,
        on_one_line, one_or_several,
    },
    literal::width,
    types::RustType,
};
