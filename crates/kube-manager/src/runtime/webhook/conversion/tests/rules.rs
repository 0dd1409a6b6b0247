//! Two versions of kinds whose Rust types refuse some texts.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::runtime::{closures, webhook::conversion::hub::Hub};

mod v1 {
    use std::net::IpAddr;

    use kube::{CustomResource, KubeSchema, core::Duration};
    use serde::{Deserialize, Serialize};

    /// The rules and patterns refuse what the types refuse.
    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Shop", namespaced)]
    pub struct ShopSpec {
        #[schemars(regex(pattern = r"^[1-9][0-9]{0,3}(s|m|h)$"))]
        pub timeout: Duration,
        #[x_kube(validation = "isIP(self)")]
        pub address: IpAddr,
        #[x_kube(validation = "self.matches('^[0-9]{1,2}-[0-9]{1,2}$')")]
        pub hours: String,
    }

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Bell", namespaced)]
    pub struct BellSpec {
        pub timeout: Duration,
    }
}

mod v2 {
    use std::net::IpAddr;

    use kube::{CustomResource, KubeSchema, core::Duration};
    use serde::{Deserialize, Serialize};

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Shop", namespaced)]
    pub struct ShopSpec {
        #[schemars(regex(pattern = r"^[1-9][0-9]{0,3}(s|m|h)$"))]
        pub timeout: Duration,
        #[x_kube(validation = "isIP(self)")]
        pub address: IpAddr,
        pub opens: u8,
        pub closes: u8,
    }

    #[derive(CustomResource, KubeSchema, Clone, Debug, Deserialize, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Bell", namespaced)]
    pub struct BellSpec {
        pub timeout: Duration,
    }
}

impl TryFrom<v1::ShopSpec> for v2::ShopSpec {
    type Error = anyhow::Error;

    fn try_from(shop: v1::ShopSpec) -> Result<Self, Self::Error> {
        let (opens, closes) = shop.hours.split_once('-').unwrap_or_default();
        Ok(Self {
            timeout: shop.timeout,
            address: shop.address,
            opens: opens.parse()?,
            closes: closes.parse()?,
        })
    }
}

impl From<v2::ShopSpec> for v1::ShopSpec {
    fn from(shop: v2::ShopSpec) -> Self {
        Self {
            timeout: shop.timeout,
            address: shop.address,
            hours: format!("{}-{}", shop.opens, shop.closes),
        }
    }
}

impl From<v1::BellSpec> for v2::BellSpec {
    fn from(v1::BellSpec { timeout }: v1::BellSpec) -> Self {
        Self { timeout }
    }
}

impl From<v2::BellSpec> for v1::BellSpec {
    fn from(v2::BellSpec { timeout }: v2::BellSpec) -> Self {
        Self { timeout }
    }
}

#[test]
fn an_object_that_the_api_server_refuses_need_not_be_converted() {
    Hub::<v2::Shop>::new()
        .spoke_without_status::<v1::Shop>()
        .assert_lossless();
}

#[test]
fn a_type_that_refuses_more_than_its_schema_is_named() {
    let bells = Hub::<v2::Bell>::new().spoke_without_status::<v1::Bell>();
    let panic = catch_unwind(AssertUnwindSafe(|| bells.assert_lossless()));
    let panic = panic.expect_err("a text that is no duration");
    let message = closures::message(&*panic);
    for part in [
        "spec.timeout: ",
        "The API server stores this object, but the Rust type of v",
    ] {
        assert!(message.contains(part), "{message}");
    }
}
