//! Tests docs/reconciler.md: the controller of the page compiles, works on a real API server, and is the code that the
//! page shows.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use tempfile::NamedTempFile;

use crate::{
    compile::{cargo, clippy},
    document::{read, without_indentation},
    operator::{Project, cluster, get_until, kubectl},
    scaffold::{root, run},
};

const CONTROLLER: &str = include_str!("reconciler/database.rs");

#[test]
fn the_page_shows_parts_of_the_controller() {
    let page = read("docs/reconciler.md");
    let blocks: Vec<_> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 4, "the page shows the controller");
    let controller = without_indentation(CONTROLLER);
    for block in blocks {
        let block = block.split("```").next().unwrap_or_default();
        let code = without_indentation(block);
        assert!(
            controller.contains(&code),
            "the controller does not have this code:\n{block}"
        );
    }
}

/// Creates the project of the page, with its controller and its flag.
fn project() -> Project {
    let page = read("docs/reconciler.md");
    let commands = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ rscaffold "));
    let project = Project::scaffold("reconciler", &commands.collect::<Vec<_>>());
    let controller = project.path().join("src/controller/shop/database.rs");
    fs::write(controller, CONTROLLER).expect("a writable file");
    let (_, patch) = page.split_once("```diff\n").expect("a patch");
    let (patch, _) = patch.split_once("```").expect("the end of the patch");
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(patch.as_bytes()).expect("a writable file");
    run(Command::new("git")
        .arg("apply")
        .arg(file.path())
        .env("GIT_CEILING_DIRECTORIES", root())
        .current_dir(project.path()));
    let manifest = "Cargo.toml";
    project.edit(
        manifest,
        "[\"macros\", \"rt-multi-thread\", \"time\"]",
        "[\"io-util\", \"macros\", \"net\", \"rt-multi-thread\", \"time\"]",
    );
    project.edit(
        manifest,
        "serde_json = \"1\"\n",
        "serde_json = \"1\"\ngetrandom = \"0.4\"\n",
    );
    project
}

/// The program outside of the cluster that the controller calls.
#[derive(Default)]
struct Inventory {
    is_silent: bool,
    requests: Vec<String>,
    /// Connections without an answer. They stay open.
    waiting: Vec<TcpStream>,
}

/// Serves `inventory`, and returns its address.
fn serve(inventory: &Arc<Mutex<Inventory>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let inventory = inventory.clone();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut line = String::new();
            let mut reader = BufReader::new(&connection);
            reader.read_line(&mut line).expect("a request");
            let mut inventory = inventory.lock().unwrap_or_else(PoisonError::into_inner);
            if inventory.is_silent {
                inventory.waiting.push(connection);
                continue;
            }
            let (command, _) = line.split_once(' ').expect("a command and an id");
            inventory.requests.push(command.to_owned());
            connection.write_all(b"ok\n").expect("a reader");
        }
    });
    address.to_string()
}

/// Waits for the Pod of a Job, and completes it: there is no kubelet that would.
fn complete(job: &str) {
    let pods = format!("pods --selector=batch.kubernetes.io/job-name={job} -o name");
    let pod = get_until(&pods, |pods| pods.lines().count() == 1);
    let patch = format!("patch {} --subresource=status --type=merge -p", pod.trim());
    run(kubectl(&patch).arg(r#"{"status":{"phase":"Succeeded"}}"#));
}

/// Waits until the condition of the Database has this status and reason.
fn condition_becomes(type_: &str, expected: &str) {
    let path = format!("{{.status.conditions[?(@.type==\"{type_}\")]['status','reason']}}");
    let query = format!("database orders -o jsonpath={path}");
    get_until(&query, |found| found == expected);
}

fn get(query: &str) -> String {
    run(&mut kubectl(&format!("get {query}")))
}

#[test]
fn the_controller_of_the_page_works() {
    let project = project();
    let faults = project.path().join("tests/faults.rs");
    fs::write(faults, include_str!("reconciler/faults.rs")).expect("a writable file");
    run(&mut clippy(project.path(), &["--all-targets"]));
    run(cargo(project.path()).args(["fmt", "--check"]));
    run(cargo(project.path()).args(["test", "--quiet", "--lib"]));
    run(cargo(project.path())
        .args(["test", "--quiet", "--test=faults"])
        .env("KUBEBUILDER_ASSETS", cluster().assets().expect("programs")));
    project.compile();
    project.make("install");

    let inventory = Arc::new(Mutex::new(Inventory {
        is_silent: true,
        ..Inventory::default()
    }));
    let address = serve(&inventory);
    let launch = project.operator().env("INVENTORY_ADDRESS", &address);
    let operator = launch.start();
    let manifest = project.manifest(
        "apiVersion: shop.example.com/v1\nkind: Database\nmetadata: {name: orders}\nspec: {title: a}\n",
    );
    run(kubectl("apply --server-side --force-conflicts -f").arg(manifest));

    // The steps wait for each other.
    condition_becomes("Ready", "False Progressing");
    let password = get("secret orders -o jsonpath={.data.password}");
    assert!(!password.is_empty());
    complete("orders-setup");
    condition_becomes("Registered", "False InventoryTimeout");
    condition_becomes("Ready", "False InventoryTimeout");
    {
        let mut inventory = inventory.lock().unwrap_or_else(PoisonError::into_inner);
        inventory.is_silent = false;
        inventory.waiting.clear();
    }
    condition_becomes("Ready", "True Reconciled");
    condition_becomes("Registered", "True Registered");

    // What is created once stays, and the Job is created again.
    let edit = r#"{"data":{"connections":"7"}}"#;
    run(kubectl("patch configmap orders --type=merge -p").arg(edit));
    let uid = get("job orders-setup -o jsonpath={.metadata.uid}");
    let title = r#"{"spec":{"title":"b"}}"#;
    run(kubectl("patch database orders --type=merge -p").arg(title));
    let query = "job orders-setup --ignore-not-found -o jsonpath={.metadata.uid}";
    get_until(query, |found| !found.is_empty() && found != uid);
    complete("orders-setup");
    get_until(
        "database orders -o jsonpath={.metadata.generation},{.status.conditions[?(@.type==\"Registered\")].observedGeneration}",
        |found| found == "2,2",
    );
    assert_eq!(get("configmap orders -o jsonpath={.data.connections}"), "7");
    let kept = get("secret orders -o jsonpath={.data.password}");
    assert_eq!(kept, password);

    // The cleanup has its Secret until the backup has ended.
    run(&mut kubectl(
        "delete database orders --cascade=foreground --wait=false",
    ));
    get_until("job orders-backup --ignore-not-found -o name", |found| {
        !found.is_empty()
    });
    assert_eq!(get("secret orders -o jsonpath={.data.password}"), password);
    complete("orders-backup");
    for kind in ["database", "secret"] {
        let query = format!("{kind} orders --ignore-not-found -o name");
        get_until(&query, str::is_empty);
    }
    let inventory = inventory.lock().unwrap_or_else(PoisonError::into_inner);
    let requests = &inventory.requests;
    assert_eq!(requests.first().map(String::as_str), Some("add"));
    assert_eq!(requests.last().map(String::as_str), Some("remove"));
    operator.stop();
}
