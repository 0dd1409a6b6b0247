//! What a reconcile has read of the children of its object. The reconciler computes the desired children from it, so a
//! child is not written if the live object has changed since then.

use std::{cell::RefCell, collections::HashMap};

use super::{object::AnyObject, owned::position, watch::Key};

tokio::task_local! {
    static READS: RefCell<HashMap<Lookup, Read>>;
}

/// The children of one object in one index.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Lookup {
    /// The address of the index.
    pub index: usize,
    /// The uid of the owner.
    pub owner: String,
}

/// What the reconcile has read in one lookup.
#[derive(Default)]
struct Read {
    /// The first read, with the later writes of the reconcile, sorted by key. `None` if the reconcile has not read.
    children: Option<Vec<AnyObject>>,
    /// Whether the next read replaces `children`.
    is_old: bool,
    /// Whether a child has changed between a read and a write. A later read does not do what the write should have done.
    is_outdated: bool,
}

/// What the reconcile knows of one child.
pub enum ObservedChild {
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

/// Accesses what the current reconcile has read. Without a reconcile, there is nothing to remember.
fn current<T>(access: impl FnOnce(&mut HashMap<Lookup, Read>) -> T) -> Option<T> {
    READS.try_with(|reads| access(&mut reads.borrow_mut())).ok()
}

/// Whether the children have changed since the current reconcile has read them.
pub fn is_outdated() -> bool {
    current(|reads| reads.values().any(|read| read.is_outdated)).unwrap_or_default()
}

/// Remembers the first read of the current reconcile, and the first after a failed write.
pub fn read(lookup: Lookup, children: &[AnyObject]) {
    current(|reads| {
        let read = reads.entry(lookup).or_default();
        if read.is_old || read.children.is_none() {
            read.children = Some(children.to_vec());
            read.is_old = false;
        }
    });
}

/// The child with this key, as the current reconcile has read it.
pub fn observed(lookup: &Lookup, key: &Key) -> ObservedChild {
    let observed = current(|reads| {
        let children = reads.get(lookup)?.children.as_ref()?;
        Some(match position(children, key) {
            Ok(position) => ObservedChild::Child(children[position].clone()),
            Err(_) => ObservedChild::Absent,
        })
    });
    observed.flatten().unwrap_or(ObservedChild::Unread)
}

/// Remembers what the current reconcile has written.
pub fn wrote(lookup: &Lookup, key: &Key, child: &AnyObject) {
    current(|reads| {
        let children = reads.get_mut(lookup)?.children.as_mut()?;
        match position(children, key) {
            Ok(position) => children[position] = child.clone(),
            Err(position) => children.insert(position, child.clone()),
        }
        Some(())
    });
}

/// Remembers that the children have changed since the current reconcile has read them.
pub fn outdated(lookup: Lookup) {
    current(|reads| {
        let read = reads.entry(lookup).or_default();
        read.is_old = true;
        read.is_outdated = true;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_later_read_does_not_do_what_a_write_should_have_done() {
        let lookup = || Lookup {
            index: 1,
            owner: "uid".to_owned(),
        };
        let reconcile = async {
            outdated(lookup());
            read(lookup(), &[]);
            assert!(matches!(
                observed(&lookup(), &(None, "a".to_owned())),
                ObservedChild::Absent
            ));
        };
        let ((), is_outdated) = during(reconcile).await;
        assert!(is_outdated);
    }
}
