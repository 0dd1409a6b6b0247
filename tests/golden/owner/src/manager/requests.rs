// SPDX-FileCopyrightText: The owner authors
// SPDX-License-Identifier: Apache-2.0

//! What goes around each request to the API server: it is counted and timed, and only the leader
//! sends any.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Instant,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use tower::{BoxError, Layer, Service};

use super::{leader::Leadership, metrics::Metrics};

/// Wraps the service that sends requests.
#[derive(Clone)]
pub struct Requests {
    pub metrics: Metrics,
    /// Without it, requests are sent by all replicas.
    pub leadership: Option<Leadership>,
}

impl<S> Layer<S> for Requests {
    type Service = Observed<S>;

    fn layer(&self, inner: S) -> Observed<S> {
        Observed {
            inner,
            around: self.clone(),
        }
    }
}

/// A service whose requests are observed.
#[derive(Clone)]
pub struct Observed<S> {
    inner: S,
    around: Requests,
}

impl<S, A, B> Service<Request<A>> for Observed<S>
where
    S: Service<Request<A>, Response = Response<B>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let Requests {
            metrics,
            leadership,
        } = self.around.clone();
        let method = request.method().clone();
        let start = Instant::now();
        let response = self.inner.call(request);
        async move {
            let mut response = pin!(response);
            let response = poll_fn(|context| match &leadership {
                // A process that was stopped for a while learns here that its time is over, before
                // it sends anything, be it for the first time or again.
                Some(leadership) if !leadership.holds() => {
                    Poll::Ready(Err("this process does not hold the lease".into()))
                }
                _ => response.as_mut().poll(context),
            })
            .await;
            let code = response.as_ref().map(Response::status);
            let code = code.as_ref().map_or("<error>", |code| code.as_str());
            let requests = metrics.requests.with_label_values(&[code, method.as_str()]);
            requests.inc();
            let seconds = metrics
                .request_seconds
                .with_label_values(&[method.as_str()]);
            seconds.observe(start.elapsed().as_secs_f64());
            response
        }
        .boxed()
    }
}
