//! Random changes of the spec: afterwards, the objects must be those of an object that was created with the last spec.

use std::{cell::RefCell, rc::Rc};

use proptest::{
    collection,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

use super::{
    plan::First,
    run::{LINES, Run},
    scenario::{self, Scenario},
    state::{State, differences, mask, varying},
    test::Test,
};
use crate::runtime::arbitrary::values;

/// How many histories are tried if the variable `FAULTS` is not set, and otherwise.
const FEW: u8 = 2;
const MANY: u8 = 20;

/// How the name of a history begins. Its number follows.
pub const NAME: &str = "history@";

/// The longest history.
const LENGTH: usize = 6;

/// How many shorter histories are tried after a failure.
const SHRINKS: usize = 24;

/// The numbers of the histories that the variable `FAULTS` selects.
pub fn select(selected: &str) -> Vec<u8> {
    match selected {
        "" => (0..FEW).collect(),
        "each" | "all" => (0..MANY).collect(),
        name => {
            let number = name.strip_prefix(NAME);
            number
                .and_then(|number| number.parse().ok())
                .into_iter()
                .collect()
        }
    }
}

/// Tries the history with this number. If it fails, looks for the shortest one that fails.
pub async fn live<W: 'static>(
    test: &Test<'_, W>,
    number: u8,
    schema: &Value,
    created: &First,
) -> Result<(), String> {
    if schema.is_null() {
        return Ok(());
    }
    let specs = collection::vec(values(schema), 1..=LENGTH);
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let mut tree = specs
        .new_tree(&mut runner)
        .map_err(|reason| format!("cannot make specs: {reason}"))?;
    let Err(mut failure) = follow(test, &tree.current(), created).await else {
        return Ok(());
    };
    let mut moves = tree.simplify();
    for _ in 0..SHRINKS {
        if !moves {
            break;
        }
        moves = match follow(test, &tree.current(), created).await {
            Ok(()) => tree.complicate(),
            Err(shorter) => {
                failure = shorter;
                tree.simplify()
            }
        };
    }
    Err(failure)
}

/// Changes the sample to each of `specs`, one after the other, and compares the objects with those of an object that is
/// created with the last spec.
async fn follow<W: 'static>(
    test: &Test<'_, W>,
    specs: &[Value],
    created: &First,
) -> Result<(), String> {
    let mut specs = specs.to_vec();
    let mut history = change(test, &specs).await?;
    let expected = match &history.last {
        Some(last) => create_with(test, last).await,
        None => Some(created.reached[0].state.clone()),
    };
    let mut without = match expected {
        Some(expected) => expected,
        None => {
            specs.push(test.subject.sample.object["spec"].clone());
            history = change(test, &specs).await?;
            created.reached[0].state.clone()
        }
    };
    let mask_known = |state: &mut State| {
        mask(state, &created.varying);
        mask(state, &test.subject.ignored);
    };
    mask_known(&mut history.state);
    mask_known(&mut without);
    let mut different = differences(&history.state, &without);
    // A value may also vary in an object that the sample does not have, such as the address of a Service.
    if !different.is_empty()
        && let Some(last) = &history.last
        && let Some(mut again) = create_with(test, last).await
    {
        mask_known(&mut again);
        if let Ok(varying) = varying(&without, &again) {
            mask(&mut history.state, &varying);
            mask(&mut without, &varying);
            different = differences(&history.state, &without);
        }
    }
    if different.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = different.iter().map(ToString::to_string).collect();
    let specs: Vec<_> = specs.iter().map(|spec| format!("  {spec}")).collect();
    Err(format!(
        "The sample was changed to these specs, one after the other:\n{}\nThe objects are not those of an object that was \
         created with the last spec that the API server took:\n  {}\nThe last requests and events:\n{}",
        specs.join("\n"),
        lines.join("\n  "),
        history.log,
    ))
}

/// The end of a history.
struct History {
    /// The last spec that the API server took; `None` if it took none.
    last: Option<Value>,
    state: State,
    log: String,
}

async fn change<W: 'static>(test: &Test<'_, W>, specs: &[Value]) -> Result<History, String> {
    let (specs, last) = (specs.to_vec(), Rc::new(RefCell::new(None)));
    let taken = last.clone();
    let scenario = Scenario::new("history", move |run: Run| {
        let (specs, taken) = (specs.clone(), taken.clone());
        async move {
            run.begin().await;
            for spec in specs {
                if run.replace(&spec).await {
                    run.settled("the spec was replaced").await;
                    taken.replace(Some(spec));
                }
            }
        }
    });
    let run = test
        .start(test.subject.sample.clone(), Vec::new(), None)
        .await;
    let driven = test.drive(&run, &scenario).await;
    test.clean(&run).await;
    driven?;
    let state = run.reached().pop().map(|reached| reached.state);
    Ok(History {
        last: last.take(),
        state: state.unwrap_or_default(),
        log: run.setup().network.log(LINES),
    })
}

/// The state after the creation of an object with this spec. `None` if the operator cannot do what the spec says, such as
/// to use a name that the API server refuses.
async fn create_with<W: 'static>(test: &Test<'_, W>, spec: &Value) -> Option<State> {
    let mut sample = test.subject.sample.clone();
    sample.object["spec"] = spec.clone();
    let run = test.start(sample, Vec::new(), None).await;
    let is_done = test.drive(&run, &scenario::create()).await.is_ok();
    test.clean(&run).await;
    let reached = run.reached().pop();
    reached
        .filter(|reached| is_done && reached.refused.is_none())
        .map(|reached| reached.state)
}
