//! Creates an image that contains one program.

use std::{env::consts::ARCH, fs, io::Write, path::Path};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, Header};
use tempfile::NamedTempFile;

/// Writes the image `name` to a file in `folder`, in the format of `docker save`. The only file in the image is
/// `program`, which must be statically linked.
pub(crate) fn of_program(name: &str, program: &Path, folder: &Path) -> Result<NamedTempFile> {
    let make = || {
        let file = program.file_name().context("no file name")?;
        let layer = tar(&[(&file.to_string_lossy(), fs::read(program)?, 0o755)])?;
        let config = json!({
            "architecture": match ARCH { "x86_64" => "amd64", "aarch64" => "arm64", other => other },
            "os": "linux",
            "config": {"Entrypoint": [Path::new("/").join(file)], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{:x}", Sha256::digest(&layer))]},
        });
        let manifest =
            json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
        let json = |value: Value| value.to_string().into_bytes();
        let image = tar(&[
            ("manifest.json", json(manifest), 0o644),
            ("config.json", json(config), 0o644),
            ("layer.tar", layer, 0o644),
        ])?;
        let mut archive = NamedTempFile::new_in(folder)?;
        archive.write_all(&image)?;
        anyhow::Ok(archive)
    };
    make().with_context(|| format!("failed to make an image of `{}`", program.display()))
}

/// Returns a tar archive of files. Each file has a name, a content and a mode.
fn tar(files: &[(&str, Vec<u8>, u32)]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for (name, content, mode) in files {
        let mut header = Header::new_gnu();
        header.set_size(content.len().try_into()?);
        header.set_mode(*mode);
        archive.append_data(&mut header, name, content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}
