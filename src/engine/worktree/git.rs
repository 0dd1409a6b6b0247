//! The conflicts that git left in the project's folder: files of which a merge, a rebase, a cherry-pick, a revert or a
//! stash has several versions.
//!
//! Only git knows which files these are, what they contained in the common ancestor, and which commits it merges. The
//! `git` commands here run only when a command needs this. They read the index and objects; none of them runs hooks or
//! filters, refreshes the index, or fetches.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{self, BufRead, BufReader, ErrorKind, Read, Write},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    str,
};

use anyhow::{Context, Result, anyhow, bail, ensure};

use super::last_applied::{LAST_APPLIED, Record};
use crate::{
    engine::text::{Text, Texts},
    hint::OrHint,
    limits::{FILE, RECORD, RECORDED_FILES, Total, size},
    visible::visible,
};

/// The conflicts that git left in the folder.
#[derive(Debug, Default)]
pub struct Unmerged {
    /// The files, by path.
    pub stages: BTreeMap<String, Stages>,
    /// The commits that git merges, if they can be determined.
    pub commits: Option<Commits>,
    /// The tool's files that git has at another path, because the other branch renamed their folder or moved the project:
    /// the path in the project, and the path that git chose. Outside of the project, this is a path in the repository
    /// with `:/` before it, as git writes it.
    pub moved: BTreeMap<String, String>,
}

impl Unmerged {
    /// The texts that the tool wrote last in the common ancestor and on each branch; `None` if git does not know the
    /// commits.
    pub fn recorded(&self) -> Option<[Texts; 3]> {
        let commits = self.commits.as_ref()?;
        let commits = [commits.parent.as_ref()?, &commits.ours, &commits.theirs];
        Some(commits.map(|commit| commit.record.texts.clone()))
    }
}

/// The versions of a file with a conflict; `None` where the file does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stages {
    /// In the common ancestor.
    pub parent: Option<Text>,
    /// On the branch that is checked out.
    pub ours: Option<Text>,
    /// On the other branch.
    pub theirs: Option<Text>,
    /// As git wrote the file into the folder, with conflict markers. `None` if git does not record that.
    pub written: Option<Text>,
    /// Whether a branch has the file in another form than UTF-8, which cannot be merged.
    pub is_binary: bool,
}

impl Stages {
    /// Whether one branch has deleted the file.
    pub fn is_one_sided(&self) -> bool {
        self.ours.is_some() != self.theirs.is_some()
    }
}

/// The commits that git merges.
#[derive(Debug)]
pub struct Commits {
    /// The common ancestor; `None` if there is none, or if it is not a commit because git merged several ancestors.
    pub parent: Option<Commit>,
    /// On the branch that is checked out.
    pub ours: Commit,
    /// On the other branch.
    pub theirs: Commit,
    /// The text of the description as git merged it and wrote it into the folder. `None` if git does not record that.
    pub merged: Option<String>,
}

/// The tool's own files in a commit.
#[derive(Debug)]
pub struct Commit {
    /// The text of the description.
    pub description: Option<String>,
    /// The record.
    pub record: Record,
}

/// The revisions of the operations that stop at a conflict: the other side, and the common ancestor. `None` stands for
/// the merge base of the other side and `HEAD`.
const OPERATIONS: [(&str, Option<&str>); 7] = [
    ("MERGE_HEAD", None),
    ("CHERRY_PICK_HEAD", Some("CHERRY_PICK_HEAD^")),
    // A merge commit has two parents. `--mainline` selects one.
    ("CHERRY_PICK_HEAD", Some("CHERRY_PICK_HEAD^2")),
    ("REBASE_HEAD", Some("REBASE_HEAD^")),
    ("REVERT_HEAD^", Some("REVERT_HEAD")),
    ("REVERT_HEAD^2", Some("REVERT_HEAD")),
    ("refs/stash", Some("refs/stash^")),
];

/// The name of the tree that git wrote into the folder, with conflict markers.
const AUTO_MERGE: &str = "AUTO_MERGE";

/// Lists the conflicts in the folder `root`, of the files at `paths` and of those in the records of the branches. The
/// list is empty if git is not installed or the folder is not in a repository.
pub(super) fn unmerged(
    root: &Path,
    description: &'static str,
    paths: &BTreeSet<&str>,
) -> Result<Unmerged> {
    let mut git = Git {
        root,
        is_discovered: false,
        prefix: String::new(),
        description,
    };
    git.discover()?;
    let mut unmerged = git.unmerged()?;
    if unmerged.is_empty() {
        return Ok(Unmerged::default());
    }
    git.prefix = git
        .line(&["rev-parse", "--show-prefix"])?
        .context("git does not say where the project is in its repository")?;
    let prefix = &git.prefix;
    let (commits, places) = git.commits(&unmerged)?.unzip();
    let moved = match (&commits, places) {
        (Some(commits), Some(places)) => git.moved(commits, &places)?,
        _ => BTreeMap::new(),
    };
    let parent = commits.as_ref().and_then(|commits| commits.parent.as_ref());
    let mut merged: Vec<_> = parent.into_iter().collect();
    if let Some(commits) = &commits {
        merged.extend([&commits.ours, &commits.theirs]);
    }
    unmerged.retain(|path, _| {
        paths.contains(&**path)
            || (merged.iter()).any(|commit| commit.record.texts.contains_key(path))
    });
    let mut names = Vec::new();
    for (path, objects) in &unmerged {
        for (stage, object) in (1..).zip(objects) {
            names.extend(object.as_ref().map(|_| format!(":{stage}:{prefix}{path}")));
        }
        names.push(format!("{AUTO_MERGE}:{prefix}{path}"));
    }
    let mut texts = git.texts(names)?;
    let stages = unmerged.into_iter().map(|(path, objects)| {
        let [in_parent, ours, theirs, written] = [":1", ":2", ":3", AUTO_MERGE].map(|tree| {
            texts
                .remove(&format!("{tree}:{prefix}{path}"))
                .map(Text::from)
        });
        // git may give a text of the parent for another file that it considers renamed to this path.
        let is_renamed = path != description
            && parent.is_some_and(|commit| !commit.record.texts.contains_key(&path));
        let [_, our_object, their_object] = objects;
        let stages = Stages {
            is_binary: our_object.is_some() != ours.is_some()
                || their_object.is_some() != theirs.is_some(),
            parent: in_parent.filter(|_| !is_renamed),
            ours,
            theirs,
            written,
        };
        (path, stages)
    });
    let stages = stages.collect();
    Ok(Unmerged {
        stages,
        commits,
        moved,
    })
}

/// The objects of a file in the common ancestor, on our side, and on their side.
type Objects = [Option<String>; 3];

/// An entry of the index.
struct Indexed<'a> {
    object: &'a str,
    stage: &'a str,
    path: &'a str,
}

/// The project in a commit.
struct Place {
    commit: String,
    /// As [`Git::prefix`]: the other branch may have the project in another folder.
    prefix: String,
}

impl Place {
    /// The name that git has for a file of the project in the commit.
    fn name(&self, path: &str) -> String {
        format!("{}:{}{path}", self.commit, self.prefix)
    }

    fn names<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        paths.into_iter().map(|path| self.name(path)).collect()
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether the `error` of a start says that git is not installed. The system denies the permission if a folder in `PATH`
/// cannot be searched.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::PermissionDenied
    )
}

struct Git<'a> {
    root: &'a Path,
    /// Whether git finds the repository by the folder alone, whatever the variables of the environment say.
    is_discovered: bool,
    /// The path of the folder in the repository, with a slash at the end; empty at the top.
    prefix: String,
    /// The name of the file with the description.
    description: &'static str,
}

impl Git<'_> {
    /// A git command in the folder. Its settings keep the repository from running other programs.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.current_dir(self.root)
            .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
            .args(["-c", "safe.bareRepository=explicit"])
            // git need not load larger files into memory: rscaffold never reads them.
            .args(["-c", "core.bigFileThreshold=128m"])
            .args(arguments)
            .env("GIT_NO_LAZY_FETCH", "1")
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        if self.is_discovered {
            git.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE");
        }
        git
    }

    /// Ignores the variables that git sets for aliases and hooks: without `GIT_WORK_TREE`, git would take the current
    /// folder for the top of the repository. If git finds another repository without them, the user has set them.
    fn discover(&mut self) -> Result<()> {
        if env::var_os("GIT_DIR").is_none() || env::var_os("GIT_WORK_TREE").is_some() {
            return Ok(());
        }
        let arguments = ["rev-parse", "--absolute-git-dir"];
        let named = self.line(&arguments)?;
        self.is_discovered = true;
        self.is_discovered = named.is_none() || named == self.line(&arguments)?;
        Ok(())
    }

    /// Passes each entry that git prints with `-z` to `take`, until `take` returns `false`. So a long output is never
    /// in memory as a whole.
    fn entries(
        &self,
        arguments: &[&str],
        mut take: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut git = match self.command(arguments).stdout(Stdio::piped()).spawn() {
            Err(error) if is_missing(&error) => return Ok(()),
            git => git.context("failed to run `git`")?,
        };
        let output = git.stdout.take().context("`git` has no output")?;
        let mut taken = Ok(true);
        for entry in BufReader::new(output).split(0) {
            let entry = entry.context("failed to read what `git` prints")?;
            taken = take(&entry);
            if !matches!(taken, Ok(true)) {
                break;
            }
        }
        // git ends by itself when its output is closed.
        let status = git.wait().context("failed to wait for `git`")?;
        if taken? && !status.success() {
            self.ensure_no_repository(arguments)?;
        }
        Ok(())
    }

    /// Returns git's reason for the failure of a command, unless the folder is not in a repository.
    fn ensure_no_repository(&self, arguments: &[&str]) -> Result<()> {
        let mut git = self.command(arguments);
        // The language of the errors.
        git.env("LC_ALL", "C").stdout(Stdio::null());
        let output = git.stderr(Stdio::piped()).output();
        let errors = output.context("failed to run `git`")?.stderr;
        let errors = String::from_utf8_lossy(&errors);
        let is_elsewhere = ["not a git repository", "bare repository"]
            .iter()
            .any(|text| errors.contains(text));
        if is_elsewhere {
            return Ok(());
        }
        let refused = Err(anyhow!(
            "git does not say which files have conflicts: {}",
            visible(errors.lines().next().unwrap_or("it gives no reason"))
        ));
        // git names a command that helps, such as for a repository of another user.
        let mut lines = errors.lines().map(str::trim);
        match lines.find(|line| line.starts_with("git config ")) {
            Some(remedy) => refused.or_hint(format!(
                "if you trust the repository: `{}`",
                visible(remedy)
            )),
            None => refused,
        }
    }

    /// The first line that git prints; `None` if git fails or is not installed.
    fn line(&self, arguments: &[&str]) -> Result<Option<String>> {
        let output = match self.command(arguments).output() {
            Err(error) if is_missing(&error) => return Ok(None),
            output => output.context("failed to run `git`")?,
        };
        if !output.status.success() {
            return Ok(None);
        }
        let text = str::from_utf8(&output.stdout);
        let text = text.context("git prints a path that is not UTF-8")?;
        Ok(text.lines().next().map(str::to_owned))
    }

    /// Passes each text file that `git ls-files` prints to `take`.
    fn index(&self, arguments: &[&str], mut take: impl FnMut(Indexed) -> Result<()>) -> Result<()> {
        self.entries(arguments, |entry| {
            // `100644 <object> 2<tab>src/lib.rs`
            // rscaffold writes only paths that are UTF-8.
            let Ok(entry) = str::from_utf8(entry) else {
                return Ok(true);
            };
            let Some((fields, path)) = entry.split_once('\t') else {
                return Ok(true);
            };
            let [mode, object, stage] = fields.split(' ').collect::<Vec<_>>()[..] else {
                bail!("failed to read the output of `git ls-files`: `{fields}`");
            };
            // Symbolic links and submodules have no text. A path with a newline cannot be passed to `git cat-file`,
            // which reads one name per line.
            if !mode.starts_with("100") || path.contains('\n') {
                return Ok(true);
            }
            take(Indexed {
                object,
                stage,
                path,
            })?;
            Ok(true)
        })
    }

    /// The files that the index has in several versions, each with its objects.
    fn unmerged(&self) -> Result<BTreeMap<String, Objects>> {
        let mut unmerged = BTreeMap::<String, Objects>::new();
        self.index(&["ls-files", "--unmerged", "-z"], |entry| {
            let stage = ["1", "2", "3"]
                .iter()
                .position(|number| *number == entry.stage);
            if let Some(stage) = stage {
                let objects = unmerged.entry(entry.path.to_owned()).or_default();
                objects[stage] = Some(entry.object.to_owned());
            }
            ensure!(
                unmerged.len() <= RECORDED_FILES,
                "git left more than {RECORDED_FILES} unmerged files, the most that rscaffold takes"
            );
            Ok(())
        })?;
        Ok(unmerged)
    }

    /// The commits that git merges, and the places of the project in ours and in theirs.
    ///
    /// Several operations can be in progress at once, and a stash can exist without any operation. So an operation
    /// counts only if its commits contain the same objects as the index.
    fn commits(
        &self,
        unmerged: &BTreeMap<String, Objects>,
    ) -> Result<Option<(Commits, [Place; 2])>> {
        let mut found = None;
        for (theirs, parent) in OPERATIONS {
            let Some(theirs) = self.line(&["rev-parse", "--verify", "--quiet", theirs])? else {
                continue;
            };
            let parent = match parent {
                Some(parent) => self.line(&["rev-parse", "--verify", "--quiet", parent])?,
                None => self.line(&["merge-base", "HEAD", &theirs])?,
            };
            if !self.has_stage("HEAD", unmerged, 1)? || !self.has_stage(&theirs, unmerged, 2)? {
                continue;
            }
            let parent =
                parent.filter(|parent| self.has_stage(parent, unmerged, 0).unwrap_or(false));
            let is_whole = parent.is_some();
            if is_whole || found.is_none() {
                found = Some((theirs, parent));
            }
            if is_whole {
                break;
            }
        }
        let Some((theirs, parent)) = found else {
            return Ok(None);
        };
        let places = [
            self.place("HEAD", &[&theirs])?,
            self.place(&theirs, &["HEAD"])?,
        ];
        let parent = parent
            .map(|parent| self.commit(&self.place(&parent, &["HEAD", &theirs])?))
            .transpose()?;
        let merged = format!("{AUTO_MERGE}:{}{}", self.prefix, self.description);
        let [ours, theirs] = &places;
        let commits = Commits {
            parent,
            ours: self.commit(ours)?,
            theirs: self.commit(theirs)?,
            merged: self.texts([merged])?.into_values().next(),
        };
        Ok(Some((commits, places)))
    }

    /// The place of the project in `commit`. If the commit has no project in today's folder, the place is the folder from
    /// which one of the `others` has moved it: git considers the record renamed.
    fn place(&self, commit: &str, others: &[&str]) -> Result<Place> {
        let mut place = Place {
            commit: commit.to_owned(),
            prefix: self.prefix.clone(),
        };
        let known = [self.description, LAST_APPLIED];
        if !self.objects(place.names(known))?.is_empty() {
            return Ok(place);
        }
        let record = format!("{}{LAST_APPLIED}", self.prefix);
        let records = format!(":(top,glob)**/{LAST_APPLIED}");
        for other in others {
            let options = [
                "-r",
                "-z",
                "--find-renames",
                "--diff-filter=R",
                "--name-status",
            ];
            let arguments = [
                &["diff-tree"],
                &options[..],
                &[commit, other, "--", &records],
            ];
            let mut fields = Vec::new();
            self.entries(&arguments.concat(), |field| {
                fields.push(String::from_utf8_lossy(field).into_owned());
                Ok(true)
            })?;
            // The similarity, the old path and the new path of each record.
            let mut renames = fields.chunks_exact(3);
            let old = renames.find(|rename| rename[2] == record);
            if let Some(prefix) = old.and_then(|rename| rename[1].strip_suffix(LAST_APPLIED)) {
                prefix.clone_into(&mut place.prefix);
                break;
            }
        }
        Ok(place)
    }

    /// The recorded files of one branch that git has at another path: see [`Unmerged::moved`].
    ///
    /// git moves a file that is new on one branch into the folder that the other branch renamed. If the other branch
    /// moved the project, git leaves some files in the old folder.
    fn moved(&self, commits: &Commits, places: &[Place; 2]) -> Result<BTreeMap<String, String>> {
        let [ours, theirs] = [&commits.ours, &commits.theirs].map(|commit| &commit.record.texts);
        let parent = commits.parent.as_ref().map(|commit| &commit.record.texts);
        let is_known = |path: &str| {
            parent.is_some_and(|parent| parent.contains_key(path))
                || ours.contains_key(path)
                || theirs.contains_key(path)
        };
        let [our_place, their_place] = places;
        let sides = [(ours, our_place), (theirs, their_place)];
        let names = sides.map(|(recorded, place)| place.names(recorded.keys().map(String::as_str)));
        let objects = self.objects(names.into_iter().flatten())?;
        let mut sources = BTreeSet::new();
        for (recorded, place) in sides {
            for path in recorded.keys() {
                let object = objects.get(&place.name(path));
                sources.extend(object.map(|object| (object.as_str(), file_name(path))));
            }
        }
        let (mut indexed, mut elsewhere) = (BTreeSet::new(), Vec::new());
        let arguments = ["ls-files", "--stage", "--full-name", "-z", ":/"];
        self.index(&arguments, |entry| {
            let inside = entry.path.strip_prefix(&self.prefix);
            if let Some(path) = inside.filter(|path| is_known(path)) {
                indexed.insert(path.to_owned());
            } else if sources.contains(&(entry.object, file_name(entry.path))) {
                elsewhere.push((entry.object.to_owned(), entry.path.to_owned()));
            }
            Ok(())
        })?;
        let in_commit = |place: &Place, path: &str| format!("{}:{path}", place.commit);
        let paths = elsewhere.iter().map(|(_, path)| path);
        let there = paths.flat_map(|path| places.each_ref().map(|place| in_commit(place, path)));
        let there = self.objects(there)?;
        let mut moved = BTreeMap::new();
        for (recorded, place, others, other) in [
            (ours, our_place, theirs, their_place),
            (theirs, their_place, ours, our_place),
        ] {
            for from in recorded.keys() {
                let object = objects.get(&place.name(from));
                let is_new = !others.contains_key(from)
                    && parent.is_none_or(|parent| !parent.contains_key(from));
                let is_gone = is_new && !indexed.contains(from);
                for (found, to) in &elsewhere {
                    let is_same = Some(found) == object && file_name(from) == file_name(to);
                    let is_left = *to == format!("{}{from}", place.prefix);
                    // The other branch may have a file with the same text there.
                    let is_theirs = there.get(&in_commit(other, to)) == object;
                    if is_same && (is_gone || is_left) && !is_theirs {
                        let to = to
                            .strip_prefix(&self.prefix)
                            .map_or_else(|| format!(":/{to}"), str::to_owned);
                        moved.insert(from.to_owned(), to);
                    }
                }
            }
        }
        Ok(moved)
    }

    /// Whether a commit contains the objects that the index has of the side `stage`.
    fn has_stage(
        &self,
        commit: &str,
        unmerged: &BTreeMap<String, Objects>,
        stage: usize,
    ) -> Result<bool> {
        let prefix = &self.prefix;
        let there = self.objects(
            unmerged
                .keys()
                .map(|path| format!("{commit}:{prefix}{path}")),
        )?;
        let mut elsewhere = BTreeSet::new();
        for (path, objects) in unmerged {
            let there = there.get(&format!("{commit}:{prefix}{path}"));
            match (there, &objects[stage]) {
                (Some(there), Some(object)) if there == object => {}
                (None, None) => {}
                // git may consider the file renamed: then the commit has the object at another path.
                (None, Some(object)) => _ = elsewhere.insert(object.as_str()),
                (Some(_), _) => return Ok(false),
            }
        }
        if !elsewhere.is_empty() {
            self.entries(&["ls-tree", "-r", "--full-tree", "-z", commit], |entry| {
                // `100644 blob <object><tab>src/lib.rs`
                let mut fields = entry.split(|byte| matches!(byte, b' ' | b'\t'));
                let object = str::from_utf8(fields.nth(2).unwrap_or_default());
                elsewhere.remove(object.unwrap_or_default());
                Ok(!elsewhere.is_empty())
            })?;
        }
        Ok(elsewhere.is_empty())
    }

    fn commit(&self, place: &Place) -> Result<Commit> {
        let names = [self.description, LAST_APPLIED].map(|file| place.name(file));
        let mut texts = self.texts(names.clone())?;
        let [description, record] = names.map(|name| texts.remove(&name));
        Ok(Commit {
            description,
            record: Record::parse(&record.unwrap_or_default()).with_context(|| {
                format!(
                    "`{LAST_APPLIED}` is damaged in the commit `{}`",
                    place.commit
                )
            })?,
        })
    }

    /// The objects of the files with these `names`, by name.
    fn objects(&self, names: impl IntoIterator<Item = String>) -> Result<BTreeMap<String, String>> {
        let mut objects = BTreeMap::new();
        self.cat_file("--batch-check", names, |name, object, _, _| {
            objects.insert(name, object.to_owned());
            Ok(())
        })?;
        Ok(objects)
    }

    /// The texts of the files with these `names`, by name. Files that are not UTF-8 are left out.
    fn texts(&self, names: impl IntoIterator<Item = String>) -> Result<BTreeMap<String, String>> {
        let (mut texts, mut all) = (BTreeMap::new(), Total::default());
        self.cat_file("--batch", names, |name, _, bytes, output| {
            let is_record = name.ends_with(LAST_APPLIED);
            let max = if is_record { RECORD } else { FILE };
            if bytes > max {
                return Err(anyhow!(
                    "`{name}` in git has more than {}, the most that rscaffold reads",
                    size(max)
                ))
                .or_hint(BY_HAND);
            }
            let mut text = vec![0; usize::try_from(bytes)? + 1];
            output.read_exact(&mut text)?;
            text.pop();
            if !is_record {
                all.add(text.len()).or_hint(BY_HAND)?;
            }
            if let Ok(text) = String::from_utf8(text) {
                texts.insert(name, text);
            }
            Ok(())
        })?;
        Ok(texts)
    }

    /// Runs `git cat-file` for the files with these `names`. Passes to `take` the name, the object and the size of each
    /// existing file, and the output, from which `--batch` gives the content.
    fn cat_file(
        &self,
        how: &str,
        names: impl IntoIterator<Item = String>,
        mut take: impl FnMut(String, &str, u64, &mut BufReader<ChildStdout>) -> Result<()>,
    ) -> Result<()> {
        let mut child = self
            .command(&["cat-file", how])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("failed to run `git cat-file`")?;
        let input = child.stdin.take();
        let mut input = input.context("`git cat-file` has no input")?;
        let output = child.stdout.take();
        let mut output = BufReader::new(output.context("`git cat-file` has no output")?);
        let told = names.into_iter().try_for_each(|name| {
            // One name at a time, so that neither process waits for the other to read.
            writeln!(input, "{name}").context("failed to ask `git cat-file`")?;
            let mut header = String::new();
            output.read_line(&mut header)?;
            let fields: Vec<_> = header.split_whitespace().collect();
            match fields[..] {
                [object, "blob", size] => take(name, object, size.parse()?, &mut output),
                [.., "missing" | "ambiguous"] => Ok(()),
                _ => bail!(
                    "failed to read `{name}` with `git cat-file`: `{}`",
                    header.trim_end()
                ),
            }
        });
        drop((input, output));
        child.wait().context("failed to wait for `git cat-file`")?;
        told
    }
}

/// The hint for content in git that is too large.
const BY_HAND: &str = "settle the file by hand, for example with `git checkout --ours` and `git add`, and run \
                       the command again";

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const PROJECT: &str = "PROJECT";

    /// A repository with a project in its folder `operator`, and the branches `main` and `theirs`, which changed the
    /// same files.
    struct Repository(TempDir);

    impl Repository {
        fn new() -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            fs::create_dir_all(repository.folder().join(".rscaffold")).unwrap();
            repository.git(&["init", "--quiet", "--initial-branch=main"]);
            repository.commit("parent", "main");
            repository.git(&["switch", "--quiet", "--create=theirs"]);
            repository.commit("theirs", "theirs");
            repository.git(&["switch", "--quiet", "main"]);
            repository.commit("ours", "main");
            repository
        }

        fn folder(&self) -> std::path::PathBuf {
            self.0.path().join("operator")
        }

        fn write(&self, text: &str) {
            for name in ["Makefile", "of\nthe user"] {
                fs::write(self.folder().join(name), format!("{text}\n")).unwrap();
            }
            fs::write(
                self.folder().join("PROJECT"),
                format!("project of {text}\n"),
            )
            .unwrap();
            let record = format!("[\"Makefile\",\"tool of {text}\\n\"]\n");
            fs::write(self.folder().join(LAST_APPLIED), record).unwrap();
        }

        fn commit(&self, text: &str, branch: &str) {
            self.write(text);
            self.save(branch);
        }

        /// Commits the current files of the folder.
        fn save(&self, message: &str) {
            assert!(self.git(&["add", "--all"]));
            assert!(self.git(&["commit", "--quiet", "--message", message]));
        }

        /// Runs git, and returns whether it succeeded.
        fn git(&self, arguments: &[&str]) -> bool {
            let output = Command::new("git")
                .args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
                .args(arguments)
                .current_dir(self.0.path())
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            output.status.success()
        }

        fn unmerged(&self) -> Option<Unmerged> {
            let unmerged =
                unmerged(&self.folder(), PROJECT, &BTreeSet::from(["Makefile"])).unwrap();
            (!unmerged.stages.is_empty()).then_some(unmerged)
        }
    }

    #[track_caller]
    fn assert_open(repository: &Repository, [parent, ours, theirs]: [&str; 3]) {
        let unmerged = repository.unmerged().expect("conflicts");
        // The other files with conflicts are neither among the paths nor in a record.
        let paths: Vec<_> = unmerged.stages.keys().collect();
        assert_eq!(paths, ["Makefile"]);
        let text = |text: &str| Some(Text::from(format!("{text}\n")));
        let disk = fs::read_to_string(repository.folder().join("Makefile")).unwrap();
        assert!(disk.contains("<<<<<<< "), "{disk}");
        let expected = Stages {
            parent: text(parent),
            ours: text(ours),
            theirs: text(theirs),
            written: Some(disk.into()),
            is_binary: false,
        };
        assert_eq!(unmerged.stages["Makefile"], expected);
        let commits = unmerged.commits.expect("git knows the commits");
        let parent_commit = commits.parent.expect("a parent");
        for (commit, text) in [
            (parent_commit, parent),
            (commits.ours, ours),
            (commits.theirs, theirs),
        ] {
            assert_eq!(commit.description, Some(format!("project of {text}\n")));
            assert_eq!(commit.record.texts["Makefile"], format!("tool of {text}\n"));
        }
    }

    #[test]
    fn each_operation_that_stops_has_its_commits() {
        for (operation, expected) in [
            (&["merge", "theirs"][..], ["parent", "ours", "theirs"]),
            (&["cherry-pick", "theirs"], ["parent", "ours", "theirs"]),
            (&["rebase", "theirs"], ["parent", "theirs", "ours"]),
            (&["revert", "HEAD~1"], ["parent", "ours", ""]),
        ] {
            let repository = Repository::new();
            assert!(!repository.git(operation), "{operation:?}");
            if expected[2].is_empty() {
                // The first commit has no parent.
                assert!(
                    repository
                        .unmerged()
                        .is_some_and(|unmerged| unmerged.commits.is_none())
                );
            } else {
                assert_open(&repository, expected);
            }
        }
    }

    #[test]
    fn a_merge_commit_is_picked_and_reverted_from_each_of_its_parents() {
        for (operation, mainline, expected) in [
            ("cherry-pick", "1", ["ours", "later", "merged"]),
            ("cherry-pick", "2", ["theirs", "later", "merged"]),
            ("revert", "1", ["merged", "later", "ours"]),
            ("revert", "2", ["merged", "later", "theirs"]),
        ] {
            let repository = Repository::new();
            assert!(!repository.git(&["merge", "theirs"]));
            repository.commit("merged", "merge");
            repository.commit("later", "later");
            assert!(!repository.git(&[operation, "--mainline", mainline, "HEAD~1"]));
            assert_open(&repository, expected);
        }
    }

    #[test]
    fn the_reason_is_told_if_git_refuses_the_repository() {
        let repository = Repository::new();
        fs::write(repository.0.path().join(".git/index"), "no index").unwrap();
        let refused = unmerged(&repository.folder(), PROJECT, &BTreeSet::new());
        let error = refused.unwrap_err().to_string();
        let start = "git does not say which files have conflicts: fatal: ";
        assert!(error.starts_with(start), "{error}");
    }

    #[test]
    fn a_file_is_open_if_the_project_or_a_branch_has_it() {
        let repository = Repository::new();
        assert!(!repository.git(&["merge", "theirs"]));
        for (paths, expected) in [
            (BTreeSet::new(), vec!["Makefile"]),
            (BTreeSet::from([PROJECT]), vec!["Makefile", PROJECT]),
        ] {
            let unmerged = unmerged(&repository.folder(), PROJECT, &paths)
                .unwrap()
                .stages;
            assert_eq!(unmerged.keys().collect::<Vec<_>>(), expected);
            for (path, stages) in unmerged {
                // `PROJECT` is in no record.
                assert!(stages.parent.is_some(), "{path}");
            }
        }
    }

    #[test]
    fn a_file_that_one_branch_deleted_is_open_on_the_other_one() {
        let repository = Repository::new();
        assert!(repository.git(&["switch", "--quiet", "theirs"]));
        fs::remove_file(repository.folder().join("Makefile")).unwrap();
        repository.save("delete");
        assert!(repository.git(&["switch", "--quiet", "main"]));
        assert!(!repository.git(&["merge", "theirs"]));
        let unmerged = repository.unmerged().expect("conflicts");
        assert!(
            unmerged
                .commits
                .is_some_and(|commits| commits.parent.is_some())
        );
        let expected = Stages {
            parent: Some("parent\n".into()),
            ours: Some("ours\n".into()),
            theirs: None,
            written: Some("ours\n".into()),
            is_binary: false,
        };
        assert_eq!(unmerged.stages["Makefile"], expected);
    }

    #[test]
    fn a_file_that_git_takes_for_a_renamed_one_has_no_parent() {
        let repository = Repository::new();
        let (old, new) = ("operator/old", "operator/Makefile");
        let text = |branch: &str| format!("{}{branch}\n", "line\n".repeat(20));
        let write = |path: &str, branch: &str| {
            fs::write(repository.0.path().join(path), text(branch)).unwrap();
        };
        // The file is in the record only after both branches have it.
        let record = repository.folder().join(LAST_APPLIED);
        let recorded = fs::read(&record).unwrap();
        fs::write(&record, "").unwrap();
        fs::remove_file(repository.0.path().join(new)).unwrap();
        write(old, "main");
        repository.save("old");
        assert!(repository.git(&["branch", "renamed"]));
        for branch in ["renamed", "main"] {
            assert!(repository.git(&["switch", "--quiet", branch]));
            assert!(repository.git(&["mv", old, new]));
            write(new, &format!("on {branch}"));
            fs::write(&record, &recorded).unwrap();
            repository.save("rename");
        }
        assert!(!repository.git(&["merge", "renamed"]));
        let unmerged = repository.unmerged().expect("conflicts");
        assert!(
            unmerged
                .commits
                .is_some_and(|commits| commits.parent.is_some())
        );
        let file = &unmerged.stages["Makefile"];
        assert_eq!(file.parent, None);
        assert_eq!(file.ours, Some(text("on main").into()));
        assert_eq!(file.theirs, Some(text("on renamed").into()));
    }

    #[test]
    fn a_stash_has_its_commits() {
        let repository = Repository::new();
        repository.write("stashed");
        assert!(repository.git(&["stash", "--quiet"]));
        repository.commit("later", "main");
        assert!(!repository.git(&["stash", "pop"]));
        assert_open(&repository, ["ours", "later", "stashed"]);
    }

    #[test]
    fn a_stash_that_is_not_being_popped_is_not_taken_for_the_other_branch() {
        let repository = Repository::new();
        repository.write("stashed");
        assert!(repository.git(&["stash", "--quiet"]));
        assert!(!repository.git(&["merge", "--squash", "theirs"]));
        let unmerged = repository.unmerged().expect("conflicts");
        assert!(unmerged.commits.is_none());
    }

    #[test]
    fn a_file_that_is_too_large_in_git_is_named() {
        let repository = Repository::new();
        fs::write(repository.folder().join("Makefile"), vec![b'\n'; 5 << 20]).unwrap();
        repository.save("large");
        assert!(!repository.git(&["merge", "theirs"]));
        let error =
            unmerged(&repository.folder(), PROJECT, &BTreeSet::from(["Makefile"])).unwrap_err();
        let error = error.to_string();
        let name = ":2:operator/Makefile";
        let expected = format!("`{name}` in git has more than 4 MB, the most that rscaffold reads");
        assert_eq!(error, expected);
    }

    #[test]
    fn nothing_is_open_without_a_conflict_or_without_git() {
        let repository = Repository::new();
        assert!(repository.unmerged().is_none());
        assert!(!repository.git(&["merge", "theirs"]));
        repository.git(&["add", "--all"]);
        assert!(repository.unmerged().is_none());
        let folder = tempfile::tempdir().unwrap();
        // In the second folder git cannot be started, as if it were not installed.
        for folder in [folder.path(), &folder.path().join("missing")] {
            let unmerged = unmerged(folder, PROJECT, &BTreeSet::new()).unwrap();
            assert!(unmerged.stages.is_empty() && unmerged.commits.is_none());
        }
    }

    #[test]
    fn git_that_cannot_be_run_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = unmerged(file.path(), PROJECT, &BTreeSet::new()).unwrap_err();
        assert_eq!(error.to_string(), "failed to run `git`");
    }
}
