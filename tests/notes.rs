//! Tests the notes of commands: about what a change leaves in clusters, about files of the user, and about webhooks.

use std::fs;

use crate::project::{INIT, Project, assert_same};

type Texts = &'static [&'static str];

/// The commands before, a command that leaves something in clusters, and words of each of its notes about that.
const LEFT_IN_CLUSTERS: &[(Texts, &str, Texts)] = &[
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook --finalizer --owns v1/ConfigMap",
        ],
        "delete controller --group webapp --version v1 --kind Guestbook",
        &[
            "does not remove the finalizer `guestbook.webapp.com/finalizer`",
            "clusters keep the objects of `v1/ConfigMap` that the controller `guestbook` of `webapp/v1/Guestbook` created",
            "set `fieldManager: guestbook.webapp.com` and `finalizerName: guestbook.webapp.com/finalizer` for it",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook --owns v1/ConfigMap,v1/Service"],
        "create api --group webapp --version v1 --kind Guestbook --owns v1/Service --force",
        &["clusters keep the objects of `v1/ConfigMap` that"],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook --finalizer"],
        "edit --namespaced",
        &[
            "permissions that the operator no longer needs",
            "does not remove the finalizer `guestbook.webapp.com/finalizer` in other namespaces than `guestbook-system`, so \
             objects in other namespaces",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook --finalizer"],
        "create api --group webapp --version v1 --kind Guestbook --controller=false --force",
        &[
            "does not remove the finalizer `guestbook.webapp.com/finalizer`",
            "if another controller of `webapp/v1/Guestbook` replaces `guestbook`, set `fieldManager: ",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook --finalizer"],
        "create api --group webapp --version v1 --kind Guestbook --finalizer=false --force",
        &["does not remove the finalizer `guestbook.webapp.com/finalizer`"],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook --finalizer"],
        "delete api --group webapp --version v1 --kind Guestbook",
        &[
            "before you deploy, delete it there, with all of its objects, by `kubectl delete crd guestbooks.webapp.com`",
            "does not remove the finalizer `guestbook.webapp.com/finalizer`",
        ],
    ),
    (
        &["create controller --group apps --version v1 --kind Deployment --finalizer"],
        "edit --project-name library",
        &[
            "delete the Deployment and the webhook configurations whose names begin with `guestbook-`",
            "`kubectl delete clusterrolebinding guestbook-manager-rolebinding guestbook-metrics-auth-rolebinding`",
            "does not remove the finalizer `deployment.apps.guestbook.com/finalizer`",
            "set `fieldManager: deployment.apps.guestbook.com` and",
            "`git grep -F -e guestbook`",
        ],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create webhook --group webapp --version v1 --kind Guestbook --defaulting --programmatic-validation",
        ],
        "delete webhook --group webapp --version v1 --kind Guestbook",
        &[
            "permissions that the operator no longer needs, and the key of its certificate authority: after `make \
             deploy`, delete them there by `kubectl delete clusterrolebinding guestbook-webhook-ca-rolebinding`, \
             `kubectl delete --namespace guestbook-system rolebinding guestbook-webhook-ca-rolebinding`, `kubectl \
             delete --namespace guestbook-system secret guestbook-webhook-ca`",
            "before you deploy, delete them there by `kubectl delete mutatingwebhookconfiguration guestbook-mutating-webhook-configuration`",
            "`kubectl delete validatingwebhookconfiguration guestbook-validating-webhook-configuration`",
        ],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "edit --enable user-roles",
        ],
        "edit --disable user-roles,leader-election,metrics-secure",
        &[
            "no longer needs: after `make deploy`, delete them there by `kubectl delete clusterrolebinding \
             guestbook-metrics-auth-rolebinding`, `kubectl delete --namespace guestbook-system rolebinding \
             guestbook-leader-election-rolebinding`",
            "`kubectl delete clusterrole guestbook-webapp-guestbook-admin-role \
             guestbook-webapp-guestbook-editor-role guestbook-webapp-guestbook-viewer-role`",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group webapp --version v1 --kind Guestbook --namespaced=false --force",
        &[
            "the scope of a CRD cannot change: a cluster refuses the new `guestbooks.webapp.com` until",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        "create api --group webapp --version v1 --kind Guestbook --plural books --force",
        &[
            "`guestbooks.webapp.com` is now `books.webapp.com`: clusters do not serve the new CRD until you delete \
             the old one, with all of its objects, by `kubectl delete crd guestbooks.webapp.com`",
        ],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create api --group webapp --version v2 --kind Guestbook",
        ],
        "delete api --group webapp --version v1 --kind Guestbook",
        &["lists `v1` in `status.storedVersions`"],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create api --group webapp --version v2 --kind Guestbook --conversion=none",
        ],
        "create api --group webapp --version v2 --kind Guestbook --storage",
        &["the operator migrates the objects that are stored as `v1`"],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create api --group webapp --version v2 --kind Guestbook",
            "create webhook --group webapp --kind Guestbook --conversion",
            "create api --group webapp --version v2 --kind Guestbook --served=false --force",
        ],
        "delete webhook --group webapp --kind Guestbook --conversion",
        &[
            "guestbook-webhook-ca-rolebinding`",
            "`kubectl patch crd guestbooks.webapp.com ",
            "wait for an answer in each write",
        ],
    ),
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create api --group crew --version v1 --kind Page",
            "create api --group ship --version v1 --kind Crate",
        ],
        "edit --domain example.org",
        &[
            "`crates.ship.com` is now `crates.ship.example.org`, `guestbooks.webapp.com` is now \
             `guestbooks.webapp.example.org`, `pages.crew.com` is now `pages.crew.example.org`: clusters keep each old CRD",
            "`git grep -F -e crew.com -e ship.com -e webapp.com`",
        ],
    ),
];

/// The notes in a message.
fn notes(message: &str) -> Vec<String> {
    let notes = message
        .lines()
        .filter_map(|line| line.strip_prefix("note: "));
    notes.map(str::to_owned).collect()
}

#[test]
fn a_command_and_the_same_edit_of_project_say_what_clusters_keep() {
    for (start, command, expected) in LEFT_IN_CLUSTERS {
        let by_command = Project::new(&[&[INIT], *start].concat());
        let by_hand = by_command.copy();
        let said = notes(&by_command.run(command).stderr);
        by_hand.write("PROJECT", &by_command.read("PROJECT"));
        for again in ["diff", "apply"] {
            let left = notes(&by_hand.run(again).stderr);
            assert_eq!(left.len(), expected.len(), "{command}: {left:#?}");
            for (note, words) in left.iter().zip(*expected) {
                assert!(note.contains(words), "{command}: {note}");
                assert!(said.contains(note), "{command}: {said:#?} lack {note}");
            }
        }
        assert_same(&by_hand, &by_command, command);
    }
}

/// Edits of `PROJECT`, and words of each note of `apply`.
const EDITS: &[(&str, &str, Texts)] = &[
    (
        "group: crew",
        "group: team",
        &[
            "`pages.crew.com` is now `pages.team.com`: clusters keep the old CRD with its objects, which do not \
             move to the new one; before you deploy, save the objects, and delete the old CRD there, with its objects and \
             all that they own, by `kubectl delete crd pages.crew.com`",
            "does not remove the finalizer `page.crew.com/finalizer`",
            "`git grep -F -e crew.com`",
        ],
    ),
    (
        "version: v1alpha1",
        "version: v1",
        &["lists `v1alpha1` in `status.storedVersions`"],
    ),
    (
        "finalizer: true",
        "finalizer: true\n  finalizerName: example.com/guard",
        &["does not remove the finalizer `page.crew.com/finalizer`"],
    ),
    (
        "kind: Page",
        "kind: Leaf",
        &[
            "the kind of a CRD cannot change: a cluster refuses the new `pages.crew.com`",
            "does not remove the finalizer `page.crew.com/finalizer`",
        ],
    ),
    (
        "multigroup: true",
        "multigroup: true\nnamespace: operators",
        &[
            "the operator moves from the namespace `guestbook-system` to `operators`: clusters keep the old one; \
             before you deploy the new one, delete its Deployment",
            "`kubectl delete --namespace guestbook-system rolebinding guestbook-leader-election-rolebinding`",
        ],
    ),
    // Only one of the kinds of a group moves.
    (
        "group: webapp\n  kind: Shelf",
        "group: shop\n  kind: Shelf",
        &[
            "`shelves.webapp.com` is now `shelves.shop.com`: clusters keep the old CRD with its objects, which do not \
             move to the new one; before you deploy, save the objects, and delete the old CRD there, with its objects and \
             all that they own, by `kubectl delete crd shelves.webapp.com`",
        ],
    ),
];

#[test]
fn an_edit_of_project_says_what_clusters_keep() {
    let base = Project::new(&[
        INIT,
        "create api --group webapp --version v1 --kind Guestbook",
        "create api --group webapp --version v1 --kind Shelf",
        "create api --group crew --version v1alpha1 --kind Page --finalizer",
    ]);
    for (old, new, expected) in EDITS {
        let project = base.copy();
        project.replace("PROJECT", old, new);
        let left = notes(&project.run("apply").stderr);
        assert_eq!(left.len(), expected.len(), "{new}: {left:#?}");
        for (note, words) in left.iter().zip(*expected) {
            assert!(note.contains(words), "{new}: {note}");
        }
    }
}

/// The commands before, files that the user adds, files that the user deletes, a command, and words of its notes about
/// these files.
const FILES_OF_THE_USER: &[(Texts, Texts, Texts, &str, Texts)] = &[
    (
        &["edit --enable helm"],
        &["charts/guestbook/templates/custom.yaml"],
        &[],
        "edit --project-name library",
        &[
            "files of yours stay in `charts/guestbook`: move `templates/custom.yaml` to `charts/library`",
        ],
    ),
    (
        &["edit --enable helm"],
        &["charts/other/templates/custom.yaml", "charts/notes.txt"],
        &[],
        "edit --project-name library",
        &[],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        &[
            "src/api/webapp/v1/a/b.rs",
            "src/controller/webapp/util/mod.rs",
        ],
        &[],
        "group: webapp -> group: shop",
        &[
            "files of yours stay in `src/controller/webapp`: move `util/mod.rs` to `src/controller/shop`",
            "files of yours stay in `src/api/webapp`: move `v1/a/b.rs` to `src/api/shop`",
        ],
    ),
    // The folder of a group stays in use.
    (
        &[
            "create api --group webapp --version v1 --kind Guestbook",
            "create api --group webapp --version v1 --kind Shelf",
        ],
        &["src/api/webapp/v1/helper.rs"],
        &[],
        "kind: Shelf -> kind: Rack",
        &[],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        &["src/api/webapp/v1/guestbook/mod.rs"],
        &["src/api/webapp/v1/guestbook.rs"],
        "create api --group webapp --version v2 --kind Guestbook",
        &[
            "`src/api/webapp/v1/guestbook.rs` is missing, so `src/api/webapp/v2/guestbook.rs` is not a copy of it: it \
             has the text of a new project",
        ],
    ),
    (
        &["create api --group webapp --version v1 --kind Guestbook"],
        &[],
        &[],
        "create api --group webapp --version v2 --kind Guestbook",
        &[],
    ),
];

#[test]
fn a_note_names_the_files_of_the_user_that_do_not_follow() {
    for (start, added, deleted, command, expected) in FILES_OF_THE_USER {
        let project = Project::new(&[&[INIT], *start].concat());
        for path in *added {
            project.write(path, "a: b\n");
        }
        for path in *deleted {
            fs::remove_file(project.folder().join(path)).expect("the file");
        }
        let outcome = if let Some((old, new)) = command.split_once(" -> ") {
            project.replace("PROJECT", old, new);
            project.run("apply")
        } else {
            project.run(command)
        };
        let all = notes(&outcome.stderr).into_iter();
        let about_files: Vec<_> = all
            .filter(|note| note.contains("files of yours") || note.contains("is missing"))
            .collect();
        assert_eq!(about_files, *expected, "{command}");
    }
}

#[test]
fn the_note_about_webhooks_of_a_builtin_kind_agrees_with_the_manifest() {
    for is_namespaced in ["", " --namespaced"] {
        for kind in ["Pod", "Node"] {
            let project = Project::new(&[&format!("{INIT}{is_namespaced}")]);
            let command =
                format!("create webhook --group core --version v1 --kind {kind} --defaulting");
            let said = notes(&project.run(&command).stderr).concat();
            let manifest = project.read("config/webhook/manifests.yaml");
            assert!(said.contains("the API server skips the webhook"), "{said}");
            for (words, selector) in [
                (
                    "not called for objects of `v1/Pod` in `kube-system`",
                    "- kube-system\n",
                ),
                (
                    "`control-plane: controller-manager`",
                    "- controller-manager\n",
                ),
            ] {
                let is_selected = manifest.contains(selector);
                assert_eq!(
                    said.contains(words),
                    is_selected,
                    "{command}: {said}\n{manifest}"
                );
            }
        }
    }
}
