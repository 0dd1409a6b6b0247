//! The golden projects: the commands below write them, tests/golden has their text, and a test compares file by file.
//! `make golden` writes them anew. Tests of operators compile them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, Weak},
};

use diffy::DiffOptions;
use rscaffold::render::CONVENTIONS;
use tempfile::TempDir;

use crate::{
    golden_projects::{
        self, BASE, DIFFERENCES, RUNTIME, Texts, expected, of_project, path_in, paths,
        stored_folder, text_for, texts, write,
    },
    parallel::sample,
    scaffold::{plain_make, root, rscaffold, run},
};

/// Each project with the commands that make it.
const PROJECTS: &[(&str, &[&str])] = &[
    // What the README shows. All projects have the runtime from the registry, except fleet, whose copy is complete: the
    // workspace of the golden projects puts the copy in its place.
    (
        "guestbook",
        &[
            "init --runtime registry --domain com --repo guestbook",
            "create api --group webapp --version v1 --kind Guestbook --short-name gb",
        ],
    ),
    // Nothing but the project, in the folder's name, and nothing that it could do without.
    (
        "empty",
        &[
            "init --runtime registry --domain example.com --license none \
             --disable agents,github,leader-election,metrics-secure",
        ],
    ),
    // Groups with dots and dashes, kinds that share a name or are Rust keywords, irregular plurals,
    // several versions, served and not, cluster scope, finalizers. All that a project can have.
    (
        "fleet",
        &[
            "init --runtime vendored --domain example.com --repo github.com/example/fleet-operator --license mit --owner Example \
             --enable api-docs,autoupdate,certmanager,devcontainer,grafana,helm,network-policy,prometheus,release,user-roles",
            "create api --group sea --version v1beta1 --kind Ship --finalizer",
            "create api --group sea --version v1 --kind Ship",
            "create api --group sea --version v2 --kind Ship",
            "create api --group sea --version v1 --kind Person --plural people --short-name crew,c",
            "create api --group sea --version v1alpha1 --kind Person --conversion=none --deprecated=use:\"v1\"",
            "create api --group sea --version v1beta1 --kind Type",
            "create api --group sea --version v1 --kind Type --storage --conversion=none",
            "create api --group sea --version v1beta1 --kind Type --deprecated",
            "create api --group sea --version v1alpha1 --kind Type --served=false",
            "create api --group air-traffic.control --version v1alpha1 --kind Ship",
            "create api --group air-traffic.control --version v10 --kind Policy --namespaced=false",
            "create api --group air-traffic.control --version v9 --kind HTTPRoute --namespaced=false --finalizer",
            "create api --group on --version v1 --kind Yes --short-name no",
            "create webhook --group sea --version v1beta1 --kind Ship --defaulting --programmatic-validation",
            "create webhook --group sea --version v1 --kind Ship --conversion --spoke v1beta1",
        ],
    ),
    // Controllers without a type of their own: the kinds are Kubernetes' own. Two of one kind, with a
    // name that is a keyword of Rust.
    (
        "watcher",
        &[
            "init --runtime registry --domain example.com --owner Example",
            "create api --group core --version v1 --kind Pod --resource=false --watches v1/ConfigMap,v1/Node",
            "create api --group apps --version v1 --kind Deployment --resource=false",
            "create api --group core --version v1 --kind Node --resource=false --finalizer",
            "create api --group core --version v1 --kind Node --resource=false --controller-name match",
        ],
    ),
    // Types without a controller.
    (
        "types",
        &[
            "init --runtime registry --domain example.com",
            "create api --group webapp --version v1 --kind Guestbook --controller=false",
        ],
    ),
    // An operator that needs no rights beyond its namespace, with two controllers of one kind, and with
    // webhooks whose certificates cert-manager makes.
    (
        "tenant",
        &[
            "init --runtime registry --domain example.com --namespaced --multigroup \
             --enable certmanager,helm",
            "create api --group webapp --version v1 --kind Guestbook --finalizer --watches v1/Secret",
            "create api --group webapp --version v1 --kind Shelf --namespaced=false --controller=false",
            "create api --group webapp --version v1 --kind Guestbook --resource=false \
             --controller-name backup --finalizer",
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting \
             --programmatic-validation",
            "create webhook --group core --version v1 --kind Pod --programmatic-validation",
        ],
    ),
    // Controllers that make objects of other kinds: of Kubernetes, of the project in the same group
    // and in another, for an owner in no namespace, with names that clash, by two controllers of one
    // kind.
    (
        "owner",
        &[
            "init --runtime registry --domain example.com",
            "create api --group press --version v1 --kind Page --controller=false",
            "create api --group shop --version v1 --kind Page --controller=false",
            "create api --group shop --version v1 --kind Book --owns shop/v1/Page,v1/ConfigMap",
            "create api --group shop --version v1 --kind Book --owns apps/v1/Deployment,v1/Service \
             --watches v1/Secret,press/v1/Page",
            "create api --group shop --version v1 --kind Book --controller-name nightly-index \
             --owns v1/ConfigMap,v1/Service,batch/v1/Job",
            "create api --group shop --version v1 --kind Shelf --namespaced=false --finalizer \
             --owns press/v1/Page --owns shop/v1/Page,v1/Namespace,v1/Secret",
            "create api --group shop --version v1 --kind Event \
             --owns apps/v1/DaemonSet,apps/v1/StatefulSet,batch/v1/Job,events.k8s.io/v1/Event,\
             networking/v1/NetworkPolicy,v1/Event,v1/PersistentVolumeClaim,v1/Pod,v1/ServiceAccount",
            "create api --group core --version v1 --kind Namespace --resource=false \
             --owns v1/ServiceAccount",
            "create api --group apps --version v1 --kind Deployment --resource=false --finalizer \
             --owns v1/Service,press/v1/Page --watches storage/v1/StorageClass",
        ],
    ),
    // Controllers and webhooks of kinds that others define, and a controller that makes such a kind. One of
    // them has webhooks and nothing else. Of one the type is not called as the kind, and has no `Default`. Of two,
    // the types come from a CRD.
    (
        "neighbour",
        &[
            "init --runtime registry --domain example.com",
            "create api --group toys --version v1 --kind Widget --resource=false --finalizer \
             --external-api-path widgets::v1::Widget --external-api-domain example.org \
             --external-api-crate widgets@../widgets",
            "create api --group toys.example.org --version v1 --kind Widget --controller-name paint",
            "create api --group toys --version v1alpha1 --kind HTTPBox --namespaced=false \
             --plural crates --external-api-path widgets::v1alpha1::HttpBox \
             --external-api-domain example.org --owns toys/v1/Widget,v1/ConfigMap",
            "create api --group shop --version v1 --kind Order --owns toys/v1/Widget",
            "create webhook --group toys --version v1 --kind Widget --defaulting",
            "create webhook --group toys --version v1beta1 --kind Lid --namespaced=false \
             --programmatic-validation --external-api-path widgets::v1beta1::Lid \
             --external-api-domain example.org",
            "create api --crd tests/crds/lamps.yaml --kind Lamp --resource=false --finalizer \
             --owns v1/ConfigMap",
            "create api --crd tests/crds/lamps.yaml --kind Switch --resource=false",
            "create webhook --group lights --version v1 --kind Lamp --programmatic-validation",
            "create api --group shop --version v1 --kind Lantern --owns lights/v1/Lamp --watches lights/v1/Switch",
        ],
    ),
    // Webhooks of kinds of the project, two of one name and version among them, and of kinds of Kubernetes.
    // A kind without a group, with a second version that is converted, and a controller that owns it.
    (
        "warden",
        &[
            "init --runtime registry --domain example.com --enable helm,network-policy",
            "create api --group webapp --version v1 --kind Guestbook",
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting",
            "create webhook --group webapp --version v1 --kind Guestbook --programmatic-validation",
            "create api --group press --version v1 --kind Guestbook --controller=false",
            "create webhook --group press --version v1 --kind Guestbook --programmatic-validation \
             --validation-path /custom-validate-guestbook",
            "create webhook --group core --version v1 --kind Pod --defaulting",
            "create webhook --group apps --version v1 --kind Deployment --programmatic-validation",
            "create api --group= --version v1beta1 --kind Guestbook --finalizer",
            "create api --group= --version v1 --kind Guestbook",
            "create webhook --group= --version v1beta1 --kind Guestbook --defaulting --conversion",
            "create api --group webapp --version v1 --kind Guestbook --owns v1beta1/Guestbook",
        ],
    ),
    // Versions with different schemas, which a webhook converts. The hub is not the version that is stored.
    (
        "versions",
        &[
            "init --runtime registry --domain example.com",
            "create api --group webapp --version v1alpha1 --kind Guestbook",
            "create api --group webapp --version v1beta1 --kind Guestbook",
            "create api --group webapp --version v1 --kind Guestbook",
            "create webhook --group webapp --version v1 --kind Guestbook --conversion",
        ],
    ),
    // Controllers that run an image, with and without a command, a port and a user; one of a kind that
    // another controller makes, with webhooks and a conversion.
    (
        "cache",
        &[
            "init --runtime registry --domain example.com --plugins=go/v4,helm/v2-alpha",
            "create api --group cache --version v1alpha1 --kind Memcached --image=memcached:1.6.26-alpine3.19 \
             --image-container-command=memcached,--memory-limit=64,-o,modern,-v \
             --image-container-port=11211 --run-as-user=1001 --plugins=deploy-image/v1-alpha --make=false",
            "create api --group cache --version v1 --kind Memcached",
            "create webhook --group cache --version v1alpha1 --kind Memcached --defaulting \
             --programmatic-validation",
            "create webhook --group cache --version v1alpha1 --kind Memcached --conversion",
            "create api --group cache --version v1 --kind Busybox --image=busybox:1.36.1 --finalizer",
            "create api --group cache --version v1 --kind Proxy --controller-name front-end \
             --image=proxy --image-container-port=8080 --owns v1/Service",
            "create api --group cache --version v1 --kind Pool --owns cache/v1alpha1/Memcached",
        ],
    ),
    // Types that come from a CRD: several versions, names of all sorts, a kind without spec and status, and a
    // controller that makes objects of such a kind.
    (
        "library",
        &[
            "init --runtime registry --domain example.com --enable helm",
            "create api --crd tests/crds/books.yaml --kind Book --finalizer",
            "create api --crd tests/crds/books.yaml --kind Shelf --owns v1/ConfigMap --watches library/v1/Book",
            "create webhook --group library --version v1 --kind Book --defaulting --programmatic-validation",
        ],
    ),
    // A group that belongs to the Kubernetes project.
    (
        "crddemo",
        &[
            "init --runtime registry --domain k8s.io",
            "create api --group crddemo --version v1 --kind Mydemo",
        ],
    ),
    // The longest names for which the code still has the layout that rustfmt gives it, and webhooks and a
    // conversion with a certificate from files.
    (
        "long",
        &[
            "init --runtime registry --domain a-rather-long-domain.example.com --project-name a-project-with-a-rather-long-name --enable webhook-files",
            "create api --group a-group-of-26-characters-it --version v1alpha1 --kind Averylongkindofthirtyoneletters --owns apps/v1/StatefulSet,v1/PersistentVolumeClaim --watches autoscaling/v2/HorizontalPodAutoscaler",
            "create api --group a-group-of-26-characters-it --version v1beta1 --kind Averylongkindofthirtyoneletters",
            "create webhook --group a-group-of-26-characters-it --version v1alpha1 --kind Averylongkindofthirtyoneletters --defaulting --programmatic-validation",
            "create webhook --group a-group-of-26-characters-it --version v1alpha1 --kind Averylongkindofthirtyoneletters --conversion",
        ],
    ),
];

/// The record of a project repeats all of its files, so the golden projects do without.
const RECORD: &str = ".rscaffold/last-applied.jsonl";

/// The projects whose files tests/golden has as they are, because people read them. The first one is the base of all
/// others.
const WHOLE: [&str; 2] = [BASE, "fleet"];

/// Runs one of the commands in `folder`. Files of this repository have their path from its top.
fn play(folder: &Path, command: &str) {
    let crds = root().join("tests/crds");
    rscaffold(
        folder,
        &command.replace("tests/crds", &crds.display().to_string()),
    );
}

/// Makes all projects anew, once for the tests that run at the same time.
fn scaffolded() -> Arc<TempDir> {
    static CURRENT: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut current = CURRENT.lock().expect("no test panicked here");
    if let Some(folder) = current.upgrade() {
        return folder;
    }
    let folder = Arc::new(TempDir::new().expect("a temporary folder"));
    for (name, commands) in PROJECTS {
        let project = folder.path().join(name);
        fs::create_dir(&project).expect("a folder for the project");
        for command in *commands {
            play(&project, command);
        }
    }
    *current = Arc::downgrade(&folder);
    folder
}

/// All files below `folder`, by their path in it.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let paths = paths(folder).into_iter().map(PathBuf::from);
    paths.filter(|path| !path.ends_with(RECORD)).collect()
}

/// Whether tests/golden has the file at `path` beside the projects: the manifest and the lock file of their workspace,
/// and a crate that a project depends on.
fn is_beside(path: &str) -> bool {
    ["Cargo.toml", "Cargo.lock"].contains(&path) || path.starts_with("widgets/")
}

/// Whether the file at `path` is a file of the crate kube-manager, as it is in this repository.
fn is_copied(path: &str) -> bool {
    let path = path.strip_prefix(RUNTIME);
    path.is_some_and(|path| path != "/Cargo.toml")
}

/// Returns the files that tests/golden has of projects with the texts `rendered`.
fn stored(rendered: &Texts) -> Texts {
    let mut stored = Texts::new();
    for (name, _) in PROJECTS {
        if WHOLE.contains(name) {
            let own = of_project(rendered, name);
            let own = own.filter(|(path, _)| !is_copied(path));
            stored.extend(own.map(|(path, text)| (path.clone(), text.clone())));
        } else {
            stored.extend(shortened(name, rendered));
        }
    }
    stored
}

/// Returns the files that tests/golden has of the project `name`. Each file has the form that takes the fewest lines.
fn shortened(name: &str, rendered: &Texts) -> Texts {
    let mut entries = Texts::new();
    let mut originals = BTreeMap::<String, Vec<&String>>::new();
    for (path, _) in WHOLE.iter().flat_map(|base| of_project(rendered, base)) {
        let own = path_in(name, path);
        if path.starts_with(BASE) && !rendered.contains_key(&own) {
            let entry = format!("diff --git {path} {own}\ndeleted file mode 100644\n");
            entries.insert(own, entry);
        } else {
            originals.entry(own).or_default().push(path);
        }
    }

    let mut whole = Texts::new();
    // The files that are no copies, by their texts.
    let mut written = BTreeMap::<&str, &String>::new();
    // Backwards, so that a chart has copies of the manifests in `config`, and not the other way round.
    for (path, text) in of_project(rendered, name).rev() {
        let mut candidates = Vec::new();
        let mut is_inherited = false;
        for original in originals.get(path).into_iter().flatten() {
            let old = text_for(name, rendered, original);
            is_inherited |= original.starts_with(BASE) && old == *text;
            candidates.push(entry(original, &old, path, text));
        }
        if is_inherited {
            continue;
        }
        if let Some(original) = written.get(text.as_str()) {
            candidates.push(entry(original, text, path, text));
        }
        let is_short = |entry: &String| {
            entry.contains("\ncopy from ") || entry.lines().count() < text.lines().count()
        };
        let candidates = candidates.into_iter().filter(is_short);
        if let Some(entry) = candidates.min_by_key(|entry| entry.lines().count()) {
            if !entry.contains("\ncopy from ") {
                written.insert(text, path);
            }
            entries.insert(path.clone(), entry);
        } else {
            written.insert(text, path);
            whole.insert(path.clone(), text.clone());
        }
    }

    let mut differences = format!(
        "What differs from {}, if they had the name {name}.\n\n",
        WHOLE.join(" and ")
    );
    differences.extend(entries.into_values());
    whole.insert(format!("{name}/{DIFFERENCES}"), differences);
    whole
}

/// Returns the difference between two files, in the format of git.
fn entry(old_path: &str, old: &str, new_path: &str, new: &str) -> String {
    let head = format!("diff --git {old_path} {new_path}\n");
    if old == new {
        return format!("{head}copy from {old_path}\ncopy to {new_path}\n");
    }
    let mut options = DiffOptions::new();
    options
        .set_original_filename(old_path.to_owned())
        .set_modified_filename(new_path.to_owned());
    format!("{head}{}", options.create_patch(old, new))
}

/// The most lines of the guestbook that a user reads: all but the license.
const LINES: usize = 1_800;

#[test]
fn a_reviewer_of_the_first_project_has_few_lines_to_read() {
    let project = root().join("tests/golden/guestbook");
    let files = texts(&project);
    let read = files.iter().filter(|(path, _)| path.as_str() != "LICENSE");
    let lines: usize = read.map(|(_, text)| text.lines().count()).sum();
    assert!(lines <= LINES, "{lines}");
}

#[test]
fn projects_are_what_the_commands_write() {
    let fresh = scaffolded();
    let mut rendered = texts(fresh.path());
    rendered.retain(|path, _| !path.ends_with(RECORD));
    let folder = stored_folder();
    if env::var_os("SNAPSHOTS").is_some_and(|action| action == "overwrite") {
        let mut all = texts(&folder);
        all.retain(|path, _| is_beside(path));
        all.extend(stored(&rendered));
        write(&folder, &all);
        // `make golden` updates the lock file of the workspace there.
        golden_projects::folder();
    }

    let mut expected = expected(&texts(&folder));
    expected.retain(|path, _| !is_beside(path));
    let paths: BTreeSet<_> = expected.keys().chain(rendered.keys()).collect();
    // A change of a template is often the same in all projects, except for their names.
    let mut changes = BTreeMap::<String, (Vec<&str>, String)>::new();
    for path in paths {
        let (old, new) = (expected.get(path), rendered.get(path));
        if old != new {
            let [old, new] = [old, new].map(|text| text.map_or("", String::as_str));
            let patch = DiffOptions::new()
                .set_original_filename("expected")
                .set_modified_filename("rendered")
                .create_patch(old, new)
                .to_string();
            let name = path.split('/').next().unwrap_or_default();
            let change = changes.entry(patch.replace(name, BASE));
            let (paths, _) = change.or_insert_with(|| (Vec::new(), patch));
            paths.push(path);
        }
    }
    let mut differences = String::new();
    for (paths, patch) in changes.values() {
        write!(differences, "\n{}\n{patch}", paths.join("\n")).expect("a text");
    }
    assert!(
        differences.is_empty(),
        "`make golden` writes these files anew:\n{differences}"
    );
}

#[test]
fn the_record_has_the_text_of_each_file() {
    let fresh = scaffolded();
    let fresh = fresh.path();
    let read = |path: &Path| fs::read_to_string(fresh.join(path)).expect("a text");
    let mut recorded = BTreeMap::<PathBuf, String>::new();
    for (name, _) in PROJECTS {
        let name = Path::new(name);
        let record = read(&name.join(RECORD));
        for line in record.lines().filter(|line| line.starts_with('[')) {
            let (path, line): (PathBuf, String) =
                serde_json::from_str(line).expect("a path and a line");
            *recorded.entry(name.join(path)).or_default() += &line;
        }
    }
    let written: BTreeMap<_, _> = files(fresh)
        .into_iter()
        .filter(|path| !path.ends_with("PROJECT"))
        .map(|path| {
            let of_project: PathBuf = path.components().skip(1).collect();
            let of_project = of_project.to_str().expect("UTF-8").to_owned();
            let recorded = CONVENTIONS.recorded([(of_project, read(&path).into())].into());
            (
                path,
                recorded
                    .values()
                    .map(|text| text.content().to_owned())
                    .collect(),
            )
        })
        .collect();
    let paths: BTreeSet<_> = written.keys().chain(recorded.keys()).collect();
    // What a CRD gave counts as an edit of the user.
    let is_given = |path: &Path| {
        let parts = [
            "library/src/api/library/v1",
            "library/config/samples/library_v1",
            "neighbour/src/external/lights/v1",
        ];
        let parts = parts
            .iter()
            .any(|part| path.to_string_lossy().starts_with(part));
        parts && !path.ends_with("mod.rs")
            || path.to_string_lossy().contains("/library.example.com_")
    };
    let unequal = paths
        .into_iter()
        .filter(|path| written.get(*path) != recorded.get(*path) && !is_given(path));
    assert_eq!(unequal.collect::<Vec<_>>(), Vec::<&PathBuf>::new());
}

/// Running each command once more changes nothing.
#[test]
fn commands_are_idempotent() {
    let fresh = scaffolded();
    for (name, commands) in sample(PROJECTS, 3) {
        let project = fresh.path().join(name);
        let before: Vec<_> = files(&project)
            .into_iter()
            .map(|path| stamp(&project, &path))
            .collect();
        for command in commands.iter().skip(1) {
            play(&project, command);
        }
        let after: Vec<_> = files(&project)
            .into_iter()
            .map(|path| stamp(&project, &path))
            .collect();
        assert_eq!(before, after, "{name}");
    }
}

/// A file, and when it was written.
fn stamp(folder: &Path, path: &Path) -> (PathBuf, std::time::SystemTime) {
    let metadata = folder.join(path).metadata().expect("a readable file");
    (path.to_owned(), metadata.modified().expect("a time"))
}

/// make in a golden project.
fn make(project: &str, argument: &str) -> Command {
    let mut make = plain_make();
    make.arg(argument)
        .current_dir(golden_projects::folder().join(project));
    make
}

#[test]
fn make_help_lists_what_a_user_needs() {
    let help = |project: &str| run(&mut make(project, "help"));
    let targets = |project: &str| {
        let help = help(project);
        let lines = help.lines().filter_map(|line| line.strip_prefix("  "));
        let targets = lines.filter_map(|line| line.split_whitespace().next());
        targets.collect::<Vec<_>>().join(" ")
    };
    let usual = "help manifests fmt lint test test-faults setup-envtest test-e2e setup-test-e2e cleanup-test-e2e \
                 build run docker-build docker-push docker-buildx build-installer install uninstall deploy undeploy";
    assert_eq!(targets("guestbook"), usual);
    let chart =
        "helm-lint helm-package helm-deploy helm-status helm-history helm-rollback helm-undeploy";
    let all = usual.replace("manifests", "manifests api-docs");
    assert_eq!(targets("fleet"), format!("{all} {chart}"));
    assert_eq!(
        help("guestbook"),
        run(&mut make("guestbook", "--silent")),
        "the default"
    );
}

#[test]
fn make_says_what_targets_of_go_are_here() {
    for (target, answer) in [
        ("generate", "Nothing to do"),
        ("controller-gen", "make manifests"),
        ("kustomize", "kubectl kustomize config/default"),
    ] {
        let said = run(&mut make("guestbook", target));
        assert!(said.contains(answer), "{target}: {said}");
    }
}

#[test]
fn the_cluster_of_the_end_to_end_test_is_made_once() {
    let folder = TempDir::new().unwrap();
    let kind = folder.path().join("kind");
    // Keeps the name of its cluster in a file.
    let text = "#!/bin/sh\n\
        cd \"$(dirname \"$0\")\"\n\
        case \"$1\" in\n\
        get) cat cluster 2>/dev/null || true ;;\n\
        create) [ ! -e cluster ] && echo \"$4\" > cluster ;;\n\
        delete) rm cluster ;;\n\
        esac\n";
    fs::write(&kind, text).unwrap();
    fs::set_permissions(&kind, fs::Permissions::from_mode(0o755)).unwrap();
    let cluster = || fs::read_to_string(folder.path().join("cluster")).ok();
    let kind = format!("KIND={}", kind.display());
    for _ in 0..2 {
        run(make("guestbook", "setup-test-e2e").arg(&kind));
        assert_eq!(cluster().as_deref(), Some("guestbook-e2e\n"));
    }
    run(make("guestbook", "cleanup-test-e2e").arg(&kind));
    assert_eq!(cluster(), None);
    run(make("guestbook", "setup-test-e2e").args([&kind, "KIND_CLUSTER=mine"]));
    assert_eq!(cluster().as_deref(), Some("mine\n"));
}

/// They are run where there is a node; nobody else may have to hear of a forgotten quote from them.
#[test]
fn shell_scripts_are_well_formed() {
    for (name, _) in PROJECTS {
        let script = golden_projects::folder().join(name).join("tests/e2e.sh");
        run(Command::new("sh").arg("-n").arg(script));
    }
}
