//! The flags for a kind that another project defines.

use anyhow::{Result, anyhow, ensure};
use clap::Args;

use crate::{
    command::report::UsageError,
    hint::OrHint,
    names::{Dependency, Domain, GroupVersionKind, TypePath},
    project::{Definition, External, Project, Resource, builtin},
};

/// Where to find the type of a kind that another project defines.
#[derive(Debug, Args)]
pub struct ExternalType {
    /// Rust type of a kind that another project defines, such as `cert_manager::v1::Certificate`. This project gets no
    /// types and no CRD for the kind, but can have controllers and webhooks for it, or own its objects
    #[arg(long = "external-api-path", required = false)]
    pub path: TypePath,

    /// Domain of that kind's group: `--group cert-manager` then means `cert-manager.<DOMAIN>` [default: none, if
    /// `--group` is the full name of the group]
    #[arg(long = "external-api-domain", requires = "path")]
    pub domain: Option<Domain>,

    /// Crate to add to Cargo.toml for that type: `cert-manager@0.1`, `certs@../certs` or
    /// `certs@https://github.com/me/certs?tag=v1` [default: none, if Cargo.toml already has the crate]
    #[arg(long = "external-api-crate", value_name = "CRATE", requires = "path")]
    #[arg(alias = "external-api-module")]
    pub dependency: Option<Dependency>,
}

impl ExternalType {
    /// The entry in `PROJECT` of the kind `id`; an existing entry gives the defaults.
    pub fn resource(&self, id: &GroupVersionKind, project: &Project) -> Result<Resource> {
        let (group, domain) = match &self.domain {
            Some(domain) => match id.group().without(domain) {
                // The domain alone is the full group.
                short if short.is_empty() => (domain.as_str().parse()?, None),
                short => (short, Some(domain.clone())),
            },
            None => (id.group().clone(), None),
        };
        ensure!(
            !group.is_empty(),
            UsageError(
                "a kind that another project defines needs `--group` or \
                 `--external-api-domain`"
                    .to_owned()
            )
        );
        let new = Resource {
            domain,
            ..Resource::new(group, id, self.definition(None))
        };
        let full = new.id_in(project.full_group(&new).parse()?);
        let there = project.find(&full)?;
        let Some((there, external)) = there.and_then(|there| Some((there, there.external()?)))
        else {
            let group = full.group();
            if !group.as_str().contains('.')
                && !builtin::all().any(|kind| kind.group == group.as_str())
            {
                return Err(anyhow!("the group `{group}` has no domain, so no CRD can define it")).or_hint(
                    "add `--external-api-domain <DOMAIN>`, or give the full group, as in `cert-manager.io`",
                );
            }
            return Ok(new);
        };
        let known = match external {
            External::At { dependency, path } if path.crate_ident() == self.path.crate_ident() => {
                dependency.as_ref()
            }
            _ => None,
        };
        Ok(Resource {
            definition: self.definition(known),
            ..there.clone()
        })
    }

    /// Where the type is. `known` is the crate that `PROJECT` has for it.
    fn definition(&self, known: Option<&Dependency>) -> Definition {
        Definition::External(External::At {
            dependency: self.dependency.as_ref().or(known).cloned(),
            path: self.path.clone(),
        })
    }
}

/// A note about the versions of crates that the Rust type of an external kind needs.
pub fn external_note(resource: &Resource) -> Option<String> {
    let External::At { path, .. } = resource.external()? else {
        return None;
    };
    Some(format!(
        "`{path}` must use the same versions of kube and k8s-openapi as Cargo.toml: run `cargo \
         check`"
    ))
}
