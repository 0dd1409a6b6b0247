//! A controller that writes a status, as a program that uses kube alone has it.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client, CustomResource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        Controller,
        controller::{Action, Config},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, CustomResource, Deserialize, Serialize, JsonSchema)]
#[kube(group = "webapp.com", version = "v1", kind = "Guestbook", namespaced)]
#[kube(status = "GuestbookStatus")]
struct GuestbookSpec {
    title: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
struct GuestbookStatus {
    ready: bool,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Error(#[from] kube::Error);

async fn reconcile(guestbook: Arc<Guestbook>, client: Arc<Client>) -> Result<Action, Error> {
    let namespace = guestbook.namespace().unwrap_or_default();
    let api: Api<Guestbook> = Api::namespaced(Client::clone(&client), &namespace);
    let ready = !guestbook.spec.title.is_empty();
    let status = json!({ "status": GuestbookStatus { ready } });
    let name = guestbook.name_any();
    api.patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(Action::await_change())
}

fn retry(_: Arc<Guestbook>, _: &Error, _: Arc<Client>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing_subscriber::fmt::init();
    let client = Client::try_default().await?;
    let guestbooks = Api::<Guestbook>::all(client.clone());
    Controller::new(guestbooks, watcher::Config::default())
        .with_config(Config::default().concurrency(10))
        .run(reconcile, retry, Arc::new(client))
        .for_each(|_| async {})
        .await;
    Ok(())
}
