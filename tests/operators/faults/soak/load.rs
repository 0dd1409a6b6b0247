//! Clients that change objects in both versions during the faults. They also change and delete the `ConfigMap`s
//! that the operator owns.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::ensure;
use cluster::{PATIENCE, wait_until};
use serde_json::{Value, json};

use crate::{http, random::Random};

/// The number of clients. No two clients change the same object.
pub const CLIENTS: usize = 4;

pub const NOTES: &str = "/apis/soak.example.com/v1/namespaces/default/notes";
pub const OLD_NOTES: &str = "/apis/soak.example.com/v1beta1/namespaces/default/notes";
pub const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The spec of an object. Version v1beta1 has no `copies`, and its name for the title is `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub title: String,
    pub copies: u64,
}

/// What the client knows about an object.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The possible states of the object; `None` means that it was deleted. A write without an answer adds a state.
    pub may_be: Vec<Option<Content>>,
    /// The value of [`Load::wiped`] when the client last got an answer.
    pub wiped: usize,
}

/// The requests of a client, and the objects that it changes.
#[derive(Debug, Default)]
pub struct Done {
    pub requests: usize,
    pub failed: usize,
    /// Invalid objects that the API server refused.
    pub refused: usize,
    /// Invalid objects that the API server stored.
    pub stored: Vec<String>,
    pub objects: BTreeMap<String, Known>,
}

/// The state that all clients share.
pub struct Load {
    pub server: String,
    pub client: http::Client,
    /// The time between two requests of a client.
    pub pause: Duration,
    /// A counter that increases at the start and at the end of each deletion of the CRD, which deletes all objects.
    pub wiped: AtomicUsize,
    pub is_over: AtomicBool,
}

/// One client.
struct User<'a> {
    load: &'a Load,
    random: Random,
    written: usize,
    done: Done,
}

impl Load {
    /// Creates the objects of one client.
    pub fn create(&self, number: usize, objects: usize) -> Done {
        let names = (number..objects).step_by(CLIENTS);
        let names = names.map(|index| (format!("note-{index:05}"), Known::default()));
        let mut user = User {
            load: self,
            random: Random(number as u64),
            written: 0,
            done: Done {
                objects: names.collect(),
                ..Done::default()
            },
        };
        let names: Vec<_> = user.done.objects.keys().cloned().collect();
        for name in names {
            let created = wait_until("an object to be created", PATIENCE, || {
                let (code, text) = user.create(&name);
                let is_created = [201, 409].contains(&code);
                // Nothing is wrong yet, but a slow API server may have no time for a request, or wait too long for a
                // webhook.
                let is_slow = [429, 504].contains(&code) || text.contains("deadline exceeded");
                assert!(is_created || is_slow, "{code} {text}");
                ensure!(is_created, "{code} {text}");
                Ok(Some(()))
            });
            created.unwrap_or_else(|error| panic!("{error:#}"));
        }
        user.done
    }

    /// Changes the objects of one client until the faults are over.
    pub fn change(&self, number: usize, seed: u64, done: Done) -> Done {
        let mut user = User {
            load: self,
            random: Random(seed.wrapping_add(number as u64)),
            written: 0,
            done,
        };
        let names: Vec<_> = user.done.objects.keys().cloned().collect();
        while !self.is_over.load(Ordering::Relaxed) {
            let name = &names[user.random.below(names.len())];
            match user.random.below(100) {
                0..78 => user.update(name),
                78..84 => user.delete(name),
                84..91 => {
                    let drift = json!({"data": {"title": "drift", "more": "stays"}});
                    user.meddle(|client, url| client.patch(url, &drift.to_string()), name);
                }
                91..96 => user.meddle(http::Client::delete, name),
                _ => user.create_bad(),
            }
            thread::sleep(self.pause);
        }
        user.done
    }
}

/// Returns whether an answer says that the object is missing. The answer is different if the CRD is missing.
fn is_gone(text: &str) -> bool {
    text.contains("\"details\":{\"name\":")
}

impl User<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.load.server)
    }

    fn content(&mut self) -> Content {
        self.written += 1;
        Content {
            title: format!("title-{}-{}", self.written, self.random.below(1 << 20)),
            copies: 2 + self.random.below(1000) as u64,
        }
    }

    /// Counts a request, and returns the status code and the text of the answer. Without an answer, the code is 0.
    fn answer(&mut self, answer: Result<http::Answer, ureq::Error>) -> (u16, String) {
        self.done.requests += 1;
        let answer = answer.map_or_else(
            |error| (0, error.to_string()),
            |answer| (answer.code, answer.text),
        );
        // A missing object and a conflict are not failures.
        if ![200, 201, 404, 409].contains(&answer.0) {
            self.done.failed += 1;
        }
        answer
    }

    fn known(&mut self, name: &str) -> &mut Known {
        self.done
            .objects
            .get_mut(name)
            .expect("an object of its own")
    }

    /// Sets the state of an object.
    fn is(&mut self, name: &str, now: Option<Content>) {
        let wiped = self.load.wiped.load(Ordering::SeqCst);
        *self.known(name) = Known {
            may_be: vec![now],
            wiped,
        };
    }

    /// Adds a possible state of an object.
    fn may_be(&mut self, name: &str, now: Option<Content>) {
        self.known(name).may_be.push(now);
    }

    /// Changes an object in one of the versions, or creates the object if it is missing.
    fn update(&mut self, name: &str) {
        if self.known(name).may_be == [None] {
            let _ = self.create(name);
            return;
        }
        let content = self.content();
        let is_old = self.random.below(2) == 0;
        let before = self.known(name).may_be.clone();
        let (path, spec, after) = if is_old {
            // An update in the old version does not change `copies`.
            let after = before.into_iter().flatten().map(|it| Content {
                copies: it.copies,
                ..content.clone()
            });
            let spec = json!({"name": content.title});
            (OLD_NOTES, spec, after.map(Some).collect::<Vec<_>>())
        } else {
            let spec = json!({"title": content.title, "copies": content.copies});
            (NOTES, spec, vec![Some(content)])
        };
        let url = self.url(&format!("{path}/{name}"));
        let answer = self
            .load
            .client
            .patch(&url, &json!({"spec": spec}).to_string());
        let wiped = self.load.wiped.load(Ordering::SeqCst);
        match self.answer(answer) {
            // An earlier deletion without an answer succeeded.
            (200, text) if text.contains("\"deletionTimestamp\":") => self.is(name, None),
            (200, _) => {
                *self.known(name) = Known {
                    may_be: after,
                    wiped,
                };
            }
            (404, text) if is_gone(&text) => {
                self.is(name, None);
                let _ = self.create(name);
            }
            // Nothing was written.
            (404 | 409, _) => {}
            _ => self.known(name).may_be.extend(after),
        }
    }

    /// Creates an object. Returns the status code and the text of the answer.
    fn create(&mut self, name: &str) -> (u16, String) {
        let mut content = self.content();
        let (path, version, spec) = match self.random.below(3) {
            0 => (OLD_NOTES, "v1beta1", json!({"name": content.title})),
            1 => (NOTES, "v1", json!({"title": content.title})),
            _ => (
                NOTES,
                "v1",
                json!({"title": content.title, "copies": content.copies}),
            ),
        };
        if spec["copies"].is_null() {
            // The webhook sets this default.
            content.copies = 1;
        }
        let object = note(version, name, &spec);
        let response = self.load.client.post(&self.url(path), &object.to_string());
        let answer = self.answer(response);
        match answer.0 {
            201 => self.is(name, Some(content)),
            // The CRD is missing, or the object is still being deleted, or an earlier write without an answer
            // succeeded.
            404 | 409 => {}
            _ => self.may_be(name, Some(content)),
        }
        answer
    }

    fn delete(&mut self, name: &str) {
        let answer = self
            .load
            .client
            .delete(&self.url(&format!("{NOTES}/{name}")));
        match self.answer(answer) {
            (200, _) => self.is(name, None),
            (404, text) if is_gone(&text) => self.is(name, None),
            (404, _) => {}
            _ => self.may_be(name, None),
        }
    }

    /// Changes or deletes the `ConfigMap` of an object.
    fn meddle(
        &mut self,
        how: impl Fn(&http::Client, &str) -> Result<http::Answer, ureq::Error>,
        name: &str,
    ) {
        let url = self.url(&format!("{CONFIG_MAPS}/{name}"));
        let answer = how(&self.load.client, &url);
        self.answer(answer);
    }

    /// Tries to create an object that the validator refuses, in one of the versions.
    fn create_bad(&mut self) {
        let object = match self.random.below(2) {
            0 => note("v1beta1", "bad", &json!({"name": "forbidden"})),
            _ => note("v1", "bad", &json!({"title": " forbidden "})),
        };
        let path = if object["spec"]["name"].is_null() {
            NOTES
        } else {
            OLD_NOTES
        };
        let answer = self.load.client.post(&self.url(path), &object.to_string());
        let answer = answer.map_or((0, String::new()), |it| (it.code, it.text));
        self.done.requests += 1;
        match answer {
            (200..300, text) => self.done.stored.push(text),
            (422, _) => self.done.refused += 1,
            _ => self.done.failed += 1,
        }
    }
}

fn note(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("soak.example.com/{version}"),
        "kind": "Note",
        "metadata": {"name": name},
        "spec": spec,
    })
}
