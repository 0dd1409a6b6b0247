//! A type that derives `KubeSchema` and contains itself overflows the stack inside of schemars, which ends the process.
//! So a child process makes the schemas first: the same program, which ends where it would go on with them.

use std::{
    cell::Cell,
    env,
    process::{self, Command, Stdio},
    thread,
};

/// Tells the child at which call it ends.
const VARIABLE: &str = "KUBE_MANAGER_LOOKS_AT";

thread_local! {
    /// The calls of [`look`] in this thread: a test has a thread of its own, and the child runs one test.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// Calls `make` in a child process first, and then in this one; `None` if it overflows the stack. A release build calls
/// it at once: the operator has no child when it starts.
pub fn look<T>(make: impl FnOnce() -> T) -> Option<T> {
    if !cfg!(debug_assertions) {
        return Some(make());
    }
    let call = CALLS.replace(CALLS.get() + 1).to_string();
    match env::var(VARIABLE) {
        Ok(wanted) if wanted == call => {
            make();
            process::exit(0)
        }
        Ok(_) => Some(make()),
        Err(_) => (!overflows(&call)).then(make),
    }
}

fn overflows(call: &str) -> bool {
    let Ok(program) = env::current_exe() else {
        return false;
    };
    let mut child = Command::new(program);
    // A thread of a test has the name of the test.
    match thread::current().name() {
        Some(test) if test != "main" => child.args([test, "--exact"]),
        _ => child.args(env::args_os().skip(1)),
    };
    child
        .env(VARIABLE, call)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A process that a signal ends has no code.
    child.status().is_ok_and(|status| status.code().is_none())
}
