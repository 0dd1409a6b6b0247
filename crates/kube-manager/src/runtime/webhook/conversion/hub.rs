//! What the user declares: a hub and its spokes, with a conversion in both directions.

use std::{fmt::Display, marker::PhantomData};

use kube::{
    CustomResourceExt, Resource,
    core::object::{HasSpec, HasStatus},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::version::{Convert, ConvertibleVersion, Rewrite};

/// The conversion of a kind: between version `H`, and each version that is a spoke.
///
/// A spoke needs plain [`From`] or [`TryFrom`] implementations for spec and status, in both directions.
///
/// ```
/// # use k8s_openapi::serde::{Deserialize, Serialize};
/// # mod v1 {
/// #     use kube::{CustomResource, KubeSchema};
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     #[kube(group = "example.com", version = "v1", kind = "Book", namespaced, status = "BookStatus")]
/// #     pub struct BookSpec { pub title: String }
/// #     #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     pub struct BookStatus { pub pages: u32 }
/// # }
/// # mod v2 {
/// #     use kube::{CustomResource, KubeSchema};
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     #[kube(group = "example.com", version = "v2", kind = "Book", namespaced, status = "BookStatus")]
/// #     pub struct BookSpec { pub name: String }
/// #     #[derive(KubeSchema, Clone, Debug, Deserialize, Serialize)]
/// #     pub struct BookStatus { pub pages: u32 }
/// # }
/// use kube_manager::{Manager, Operator, webhook::Hub};
///
/// impl From<v1::BookSpec> for v2::BookSpec {
///     fn from(v1::BookSpec { title }: v1::BookSpec) -> Self {
///         Self { name: title }
///     }
/// }
///
/// impl From<v2::BookSpec> for v1::BookSpec {
///     fn from(v2::BookSpec { name }: v2::BookSpec) -> Self {
///         Self { title: name }
///     }
/// }
/// # impl From<v1::BookStatus> for v2::BookStatus {
/// #     fn from(v1::BookStatus { pages }: v1::BookStatus) -> Self { Self { pages } }
/// # }
/// # impl From<v2::BookStatus> for v1::BookStatus {
/// #     fn from(v2::BookStatus { pages }: v2::BookStatus) -> Self { Self { pages } }
/// # }
///
/// let mut manager = Manager::new(Operator::new("library", "example.com"));
/// manager.add_conversion(Hub::<v2::Book>::new().spoke::<v1::Book>());
/// ```
pub struct Hub<H> {
    pub(super) spokes: Vec<Spoke>,
    /// `None` without a status.
    pub(super) rewrite_status: Option<Convert>,
    version: PhantomData<fn() -> H>,
}

/// A version of a kind of the operator's own.
pub trait Versioned:
    Resource<DynamicType = ()> + CustomResourceExt + HasSpec<Spec: DeserializeOwned + Serialize>
{
}

impl<K> Versioned for K where
    K: Resource<DynamicType = ()> + CustomResourceExt + HasSpec<Spec: DeserializeOwned + Serialize>
{
}

impl<H: Versioned> Default for Hub<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Versioned> Hub<H> {
    /// Converts to and from version `H`.
    pub fn new() -> Self {
        Self {
            spokes: Vec::new(),
            rewrite_status: None,
            version: PhantomData,
        }
    }

    /// Converts version `S` too: its spec and its status.
    #[must_use]
    pub fn spoke<S>(mut self) -> Self
    where
        H: HasStatus<Status: DeserializeOwned + Serialize>,
        S: Versioned + HasStatus<Status: DeserializeOwned + Serialize>,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
        H::Status: TryInto<S::Status, Error: Display>,
        S::Status: TryInto<H::Status, Error: Display>,
    {
        let status = Some(Directions {
            up: part::<S::Status, H::Status>,
            down: part::<H::Status, S::Status>,
        });
        self.rewrite_status = Some(part::<H::Status, H::Status>);
        self.with::<S>(status, Some(part::<S::Status, S::Status>))
    }

    /// Converts version `S` too, of a kind without a status.
    #[must_use]
    pub fn spoke_without_status<S>(self) -> Self
    where
        S: Versioned,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
    {
        self.with::<S>(None, None)
    }

    fn with<S>(mut self, status: Option<Directions>, rewrite_status: Option<Convert>) -> Self
    where
        S: Versioned,
        H::Spec: TryInto<S::Spec, Error: Display>,
        S::Spec: TryInto<H::Spec, Error: Display>,
    {
        let rewrite = Rewrite {
            spec: part::<S::Spec, S::Spec>,
            status: rewrite_status,
        };
        self.spokes.push(Spoke {
            version: ConvertibleVersion::of::<S>(rewrite),
            spec: Directions {
                up: part::<S::Spec, H::Spec>,
                down: part::<H::Spec, S::Spec>,
            },
            status,
        });
        self
    }
}

/// The two ways between a spoke and the hub.
#[derive(Clone, Copy)]
pub struct Directions {
    /// From the spoke to the hub.
    pub up: Convert,
    /// From the hub to the spoke.
    pub down: Convert,
}

pub fn part<A, B>(value: &Value) -> Result<Value, String>
where
    A: DeserializeOwned + TryInto<B, Error: Display>,
    B: Serialize,
{
    let a: A = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." {
            String::new()
        } else {
            format!(".{path}")
        };
        format!("{at}: {}", error.inner())
    })?;
    let b = a.try_into().map_err(|error| format!(": {error:#}"))?;
    serde_json::to_value(b).map_err(|error| format!(": {error}"))
}

/// A version that is not the hub, and how it is converted.
pub struct Spoke {
    pub version: ConvertibleVersion,
    pub spec: Directions,
    pub status: Option<Directions>,
}
