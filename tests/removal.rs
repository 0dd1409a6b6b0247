//! Tests that `delete` removes everything that exists only for the deleted API or controller.

use std::fs;

use crate::project::{INIT, Project, assert_same};

/// The commands before, the command that adds something, and the command that deletes it.
const CASES: &[(&[&str], &str, &str)] = &[
    (
        &[],
        "create api --group webapp --version v1 --kind Guestbook --finalizer",
        "delete api --group webapp --version v1 --kind Guestbook",
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group crew --version v1 --kind Captain --owns v1/ConfigMap,webapp/v1/Guestbook",
        "delete api --group crew --version v1 --kind Captain",
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group webapp --version v1 --kind Visitor --namespaced=false",
        "delete api --group webapp --version v1 --kind Visitor",
    ),
    // One version of several.
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group webapp --version v2 --kind Guestbook",
        "delete api --group webapp.com --version v2 --kind Guestbook",
    ),
    // Kinds that the project does not define.
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group apps --version v1 --kind Deployment --resource=false",
        "delete controller --group apps --version v1 --kind Deployment",
    ),
    (
        &[],
        "create api --group cert-manager --version v1 --kind Certificate \
         --external-api-path cert_manager::v1::Certificate --external-api-domain io \
         --external-api-crate cert-manager@0.1",
        "delete api --group cert-manager.io --version v1 --kind Certificate",
    ),
    // Only controllers.
    (
        &["create api --group webapp --version v1 --kind Guestbook --controller=false"],
        "create api --group webapp --version v1 --kind Guestbook --controller",
        "delete controller --group webapp --version v1 --kind Guestbook",
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group webapp --version v1 --kind Guestbook --controller-name backup --finalizer",
        "delete controller --group webapp --version v1 --kind Guestbook --controller-name backup",
    ),
];

#[test]
fn a_delete_command_reverts_what_was_added() {
    for (start, add, delete) in CASES {
        let project = Project::new(&[&[INIT], *start].concat());
        let before = project.copy();
        project.rscaffold(add);
        assert_ne!(project.tree(), before.tree(), "{add}");
        project.rscaffold(delete);
        assert_same(&project, &before, delete);
    }
}

#[test]
fn the_remaining_version_is_served() {
    let (v1, v2) = (
        "create api --group webapp --version v1 --kind Guestbook --controller-name backup",
        "create api --group webapp --version v2 --kind Guestbook",
    );
    let project = Project::new(&[INIT, v1, v2]);
    let delete = "delete api --group webapp --version v1 --kind Guestbook";
    let told = project.run(delete).stderr;
    assert!(told.contains("`v2` of Guestbook is served now"), "{told}");
    assert!(told.contains("`status.storedVersions`"), "{told}");
    let expected = Project::new(&[INIT, &v1.replace("v1", "v2")]);
    assert_same(&project, &expected, "v2 alone");
}

#[test]
fn deleting_a_changed_file_is_a_conflict() {
    let controller = "src/controller/webapp/guestbook.rs";
    let project = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
    ]);
    let never = Project::new(&[INIT]);
    let mine = project.read(controller) + "// mine\n";
    project.write(controller, &mine);
    let before = project.tree();
    let delete = "delete api --group webapp --version v1 --kind Guestbook";
    let error = project.refused(delete);
    assert!(
        error.contains("src/controller/webapp/guestbook.rs:1"),
        "{error}"
    );
    assert!(
        error.contains("you changed this file, rscaffold deletes it"),
        "{error}"
    );
    assert_eq!(project.tree(), before);

    let kept = project.copy();
    kept.rscaffold(&format!("{delete} --on-conflict=ours"));
    assert_eq!(kept.read(controller), mine);
    fs::remove_dir_all(kept.folder().join("src/controller/webapp")).unwrap();
    assert_same(&kept, &never, "all but that file is gone");

    project.rscaffold(&format!("{delete} --on-conflict=theirs"));
    assert_same(&project, &never, "gone");
}

#[test]
fn a_kind_that_a_controller_owns_is_not_deleted() {
    let project = Project::new(&[
        INIT,
        "create api --group press --version v1 --kind Page --controller=false",
        "create api --group shop --version v1 --kind Book --owns press/v1/Page",
    ]);
    let before = project.tree();
    let error = project.refused("delete api --group press --version v1 --kind Page");
    assert!(error.contains("`shop/v1/Book`"), "{error}");
    assert_eq!(project.tree(), before);
}
