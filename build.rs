//! Collects what is known when rscaffold is compiled. A changed, new or removed template must rebuild the crate, because
//! the crate embeds the templates. The digests of the vendored files are computed here, not in each command.

use std::{env, error::Error, fs, path::PathBuf};

use kube_manager::source::FILES;

#[path = "src/engine/digest/sha256.rs"]
mod sha256;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/engine/digest/sha256.rs");
    println!("cargo:rerun-if-changed=templates");

    let digests: Vec<_> = FILES.iter().map(|(_, text)| sha256::digest(text)).collect();
    let folder = env::var_os("OUT_DIR").map(PathBuf::from);
    let file = folder.ok_or("no OUT_DIR")?.join("digests.rs");
    fs::write(file, format!("{digests:?}"))?;
    Ok(())
}
