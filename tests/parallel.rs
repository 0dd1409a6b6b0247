//! Runs checks in parallel.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

const WORKERS: usize = 2;

/// Runs `check` for each of `items`, on several threads.
///
/// # Panics
///
/// When `items` is empty, and when a check panics.
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
