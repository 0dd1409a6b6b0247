//! Confines all paths to the project's folder.
//!
//! Each folder is opened from the folder above it, and never through a symbolic link. The target of a link is computed
//! first, and then opened like any other path. So another program cannot replace a folder by a link between the check
//! and the use.

use std::{
    fs::File,
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Error, Result, anyhow};
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions};

use super::{
    path::ProjectPath,
    read::{max, read, refuse},
};
use crate::hint::OrHint;

/// The project's folder.
#[derive(Debug)]
pub(super) struct Jail(Dir);

impl Jail {
    /// Confines paths to `folder`, the opened project folder.
    pub(super) fn new(folder: File) -> Self {
        Self(Dir::from_std_file(folder))
    }

    /// The inode number of the folder.
    pub(super) fn inode(&self) -> io::Result<u64> {
        Ok(self.0.dir_metadata()?.ino())
    }

    /// Starts a pass over the files.
    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            root: &self.0,
            open: Vec::new(),
        }
    }
}

/// One pass over files of the project. Sorted paths are the fastest.
///
/// A folder stays open while the following files are in it. A later pass needs a new walk, because folders may have
/// changed by then.
pub(super) struct Walk<'a> {
    root: &'a Dir,
    /// The open folders with their paths, each within the one before it.
    open: Vec<(String, Dir)>,
}

/// A path in the project: the file `name` in `folder`, after symbolic links were followed.
pub(super) struct ResolvedPath<'a> {
    pub(super) folder: &'a Dir,
    pub(super) name: String,
    /// `None` if the file does not exist.
    pub(super) metadata: Option<Metadata>,
}

impl Walk<'_> {
    /// The file at `path`, after symbolic links were followed; `None` if its folder is missing.
    ///
    /// # Errors
    /// When a link leads nowhere or out of the project, or a part of the path that must be a folder is a file.
    pub(super) fn find(&mut self, path: ProjectPath) -> Result<Option<ResolvedPath<'_>>> {
        if !self.enter(path.folder())? {
            return Ok(None);
        }
        let metadata = match self.here().symlink_metadata(path.name()) {
            Ok(metadata) if metadata.is_symlink() => {
                let real = self.target(path)?;
                return self.find(ProjectPath::new(&real)?);
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(unreadable(error, path)),
        };
        Ok(Some(ResolvedPath {
            folder: self.here(),
            name: path.name().to_owned(),
            metadata,
        }))
    }

    /// The bytes of the file at `path`, after symbolic links were followed, and its metadata at the time it was opened;
    /// `None` if the file is missing.
    ///
    /// # Errors
    /// See [`Walk::find`]; and when it is not a readable, regular file, or too large.
    pub(super) fn read(&mut self, path: ProjectPath) -> Result<Option<(Metadata, Vec<u8>)>> {
        if !self.enter(path.folder())? {
            return Ok(None);
        }
        // Most paths are regular files, which need no other look before they are opened.
        match open(self.here(), path.name()) {
            Ok(file) => content(file, path).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) => self
                .find(path)?
                .map_or(Ok(None), |resolved| resolved.read(path)),
        }
    }

    /// The folder at `path`, after symbolic links were followed; the project's folder if `path` is `None`. Returns
    /// `None` if the folder is missing.
    ///
    /// # Errors
    /// See [`Walk::find`].
    pub(super) fn folder(&mut self, path: Option<ProjectPath>) -> Result<Option<&Dir>> {
        Ok(self.enter(path)?.then(|| self.here()))
    }

    /// Creates the folder at `path` and the folders above it. Adds each created folder to `made`.
    ///
    /// # Errors
    /// See [`Walk::find`]; and when a folder cannot be created.
    pub(super) fn make_folder(
        &mut self,
        path: Option<ProjectPath>,
        made: &mut Vec<String>,
    ) -> Result<()> {
        if self.enter(path)? {
            return Ok(());
        }
        if let Some(missing) = path {
            self.make_folder(missing.folder(), made)?;
            self.here()
                .create_dir(missing.name())
                .with_context(|| format!("failed to create the folder `{missing}`"))?;
            made.push(missing.as_str().to_owned());
            self.enter(path)?;
        }
        Ok(())
    }

    /// The folder that was entered last.
    fn here(&self) -> &Dir {
        self.open.last().map_or(self.root, |(_, folder)| folder)
    }

    /// Opens the folder at `path`; `false` if it is missing.
    fn enter(&mut self, path: Option<ProjectPath>) -> Result<bool> {
        let open = self.open.iter();
        let above = open.take_while(|(open, _)| path.is_some_and(|path| path.is_in(open)));
        let count = above.count();
        self.open.truncate(count);
        for next in path.into_iter().flat_map(ProjectPath::parts).skip(count) {
            let error = match self.here().open_dir_nofollow(next.name()) {
                Ok(folder) => {
                    self.open.push((next.as_str().to_owned(), folder));
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => error,
            };
            let metadata = self.here().symlink_metadata(next.name());
            if metadata.is_ok_and(|metadata| metadata.is_symlink()) {
                let below = path.and_then(|path| path.as_str().strip_prefix(next.as_str()));
                let real = self.target(next)? + below.unwrap_or_default();
                return self.enter(Some(ProjectPath::new(&real)?));
            }
            if error.kind() == ErrorKind::NotADirectory {
                return Err(anyhow!("`{next}` is a file where a folder is needed"))
                    .or_hint("move it away, and run the command again");
            }
            return Err(unreadable(error, next));
        }
        Ok(true)
    }

    /// The target of the symbolic link at `path`: a path of the project that contains no link.
    fn target(&self, path: ProjectPath) -> Result<String> {
        let real = match self.resolve(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(anyhow!(
                    "the target of the symbolic link `{path}` does not exist"
                ))
                .or_hint("remove the link, and run the command again");
            }
            real => real.map_err(|error| unreadable(error, path))?,
        };
        let leads_out = format!("`{path}` is a symbolic link that leads out of the project");
        let real = match real.as_deref().and_then(Path::to_str).map(ProjectPath::new) {
            Some(real) => real.context(leads_out),
            None => Err(Error::msg(leads_out)),
        };
        real.map(|real| real.as_str().to_owned()).or_hint(
            "replace the link with a file or folder, or with a relative link to a file or folder \
             of the project",
        )
    }

    /// `path` with every symbolic link resolved; `None` if the result is outside of the folder.
    fn resolve(&self, path: ProjectPath) -> io::Result<Option<PathBuf>> {
        let (mut real, mut left) = (PathBuf::new(), PathBuf::from(path.as_str()));
        let mut links = 0;
        while let Some(part) = left.components().next() {
            let mut rest: PathBuf = left.components().skip(1).collect();
            match part {
                Component::CurDir => {}
                Component::ParentDir if real.pop() => {}
                Component::Normal(name) => {
                    real.push(name);
                    if self.root.symlink_metadata(&real)?.is_symlink() {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many levels of symbolic links"));
                        }
                        rest = self.root.read_link_contents(&real)?.join(rest);
                        real.pop();
                    }
                }
                _ => return Ok(None),
            }
            left = rest;
        }
        Ok(Some(real))
    }
}

/// The most links that are followed for one path, as in Linux.
const MAX_LINKS: usize = 40;

impl ResolvedPath<'_> {
    /// Whether this is a regular file.
    pub(super) fn is_file(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_file)
    }

    /// The size of the file in bytes; 0 if the file does not exist.
    pub(super) fn len(&self) -> u64 {
        self.metadata.as_ref().map_or(0, Metadata::len)
    }

    /// The bytes of the file, if it exists, and its metadata at the time it was opened. Errors call the file `path`.
    ///
    /// # Errors
    /// When it is not a readable, regular file, or too large.
    pub(super) fn read(&self, path: ProjectPath) -> Result<Option<(Metadata, Vec<u8>)>> {
        let Some(metadata) = &self.metadata else {
            return Ok(None);
        };
        // Checked before the file is opened, because the error of opening a socket is not helpful.
        ensure_regular(metadata, path)?;
        // The file may have been replaced since.
        let file = open(self.folder, &self.name).map_err(|error| unreadable(error, path))?;
        content(file, path).map(Some)
    }
}

/// Opens the file `name` in `folder`. Fails for a symbolic link, and does not wait for the writer of a named pipe.
fn open(folder: &Dir, name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    Ok(folder.open_with(name, &options)?.into_std())
}

/// The metadata and the bytes of `file`, which errors call `path`.
fn content(file: File, path: ProjectPath) -> Result<(Metadata, Vec<u8>)> {
    let metadata = Metadata::from_file(&file).map_err(|error| unreadable(error, path))?;
    ensure_regular(&metadata, path)?;
    let max = max(path.as_str());
    match read(file, metadata.len(), max).map_err(|error| unreadable(error, path))? {
        Some(bytes) => Ok((metadata, bytes)),
        None => refuse(path.as_str(), max),
    }
}

fn ensure_regular(metadata: &Metadata, path: ProjectPath) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    Err(anyhow!("`{path}` is not a regular file"))
        .or_hint("move it away, and run the command again")
}

fn unreadable(error: io::Error, path: ProjectPath) -> Error {
    Error::new(error).context(format!("failed to read `{path}`"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use tempfile::TempDir;

    use super::*;

    /// A project folder beside a file `secret`.
    struct Top(TempDir);

    impl Top {
        /// Creates these files, each with its path as its text, and these links.
        fn new(files: &[&str], links: &[(&str, &str)]) -> Self {
            let top = Self(tempfile::tempdir().expect("a temporary folder"));
            for file in [&["../secret", ".git/HEAD"], files].concat() {
                fs::create_dir_all(top.at(file).parent().unwrap()).unwrap();
                fs::write(top.at(file), file).unwrap();
            }
            for (link, to) in links {
                symlink(to, top.at(link)).unwrap();
            }
            top
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join("project").join(path)
        }

        fn jail(&self) -> Jail {
            Jail::new(File::open(self.at("")).unwrap())
        }

        /// The text at `path`, or the error.
        fn read(&self, path: &str) -> Result<Option<String>, String> {
            let path = ProjectPath::new(path).unwrap();
            let (jail, text) = (self.jail(), |(_, bytes)| String::from_utf8(bytes).unwrap());
            let mut walk = jail.walk();
            let found = walk
                .find(path)
                .map(|resolved| resolved.map(|resolved| resolved.read(path)));
            let read = found.and_then(|read| Ok(read.transpose()?.flatten().map(text)));
            read.map_err(|error| format!("{error:#}"))
        }
    }

    #[test]
    fn links_are_followed_within_the_project() {
        let top = Top::new(
            &["a/b/c", "d"],
            &[
                ("to_file", "a/b/c"),
                ("to_folder", "./a/"),
                ("a/up", "../d"),
                ("a/b/to_link", "../../to_folder/up"),
                ("through_link", "to_folder/b/../up"),
                ("back", "../project/d"),
            ],
        );
        for (path, file) in [
            ("a/b/c", "a/b/c"),
            ("to_file", "a/b/c"),
            ("to_folder/b/c", "a/b/c"),
            ("to_folder/up", "d"),
            ("a/b/to_link", "d"),
            ("through_link", "d"),
        ] {
            assert_eq!(top.read(path), Ok(Some(file.to_owned())), "{path}");
        }
        for missing in ["x", "x/y/z", "a/x", "to_folder/x", "to_folder/x/y"] {
            assert_eq!(top.read(missing), Ok(None), "{missing}");
        }
        let error = "`back` is a symbolic link that leads out of the project";
        assert_eq!(top.read("back"), Err(error.to_owned()));
    }

    #[test]
    fn a_link_that_leads_out_is_named() {
        let secret = Top::new(&[], &[]);
        let secret = secret.at("../secret");
        let secret = secret.to_str().unwrap();
        let top = Top::new(
            &["a/b/c"],
            &[
                ("file", "../secret"),
                ("absolute", secret),
                ("folder", ".."),
                ("a/deep", "../../secret"),
                ("through", "a/b/../../../secret"),
                ("chain", "a/deep"),
                ("a/proc", "/proc/self/root"),
            ],
        );
        for (path, link) in [
            ("file", "file"),
            ("absolute", "absolute"),
            ("folder/secret", "folder"),
            ("folder/project/a/b/c", "folder"),
            ("a/deep", "a/deep"),
            ("through", "through"),
            ("chain", "chain"),
            ("a/proc/etc/passwd", "a/proc"),
        ] {
            let error = format!("`{link}` is a symbolic link that leads out of the project");
            assert_eq!(top.read(path), Err(error), "{path}");
        }
    }

    #[test]
    fn a_link_into_gits_files_leads_out() {
        let links = [
            ("head", ".git/HEAD"),
            ("folder", ".git"),
            ("top", "."),
            ("GIT", "./.git/"),
        ];
        let top = Top::new(&[], &links);
        let git = "belongs to git, not to the project";
        for (path, link, why) in [
            ("head", "head", format!("`.git/HEAD` {git}")),
            ("folder/HEAD", "folder", format!("`.git` {git}")),
            ("GIT/hooks/new", "GIT", format!("`.git` {git}")),
            (
                "top/.gitignore",
                "top",
                "`` is not a path within the project".to_owned(),
            ),
        ] {
            let error = format!("`{link}` is a symbolic link that leads out of the project: {why}");
            assert_eq!(top.read(path), Err(error));
        }
    }

    #[test]
    fn a_link_to_nothing_or_to_itself_is_an_error() {
        let links = [("nothing", "x/y"), ("one", "other"), ("other", "one")];
        let top = Top::new(&[], &links);
        for path in ["nothing", "nothing/a"] {
            let error = "the target of the symbolic link `nothing` does not exist".to_owned();
            assert_eq!(top.read(path), Err(error));
        }
        for path in ["one", "one/a"] {
            let error = "failed to read `one`: too many levels of symbolic links".to_owned();
            assert_eq!(top.read(path), Err(error));
        }
    }

    #[test]
    fn as_many_links_are_followed_as_linux_follows() {
        let links: Vec<_> = (1..=MAX_LINKS + 1)
            .map(|number| (number.to_string(), (number - 1).to_string()))
            .collect();
        let links: Vec<_> = links.iter().map(|(link, to)| (&**link, &**to)).collect();
        let top = Top::new(&["0"], &links);
        assert_eq!(top.read("40"), Ok(Some("0".to_owned())));
        let error = "failed to read `41`: too many levels of symbolic links".to_owned();
        assert_eq!(top.read("41"), Err(error));
    }

    #[test]
    fn a_file_that_cannot_be_looked_up_is_an_error() {
        let (top, name) = (Top::new(&["a/b"], &[]), "a".repeat(1_000));
        for path in [name.clone(), format!("a/{name}"), format!("{name}/a")] {
            let error = top.read(&path).unwrap_err();
            assert!(error.starts_with("failed to read `"), "{error}");
        }
    }

    #[test]
    fn a_file_that_becomes_a_link_is_not_followed() {
        let top = Top::new(&["a/b"], &[]);
        let (jail, path) = (top.jail(), ProjectPath::new("a/b").unwrap());
        let mut walk = jail.walk();
        let resolved = walk.find(path).unwrap().unwrap();
        fs::remove_file(top.at("a/b")).unwrap();
        symlink("../../secret", top.at("a/b")).unwrap();
        let error = resolved.read(path).unwrap_err().to_string();
        assert_eq!(error, "failed to read `a/b`");
    }

    #[test]
    fn a_folder_that_becomes_a_link_is_not_followed() {
        let top = Top::new(&["a/b/c"], &[]);
        fs::create_dir(top.at("../b")).unwrap();
        fs::write(top.at("../b/c"), "secret").unwrap();
        let (jail, path) = (top.jail(), ProjectPath::new("a/b/c").unwrap());
        let mut walk = jail.walk();
        let resolved = walk.find(path).unwrap().unwrap();
        fs::rename(top.at("a"), top.at("moved")).unwrap();
        symlink("..", top.at("a")).unwrap();
        // The walk still reads from the folder that it found, even after that folder was moved.
        let (_, bytes) = resolved.read(path).unwrap().unwrap();
        assert_eq!(bytes, b"a/b/c");
        let error = "`a` is a symbolic link that leads out of the project".to_owned();
        assert_eq!(top.read("a/b/c"), Err(error));
    }

    #[test]
    fn only_missing_folders_are_made() {
        let top = Top::new(&["a/b"], &[("link", "a")]);
        let jail = top.jail();
        let (mut walk, mut made) = (jail.walk(), Vec::new());
        for path in ["a/c/d", "link/c/e", "a", "new"] {
            let path = ProjectPath::new(path).unwrap();
            walk.make_folder(Some(path), &mut made).unwrap();
            assert!(walk.folder(Some(path)).unwrap().is_some());
        }
        assert_eq!(made, ["a/c", "a/c/d", "link/c/e", "new"]);
        assert!(top.at("a/c/e").is_dir());
        let path = ProjectPath::new("a/b/x").unwrap();
        let error = walk.make_folder(Some(path), &mut made).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`a/b` is a file where a folder is needed"
        );
    }
}
