//! Limits the memory of all calls together.
//!
//! A call has a [`Permit`] of the [`Room`]. Work that continues after its call has ended, such as a conversion on another
//! thread, keeps the permit: the limits count what is in memory, not who waits for it.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The most bytes of all reviews that are processed at one time: as many as the largest review has, and far more than the
/// API server sends at once.
pub(super) const MOST_OF_ALL: usize = 64 << 20;

/// The most memory that the objects of all admission reviews may take at one time, in bytes. A larger object is handled
/// when no other one is.
const MOST_OF_OBJECTS: usize = 128 << 20;

/// What all calls share.
pub(super) struct Room {
    calls: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    objects: Semaphore,
}

impl Room {
    /// A room for `calls` calls.
    pub fn new(calls: u16) -> Self {
        Self {
            calls: Arc::new(Semaphore::new(calls.into())),
            bytes: Arc::new(Semaphore::new(MOST_OF_ALL)),
            objects: Semaphore::new(MOST_OF_OBJECTS),
        }
    }
}

/// The permit of one call, which is free again when it is dropped.
pub(super) struct Permit {
    room: Arc<Room>,
    _call: Option<OwnedSemaphorePermit>,
    /// Of the review.
    bytes: Option<OwnedSemaphorePermit>,
}

impl Permit {
    /// A permit of `room`; `None` if all are taken.
    pub fn take(room: &Arc<Room>) -> Option<Self> {
        let call = room.calls.clone().try_acquire_owned().ok()?;
        Some(Self {
            room: room.clone(),
            _call: Some(call),
            bytes: None,
        })
    }

    /// A permit of a room that no other call shares.
    pub fn alone() -> Self {
        Self {
            room: Arc::new(Room::new(1)),
            _call: None,
            bytes: None,
        }
    }

    /// Counts more bytes of the review; returns whether there is room for them.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(more) = self.room.bytes.clone().try_acquire_many_owned(bytes) else {
            return false;
        };
        match &mut self.bytes {
            Some(taken) => taken.merge(more),
            None => self.bytes = Some(more),
        }
        true
    }

    /// Waits until there is memory for `copies` of each of these objects, which are JSON texts. It is free again when
    /// the result is dropped.
    pub async fn objects(&self, texts: &[&str], copies: usize) -> Option<SemaphorePermit<'_>> {
        let bytes: usize = texts.iter().map(|text| memory(text)).sum();
        let bytes = bytes.saturating_mul(copies).min(MOST_OF_OBJECTS);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.room.objects.acquire_many(bytes).await.ok()
    }
}

/// How much memory `json` takes as a `serde_json::Value`, in bytes: an upper bound, from what the text consists of. A
/// small object takes a hundred times as much memory as its text, because a map allocates room for 11 fields.
pub(super) fn memory(json: &str) -> usize {
    /// A value takes more if a dependency of the program enables the feature `preserve_order` of serde_json.
    const VALUE: usize = size_of::<Value>();
    /// A node of a map.
    const OBJECT: usize = 11 * (size_of::<String>() + VALUE) + 40;
    /// A list with its first items.
    const LIST: usize = 4 * VALUE + 16;
    /// One more field or item, and its share of the map or list that grows for it.
    const ITEM: usize = 2 * (VALUE + 48);
    /// An allocation for a text, without the text itself.
    const TEXT: usize = 32;
    let parts = structure(json).map(|byte| match byte {
        b'{' => OBJECT,
        b'[' => LIST,
        b',' => ITEM,
        b'"' => TEXT,
        _ => 0,
    });
    json.len() + parts.sum::<usize>()
}

/// How deeply the lists and objects of `json` are nested.
pub(super) fn levels(json: &str) -> usize {
    let mut open = 0_usize;
    let levels = structure(json).map(|byte| {
        match byte {
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        open
    });
    levels.max().unwrap_or_default()
}

/// The bytes of `json` without the content of texts, of which only the first quote is left.
fn structure(json: &str) -> impl Iterator<Item = u8> {
    let mut bytes = json.bytes();
    std::iter::from_fn(move || {
        let first = bytes.next()?;
        if first == b'"' {
            while let Some(byte) = bytes.next() {
                match byte {
                    b'"' => break,
                    b'\\' => drop(bytes.next()),
                    _ => {}
                }
            }
        }
        Some(first)
    })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn a_large_object_waits_until_another_is_done() {
        let room = Arc::new(Room::new(3));
        let [one, two, three] =
            [(); 3].map(|()| Permit::take(&room).expect("a permit of a new room"));
        let most = MOST_OF_OBJECTS / memory("{}");
        // It is larger than all that there is, and nevertheless gets its turn.
        let largest = one.objects(&["{}"], 2 * most).now_or_never();
        assert!(largest.is_some());
        assert!(two.objects(&["{}"], 1).now_or_never().is_none());
        drop(largest);
        let half = two.objects(&["{}", "{}"], most / 4).now_or_never();
        assert!(half.is_some());
        assert!(three.objects(&["{}"], most).now_or_never().is_none());
        assert!(three.objects(&["{}"], most / 2).now_or_never().is_some());
    }

    /// The memory of `value`: its own allocations, in the sizes that the standard library asks for.
    fn allocated(value: &Value) -> usize {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.capacity(),
            Value::Array(items) => {
                let own = items.capacity() * size_of::<Value>();
                own + items.iter().map(allocated).sum::<usize>()
            }
            Value::Object(fields) => {
                // A node has 11 entries, and all nodes but the root are at least half full. A node with other nodes
                // below it has a pointer to each.
                let entry = size_of::<String>() + size_of::<Value>();
                let node = 11 * entry + 2 * size_of::<usize>();
                let own = match fields.len() {
                    0 => 0,
                    1..=11 => node,
                    len => len.div_ceil(5) * node + (len / 30 + 1) * 12 * size_of::<usize>(),
                };
                let fields = fields
                    .iter()
                    .map(|(name, value)| name.capacity() + allocated(value));
                own + fields.sum::<usize>()
            }
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{\\[,é]{0,8}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 200, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"{,]{0,4}", inner, 0..20)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_takes_no_more_memory_than_its_text_says(value in value()) {
            let text = value.to_string();
            let value: Value = serde_json::from_str(&text).expect("JSON");
            prop_assert!(allocated(&value) <= memory(&text), "{text}");
        }
    }

    #[test]
    fn a_broken_text_ends() {
        for text in ["\"", "\"\\", "{\"a\\\"", "]"] {
            assert!(memory(text) >= text.len());
        }
    }
}
