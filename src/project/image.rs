//! The image that a controller runs in a Deployment for each object.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{CommandWord, ImageName, Port, UserId};

/// An image, and the settings of its container.
// The fields are in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of an image"
)]
pub struct Image {
    /// The command of the container; empty for the default of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<CommandWord>,
    /// The name of the image. A variable in the operator's environment can override it.
    pub name: ImageName,
    /// The port on which the container listens, unless the object sets another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// The user of the container; `None` for the default of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<UserId>,
}

impl Image {
    /// The kind of the objects that run an image.
    pub const KIND: &str = "apps/v1/Deployment";
}

/// Shown as in `memcached:1.6, command memcached -v, port 11211, user 1001`.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_str())?;
        if !self.command.is_empty() {
            f.write_str(", command")?;
            self.command
                .iter()
                .try_for_each(|word| write!(f, " {word}"))?;
        }
        if let Some(port) = self.port {
            write!(f, ", port {port}")?;
        }
        if let Some(user) = self.run_as_user {
            write!(f, ", user {user}")?;
        }
        Ok(())
    }
}
