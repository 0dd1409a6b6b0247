//! The files of a folder outside of this project, such as a Go project: read, never written.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, ErrorKind},
    path::Path,
};

use anyhow::{Context, Result, ensure};

use super::{
    jail::{Jail, Walk},
    path::ProjectPath,
};
use crate::{
    limits::{ENTRIES, FILE, FILES_TOGETHER, size},
    visible::visible,
};

/// How many levels of folders are read.
const MAX_DEPTH: usize = 24;

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The text of each file that was asked for, by its path in the folder.
    pub texts: BTreeMap<String, String>,
    /// Every other file, with its size in bytes.
    pub others: BTreeMap<String, u64>,
    /// The paths that could not be read, with the reason.
    pub unread: BTreeMap<String, String>,
}

/// Reads the files below the folder `root` for whose path `wanted` returns true. Folders whose name begins with a dot
/// or is in `without` are skipped.
///
/// # Errors
/// When the folder cannot be opened. Files and folders in it that cannot be read are listed in [`Snapshot::unread`].
pub fn snapshot(root: &Path, without: &[&str], wanted: impl Fn(&str) -> bool) -> Result<Snapshot> {
    let folder = File::open(root)?;
    ensure!(
        folder.metadata()?.is_dir(),
        io::Error::from(ErrorKind::NotADirectory)
    );
    let jail = Jail::new(folder);
    let mut reader = Reader {
        walk: jail.walk(),
        found: Snapshot::default(),
        entries: 0,
        bytes: 0,
    };
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let (files, below) = reader.list(&folder, without);
        folders.extend(below);
        for file in files {
            if let Err(error) = reader.read(&file, wanted(&file)) {
                reader.leave(&file, &error);
            }
        }
    }
    Ok(reader.found)
}

/// Reads the files one by one.
struct Reader<'a> {
    walk: Walk<'a>,
    found: Snapshot,
    entries: usize,
    bytes: u64,
}

impl Reader<'_> {
    /// The files and the folders in the folder at `path`.
    fn list(&mut self, path: &str, without: &[&str]) -> (Vec<String>, Vec<String>) {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let listed = self.names(path);
        let names = listed.unwrap_or_else(|error| {
            self.leave(path, &error);
            Vec::new()
        });
        for (name, is_folder) in names {
            self.entries += 1;
            if self.entries > ENTRIES {
                let reason = format!("more than {ENTRIES} files and folders");
                self.found.unread.insert(path.to_owned(), reason);
                break;
            }
            let path = match path {
                "" => name.clone(),
                folder => format!("{folder}/{name}"),
            };
            if !is_folder {
                files.push(path);
            } else if !name.starts_with('.') && !without.contains(&name.as_str()) {
                if path.matches('/').count() < MAX_DEPTH {
                    folders.push(path);
                } else {
                    let reason = format!("more than {MAX_DEPTH} folders deep");
                    self.found.unread.insert(path, reason);
                }
            }
        }
        (files, folders)
    }

    /// The sorted names in the folder at `path`, each with whether it is a folder.
    fn names(&mut self, path: &str) -> Result<Vec<(String, bool)>> {
        let path = match path {
            "" => None,
            path => Some(ProjectPath::new(path)?),
        };
        let mut names = Vec::new();
        if let Some(folder) = self.walk.folder(path)? {
            for entry in folder.entries()? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                names.push((name, entry.file_type()?.is_dir()));
                // One name more than the limit, so that the caller reports the excess.
                if names.len() > ENTRIES {
                    break;
                }
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&mut self, path: &str, is_wanted: bool) -> Result<()> {
        let place = ProjectPath::new(path)?;
        let Some(found) = self.walk.find(place)? else {
            return Ok(());
        };
        let bytes = found.len();
        if !is_wanted {
            self.found.others.insert(path.to_owned(), bytes);
            return Ok(());
        }
        ensure!(bytes <= FILE, "it has more than {}", size(FILE));
        self.bytes += bytes;
        ensure!(
            self.bytes <= FILES_TOGETHER,
            "all files together have more than {}",
            size(FILES_TOGETHER)
        );
        if let Some((_, bytes)) = found.read(place)? {
            let text = String::from_utf8(bytes).context("it is not UTF-8 text")?;
            self.found.texts.insert(path.to_owned(), text);
        }
        Ok(())
    }

    fn leave(&mut self, path: &str, error: &anyhow::Error) {
        let path = visible(path).into_owned();
        let reason = visible(&format!("{error:#}")).into_owned();
        self.found.unread.insert(path, reason);
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn folder() -> tempfile::TempDir {
        let top = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in [
            ("go/PROJECT", "version: '3'\n"),
            ("go/config/rbac/role.yaml", "kind: Role\n"),
            ("go/vendor/a.go", "package a\n"),
            ("go/.git/config", "[core]\n"),
            ("go/picture.png", "\0"),
            ("secret", "s3cret\n"),
        ] {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        top
    }

    #[test]
    fn wanted_files_are_read_and_the_others_are_listed() {
        let top = folder();
        let read = snapshot(&top.path().join("go"), &["vendor"], |path| {
            path != "picture.png"
        });
        let read = read.unwrap();

        let paths: Vec<_> = read.texts.keys().map(String::as_str).collect();
        assert_eq!(paths, ["PROJECT", "config/rbac/role.yaml"]);
        assert_eq!(read.others, BTreeMap::from([("picture.png".to_owned(), 1)]));
        assert!(read.unread.is_empty(), "{:?}", read.unread);
    }

    #[test]
    fn a_link_that_leads_out_is_not_followed() {
        let top = folder();
        let go = top.path().join("go");
        symlink("../secret", go.join("main.go")).unwrap();
        symlink("config/rbac/role.yaml", go.join("role.yaml")).unwrap();
        symlink("..", go.join("up")).unwrap();
        let read = snapshot(&go, &[], |_| true).unwrap();

        assert_eq!(read.texts["role.yaml"], "kind: Role\n");
        assert!(!read.texts.contains_key("main.go"));
        let unread: Vec<_> = read.unread.keys().map(String::as_str).collect();
        assert_eq!(unread, ["main.go", "up"]);
        assert!(read.unread["main.go"].contains("leads out"));
    }

    #[test]
    fn unreadable_files_are_listed_with_the_reason() {
        let top = folder();
        let go = top.path().join("go");
        fs::write(go.join("bytes.go"), [0xff, 0xfe]).unwrap();
        fs::File::create(go.join("large.go"))
            .unwrap()
            .set_len(FILE + 1)
            .unwrap();
        let read = snapshot(&go, &[], |_| true).unwrap();

        assert!(read.unread["bytes.go"].starts_with("it is not UTF-8 text"));
        assert_eq!(read.unread["large.go"], "it has more than 4 MB");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        let top = folder();
        for (path, reason) in [("none", "No such file"), ("secret", "not a directory")] {
            let error = snapshot(&top.path().join(path), &[], |_| true).unwrap_err();
            assert!(format!("{error:#}").contains(reason), "{error:#}");
        }
    }
}
