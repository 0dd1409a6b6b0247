//! The Rust type of a kind that others define: its crate, and its path.

use std::str::FromStr;

use semver::VersionReq;

use super::{Error, Instead, dns::quoted, rust::is_keyword, traits};

/// The path of a Rust type: `cert_manager::v1::Certificate`, or `crate::cert::Certificate`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypePath(String);

impl TypePath {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The crate that it begins with: `cert_manager`, or `crate` for the project's own.
    pub fn crate_ident(&self) -> &str {
        self.0.split("::").next().unwrap_or_default()
    }
}

impl FromStr for TypePath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let error = |reason: &str| {
            let example = Instead::Like("cert_manager::v1::Certificate");
            Error::new(text, "the path of a Rust type", reason, &example)
        };
        let parts: Vec<_> = text.split("::").collect();
        for (index, part) in parts.iter().enumerate() {
            let is_ident = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_ident {
                return Err(error("each part between `::` must be a name of Rust"));
            }
            if is_keyword(part) && (index, *part) != (0, "crate") {
                return Err(error(&format!("`{part}` is a keyword of Rust")));
            }
        }
        match parts.as_slice() {
            [_, .., name] if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
                Ok(Self(text.to_owned()))
            }
            [_, _, ..] => Err(error("it must end in the name of the type")),
            _ => Err(error("it must begin with a crate, and `::`")),
        }
    }
}

/// A crate, and where cargo gets it: `cert-manager@0.1`, `widgets@../widgets`, or
/// `widgets@https://github.com/me/widgets?tag=v1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependency {
    text: String,
    /// How much of the text is the name.
    name: usize,
}

impl Dependency {
    const GIT: [&str; 3] = ["branch", "tag", "rev"];

    /// The dependency as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name of the crate: `cert-manager`.
    pub fn name(&self) -> &str {
        &self.text[..self.name]
    }

    /// The crate in Rust code: `cert_manager`.
    pub fn ident(&self) -> String {
        self.name().replace('-', "_")
    }

    /// What Cargo.toml says of it after its name: `"0.1"`, `{ path = "../widgets" }`.
    pub fn to_toml(&self) -> String {
        let source = &self.text[self.name + 1..];
        if is_path(source) {
            return format!("{{ path = \"{source}\" }}");
        }
        if !is_url(source) {
            return format!("\"{source}\"");
        }
        match source.split_once('?') {
            Some((url, reference)) => {
                let (key, value) = reference.split_once('=').unwrap_or((reference, ""));
                format!("{{ git = \"{url}\", {key} = \"{value}\" }}")
            }
            None => format!("{{ git = \"{source}\" }}"),
        }
    }

    fn reason(text: &str) -> Result<usize, String> {
        let Some((name, source)) = text.split_once('@') else {
            return Err("after the crate must stand `@` and its version".to_owned());
        };
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(ok) {
            return Err(format!("`{name}` is no name of a crate"));
        }
        // None of them needs to be escaped in TOML.
        let bad = |c: &char| !c.is_ascii_graphic() || "\"\\`".contains(*c);
        if let Some(bad) = source.chars().find(|c| bad(c) && *c != ' ') {
            return Err(format!("{} is not allowed", quoted(bad)));
        }
        if is_url(source) {
            match source
                .split_once('?')
                .map(|(_, reference)| reference.split_once('='))
            {
                None => {}
                Some(Some((key, value))) if Self::GIT.contains(&key) && !value.is_empty() => {}
                Some(_) => {
                    return Err(
                        "after the `?` of a repository must stand `branch=`, `tag=` or \
                                `rev=`"
                            .to_owned(),
                    );
                }
            }
        } else if !is_path(source) {
            VersionReq::parse(source).map_err(|_| {
                format!(
                    "`{source}` is neither a version, nor a path that begins with `.` or `/`, nor \
                     the URL of a repository"
                )
            })?;
        }
        Ok(name.len())
    }
}

impl FromStr for Dependency {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match Self::reason(text) {
            Ok(name) => Ok(Self {
                text: text.to_owned(),
                name,
            }),
            Err(reason) => {
                // As versions are written in Go.
                let near = text.replacen("@v", "@", 1);
                let instead = match Self::reason(&near) {
                    Ok(_) => Instead::Meant(near),
                    Err(_) => Instead::Like("cert-manager@0.1"),
                };
                Err(Error::new(
                    text,
                    "a crate with its version",
                    &reason,
                    &instead,
                ))
            }
        }
    }
}

fn is_path(source: &str) -> bool {
    source.starts_with(['.', '/'])
}

fn is_url(source: &str) -> bool {
    source.contains("://")
}

traits!(Dependency, TypePath);

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T: FromStr<Err = Error>>(text: &str) -> String {
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
        let name = "each part between `::` must be a name of Rust";
        let cases = [
            ("", name),
            ("a::::B", name),
            ("a::1b::C", name),
            ("cert-manager::Certificate", name),
            ("cert_manager::v1::Certificate<T>", name),
            ("github.com/cert-manager/cert-manager/pkg/apis", name),
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
    fn crates_from_everywhere() {
        let cases = [
            ("cert-manager@0.1", "cert_manager", r#""0.1""#),
            ("widgets@>=1.2, <3", "widgets", r#"">=1.2, <3""#),
            (
                "widgets@../widgets",
                "widgets",
                r#"{ path = "../widgets" }"#,
            ),
            (
                "widgets@/srv/widgets",
                "widgets",
                r#"{ path = "/srv/widgets" }"#,
            ),
            (
                "widgets@https://github.com/me/widgets",
                "widgets",
                r#"{ git = "https://github.com/me/widgets" }"#,
            ),
            (
                "widgets@ssh://git@github.com/me/widgets.git?tag=v1",
                "widgets",
                r#"{ git = "ssh://git@github.com/me/widgets.git", tag = "v1" }"#,
            ),
        ];
        for (text, ident, toml) in cases {
            let dependency: Dependency = text.parse().unwrap();
            assert_eq!(dependency.as_str(), text);
            assert_eq!(
                (dependency.ident().as_str(), dependency.to_toml().as_str()),
                (ident, toml)
            );
        }
    }

    #[test]
    fn bad_crates() {
        let neither = "is neither a version, nor a path that begins with `.` or `/`, nor the URL of \
                       a repository";
        let git = "after the `?` of a repository must stand `branch=`, `tag=` or `rev=`";
        let cases = [
            (
                "cert-manager",
                "after the crate must stand `@` and its version".to_owned(),
            ),
            ("@0.1", "`` is no name of a crate".to_owned()),
            (
                "cert.manager@0.1",
                "`cert.manager` is no name of a crate".to_owned(),
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
            error::<Dependency>("cert-manager@v1.18.2")
                .ends_with("; did you mean `cert-manager@1.18.2`?")
        );
    }
}
