//! A controller of a kind.

use std::ops::Not;

use heck::ToShoutySnakeCase;
use serde::{Deserialize, Serialize};

use super::{definition::Types, image::Image};
use crate::names::{ControllerName, FieldManager, FinalizerName, GroupVersionKind};

/// A controller of a kind.
// The fields are in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "the fields of a controller"
)]
pub struct Controller {
    /// The owner of the fields that the controller applies, if it is not the name of the controller.
    pub field_manager: Option<FieldManager>,
    /// Whether the controller cleans up before an object is deleted.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub finalizer: bool,
    /// The name of the finalizer, if it is not the default.
    pub finalizer_name: Option<FinalizerName>,
    /// The image that the controller runs in a Deployment for each object.
    pub image: Option<Image>,
    /// The controller's name, unique in the group.
    pub name: ControllerName,
    /// The kinds of the objects that the controller creates, in the spelling of
    /// [`Project::parse`](super::Project::parse).
    #[serde(default)]
    pub owns: Vec<GroupVersionKind>,
    /// The types of the kind when the controller was created. If the user had replaced the example by then, the
    /// controller names none of their fields.
    #[serde(default, skip_serializing_if = "Types::is_example")]
    pub types: Types,
    /// The kinds that the controller's objects refer to, in the same spelling.
    #[serde(default)]
    pub watches: Vec<GroupVersionKind>,
}

impl Controller {
    /// A controller without a finalizer, which owns and watches nothing.
    pub fn new(name: ControllerName) -> Self {
        Self {
            field_manager: None,
            finalizer: false,
            finalizer_name: None,
            image: None,
            name,
            owns: Vec::new(),
            types: Types::Example,
            watches: Vec::new(),
        }
    }

    /// The variable of the operator's environment that names the image.
    pub fn image_variable(&self) -> String {
        format!("{}_IMAGE", self.name.as_str().to_shouty_snake_case())
    }
}
