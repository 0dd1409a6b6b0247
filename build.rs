//! The templates are embedded at compile time: a changed, new or removed one must rebuild the crate.

fn main() {
    println!("cargo:rerun-if-changed=templates");
}
