//! What a reconcile has read of the children of its object. The reconciler computes the desired children from it, so a
//! child is not written if the live object has changed since then.

use std::{cell::RefCell, collections::HashMap};

use super::{object::AnyObject, owned::position, watch::Key};

tokio::task_local! {
    static READS: RefCell<HashMap<Place, Read>>;
}

/// The children of one object in one index.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The address of the index.
    pub index: usize,
    /// The uid of the owner.
    pub owner: String,
}

/// What the reconcile has read in one place.
struct Read {
    /// The first read, with the later writes of the reconcile, sorted by key. `None` if the reconcile has not read.
    children: Option<Vec<AnyObject>>,
    is_outdated: bool,
}

/// What the reconcile knows of one child.
pub enum Seen {
    /// The reconcile has not read the children, so it has not computed them from the store.
    Unread,
    /// The child was not there.
    Absent,
    /// The child that was there.
    Child(AnyObject),
}

/// Runs a reconcile. Also returns whether the children changed between its read and its write. Then the object must be
/// reconciled again, even if the reconciler has ignored the error.
pub async fn during<F: Future>(reconcile: F) -> (F::Output, bool) {
    let reconcile = async {
        let output = reconcile.await;
        (output, is_outdated())
    };
    READS.scope(RefCell::default(), reconcile).await
}

/// Whether the children have changed since the current reconcile has read them.
pub fn is_outdated() -> bool {
    READS
        .try_with(|reads| reads.borrow().values().any(|read| read.is_outdated))
        .unwrap_or_default()
}

/// Remembers the first read of the current reconcile, and the first after a failed write.
pub fn read(place: Place, children: &[AnyObject]) {
    // Without a reconcile, there is nothing to remember.
    let _ = READS.try_with(|reads| {
        let mut current = reads.borrow_mut();
        if current
            .get(&place)
            .is_none_or(|read| read.is_outdated || read.children.is_none())
        {
            let read = Read {
                children: Some(children.to_vec()),
                is_outdated: false,
            };
            current.insert(place, read);
        }
    });
}

/// The child with this key, as the current reconcile has read it.
pub fn seen(place: &Place, key: &Key) -> Seen {
    READS
        .try_with(|reads| {
            let current = reads.borrow();
            let Some(children) = current.get(place).and_then(|read| read.children.as_ref()) else {
                return Seen::Unread;
            };
            match position(children, key) {
                Ok(position) => Seen::Child(children[position].clone()),
                Err(_) => Seen::Absent,
            }
        })
        .unwrap_or(Seen::Unread)
}

/// Remembers what the current reconcile has written.
pub fn wrote(place: &Place, key: &Key, child: &AnyObject) {
    let _ = READS.try_with(|reads| {
        let mut current = reads.borrow_mut();
        let children = current
            .get_mut(place)
            .and_then(|read| read.children.as_mut());
        if let Some(children) = children {
            match position(children, key) {
                Ok(position) => children[position] = child.clone(),
                Err(position) => children.insert(position, child.clone()),
            }
        }
    });
}

/// Remembers that the children have changed since the current reconcile has read them.
pub fn outdated(place: Place) {
    let _ = READS.try_with(|reads| {
        let mut current = reads.borrow_mut();
        let read = current.entry(place).or_insert(Read {
            children: None,
            is_outdated: true,
        });
        read.is_outdated = true;
    });
}
