//! The Rust type of a kind that another project defines: its crate and its path.

use anyhow::{Context as _, Result, bail, ensure};
use semver::VersionReq;

use super::{
    check::{allow_only, names, read_or, traits},
    rust::is_keyword,
};

names! {
    /// The path of a Rust type: `cert_manager::v1::Certificate`, or `crate::cert::Certificate`.
    TypePath: "the path of a Rust type", "cert_manager::v1::Certificate", str::to_owned, check_path;
}

impl TypePath {
    /// The crate of the path: `cert_manager`, or `crate` for the project's own.
    pub fn crate_ident(&self) -> &str {
        self.0.split("::").next().unwrap_or(&self.0)
    }
}

fn check_path(text: &str) -> Result<()> {
    ensure!(
        !text.contains('/'),
        "it is a Go package, but a type of a Rust crate is needed"
    );
    let parts: Vec<_> = text.split("::").collect();
    for (index, part) in parts.iter().enumerate() {
        ensure!(
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            "each part between `::` must be a Rust identifier"
        );
        ensure!(
            !is_keyword(part) || (index, *part) == (0, "crate"),
            "`{part}` is a keyword of Rust"
        );
    }
    let [_, .., name] = parts.as_slice() else {
        bail!("it must begin with a crate, and `::`");
    };
    ensure!(
        name.starts_with(|c: char| c.is_ascii_uppercase()),
        "it must end in the name of the type"
    );
    Ok(())
}

/// A crate, and where cargo gets it: `cert-manager@0.1`, `widgets@../widgets`, or
/// `widgets@https://github.com/me/widgets?tag=v1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency {
    text: String,
    toml: String,
}

impl Dependency {
    /// The name of the crate: `cert-manager`.
    pub fn name(&self) -> &str {
        self.text.split('@').next().unwrap_or(&self.text)
    }

    /// The crate in Rust code: `cert_manager`.
    pub fn ident(&self) -> String {
        self.name().replace('-', "_")
    }

    /// The value of the dependency in Cargo.toml: `{ version = "0.1", optional = true }`.
    pub fn toml(&self) -> &str {
        &self.toml
    }

    fn read(text: &str) -> Result<Self> {
        // A user may give the version as in Go: `cert-manager@v1.18.2`.
        let near = text.replacen("@v", "@", 1);
        let words = ("a crate with its version", "cert-manager@0.1");
        read_or(text, words, &near, Self::check)
    }

    fn check(text: &str) -> Result<Self> {
        let (name, source) = text
            .split_once('@')
            .context("the name of the crate must be followed by `@` and its version")?;
        ensure!(
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && (name.chars()).all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'),
            "`{name}` is not the name of a crate"
        );
        // These characters need no escape in TOML.
        allow_only(
            source,
            |c| c == ' ' || c.is_ascii_graphic() && !"\"\\`".contains(c),
            "",
        )?;
        let toml = if source.contains("://") {
            match source.split_once('?') {
                None => format!("{{ git = \"{source}\", optional = true }}"),
                Some((url, reference)) => match reference.split_once('=') {
                    Some((key @ ("branch" | "tag" | "rev"), value)) if !value.is_empty() => {
                        format!("{{ git = \"{url}\", {key} = \"{value}\", optional = true }}")
                    }
                    _ => bail!(
                        "the `?` of a repository must be followed by `branch=`, `tag=` or `rev=`"
                    ),
                },
            }
        } else if source.starts_with(['.', '/']) {
            format!("{{ path = \"{source}\", optional = true }}")
        } else {
            ensure!(
                VersionReq::parse(source).is_ok(),
                "`{source}` is neither a version, nor a path that begins with `.` or `/`, nor the \
                 URL of a repository"
            );
            format!("{{ version = \"{source}\", optional = true }}")
        };
        Ok(Self {
            text: text.to_owned(),
            toml,
        })
    }
}

traits!(Dependency.text);

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    fn error<T: FromStr<Err = anyhow::Error>>(text: &str) -> String {
        text.parse::<T>().err().unwrap().to_string()
    }

    #[test]
    fn paths_of_types() {
        for (text, ident) in [
            ("cert_manager::v1::Certificate", "cert_manager"),
            ("gateway_api::HttpRoute", "gateway_api"),
            ("crate::cert::Certificate", "crate"),
            ("_certs::Certificate", "_certs"),
        ] {
            let path: TypePath = text.parse().unwrap();
            assert_eq!((path.as_str(), path.crate_ident()), (text, ident));
        }
        let name = "each part between `::` must be a Rust identifier";
        let cases = [
            ("", name),
            ("a::::B", name),
            ("a::1b::C", name),
            ("cert-manager::Certificate", name),
            ("cert_manager::v1::Certificate<T>", name),
            (
                "github.com/cert-manager/cert-manager/pkg/apis",
                "it is a Go package, but a type of a Rust crate is needed",
            ),
            ("a::type::B", "`type` is a keyword of Rust"),
            ("a::crate::B", "`crate` is a keyword of Rust"),
            ("cert_manager::v1", "it must end in the name of the type"),
            ("Certificate", "it must begin with a crate, and `::`"),
        ];
        for (text, reason) in cases {
            let expected = format!(
                "`{text}` is not the path of a Rust type: {reason}, as in \
                 `cert_manager::v1::Certificate`"
            );
            assert_eq!(error::<TypePath>(text), expected);
        }
    }

    #[test]
    fn crates_from_a_registry_a_path_or_git() {
        let cases = [
            (
                "cert-manager@0.1",
                "cert_manager",
                r#"{ version = "0.1", optional = true }"#,
            ),
            (
                "widgets@>=1.2, <3",
                "widgets",
                r#"{ version = ">=1.2, <3", optional = true }"#,
            ),
            (
                "widgets@../widgets",
                "widgets",
                r#"{ path = "../widgets", optional = true }"#,
            ),
            (
                "widgets@/srv/widgets",
                "widgets",
                r#"{ path = "/srv/widgets", optional = true }"#,
            ),
            (
                "widgets@https://github.com/me/widgets",
                "widgets",
                r#"{ git = "https://github.com/me/widgets", optional = true }"#,
            ),
            (
                "widgets@ssh://git@github.com/me/widgets.git?tag=v1",
                "widgets",
                r#"{ git = "ssh://git@github.com/me/widgets.git", tag = "v1", optional = true }"#,
            ),
        ];
        for (text, ident, toml) in cases {
            let dependency: Dependency = text.parse().unwrap();
            assert_eq!(dependency.as_str(), text);
            assert_eq!(
                (dependency.ident().as_str(), dependency.toml()),
                (ident, toml)
            );
        }
    }

    #[test]
    fn bad_crates() {
        let neither = "is neither a version, nor a path that begins with `.` or `/`, nor the URL of \
                       a repository";
        let git = "the `?` of a repository must be followed by `branch=`, `tag=` or `rev=`";
        let cases = [
            (
                "cert-manager",
                "the name of the crate must be followed by `@` and its version".to_owned(),
            ),
            ("@0.1", "`` is not the name of a crate".to_owned()),
            (
                "cert.manager@0.1",
                "`cert.manager` is not the name of a crate".to_owned(),
            ),
            ("cert-manager@", format!("`` {neither}")),
            ("cert-manager@latest", format!("`latest` {neither}")),
            ("widgets@../\"x", "`\"` is not allowed".to_owned()),
            ("widgets@https://github.com/me/widgets?v1", git.to_owned()),
            ("widgets@https://github.com/me/widgets?tag=", git.to_owned()),
        ];
        for (text, reason) in cases {
            let expected = format!(
                "`{text}` is not a crate with its version: {reason}, as in `cert-manager@0.1`"
            );
            assert_eq!(error::<Dependency>(text), expected);
        }
        assert!(
            error::<Dependency>("cert-manager@v1.18.2").ends_with(", as in `cert-manager@1.18.2`")
        );
    }
}
