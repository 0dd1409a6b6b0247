//! What users can do after a refusal: of a change by the project, or of files by the engine.

use anyhow::Result;

use crate::{
    engine::worktree::{Refusal, is_denied},
    hint::{OrHint, hint, or_hint_for},
    names::GroupVersionKind,
    project::{Error, External, builtin::Builtin},
};

/// Adds a hint to the error of a refused change.
pub fn or_way_out<T>(changed: Result<T>) -> Result<T> {
    or_hint_for(changed, way_out)
}

/// Adds a hint to the error of a `version` that a CRD adds.
pub fn or_way_out_of_crd<T>(changed: Result<T>, version: &GroupVersionKind) -> Result<T> {
    or_hint_for(changed, |refusal| {
        let Error::StoredObjects { hub, .. } = refusal else {
            return way_out(refusal);
        };
        let (version, hub) = (version.as_flags(), hub.as_flags());
        Some(format!(
            "without `--crd`, run `rscaffold create api {version}`, `rscaffold create webhook {hub} --conversion` and \
             `rscaffold create api {version} --storage`, then repeat this command; if no cluster has such objects, use \
             `--force`"
        ))
    })
}

/// How to make another version the hub of a kind.
const MOVE_HUB: &str = "move `conversion` and `spoke` in `PROJECT` to the entry of the new hub, list the other versions as \
                        its spokes, and run `rscaffold apply`";

/// What the user can do if the record cannot be used.
pub const RESTORE: &str = "restore it, for example with `git restore .rscaffold`, or recreate it with \
                           `rscaffold apply --rebuild-base`, which says what is lost";

/// Adds a hint to the error of files that the engine refuses.
pub fn or_repair<T>(done: Result<T>) -> Result<T> {
    let done = or_hint_for(done, |refusal| {
        Some(match refusal {
            Refusal::DamagedRecord | Refusal::LargeRecord => RESTORE,
            Refusal::Marked(_) => "resolve the conflict markers, and run the command again",
            Refusal::Unmerged(_) => {
                "run `rscaffold apply`: it resolves conflicts in the lines of rscaffold, and shows \
                 those in your own lines"
            }
        })
    });
    match done {
        Err(error) if hint(&error).is_none() && is_denied(&error) => Err(error).or_hint(
            "you need the permission to read this file or folder: `ls -ld` on it shows who has it",
        ),
        done => done,
    }
}

/// What the user can do instead of a change that is refused.
fn way_out(refusal: &Error) -> Option<String> {
    let hint = match refusal {
        Error::Changes { .. } => "apply the new settings with `--force`",
        Error::OtherDefiner { definer, .. } if *definer == Builtin::DEFINER => return None,
        Error::OtherDefiner { definer, .. } if *definer == External::DEFINER => {
            "use `--resource=false` for the kind of the other project; to define it here, first run `rscaffold delete api`"
        }
        Error::OtherDefiner { .. } => {
            "`--resource=false` and `--external-api-path` are for a kind that another project defines; leave them out \
             for a kind of this project"
        }
        Error::OtherCrd { other, .. } => {
            return Some(format!(
                "keep what `{other}` has; to change all versions, first run `rscaffold create api {} --force` with the \
                 new setting",
                other.as_flags()
            ));
        }
        Error::SecondControllers { other, .. } => {
            return Some(format!(
                "use `--version {other}` for another controller; for a version without one, use `create api \
                 --controller=false`"
            ));
        }
        Error::UnstoredController { .. } => "add the controller to the stored version of the kind",
        Error::UnstoredWebhook { .. } => {
            "add the webhook to the stored version: the API server calls it for all versions"
        }
        Error::Crate { .. } => {
            "pass the existing crate to `--external-api-crate`, or change the crate of all kinds \
             with `--force`"
        }
        Error::NeedlessCrate { .. } => "leave out `--external-api-crate`",
        Error::OnlyVersion { id } => {
            return Some(format!(
                "add another version first, with `rscaffold create api --group {} --version \
                 <VERSION> --kind {}`",
                id.group().as_argument(),
                id.kind()
            ));
        }
        Error::SameName { one, other, .. } => {
            let names = "two kinds of a group need different names, plurals (`--plural`) and short \
                         names (`--short-name`)";
            for (singular, kind) in [(one, other), (other, one)] {
                if singular.plural().as_str() == kind.lower() {
                    return Some(format!(
                        "`{kind}` is the plural of `{singular}`, and a kind is named in the \
                         singular; {names}"
                    ));
                }
            }
            names
        }
        Error::OtherHub { .. }
        | Error::Hub { .. }
        | Error::NoSpoke { .. }
        | Error::TwoConversions { .. }
        | Error::StoredObjects { .. }
        | Error::ServedVersions { .. }
        | Error::StillServed { .. }
        | Error::Unconverted { .. } => return way_out_of_conversion(refusal),
        Error::ClusterScoped { has_api: true, .. } => {
            "make the owner cluster-scoped, with `--namespaced=false`"
        }
        Error::ClusterScoped { .. } | Error::GoProject | Error::TooOld { .. } => return None,
        Error::Related { .. } => {
            "remove it from `owns` or `watches` of the controller in `PROJECT`, then run `rscaffold apply`"
        }
    };
    Some(hint.to_owned())
}

/// What the user can do instead of a change that the conversion of a kind does not allow.
fn way_out_of_conversion(refusal: &Error) -> Option<String> {
    Some(match refusal {
        Error::OtherHub { hub, .. } => format!(
            "leave out `--version`, or use `{}`; to change the hub anyway, {MOVE_HUB}",
            hub.version()
        ),
        Error::Hub { .. } => {
            format!("delete the spokes first; to keep one of them, {MOVE_HUB}")
        }
        Error::NoSpoke { hub, .. } => format!(
            "use `--served=false`, then run `rscaffold create webhook {} --conversion`, which makes it a spoke and serves it",
            hub.kind_flags()
        ),
        Error::TwoConversions { hub, other } => format!(
            "leave out `--conversion={other}`, or delete the webhook with `rscaffold delete webhook {} --conversion`",
            hub.kind_flags()
        ),
        Error::StoredObjects { hub, .. } => format!(
            "if the schemas are equal, use `--conversion=none`, else create the version without `--storage`, run \
                 `rscaffold create webhook {} --conversion`, and repeat this command; if no cluster has such objects, \
                 use `--force`",
            hub.as_flags()
        ),
        Error::ServedVersions { other, .. } => format!(
            "first run `rscaffold create api {} --served=false --force` and deploy, then repeat this command",
            other.as_flags()
        ),
        Error::StillServed { id, successor } => {
            let first = match successor {
                Some(successor) => format!("{} --storage", successor.as_flags()),
                None => format!("{} --served=false --force", id.as_flags()),
            };
            format!(
                "first run `rscaffold create api {first}` and deploy, then repeat this command; if no cluster has \
                 this version, use `--force`"
            )
        }
        Error::Unconverted { kind, group, .. } => format!(
            "if the schemas are equal, use `--conversion=none`, else use `--served=false` for all but one until you \
                 run `rscaffold create webhook --group {group} --kind {kind} --conversion`"
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_gets_a_hint_about_the_permission() {
        let read =
            |kind: ErrorKind| Err::<(), _>(io::Error::from(kind)).context("failed to read `a`");
        let hinted = |kind| hint(&or_repair(read(kind)).unwrap_err()).map(str::to_owned);
        let expected =
            "you need the permission to read this file or folder: `ls -ld` on it shows who has it";
        assert_eq!(
            hinted(ErrorKind::PermissionDenied).as_deref(),
            Some(expected)
        );
        assert_eq!(hinted(ErrorKind::NotFound), None);
    }
}
