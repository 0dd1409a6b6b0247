//! Collects what is known when rscaffold is compiled. A changed, new or removed template must rebuild the crate, because
//! the crate embeds the templates. The vendored files are measured here, not in each command.

use std::{env, error::Error, fs, path::PathBuf};

use kube_manager::source::{files, without_tests};

#[path = "src/engine/digest/sha256.rs"]
mod sha256;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/engine/digest/sha256.rs");
    println!("cargo:rerun-if-changed=templates");

    let measured: Vec<_> = files()
        .map(|(_, text)| {
            let vendored = without_tests(text);
            (vendored.len(), sha256::digest(vendored))
        })
        .collect();
    let folder = env::var_os("OUT_DIR").map(PathBuf::from);
    let file = folder.ok_or("no OUT_DIR")?.join("vendored.rs");
    fs::write(file, format!("&{measured:?}"))?;
    Ok(())
}
