use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};

use crate::wait::wait_until;

/// The process group of a cluster. The group ends when this process ends.
///
/// The leader of the group is a shell that waits for the end of its standard input, a pipe that only this process
/// writes to. The pipe ends on drop, and also when this process is killed in any way. Then the shell removes the
/// cluster's folder and kills the group, including itself.
///
/// Linux's parent-death signal does not work here: the kernel sends it when the *thread* that started the child ends,
/// and a test runner has one thread for each test.
pub(crate) struct Group {
    leader: Child,
    input: Option<ChildStdin>,
    id: i32,
}

/// The script of the leader. A component may create a file while the folder is removed: then `rm` fails.
const SCRIPT: &str = r#"
    read -r _
    for try in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" && break; sleep 1; done
    kill -KILL 0
"#;

impl Group {
    pub fn start(folder: &Path) -> Result<Group> {
        let mut leader = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("failed to run `sh`")?;
        Ok(Group {
            id: leader.id().try_into()?,
            input: leader.stdin.take(),
            leader,
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.leader.wait();
    }
}

/// The garbage in the heap of a component, in percent of what is in use, before Go collects it. With Go's default of 100,
/// the start of an API server takes a quarter more processor time, and 80 MB less memory.
pub const GARBAGE: &str = "300";

/// A running program of a cluster, which is killed on drop.
pub(crate) struct Component {
    name: &'static str,
    process: Child,
    log: PathBuf,
}

impl Component {
    /// Starts `command` in the cluster's folder, and writes its log there.
    pub fn start(
        name: &'static str,
        mut command: Command,
        folder: &Path,
        group: &Group,
    ) -> Result<Component> {
        let log = folder.join(format!("{name}.log"));
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("failed to open `{}`", log.display()))?;
        let process = command
            .current_dir(folder)
            .env("GOGC", GARBAGE)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(group.id)
            .spawn()
            .with_context(|| format!("failed to run `{}`", command.get_program().display()))?;
        Ok(Component { name, process, log })
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Polls `ready` until `ready` returns true. Fails at once when the component has ended.
    ///
    /// Each error contains the end of the component's log.
    pub fn wait_until(
        &mut self,
        what: &str,
        timeout: Duration,
        mut ready: impl FnMut() -> Result<bool>,
    ) -> Result<()> {
        let name = self.name;
        let process = &mut self.process;
        wait_until(what, timeout, || {
            if let Some(status) = process.try_wait()? {
                return Ok(Some(Err(anyhow!("{name} ended with {status}"))));
            }
            Ok(ready()?.then_some(Ok(())))
        })
        .flatten()
        .map_err(|error| {
            anyhow!(
                "{error:#}\n\nthe end of {name}'s log:\n{}",
                log_tail(&self.log)
            )
        })
    }
}

/// Returns the last lines of a log.
pub(crate) fn log_tail(log: &Path) -> String {
    const LINES: usize = 20;
    last_lines(&fs::read_to_string(log).unwrap_or_default(), LINES)
}

/// Returns the last lines of a text, at most `count`.
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

impl Drop for Component {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
