//! Measures the time and the memory of rscaffold's commands in a project of 1,000 APIs, and of `init --from` a Go
//! project of 400 kinds.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{apis::with_apis, fast_folder};

/// The number of APIs in the project, twenty in each group.
const APIS: usize = 1_000;

/// The number of kinds in the Go project.
const GO_KINDS: usize = 400;

/// How often each of [`COMMANDS`] and `init --from` is measured. The results are the median time and the maximum
/// memory.
const ROUNDS: usize = 3;

/// The maximum time of a command, in seconds.
const MAX_TIME: f64 = 1.0;

/// The maximum memory of a command, in MB.
const MAX_MEMORY: f64 = 200.0;

/// The time between two reads of a command's peak memory. The last read may be this long before the command's end.
const TICK: Duration = Duration::from_micros(500);

/// The commands in the project of 1,000 APIs. After the last command, the project has the same APIs as before.
const COMMANDS: [&str; 14] = [
    "apply",
    "diff",
    "update",
    "create api --group group00 --version v1 --kind New",
    "create api --group group00 --version v2 --kind New",
    "create webhook --group group00 --version v1 --kind New --defaulting",
    "edit --enable helm",
    "create api --group group01 --version v1 --kind More",
    "edit --owner Shop",
    "edit --owner Makers",
    "delete api --group group01 --version v1 --kind More",
    "edit --disable helm",
    "delete api --group group00 --version v2 --kind New",
    "delete api --group group00 --version v1 --kind New",
];

/// Measures `rscaffold`, and returns whether all commands are within the limits.
pub fn bench(rscaffold: &Path) -> Result<bool> {
    let folder = fast_folder()?;
    let [project, go] = ["shop", "go"].map(|name| folder.path().join(name));
    fs::create_dir(&project)?;
    go_project(&go)?;

    println!("A project of {APIS} APIs, and a Go project of {GO_KINDS} kinds\n");
    println!("{:69}{:>7}  {:>7}", "", "s", "MB");
    let mut good = true;
    let mut show = |command: &str, mut taken: Vec<Taken>| {
        taken.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let seconds = taken[taken.len() / 2].seconds;
        let megabytes = taken.iter().fold(0.0, |most, it| it.megabytes.max(most));
        println!("  {command:67}{seconds:7.2}  {megabytes:7.1}");
        good &= seconds <= MAX_TIME && megabytes <= MAX_MEMORY;
    };

    let run = |folder: &Path, command: &str| {
        let mut rscaffold = Command::new(rscaffold);
        rscaffold.args(command.split(' ')).current_dir(folder);
        measure(&mut rscaffold)
    };
    show(
        "init --domain example.com",
        vec![run(&project, "init --domain example.com")?],
    );
    describe(&project.join("PROJECT"))?;
    show(
        "apply, which makes all of its files",
        vec![run(&project, "apply")?],
    );
    let mut taken = COMMANDS.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (command, taken) in COMMANDS.iter().zip(&mut taken) {
            taken.push(run(&project, command)?);
        }
    }
    for (command, taken) in COMMANDS.iter().zip(taken) {
        show(command, taken);
    }
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let new = folder.path().join(format!("new-{round}"));
        fs::create_dir(&new)?;
        taken.push(run(&new, "init --from ../go")?);
    }
    show("init --from a Go project", taken);

    let verdict = ["MISSED", "good"][usize::from(good)];
    println!("  {verdict}: at most {MAX_TIME} s and {MAX_MEMORY} MB");
    Ok(good)
}

/// The time and the memory that a command used.
struct Taken {
    seconds: f64,
    megabytes: f64,
}

/// Runs `command`, which must succeed, and returns the time and the memory that it used.
fn measure(command: &mut Command) -> Result<Taken> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("failed to run {command:?}"))?;
    let file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut kilobytes = 0;
    let status = loop {
        // The kernel reports the peak memory only while the process exists.
        let status = fs::read_to_string(&file).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|it| it.trim().strip_suffix(" kB")?.parse().ok());
        kilobytes = peak.unwrap_or(kilobytes);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(TICK);
    };
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(Taken {
        seconds,
        megabytes: f64::from(kilobytes) / 1024.0,
    })
}

/// Adds the APIs to a new `PROJECT`, in the format of rscaffold.
fn describe(file: &Path) -> Result<()> {
    let text = fs::read_to_string(file)?;
    fs::write(file, with_apis(&text, APIS))?;
    Ok(())
}

/// Writes the files of a Kubebuilder project that `init --from` reads: PROJECT, and a CRD and a controller for each
/// kind.
fn go_project(folder: &Path) -> Result<()> {
    let crds = folder.join("config/crd/bases");
    fs::create_dir_all(&crds)?;
    let mut project = "domain: example.com\nlayout:\n- go.kubebuilder.io/v4\nmultigroup: true\n\
                       projectName: shop\nrepo: github.com/example/shop\nversion: \"3\"\nresources:\n"
        .to_owned();
    for number in 0..GO_KINDS {
        let group = format!("group{}", number / 20);
        write!(
            project,
            "- api: {{crdVersion: v1, namespaced: true}}\n  controller: true\n  domain: example.com\n  \
             group: {group}\n  kind: Kind{number}\n  version: v1\n"
        )?;
        let fields = "apiVersion: {type: string}, kind: {type: string}, metadata: {type: object}";
        let spec = "{type: object, properties: {title: {type: string}, size: {type: integer}}}";
        let schema = format!(
            "{{type: object, properties: {{{fields}, spec: {spec}, status: {{type: object}}}}}}"
        );
        let crd = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  \
             name: kind{number}s.{group}.example.com\nspec:\n  group: {group}.example.com\n  names:\n    \
             kind: Kind{number}\n    listKind: Kind{number}List\n    plural: kind{number}s\n    \
             singular: kind{number}\n  scope: Namespaced\n  versions:\n  - name: v1\n    served: true\n    \
             storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      openAPIV3Schema: {schema}\n"
        );
        fs::write(crds.join(format!("{group}_kind{number}s.yaml")), crd)?;
        let controllers = folder.join("internal/controller").join(&group);
        fs::create_dir_all(&controllers)?;
        let controller = format!(
            "package {group}\n\nfunc (r *Kind{number}Reconciler) SetupWithManager(mgr ctrl.Manager) error {{\n\
             \treturn ctrl.NewControllerManagedBy(mgr).For(&v1.Kind{number}{{}}).Complete(r)\n}}\n"
        );
        fs::write(
            controllers.join(format!("kind{number}_controller.go")),
            controller,
        )?;
    }
    fs::write(folder.join("PROJECT"), project)?;
    Ok(())
}
