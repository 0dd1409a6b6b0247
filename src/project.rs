//! The `PROJECT` file: the desired state of a project. It has the fields and names of kubebuilder's version 3, and its
//! own layout.
//!
//! [`Project`] and [`Resource`] are values with public fields. Each of the other files has one idea about them.

mod add;
mod annotations;
pub mod builtin;
mod canonical;
mod changes;
mod controller;
mod controllers;
mod conversion;
mod definition;
mod dependencies;
mod deployment;
mod entry;
mod error;
mod feature;
mod find;
#[cfg(test)]
mod for_tests;
mod format;
mod groups;
mod image;
mod images;
mod merge;
mod model;
mod parts;
mod paths;
mod related;
mod removal;
mod resource;
mod resources;
mod rules;
mod runtime;
mod settings;
mod text;
mod validate;
mod webhook;
mod webhooks;

pub use self::{
    annotations::{APPROVAL, Annotation},
    controller::Controller,
    definition::{ConversionStrategy, Definition, Deprecation, External, Own, Stage, Types},
    deployment::{Deployment, Labels},
    error::Error,
    feature::Feature,
    image::Image,
    model::{License, Project},
    related::{RelatedKind, Relation},
    resource::Resource,
    resources::Resources,
    rules::{NeededRules, Purpose, Rule, Target, Verb},
    runtime::Runtime,
    settings::WebhookCertificates,
    validate::is_line,
    webhook::{Admission, Webhook, Webhooks},
    webhooks::{WebhookNames, bound_path},
};
