//! Checks that run at once.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

const WORKERS: usize = 2;

/// Does `check` for each of `items`, some of them at once.
///
/// # Panics
///
/// When there are none, and when a check does.
pub fn each<'a, T: Sync + 'a>(items: impl IntoIterator<Item = &'a T>, check: impl Fn(&T) + Sync) {
    let items: Vec<_> = items.into_iter().collect();
    assert!(!items.is_empty(), "nothing to check");
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(item);
                }
            });
        }
    });
}
