//! The controller of Database under faults, with a fake of the inventory.

use std::{
    collections::HashSet,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::LazyLock,
    thread,
};

use kube_manager::testing::{
    self, ControlPlane,
    faults::{Faults, Journal},
};

use reconciler::{
    api::shop::v1::Database,
    controller::shop::database::{Controller, Inventory},
};

static API_SERVER: LazyLock<ControlPlane> = LazyLock::new(|| {
    ControlPlane::start(env!("CARGO_TARGET_TMPDIR")).deploy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/config/default"),
        "reconciler-system",
    )
});

fn sample() -> Database {
    kube_manager::schema::testing::sample(include_str!("../config/samples/shop_v1_database.yaml"))
}

/// Starts an inventory, and returns its address. It records each change, and no request that changes nothing.
fn inventory(journal: Journal) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let mut present = HashSet::new();
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut line = String::new();
            // An operator that was killed may send nothing.
            let _ = BufReader::new(&connection).read_line(&mut line);
            if let Some((command, id)) = line.trim().split_once(' ') {
                let id = id.to_owned();
                let changes = match command {
                    "add" => present.insert(id),
                    _ => present.remove(&id),
                };
                if changes {
                    journal.record(line.trim());
                }
                let _ = connection.write_all(b"ok\n");
            }
        }
    });
    address.to_string()
}

#[tokio::test]
async fn faults_do_not_change_the_result() {
    tokio::spawn(testing::complete_jobs(API_SERVER.client().await));
    Faults::with_world(sample(), inventory, |manager, address| {
        let inventory = Inventory::at(address);
        manager.add(|builder| Controller::with(builder, inventory));
    })
    .run(&API_SERVER)
    .await;
}
