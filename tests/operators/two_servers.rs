//! Tests an operator on a control plane with two API servers. One of them is cut off from etcd for a while, so what it
//! knows of the cluster is old. The operator must not act on that.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

use cluster::{Cluster, wait_until};
use hyper::Method;

use crate::{
    operator::{Operator, PATIENCE, kubectl_on, kubectl_succeeds_on, new_cluster},
    proxy::Proxy,
    scaffold::run,
    sharing,
};

/// Forwards connections to etcd. While the gate is closed, it holds back what they carry, as a network that loses all
/// packets does.
struct Gate {
    port: u16,
    is_open: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// Opens a gate to the socket of etcd. It forwards connections until this process ends.
    fn new(etcd: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let gate = Self {
            port: listener.local_addr().expect("an address").port(),
            is_open: Arc::new((Mutex::new(true), Condvar::new())),
        };
        let is_open = gate.is_open.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.expect("a connection");
                let Ok(server) = UnixStream::connect(&etcd) else {
                    return;
                };
                let requests = (clone(&client), server.try_clone().expect("a socket"));
                let is_open_for_requests = is_open.clone();
                thread::spawn(move || {
                    let (from, to) = requests;
                    carry(from, &to, &is_open_for_requests);
                    let _ = to.shutdown(Shutdown::Both);
                });
                let is_open_for_answers = is_open.clone();
                thread::spawn(move || {
                    carry(server, &client, &is_open_for_answers);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        gate
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn set_open(&self, is_open: bool) {
        let (state, changed) = &*self.is_open;
        *state.lock().unwrap_or_else(PoisonError::into_inner) = is_open;
        changed.notify_all();
    }
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a socket")
}

/// Copies bytes while the gate is open, until one side ends.
fn carry(mut from: impl Read, mut to: impl Write, is_open: &(Mutex<bool>, Condvar)) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let (state, changed) = is_open;
        let open = state.lock().unwrap_or_else(PoisonError::into_inner);
        let open = changed.wait_while(open, |open| !*open);
        drop(open.unwrap_or_else(PoisonError::into_inner));
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

fn create(cluster: &Cluster, name: &str) {
    let text = sharing::object(name, "Left", "default", "one");
    let manifest = sharing::project().manifest(&text);
    run(kubectl_on(cluster, "create -f").arg(manifest));
}

/// How many times the operator has created a `ConfigMap` through `cluster`.
fn created(operator: &Operator, cluster: &Cluster) -> usize {
    let requests = operator.requests(cluster);
    let created = requests.iter().filter(|request| {
        request.resource == "configmaps" && request.verb == "create" && request.code == 201
    });
    created.count()
}

#[test]
fn an_operator_does_not_act_on_what_a_lagging_api_server_knows() {
    let project = sharing::project();
    let first = new_cluster();
    let gate = Gate::new(first.etcd_socket());
    // A request that waits for etcd fails early.
    let flags = ["--request-timeout=5s"];
    let second = first
        .start_beside(&gate.url(), &flags)
        .expect("an API server");
    run(kubectl_on(&first, "apply -k").arg(project.path().join("config/crd")));
    kubectl_succeeds_on(&first, "get lefts,rights,odds");

    // The second API server knows an object that nobody has reconciled, and the permissions of the operator.
    create(&first, "old");
    let mut proxy = Proxy::start(&first);
    let start = |proxy: &Proxy| {
        let launch = project.operator().on(&first).through(proxy);
        launch.args("--namespace default").start()
    };
    let operator = start(&proxy);
    operator.says(&["\"reconciled\"", "\"name\":\"old\""]);
    drop(operator);
    run(&mut kubectl_on(&first, "delete configmap old"));
    let account = "system:serviceaccount:sharing-system:sharing-controller-manager";
    kubectl_succeeds_on(
        &second,
        &format!("auth can-i watch lefts.sharing.example.com --as={account}"),
    );
    let cached =
        "get --raw=/apis/sharing.example.com/v1/namespaces/default/lefts/old?resourceVersion=0";
    kubectl_succeeds_on(&second, cached);
    wait_until(
        "the second API server to know of the deletion",
        PATIENCE,
        || {
            let path = "get --raw=/api/v1/namespaces/default/configmaps/old?resourceVersion=0";
            let output = kubectl_on(&second, path).output()?;
            Ok((!output.status.success()).then_some(()))
        },
    )
    .expect("a cache that follows");

    gate.set_open(false);
    let operator = start(&proxy);
    kubectl_succeeds_on(&first, "get configmap old");
    run(&mut kubectl_on(&first, "delete left old"));
    operator.says(&["is gone", "\"old\""]);
    run(&mut kubectl_on(&first, "delete configmap old"));
    // For the second API server, the object is still there, and its `ConfigMap` is missing.
    proxy.move_to(&second);
    let moved = proxy.exchanges().len();
    wait_until("a request of the operator", PATIENCE, || {
        Ok((proxy.exchanges().len() > moved).then_some(()))
    })
    .expect("an operator that connects again");
    drop(operator);
    let restarted = proxy.exchanges().len();
    let operator = start(&proxy);
    wait_until("an answer without etcd", PATIENCE, || {
        let exchanges = proxy.exchanges();
        let failed = exchanges[restarted..]
            .iter()
            // 429 if the API server has noticed that its connection is lost.
            .find(|exchange| exchange.code == 429 || exchange.code >= 500);
        Ok(failed.map(|_| ()))
    })
    .expect("an API server that does not answer from its cache");
    let mut exchanges = proxy.exchanges().into_iter().skip(moved);
    let write = exchanges.find(|exchange| exchange.method != Method::GET);
    assert!(write.is_none(), "{write:?}");

    gate.set_open(true);
    create(&first, "new");
    kubectl_succeeds_on(&first, "get configmap new");
    assert_eq!(created(&operator, &second), 1);
    let old = kubectl_on(&first, "get configmap old").output();
    assert!(!old.expect("kubectl runs").status.success());
}
