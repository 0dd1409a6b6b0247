//! Tests the shell scripts and make targets of generated projects with programs that only record their calls.

use std::fs;

use crate::{
    project::{INIT, Project, shell},
    scaffold::run,
    workflows::stand_in,
};

#[test]
fn the_end_to_end_test_calls_programs_that_have_arguments() {
    let project = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    project.write("program", "echo \"$@\" >>calls\nexit 1\n");
    for (kind, expected) in [
        (
            "sh program kind",
            &[
                "kind get clusters",
                "kind create cluster --name guestbook-e2e --wait 3m",
            ][..],
        ),
        // The cluster of the kubeconfig.
        ("", &[]),
    ] {
        project.write("calls", "");
        let output = shell(&project.folder(), "sh tests/e2e.sh")
            .env("IMG", "guestbook:v1")
            .env("KIND", kind)
            .env("KUBECTL", "sh program kubectl")
            .env("CONTAINER_TOOL", "sh program tool")
            .output()
            .unwrap();
        assert!(!output.status.success());
        let calls = fs::read_to_string(project.folder().join("calls")).unwrap();
        let lines: Vec<_> = calls.lines().collect();
        assert!(lines.starts_with(expected), "{calls}");
        assert!(
            lines.iter().any(|line| line.starts_with("kubectl ")),
            "{calls}"
        );
        let of_kind = lines.iter().filter(|line| line.starts_with("kind "));
        // A cluster that could not be created may be there in part.
        assert_eq!(of_kind.count() > 2, !kind.is_empty(), "{calls}");
    }
}

#[test]
fn the_end_to_end_test_replaces_pods_of_an_earlier_run() {
    let project = Project::new(&[INIT]);
    stand_in(&project.folder(), "make", "echo make \"$@\" >>calls\n");
    project.write(
        "kubectl",
        "echo \"$@\" >>calls\n\
         case \"$*\" in\n\
         *--ignore-not-found*) echo \"$BEFORE\" ;;\n\
         *'rollout restart'*) ;;\n\
         *) exit 1 ;;\n\
         esac\n",
    );
    let rollout = |of: &str| {
        format!(
            "--namespace guestbook-system rollout {of}deployment/guestbook-controller-manager\n"
        )
    };
    let deploy = "make deploy IMG=guestbook:v1\n".to_owned();
    let waits = rollout("status --timeout=3m ");
    for (before, expected) in [
        ("", deploy.clone() + &waits),
        (
            "deployment.apps/guestbook-controller-manager",
            deploy + &rollout("restart ") + &waits,
        ),
    ] {
        project.write("calls", "");
        let script = "PATH=\"$PWD:$PATH\" sh tests/e2e.sh";
        let output = shell(&project.folder(), script)
            .env("IMG", "guestbook:v1")
            .env("KIND", "")
            .env("KUBECTL", "sh kubectl")
            .env("BEFORE", before)
            .output()
            .unwrap();
        assert!(!output.status.success());
        let calls = fs::read_to_string(project.folder().join("calls")).unwrap();
        assert!(calls.contains(&expected), "{calls}");
    }
}

#[test]
fn an_image_is_built_with_a_lock_file_that_fits() {
    let project = Project::new(&["init --domain com --repo guestbook --runtime vendored"]);
    let build = || {
        let make = "make --silent docker-build CARGO='echo cargo' CONTAINER_TOOL=echo IMG=a";
        run(&mut shell(&project.folder(), make))
    };
    let updated = "cargo update --workspace\nbuild --tag a .\n";
    assert_eq!(build(), updated);
    assert_eq!(build(), "build --tag a .\n");
    for manifest in ["Cargo.toml", "crates/kube-manager/Cargo.toml"] {
        let later = format!("touch -d '+1 minute' {manifest}");
        run(&mut shell(&project.folder(), &later));
        assert_eq!(build(), updated, "{manifest}");
        run(&mut shell(
            &project.folder(),
            "touch -d '+2 minutes' Cargo.lock",
        ));
        assert_eq!(build(), "build --tag a .\n");
        run(&mut shell(
            &project.folder(),
            "touch -d now Cargo.lock Cargo.toml",
        ));
    }
}
