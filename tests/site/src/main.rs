//! Prepares the pages of the repository for mdBook. `make docs` runs this program.
//!
//! mdBook needs all pages in one folder, and the pages of this repository are also outside of `docs`.
//! So this program copies each page of `docs/SUMMARY.md` to `target/book/pages`, under its path in the
//! repository. Links between pages stay. Links to other files of the repository lead to its web address.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// The folder where `make docs` runs mdBook.
const BOOK: &str = "target/book";

/// The crate with rustdoc on the website. A link to the folder of the crate becomes a link to its rustdoc.
const DOCUMENTED: &str = "crates/kube-manager";
const RUSTDOC: &str = "rustdoc/kube_manager/index.html";

fn main() -> Result<()> {
    let book = Path::new(BOOK);
    let pages = book.join("pages");
    if book.exists() {
        fs::remove_dir_all(book).with_context(|| format!("failed to delete `{BOOK}`"))?;
    }
    let site = Site::read()?;
    for page in &site.pages {
        write(&pages.join(page), &site.page(page, &read(page)?)?)?;
    }
    for image in &site.images {
        copy(image, &pages.join(image))?;
    }
    // In the folder of the pages, the list of pages is at the top.
    let summary = Path::new("docs/SUMMARY.md");
    let summary = links(&read(summary)?, |link| {
        let path = inside(Path::new("docs"), link)?;
        Ok(path.display().to_string())
    })?;
    write(&pages.join("SUMMARY.md"), &summary)?;
    for file in ["book.toml", "site.css"] {
        copy(&Path::new("docs").join(file), &book.join(file))?;
    }
    Ok(())
}

/// The possible targets of the links of a page.
struct Site {
    /// The pages of the website, by their paths in the repository.
    pages: BTreeSet<PathBuf>,
    images: BTreeSet<PathBuf>,
    /// The web address of the repository.
    repository: String,
}

impl Site {
    fn read() -> Result<Self> {
        let manifest: toml::Table = read(Path::new("Cargo.toml"))?.parse()?;
        let repository = ["package", "workspace"].iter().find_map(|table| {
            let table = manifest.get(*table)?;
            let table = table.get("package").unwrap_or(table);
            table.get("repository")?.as_str()
        });
        let repository = repository.context("`Cargo.toml` has no `repository`")?;
        let mut pages = BTreeSet::new();
        links(&read(Path::new("docs/SUMMARY.md"))?, |link| {
            pages.insert(inside(Path::new("docs"), link)?);
            Ok(link.to_owned())
        })?;
        let pictures = fs::read_dir("docs").context("failed to read `docs`")?;
        let pictures = pictures.collect::<Result<Vec<_>, _>>()?.into_iter();
        let pictures = pictures.map(|entry| entry.path());
        let images = pictures.filter(|path| path.extension().is_some_and(|end| end == "svg"));
        Ok(Self {
            pages,
            images: images.collect(),
            repository: repository.trim_end_matches('/').to_owned(),
        })
    }

    /// Returns the text of a page with the links of the website.
    fn page(&self, page: &Path, text: &str) -> Result<String> {
        let folder = page.parent().context("a page is in a folder")?;
        links(text, |link| {
            let (path, heading) = link.split_at(link.find('#').unwrap_or(link.len()));
            if path.is_empty() || path.contains("://") {
                return Ok(link.to_owned());
            }
            let target = inside(folder, path).with_context(|| page.display().to_string())?;
            if self.pages.contains(&target) || self.images.contains(&target) {
                // mdBook writes a README to index.html, and does not change the links to it.
                return Ok(link.replace("README.md", "index.html"));
            }
            if target == Path::new(DOCUMENTED) {
                let up = "../".repeat(folder.components().count());
                return Ok(format!("{up}{RUSTDOC}"));
            }
            let form = if target.is_dir() { "tree" } else { "blob" };
            let target = target.display();
            Ok(format!("{}/{form}/HEAD/{target}{heading}", self.repository))
        })
    }
}

/// Returns `text`, where `change` has replaced the target of each link.
fn links(text: &str, mut change: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut parts = text.split("](");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once(')').context("a link without an end")?;
        changed.extend(["](", &change(link)?, ")", rest]);
    }
    Ok(changed)
}

/// Returns the path in the repository to which `link` leads on a page in `folder`.
fn inside(folder: &Path, link: &str) -> Result<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            _ => bail!("the link `{link}` leads out of the repository"),
        }
    }
    Ok(path)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    fs::create_dir_all(path.parent().unwrap_or(path)).with_context(failed)?;
    fs::write(path, text).with_context(failed)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    write(to, &read(from)?)
}
