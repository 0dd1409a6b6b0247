//! A soak test: an operator during random faults, while clients change its objects in both versions. After the faults,
//! the test compares the cluster with the objects, and reads in the audit log which replica wrote when. `make soak`
//! runs for an hour, with more objects.

mod check;
mod clock;
mod judge;
mod load;
mod runner;
mod schedule;
pub mod site;

use std::{
    env,
    hash::{BuildHasher, RandomState},
    str::FromStr,
    sync::{
        LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cluster::{last_lines, wait_until};

use self::{
    judge::judge,
    load::{CLIENTS, Done, Load},
    runner::Runner,
    schedule::schedule,
    site::{SHOWN, Site, Usage},
};
use crate::{
    certificates::Ends,
    operator::{PATIENCE, Project},
    serving::probe,
};

/// The additional resources that a process may use after the faults, compared to before. An idle connection is closed
/// after two minutes.
const MORE_FILES: usize = 40;
const MORE_TASKS: usize = 40;
const MORE_THREADS: usize = 4;
const MORE_MEMORY: usize = 20 << 10;

/// Half of the memory limit in the manifest, in KiB.
const MOST_MEMORY: usize = 256 << 10;

/// Returns a project whose kind has two versions, a finalizer and all webhooks. A note owns a `ConfigMap` unless its
/// title is `bare`.
pub fn project() -> &'static Project {
    static PROJECT: LazyLock<Project> = LazyLock::new(new_project);
    &PROJECT
}

fn new_project() -> Project {
    let kind = "--group soak --kind Note";
    let project = Project::scaffold_shared(
        "soak",
        &[
            "init --domain example.com --repo soak",
            &format!("create api {kind} --version v1 --finalizer --owns v1/ConfigMap"),
            &format!("create api {kind} --version v1beta1 --controller=false"),
            &format!(
                "create webhook {kind} --version v1 --defaulting --programmatic-validation --conversion"
            ),
        ],
    );
    let title = "    pub title: String,\n";
    project.edit(
        "src/api/soak/v1/note.rs",
        title,
        &format!(
            "{title}\n    /// How many.\n    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n    \
             pub copies: Option<i32>,\n"
        ),
    );
    project.edit(
        "src/api/soak/v1beta1/note.rs",
        title,
        "    pub name: String,\n",
    );
    let conversion = "src/api/soak/v1beta1/note_conversion.rs";
    project.edit(
        conversion,
        "let spoke::NoteSpec { title } = value;\n        Self { title }",
        "let spoke::NoteSpec { name } = value;\n        Self { title: name, copies: None }",
    );
    project.edit(
        conversion,
        "let hub::NoteSpec { title } = value;\n        Self { title }",
        "let hub::NoteSpec { title, copies: _ } = value;\n        Self { name: title }",
    );
    let webhook = "src/webhook/soak/note.rs";
    project.edit(
        webhook,
        "fn set_defaults(_: &mut Note) {\n",
        "fn set_defaults(object: &mut Note) {\n    \
         object.spec.title = object.spec.title.trim().to_owned();\n    \
         object.spec.copies.get_or_insert(1);\n",
    );
    project.refuse_title(webhook, "Note");
    let controller = "src/controller/soak/note.rs";
    project.edit(
        controller,
        "        // The rest of its content goes here.\n",
        "        data: Some(std::collections::BTreeMap::from([\n            \
         (\"title\".to_owned(), object.spec.title.clone()),\n            \
         (\"copies\".to_owned(), object.spec.copies.unwrap_or_default().to_string()),\n        ])),\n",
    );
    project.edit(
        controller,
        "[config_map(object)]",
        "Some(config_map(object)).filter(|_| object.spec.title != \"bare\")",
    );
    // By default, an object that has failed often is tried again after five minutes.
    let new = "    pub fn new(builder: &mut kube_manager::Builder<Note>) -> Self {\n";
    let pauses = "        let second = std::time::Duration::from_secs(1);\n        \
                  builder.backoff(second / 10..10 * second);\n";
    project.edit(controller, new, &format!("{new}{pauses}"));
    project.compile();
    project
}

/// Returns the number in an environment variable, or the default.
fn number<T: FromStr>(variable: &str, usual: T) -> T {
    let Ok(text) = env::var(variable) else {
        return usual;
    };
    let number = text.parse();
    number.unwrap_or_else(|_| panic!("`{variable}` must be a number, not `{text}`"))
}

#[test]
fn after_random_faults_the_desired_state_is_reached_and_only_leaders_have_written() {
    let length = Duration::from_secs_f64(60.0 * number("MINUTES", 1.0));
    let objects: u32 = number("OBJECTS", 100);
    // Each object changes about once in 100 s.
    let pause = Duration::from_secs(400) / objects;
    let objects = usize::try_from(objects).expect("a number of objects");
    let seed = number("SEED", RandomState::new().hash_one(0) % 1_000_000);
    eprintln!("{objects} objects; `SEED={seed}` repeats the faults");
    let mut site = Site::new(project());
    for replica in &site.replicas {
        probe(&replica.operator, "/readyz", 200, &["[+] webhooks: served"]);
    }
    let load = Load {
        server: site.cluster.server().to_owned(),
        client: site.client(),
        pause,
        wiped: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    };
    trusts(&site);
    let users = thread::scope(|scope| {
        let load = &load;
        let users = [0, 1, 2, 3].map(|user| scope.spawn(move || load.create(user, objects)));
        users.map(|user| user.join().expect("all objects are created"))
    });
    converge(&mut site, objects);
    let before = usage(&site);

    let mut start = Instant::now();
    let mut runner = Runner::new(&site, &load);
    let users = thread::scope(|scope| {
        let load = &load;
        let _ends = Ends(&load.is_over);
        let mut number = 0;
        let users = users.map(|done| {
            number += 1;
            scope.spawn(move || load.change(number, seed, done))
        });
        runner.run(&mut site, &schedule(seed, length));
        load.is_over.store(true, Ordering::Relaxed);
        users.map(|user| user.join().expect("no panic of a user"))
    });
    let faults = start.elapsed();
    start = Instant::now();
    converge(&mut site, objects);
    report(&runner, &users, faults, start.elapsed());

    let lost = check::lost(&site, &load, &users).expect("both versions are served");
    assert_eq!(lost, [""; 0]);
    let stored: Vec<_> = users.iter().flat_map(|user| &user.stored).collect();
    assert!(stored.is_empty(), "bad objects are stored: {stored:?}");
    let verdict = judge(&site, &runner.withdrawn);
    eprintln!(
        "{} requests of {} processes, {} writes in {} terms, {} outside of one; {} forbidden, {} wrongly",
        verdict.requests,
        site.processes,
        verdict.writes,
        verdict.terms,
        verdict.outside.len(),
        verdict.forbidden,
        verdict.wrongly_forbidden.len(),
    );
    assert!(verdict.writes > 2 * objects, "{verdict:?}");
    assert_eq!(verdict.outside, [""; 0]);
    assert_eq!(verdict.wrongly_forbidden, [""; 0]);
    takes_no_more(&site, before);
    stop(&mut site);
}

/// Waits until the API server trusts the webhooks.
fn trusts(site: &Site) {
    let bad = r#"{"apiVersion":"soak.example.com/v1beta1","kind":"Note","metadata":{"name":"bad"},"spec":{"name":"forbidden"}}"#;
    wait_until("the webhooks to be called", PATIENCE, || {
        let answer = site.admin.post(&site.url(load::OLD_NOTES), bad)?;
        anyhow::ensure!(answer.code == 422, "{answer:?}");
        Ok(Some(()))
    })
    .expect("they are");
}

/// Waits for the desired state.
fn converge(site: &mut Site, objects: usize) {
    // A replica may have to acquire the lease first, and a storage migration writes one object after the other.
    let patience = PATIENCE + Duration::from_secs(2) * u32::try_from(objects).expect("few");
    let mut last = Vec::new();
    let converged = wait_until("the desired state", patience, || {
        site.supervise();
        // The cheap check is first, because the migration takes longest.
        if site.is_migrated() {
            last = check::differences(site)?;
            return Ok(last.is_empty().then_some(()));
        }
        Ok(None)
    });
    converged.unwrap_or_else(|error| {
        let (first, logs) = (&last[..last.len().min(5)], site.logs());
        let crd = site.state_of_crd();
        panic!(
            "{error:#}: {} differences: {first:#?}\n{crd:#}\n{logs}",
            last.len()
        )
    });
}

/// Returns the resource usage of the leader and of the other replica.
fn usage(site: &Site) -> [Usage; 2] {
    let leader = wait_until("a leader", PATIENCE, || Ok(site.leader()));
    let leader = leader.expect("a leader").operator.id();
    [true, false].map(|leads| {
        let mut replicas = site.replicas.iter();
        let replica = replicas.find(|it| (it.operator.id() == leader) == leads);
        Usage::of(&replica.expect("a replica").operator)
    })
}

fn takes_no_more(site: &Site, before: [Usage; 2]) {
    let ages: Vec<_> = site
        .replicas
        .iter()
        .map(|it| it.started.elapsed().as_secs())
        .collect();
    let most = site
        .replicas
        .iter()
        .map(|it| it.most_memory)
        .max()
        .unwrap_or_default();
    eprintln!("at rest: before {before:?}");
    eprintln!(
        "at rest: after {:?}, {ages:?} s after their start; {most} KiB at most",
        usage(site)
    );
    wait_until("idle connections to be closed", PATIENCE, || {
        let after = usage(site);
        let good = before.iter().zip(&after).all(|(before, after)| {
            after.memory <= before.memory * 13 / 10 + MORE_MEMORY
                && after.files <= before.files + MORE_FILES
                && after.threads <= before.threads + MORE_THREADS
                && after.tasks <= before.tasks + MORE_TASKS
        });
        anyhow::ensure!(good, "{before:?} {after:?}");
        Ok(Some(()))
    })
    .unwrap_or_else(|error| panic!("{error:#}"));
    assert!(most < MOST_MEMORY, "{most} KiB");
}

/// Stops both replicas as Kubernetes stops Pods.
fn stop(site: &mut Site) {
    for replica in &mut site.replicas {
        replica.operator.signal("TERM");
        let status = replica.operator.ends_within(PATIENCE);
        let log = replica.operator.log();
        assert!(status.success(), "{status}\n{}", last_lines(&log, SHOWN));
    }
}

fn report(runner: &Runner, users: &[Done; CLIENTS], faults: Duration, converged: Duration) {
    let sum = |of: fn(&Done) -> usize| users.iter().map(of).sum::<usize>();
    let count: usize = runner.counts.values().sum();
    eprintln!(
        "{count} faults in {:.1} minutes: {:?}; {} requests met one of a proxy",
        faults.as_secs_f64() / 60.0,
        runner.counts,
        runner.met
    );
    eprintln!(
        "{} requests of users, {} failed meanwhile, {} bad objects refused; the desired state after {:.1} s",
        sum(|it| it.requests),
        sum(|it| it.failed),
        sum(|it| it.refused),
        converged.as_secs_f64()
    );
}
