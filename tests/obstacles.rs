//! Tests special files at each path that a command reads or writes: the command ends soon, changes nothing outside of
//! the project, and leaves the special file unchanged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

use proptest::{prelude::*, sample::select};
use rscaffold::command::report::Outcome;
use walkdir::WalkDir;

use crate::{
    cases::cases,
    hostile::{COMMANDS, project, rest},
    project::Project,
    scaffold::{outcome, run},
};

/// A special file, folder or link at a path that a command uses.
#[derive(Debug, Clone, Copy)]
enum Obstacle {
    Device,
    Folder,
    /// A folder that only root can write to.
    FolderToRead,
    /// A file of many gigabytes that uses no disk space.
    Huge,
    LinkToDevice,
    LinkToItself,
    LinkToNothing,
    LinkToOutside,
    NotText,
    /// A file whose name differs only in case. On some file systems, both names are the same file.
    OtherCase,
    Pipe,
    /// A file that only root can write.
    ToRead,
    Socket,
}

use Obstacle::{
    Device, Folder, FolderToRead, Huge, LinkToDevice, LinkToItself, LinkToNothing, LinkToOutside,
    NotText, OtherCase, Pipe, Socket, ToRead,
};

const OBSTACLES: [Obstacle; 13] = [
    Device,
    Folder,
    FolderToRead,
    Huge,
    LinkToDevice,
    LinkToItself,
    LinkToNothing,
    LinkToOutside,
    NotText,
    OtherCase,
    Pipe,
    Socket,
    ToRead,
];

impl Obstacle {
    /// Creates the obstacle at `path`. Returns the path of the obstacle, which differs from `path` for `OtherCase`.
    fn put(self, path: &Path) -> PathBuf {
        let old = fs::read(path).unwrap_or_default();
        let other_case = || {
            let name = path.file_name().unwrap().to_str().unwrap();
            let (upper, lower) = (name.to_uppercase(), name.to_lowercase());
            path.with_file_name(if upper == name { lower } else { upper })
        };
        let place = match self {
            OtherCase => other_case(),
            _ => path.to_owned(),
        };
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if place.is_dir() {
            fs::remove_dir_all(&place).unwrap();
        } else if fs::symlink_metadata(&place).is_ok() {
            fs::remove_file(&place).unwrap();
        }
        let mode = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        match self {
            // Users other than root can also create this device.
            Device => _ = run(Command::new("mknod").arg(&place).args(["c", "0", "0"])),
            Folder => fs::create_dir(&place).unwrap(),
            FolderToRead => {
                fs::create_dir(&place).unwrap();
                mode(0o555);
            }
            Huge => fs::File::create(&place).unwrap().set_len(1 << 36).unwrap(),
            LinkToDevice => symlink("/dev/zero", &place).unwrap(),
            LinkToItself => symlink(place.file_name().unwrap(), &place).unwrap(),
            LinkToNothing => symlink("nothing", &place).unwrap(),
            LinkToOutside => symlink("../../../home/.profile", &place).unwrap(),
            NotText => fs::write(&place, [0xff, 0, b'\r', b'\n', b'a', b'\n']).unwrap(),
            OtherCase => fs::write(&place, &old).unwrap(),
            Pipe => _ = run(Command::new("mkfifo").arg(&place)),
            Socket => drop(UnixListener::bind(&place).unwrap()),
            ToRead => {
                fs::write(&place, &old).unwrap();
                mode(0o444);
            }
        }
        place
    }

    /// Whether a command may change the obstacle. This is true for files and folders that the command can replace.
    fn may_change(self) -> bool {
        matches!(self, FolderToRead | Folder | ToRead | NotText)
    }
}

/// Returns the files that `command` uses, and their folders.
fn paths(command: &str) -> &'static [PathBuf] {
    static PATHS: LazyLock<BTreeMap<&str, Vec<PathBuf>>> = LazyLock::new(|| {
        let paths = COMMANDS.into_iter().map(|command| {
            let project = project();
            let mut paths: BTreeSet<_> = project.tree().into_keys().collect();
            project.run(command);
            paths.extend(project.tree().into_keys());
            (command, paths.into_iter().collect())
        });
        paths.collect()
    });
    &PATHS[command]
}

/// Returns everything in the project except git's files: mode, size and content.
fn listing(project: &Project) -> BTreeMap<PathBuf, (u32, u64, Vec<u8>)> {
    let entries = WalkDir::new(project.folder()).min_depth(1).into_iter();
    let entries = entries.filter_entry(|entry| entry.file_name() != ".git");
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.path().symlink_metadata().unwrap();
            let is_small = metadata.is_file() && metadata.len() < 1 << 20;
            let bytes = is_small.then(|| fs::read(entry.path()).unwrap());
            let size = [0, metadata.len()][usize::from(metadata.is_file())];
            (
                entry.into_path(),
                (metadata.mode(), size, bytes.unwrap_or_default()),
            )
        })
        .collect()
}

/// Runs the command and returns its outcome. Panics if the command does not end soon.
fn soon(project: &Project, command: &'static str) -> Outcome {
    let (folder, (send, receive)) = (project.folder(), mpsc::channel());
    thread::spawn(move || send.send(outcome(&folder, command)));
    (receive.recv_timeout(Duration::from_secs(60))).unwrap_or_else(|_| panic!("{command} hangs"))
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn special_files_neither_block_a_command_nor_do_harm(
        command in select(&COMMANDS[..]),
        obstacle in select(&OBSTACLES[..]),
        path in any::<prop::sample::Index>(),
    ) {
        let project = project();
        let path = path.get(paths(command));
        let place = obstacle.put(&project.folder().join(path));
        let before = (rest(&project), listing(&project));
        let said = soon(&project, command);
        let after = (rest(&project), listing(&project));

        let path = path.display();
        prop_assert!(after.0 == before.0, "{path}: something outside changed: {}", said.stderr);
        if said.code != 0 {
            let changes = changes(&before.1, &after.1);
            prop_assert!(changes.is_empty(), "{path}: {changes:?}: {}", said.stderr);
        }
        if !obstacle.may_change() {
            prop_assert_eq!(after.1.get(&place), before.1.get(&place), "{}", said.stderr);
        }
        let is_left = |path: &&PathBuf| path.to_string_lossy().contains("/.rscaffold-");
        prop_assert_eq!(after.1.keys().find(is_left), None);
    }
}

fn changes<'a, T: PartialEq>(
    before: &'a BTreeMap<PathBuf, T>,
    after: &'a BTreeMap<PathBuf, T>,
) -> BTreeSet<&'a PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths
        .filter(|path| before.get(*path) != after.get(*path))
        .collect()
}
