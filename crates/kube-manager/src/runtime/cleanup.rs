//! Children that stay until the cleanup of their owner has ended.
//!
//! Usually, the garbage collector deletes children after their owner, so a cleanup still has them. But a foreground
//! deletion deletes them first, together with each child that the cleanup creates. So these children have no owner
//! reference, of which the garbage collector would know: an annotation contains it. The runtime deletes them after the
//! cleanup.

use futures::{FutureExt, future::BoxFuture};
use kube::Resource;
use serde::Serialize;

use super::{
    children::{Children, error::Error},
    scope::Watchable,
};

/// The children of one kind, as far as the end of a cleanup is concerned.
pub trait Release<K>: Send + Sync {
    /// Deletes the children of `owner`.
    fn release<'a>(&'a self, owner: &'a K) -> BoxFuture<'a, Result<(), Error>>;
}

impl<C, K> Release<K> for Children<C, K>
where
    C: Watchable + Serialize,
    K: Resource<DynamicType = ()> + Sync,
{
    fn release<'a>(&'a self, owner: &'a K) -> BoxFuture<'a, Result<(), Error>> {
        self.delete_all(owner).boxed()
    }
}

/// Deletes the children that `owner` has until its cleanup has ended.
pub async fn release_all<K>(children: &[Box<dyn Release<K>>], owner: &K) -> Result<(), Error> {
    for children in children {
        children.release(owner).await?;
    }
    Ok(())
}
