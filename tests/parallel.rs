//! Runs checks of many items: of a sample of them, and in parallel.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::cases::is_thorough;

const WORKERS: usize = 2;

/// Returns all `items` in `make test`, and one item of `step` in `make check`.
pub fn sample<T>(items: &[T], step: usize) -> impl Iterator<Item = &T> {
    items.iter().step_by(if is_thorough() { 1 } else { step })
}

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
