//! Which faults are tried.

use std::{mem, rc::Rc};

use super::{
    call::Collection,
    fault::{EventFault, Fault, ListFault, WriteFault},
    network::Traffic,
    run::Reached,
    scenario::Scenario,
    state::Varying,
};

/// How many faults are tried if the variable `FAULTS` is not set.
const FEW: usize = 15;

/// How many pairs of faults `FAULTS=all` tries.
const PAIRS: usize = 500;

/// A run with faults.
#[derive(Clone)]
pub struct Planned {
    pub scenario: Scenario,
    pub first: Rc<First>,
    pub faults: Vec<Fault>,
}

impl Planned {
    /// The name that selects this run.
    pub fn name(&self) -> String {
        let faults: Vec<_> = self.faults.iter().map(Fault::name).collect();
        format!("{}@{}", self.scenario.name, faults.join("+"))
    }

    pub fn report(&self, failure: &str) -> String {
        let faults: Vec<_> = self.faults.iter().map(Fault::to_string).collect();
        let (scenario, faults) = (&self.scenario.name, faults.join("; and "));
        format!("In the scenario `{scenario}`, {faults}.\n{failure}")
    }

    /// This run with the faults of another run, too.
    fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.faults.extend(other.faults.iter().cloned());
        both
    }
}

/// The scenarios with the runs that the variable `FAULTS` selects, and the first one, with which histories are compared.
pub fn needed(mut scenarios: Vec<Scenario>, selected: &str) -> Vec<Scenario> {
    if let Some((name, _)) = selected.split_once('@') {
        let mut is_first = true;
        scenarios.retain(|scenario| mem::take(&mut is_first) || scenario.name == name);
    }
    scenarios
}

/// The runs that the variable `FAULTS` selects from all runs with one fault.
pub fn select(planned: &[Planned], selected: &str) -> Vec<Planned> {
    match selected {
        "" => evenly(planned, FEW),
        "each" => planned.to_vec(),
        "all" => {
            let pairs = evenly(&pairs(planned), PAIRS);
            [planned, &pairs].concat()
        }
        name => named(planned, name).into_iter().collect(),
    }
}

fn pairs(planned: &[Planned]) -> Vec<Planned> {
    let mut pairs = Vec::new();
    for (number, one) in planned.iter().enumerate() {
        for other in &planned[number + 1..] {
            if one.scenario.name == other.scenario.name {
                pairs.push(one.with(other));
            }
        }
    }
    pairs
}

/// The run with this name.
fn named(planned: &[Planned], name: &str) -> Option<Planned> {
    let (scenario, faults) = name.split_once('@')?;
    let mut named: Option<Planned> = None;
    for fault in faults.split('+') {
        let name = format!("{scenario}@{fault}");
        let single = planned.iter().find(|run| run.name() == name)?;
        named = Some(named.map_or_else(|| single.clone(), |run| run.with(single)));
    }
    named
}

/// At most `count` of the runs, evenly spread.
fn evenly(runs: &[Planned], count: usize) -> Vec<Planned> {
    let count = count.min(runs.len());
    let numbers = (0..count).map(|number| number * runs.len() / count);
    numbers.map(|number| runs[number].clone()).collect()
}

/// What a run without faults has seen.
#[derive(Clone)]
pub struct First {
    pub reached: Vec<Reached>,
    pub traffic: Traffic,
    /// Whether all faults have happened.
    pub is_done: bool,
    /// The values that differ between two such runs, and that stay as they are within a run.
    pub varying: Vec<Varying>,
    /// The values that differ between two such runs, and that also change within a run, such as a hash of a text with a
    /// password.
    pub changing: Vec<Varying>,
}

impl First {
    pub fn known(&self) -> Vec<Collection> {
        self.traffic.collections.iter().cloned().collect()
    }

    /// The faults that can happen in the scenario.
    pub fn faults(&self, scenario: &Scenario) -> Vec<Fault> {
        let created = self.reached.first().filter(|_| scenario.follows_create);
        let writes = created.map_or(0, |created| created.writes);
        let mut faults = Vec::new();
        for (call, nth) in self.traffic.writes.iter().skip(writes) {
            for how in WriteFault::ALL {
                faults.push(Fault::Write {
                    call: call.clone(),
                    nth: *nth,
                    how,
                });
            }
        }
        for collection in &self.traffic.collections {
            let before = created
                .and_then(|created| created.events.get(collection))
                .copied()
                .unwrap_or(0);
            let events = self.traffic.events.get(collection).copied().unwrap_or(0);
            for nth in before + 1..=events {
                for how in EventFault::ALL {
                    faults.push(Fault::Event {
                        collection: collection.clone(),
                        nth,
                        how,
                    });
                }
            }
            let new = self.traffic.writes.get(writes..).unwrap_or_default();
            // With many writes, the states between the first and the last one differ little.
            let ends = new
                .first()
                .into_iter()
                .chain(new.last().filter(|_| new.len() > 1));
            for (call, nth) in ends {
                for how in ListFault::ALL {
                    faults.push(Fault::List {
                        call: call.clone(),
                        nth: *nth,
                        collection: collection.clone(),
                        how,
                    });
                }
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kube::client::Body;

    use super::{super::call::Call, *};

    /// The runs of two scenarios, in which the operator writes a ConfigMap and a Secret and sees one event.
    fn planned() -> Vec<Planned> {
        let calls = ["configmaps", "secrets"].map(|plural| {
            let path = format!("/api/v1/namespaces/here/{plural}/web");
            let request = Request::patch(path).body(Body::empty());
            Call::of(&request.expect("a request"), "here").expect("a call")
        });
        let collection = calls[0].collection.clone();
        let traffic = Traffic {
            writes: calls.into_iter().map(|call| (call, 1)).collect(),
            events: [(collection.clone(), 1)].into(),
            collections: [collection].into(),
        };
        let first = Rc::new(First {
            reached: vec![Reached {
                writes: 1,
                ..Reached::default()
            }],
            traffic,
            is_done: true,
            varying: Vec::new(),
            changing: Vec::new(),
        });
        let mut planned = Vec::new();
        for name in ["create", "other"] {
            let scenario = Scenario::new(name, async |_| ());
            for fault in first.faults(&scenario) {
                planned.push(Planned {
                    scenario: scenario.clone(),
                    first: first.clone(),
                    faults: vec![fault],
                });
            }
        }
        planned
    }

    #[test]
    fn each_fault_is_tried_at_each_write_and_event() {
        let writes = 2 * WriteFault::ALL.len();
        let events = EventFault::ALL.len();
        // After the first write and after the last one.
        let lists = 2 * ListFault::ALL.len();
        assert_eq!(planned().len(), 2 * (writes + events + lists));
    }

    #[test]
    fn the_step_of_create_has_its_faults_in_one_scenario() {
        let first = planned()[0].first.clone();
        let mut scenario = Scenario::new("of the user", async |_| ());
        assert_eq!(first.faults(&scenario).len(), planned().len() / 2);
        scenario.follows_create = true;
        let faults = first.faults(&scenario);
        let names: Vec<_> = faults.iter().map(Fault::name).collect();
        assert!(
            !names.contains(&"cut:PATCH:configmaps/web:1".to_owned()),
            "{names:?}"
        );
        assert!(
            names.contains(&"cut:PATCH:secrets/web:1".to_owned()),
            "{names:?}"
        );
    }

    #[test]
    fn each_name_selects_its_run() {
        let all = planned();
        for run in &all {
            let named = select(&all, &run.name());
            assert_eq!(named.len(), 1);
            assert_eq!(named[0].name(), run.name());
            assert_eq!(named[0].faults, run.faults);
        }
        let pair = all[0].with(&all[3]);
        assert_eq!(select(&all, &pair.name())[0].faults, pair.faults);
        assert!(select(&all, "create@nothing").is_empty());
        assert!(select(&all, "nothing").is_empty());
    }

    #[test]
    fn a_name_needs_its_scenario_and_the_first_one() {
        let names = |selected: &str| -> Vec<String> {
            let all = ["create", "delete", "other"];
            let scenarios = all.map(|name| Scenario::new(name, async |_| ()));
            let kept = needed(scenarios.into(), selected);
            kept.into_iter().map(|scenario| scenario.name).collect()
        };
        for selected in ["", "each", "all"] {
            assert_eq!(names(selected).len(), 3);
        }
        assert_eq!(names("other@cut:POST:pods/web:1"), ["create", "other"]);
        assert_eq!(names("create@cut:POST:pods/web:1"), ["create"]);
        assert_eq!(names("history@0"), ["create"]);
    }

    #[test]
    fn a_few_runs_are_spread_over_all_scenarios() {
        let all = planned();
        let few = select(&all, "");
        assert_eq!(few.len(), FEW);
        for name in ["create", "other"] {
            assert!(few.iter().any(|run| run.scenario.name == name));
        }
        assert_eq!(select(&all, "each").len(), all.len());
        let half = all.len() / 2;
        let pairs = half * (half - 1);
        assert_eq!(select(&all, "all").len(), all.len() + pairs.min(PAIRS));
    }
}
