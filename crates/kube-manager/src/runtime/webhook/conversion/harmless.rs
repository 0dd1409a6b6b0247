//! Finds out which of many changes can be made together.

use std::{collections::VecDeque, ops::Range};

/// Leaves out some of `items` until the harm of the others is 0, in few `tries`. `harm` tells how much
/// harm items do together; each call is a try. Returns the others, in their order. Without enough `tries`, more items
/// are left out than must be, and `tries` is 0 afterwards.
pub fn harmless<T: Clone>(
    items: Vec<T>,
    tries: &mut usize,
    harm: impl Fn(&[T]) -> usize,
) -> Vec<T> {
    // The second half of the tries is for items of which each does so much harm that one less is no difference.
    let spared = *tries / 2;
    let mut harm_of = |items: &[T], spared: usize| {
        *tries = (*tries).checked_sub(1).filter(|left| *left >= spared)?;
        Some(harm(items))
    };
    let mut left = items.clone();
    let mut now = harm_of(&left, spared);
    while let Some(harm) = now.filter(|harm| *harm > 0) {
        now = match most_harmful(&left, harm, |items| harm_of(items, spared)) {
            Some((index, less)) => {
                left.remove(index);
                Some(less)
            }
            None => None,
        };
    }
    if now == Some(0) {
        return left;
    }
    let mut kept = Vec::new();
    add(&mut kept, &items, &mut |items| harm_of(items, 0));
    kept
}

/// The index of an item without which the others do less harm than `now`, and how much.
fn most_harmful<T: Clone>(
    items: &[T],
    now: usize,
    mut harm: impl FnMut(&[T]) -> Option<usize>,
) -> Option<(usize, usize)> {
    let mut ranges: VecDeque<Range<usize>> = VecDeque::new();
    ranges.push_back(0..items.len());
    while let Some(range) = ranges.pop_front() {
        let rest = [&items[..range.start], &items[range.end..]].concat();
        let less = harm(&rest)?;
        let is_harmful = less < now;
        if is_harmful && range.len() == 1 {
            return Some((range.start, less));
        }
        if range.len() < 2 {
            continue;
        }
        let middle = range.start + range.len() / 2;
        let [first, second] = [range.start..middle, middle..range.end];
        if is_harmful {
            ranges.push_front(second);
            ranges.push_front(first);
        } else {
            ranges.extend([first, second]);
        }
    }
    None
}

/// Adds those of `items` to `kept` that do no harm there.
fn add<T: Clone>(kept: &mut Vec<T>, items: &[T], harm: &mut impl FnMut(&[T]) -> Option<usize>) {
    if items.is_empty() {
        return;
    }
    let before = kept.len();
    kept.extend_from_slice(items);
    let added = harm(kept);
    if added == Some(0) {
        return;
    }
    kept.truncate(before);
    if added.is_some() && items.len() > 1 {
        let (first, second) = items.split_at(items.len() / 2);
        add(kept, first, harm);
        add(kept, second, harm);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// What does harm: some items, and others unless their partner is there, too.
    #[derive(Clone, Debug)]
    struct Harm {
        culprits: Vec<usize>,
        pairs: Vec<(usize, usize)>,
    }

    impl Harm {
        fn of(&self, items: &[usize]) -> usize {
            let has = |item: &usize| items.contains(item);
            let alone = |(one, other): &&(usize, usize)| has(one) != has(other);
            let culprits = self.culprits.iter().filter(|item| has(item)).count();
            culprits + self.pairs.iter().filter(alone).count()
        }
    }

    proptest! {
        #[test]
        fn only_what_does_harm_is_left_out(
            count in 1_usize..200,
            order in Just(Vec::from_iter(0..200_usize)).prop_shuffle(),
            culprits in 0_usize..20,
            pairs in 0_usize..20,
        ) {
            let mut rest = order.into_iter().filter(|item| *item < count);
            let culprits = Vec::from_iter(rest.by_ref().take(culprits));
            let rest = Vec::from_iter(rest);
            let pairs = rest.chunks_exact(2).take(pairs).map(|pair| (pair[0], pair[1]));
            let harm = Harm { culprits, pairs: pairs.collect() };
            let calls = Cell::new(0);
            let mut tries = 20_000;
            let left = harmless(Vec::from_iter(0..count), &mut tries, |items| {
                calls.set(calls.get() + 1);
                harm.of(items)
            });
            let expected = Vec::from_iter((0..count).filter(|item| !harm.culprits.contains(item)));
            prop_assert_eq!(left, expected);
            prop_assert_eq!(calls.get(), 20_000 - tries);
            let for_each = if harm.pairs.is_empty() { 20 } else { 2 * count };
            let few = 1 + for_each * harm.culprits.len();
            prop_assert!(calls.get() <= few, "{} calls", calls.get());
        }

        #[test]
        fn what_is_left_does_no_harm_however_few_the_tries(
            most in 0_usize..100,
            harms in prop::collection::vec((any::<u16>(), 1_usize..4), 0..20),
        ) {
            // Combinations of items that do harm, also without any item, or infinite harm.
            let harm = |items: &[u16]| {
                let bits = items.iter().fold(0_u16, |bits, item| bits | 1 << item);
                let done = harms.iter().filter(|(mask, _)| *mask != 0 && bits & mask == *mask);
                done.map(|(_, harm)| if *harm == 3 { 1 << 40 } else { *harm }).sum()
            };
            let mut tries = most;
            let calls = Cell::new(0);
            let left = harmless(Vec::from_iter(0..16_u16), &mut tries, |items| {
                calls.set(calls.get() + 1);
                harm(items)
            });
            prop_assert_eq!(harm(&left), 0);
            prop_assert!(calls.get() <= most);
        }
    }
}
