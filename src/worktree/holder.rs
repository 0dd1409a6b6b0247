//! Who holds the lock of a folder, as far as the system says: Linux does, in `/proc`.

use std::{
    fmt::{self, Display},
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

use console::truncate_str;

/// How much of a command line is shown.
const WIDTH: usize = 100;

/// Who holds a lock.
#[derive(Debug)]
pub(super) enum Holder {
    /// The system does not say.
    Unknown,
    /// A process.
    Process {
        pid: u32,
        /// Its command line, for people to read.
        command: String,
        /// Whether it does nothing until it gets a signal, such as after Ctrl-Z.
        stopped: bool,
    },
}

impl Holder {
    /// Who has locked `folder`.
    pub(super) fn of(folder: &File) -> Self {
        Self::find(folder).unwrap_or(Self::Unknown)
    }

    fn find(folder: &File) -> Option<Self> {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let pid = owner(&locks, &place(folder).ok()?)?;
        let process = Path::new("/proc").join(pid.to_string());
        let arguments = fs::read(process.join("cmdline")).ok()?;
        let stat = fs::read(process.join("stat")).ok()?;
        Some(Self::Process {
            pid,
            command: readable(&arguments),
            stopped: is_stopped(&String::from_utf8_lossy(&stat)),
        })
    }

    /// What to do about it.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Process {
                pid, stopped: true, ..
            } => format!(
                "it is stopped: `kill -CONT {pid}` lets it go on, `kill -KILL {pid}` ends it; \
                 then run the command again"
            ),
            _ => "run the command again once it has finished".to_owned(),
        }
    }
}

impl Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Process { pid, command, .. } = self else {
            return f.write_str("another rscaffold");
        };
        let program = command.split(' ').next().unwrap_or(command);
        let who = if program == env!("CARGO_PKG_NAME") {
            "rscaffold"
        } else {
            "program"
        };
        write!(f, "another {who} (process {pid}: `{command}`)")
    }
}

/// How `/proc/locks` names a file: device and inode.
fn place(file: &File) -> io::Result<String> {
    let metadata = file.metadata()?;
    let device = metadata.dev();
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & !0xfff);
    let minor = (device & 0xff) | ((device >> 12) & !0xff);
    Ok(format!("{major:02x}:{minor:02x}:{}", metadata.ino()))
}

/// The process that has locked `place` according to `locks`, which has lines such as
/// `1: FLOCK  ADVISORY  WRITE 4711 08:02:131072 0 EOF`.
fn owner(locks: &str, place: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        match fields[..] {
            // A process that is not to be seen from here, such as from within a container, is 0.
            [_, "FLOCK", _, _, pid, at, ..] if at == place => {
                pid.parse().ok().filter(|&pid| pid != 0)
            }
            _ => None,
        }
    })
}

/// A command line as `/proc` has it, in one harmless line.
fn readable(arguments: &[u8]) -> String {
    let arguments = String::from_utf8_lossy(arguments);
    let (program, rest) = arguments.split_once('\0').unwrap_or((&arguments, ""));
    let program = program.rsplit('/').next().unwrap_or(program);
    let command = format!("{program} {}", rest.trim_end_matches('\0'));
    let harmless = command.chars().map(|char| match char {
        '\0' => ' ',
        ' '..='~' => char,
        // Another one could move the cursor, or turn the direction of what follows.
        _ => '?',
    });
    let line: String = harmless.collect();
    truncate_str(line.trim_end(), WIDTH, "...").into_owned()
}

/// Whether the state in a process's `stat` is that of a stopped one. It stands behind the name,
/// which is in parentheses and may have any characters.
fn is_stopped(stat: &str) -> bool {
    let state = stat.rsplit_once(") ").map(|(_, behind)| behind);
    state.is_some_and(|state| state.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_process_that_has_the_lock_and_not_one_that_waits() {
        let locks = "1: POSIX  ADVISORY  WRITE 1 08:02:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 2 08:02:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 3 08:02:7 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 4 08:02:7 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 0 fe:100:7 0 EOF\n";
        assert_eq!(owner(locks, "08:02:7"), Some(3));
        assert_eq!(owner(locks, "08:02:8"), None);
        assert_eq!(owner(locks, "fe:100:7"), None);
    }

    #[test]
    fn a_command_line_is_harmless_and_not_too_long() {
        let arguments = b"/usr/bin/rscaffold\0init\0--owner\0\x1b[2J\n\xe2\x80\xae\xff\0";
        assert_eq!(readable(arguments), "rscaffold init --owner ?[2J???");
        assert_eq!(readable(b"rscaffold\0"), "rscaffold");
        let long = readable(&[b'a'; 1000]);
        assert_eq!(long, format!("{}...", "a".repeat(WIDTH - 3)));
    }

    #[test]
    fn the_state_of_a_process_is_told_from_its_name() {
        assert!(is_stopped("1 (a) S 2 (b)) T 3 4"));
        assert!(!is_stopped("1 (a) T 2 (b)) S 3 4"));
    }
}
