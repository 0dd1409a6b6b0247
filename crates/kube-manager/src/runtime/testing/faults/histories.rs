//! Random changes of the spec: afterwards, the objects must be those of an object that was created with the last spec.

use proptest::{
    collection,
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::Value;

use super::{
    plan::First,
    run::Run,
    scenario::{self, Scenario},
    state::{differences, mask},
    test::Test,
};
use crate::runtime::arbitrary::values;

/// How many histories are tried if the variable `FAULTS` is not set, and otherwise.
const FEW: u8 = 2;
const MANY: u8 = 20;

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
            let number = name.strip_prefix("history@");
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
    Err(format!(
        "{failure}\nTo repeat this run: FAULTS='history@{number}'"
    ))
}

/// Changes the sample to each of `specs`, one after the other.
async fn follow<W: 'static>(
    test: &Test<'_, W>,
    specs: &[Value],
    created: &First,
) -> Result<(), String> {
    let mut specs = specs.to_vec();
    let mut expected = None;
    // The operator may not be able to do what a spec says, such as to use a name that the API server refuses. Then the
    // history ends with the sample.
    if let Some(last) = specs.last() {
        let mut object = test.subject.sample.clone();
        object["spec"] = last.clone();
        let run = test.start(object, Vec::new(), None).await;
        if test.drive(&run, &scenario::create()).await.is_ok() && !run.setup().network.was_refused()
        {
            expected = run.reached().pop();
        }
        test.clean(&run).await;
    }
    let expected = match expected {
        Some(expected) => expected,
        None => {
            specs.push(test.subject.sample["spec"].clone());
            created.reached[0].clone()
        }
    };
    let run = test
        .start(test.subject.sample.clone(), Vec::new(), None)
        .await;
    test.drive(&run, &history(specs.clone())).await?;
    let mut here = run
        .reached()
        .pop()
        .map(|reached| reached.state)
        .unwrap_or_default();
    let mut without = expected.state;
    test.clean(&run).await;
    for state in [&mut here, &mut without] {
        mask(state, &created.varying);
        mask(state, &test.subject.ignored);
    }
    let differences = differences(&here, &without);
    if differences.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = differences.iter().map(ToString::to_string).collect();
    let specs: Vec<_> = specs.iter().map(|spec| format!("  {spec}")).collect();
    Err(format!(
        "The sample was changed to these specs, one after the other:\n{}\nThe objects are not those of an object that was \
         created with the last spec:\n  {}\nThe last requests and events:\n{}",
        specs.join("\n"),
        lines.join("\n  "),
        run.setup().network.log(30),
    ))
}

fn history(specs: Vec<Value>) -> Scenario {
    Scenario::new("history", move |run: Run| {
        let specs = specs.clone();
        async move {
            run.create().await;
            run.settled("the sample was created").await;
            for spec in specs {
                run.replace(&spec).await;
                run.settled("the spec was replaced").await;
            }
        }
    })
}
