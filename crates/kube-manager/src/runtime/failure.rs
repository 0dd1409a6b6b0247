//! Describes a failure in one sentence, for people.

use std::{error::Error, iter::successors};

use http::StatusCode;
use hyper_util::client::legacy;
use kube::{
    client::AuthError,
    config::{KubeconfigError, LoadDataError},
    core::Status,
};
use tokio::time::error::Elapsed;

/// kube's reason for an answer that is not a `Status`, so that something else than the API server may have answered.
const NO_STATUS: &str = "Failed to parse error data";

const BROKEN: &str = "the connection to the API server failed";

/// The most characters of a message: the start and the end of a longer one. For example, the API server quotes a whole
/// Pod template before it says that the template cannot change.
const START: usize = 700;
const END: usize = 300;

/// The message of `error` and of all its causes in one sentence, for a condition, an event, a log or a terminal.
///
/// Use it instead of `to_string` and `{error:?}`: kube's errors contain the API server's answer as a Rust value.
/// The result has the API server's own message, each cause once, no line break, and about 1000 characters at most. A
/// cause is found by [`Error::source`], so an error that contains another one has `#[source]` or `#[from]`. For an
/// `anyhow::Error`, pass `error.as_ref()`.
///
/// ```
/// #[derive(Debug, thiserror::Error)]
/// #[error("cannot create the backup")]
/// struct NoBackup(#[source] kube::Error);
///
/// let answer = kube::core::Status::failure("jobs \"db\" is forbidden: exceeded quota", "Forbidden");
/// let error = NoBackup(kube::Error::Api(answer.boxed()));
/// let message = kube_manager::message(&error);
/// assert_eq!(message, "cannot create the backup: jobs \"db\" is forbidden: exceeded quota");
/// ```
pub fn message(error: &(dyn Error + 'static)) -> String {
    shortened(said(error, false))
}

/// The start and the end of a long `sentence`.
fn shortened(sentence: String) -> String {
    let length = sentence.chars().count();
    if length <= START + END {
        return sentence;
    }
    let start: String = sentence.chars().take(START).collect();
    let end: String = sentence.chars().skip(length - END).collect();
    format!("{start} … {end}")
}

/// `text` in one line.
fn in_one_line(text: &str) -> String {
    let words = text
        .split(|char: char| char.is_whitespace() || char.is_control())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The text of `error` and of all its causes, in one line. `is_of_kube` is whether `error` is the cause of an error of
/// kube, so that a broken connection is one to the API server.
fn said(error: &(dyn Error + 'static), is_of_kube: bool) -> String {
    if let Some(said) = said_by_kube(error, is_of_kube) {
        return in_one_line(&said);
    }
    let text = error.to_string();
    let Some(cause) = error.source() else {
        return in_one_line(&text);
    };
    let inner = said(cause, is_of_kube || hides_kube(error));
    // Most errors repeat the text of their cause.
    let shown = match status(cause) {
        // A transparent error around kube's, which it hides.
        Some(status) => vec![
            format!("ApiError: {status} ({status:?})"),
            status.to_string(),
        ],
        None => vec![cause.to_string()],
    };
    let mut shown = shown.iter().filter(|shown| !shown.is_empty());
    if let Some(shown) = shown.find(|shown| text.contains(*shown)) {
        let said = text.replace(shown, &inner);
        let of_service = said.trim_start_matches("ServiceError: ");
        return in_one_line(of_service.trim_start_matches("HyperError: "));
    }
    let text = in_one_line(&text);
    // An error may have its cause's message by this function.
    if text.contains(&shortened(inner.clone())) {
        text
    } else {
        format!("{text}: {inner}")
    }
}

/// Whether `error` is a transparent error around a failed request of kube, which is then not in the chain.
pub(super) fn hides_kube(error: &(dyn Error + 'static)) -> bool {
    let text = error.to_string();
    text.starts_with("ServiceError: ") || text.starts_with("HyperError: ")
}

/// The text of an error that would otherwise show a Rust value, or the name of one of kube's types.
fn said_by_kube(error: &(dyn Error + 'static), is_of_kube: bool) -> Option<String> {
    if let Some(error) = as_a(error) {
        return said_of_request(error);
    }
    if let Some(status) = status(error) {
        return Some(said_by_server(status));
    }
    if is_of_kube && let Some(said) = said_of_connection(error) {
        return Some(said);
    }
    if let Some(error) = as_a::<serde_json::Error>(error) {
        // serde quotes texts as Rust does.
        return Some(error.to_string().replace("\\\"", "\""));
    }
    match as_a(error) {
        // kube would show arguments and output of the program, which may contain a token.
        Some(AuthError::AuthExecRun { out, .. }) => {
            let (status, errors) = (out.status, String::from_utf8_lossy(&out.stderr));
            return Some(format!(
                "the kubeconfig's login program ended with {status}: {errors}"
            ));
        }
        Some(AuthError::ReadTokenFile(error, path)) => {
            return Some(format!(
                "cannot read the token `{}`: {error}",
                path.display()
            ));
        }
        _ => {}
    }
    let (error, path) = match (as_a(error), as_a(error)) {
        (Some(KubeconfigError::ReadConfig(error, path)), _)
        | (_, Some(LoadDataError::ReadFile(error, path))) => (error, path),
        _ => return None,
    };
    Some(format!("cannot read `{}`: {error}", path.display()))
}

/// The text of a failed connection to the API server.
fn said_of_connection(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = as_a::<legacy::Error>(error) {
        let cause = error.source();
        return Some(match cause {
            Some(cause) if as_a::<hyper::Error>(cause).is_some() => said(cause, true),
            _ if error.is_connect() => because("cannot connect to the API server", cause),
            _ => because(BROKEN, cause),
        });
    }
    if let Some(error) = as_a::<hyper::Error>(error) {
        return Some(because(&format!("{BROKEN}: {error}"), error.source()));
    }
    let has_elapsed = as_a::<Elapsed>(error).is_some();
    has_elapsed.then(|| "the API server did not answer in time".to_owned())
}

/// The text of a failed request, unless kube's own text is good.
fn said_of_request(error: &kube::Error) -> Option<String> {
    let what = match error {
        kube::Error::Api(status) => return Some(said_by_server(status)),
        kube::Error::Service(error) => return Some(said(error.as_ref(), true)),
        kube::Error::HyperError(error) => return Some(said(error, true)),
        kube::Error::InferConfig(error) => return Some(said(error, true)),
        kube::Error::InferKubeconfig(error) => return Some(said(error, true)),
        kube::Error::Discovery(error) => return Some(said(error, true)),
        // The URL may contain a password.
        kube::Error::ProxyProtocolUnsupported { .. }
        | kube::Error::ProxyProtocolDisabled { .. } => "cannot use a proxy of this protocol",
        kube::Error::ReadEvents(_) | kube::Error::LinesCodecMaxLineLengthExceeded => {
            "the watch was interrupted"
        }
        kube::Error::FromUtf8(_) | kube::Error::SerdeError(_) => {
            "cannot read the API server's answer"
        }
        kube::Error::HttpError(_) | kube::Error::BuildRequest(_) => "cannot build the request",
        kube::Error::Auth(_) => "cannot log in to the API server",
        kube::Error::RustlsTls(_) => "cannot set up TLS",
        _ => return None,
    };
    Some(because(what, error.source()))
}

/// `what` failed, and the `cause`, which is one of an error of kube.
fn because(what: &str, cause: Option<&(dyn Error + 'static)>) -> String {
    match cause {
        Some(cause) => format!("{what}: {}", said(cause, true)),
        None => what.to_owned(),
    }
}

/// The message of the API server, with the causes that it does not contain.
fn said_by_server(status: &Status) -> String {
    let code = match StatusCode::from_u16(status.code) {
        Ok(code) => code.to_string(),
        Err(_) => "an error without a code".to_owned(),
    };
    let message = status.message.trim();
    if status.reason == NO_STATUS && message.starts_with('<') {
        return format!("a web page arrived instead of the API server's answer: {code}");
    }
    if message.is_empty() {
        return match status.reason.as_str() {
            "" | NO_STATUS => format!("the API server answered {code}"),
            reason => format!("the API server answered {code}: {reason}"),
        };
    }
    let mut said = message.to_owned();
    if status.reason == NO_STATUS && !message.starts_with(&status.code.to_string()) {
        said = format!("{code}: {message}");
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    for cause in causes {
        let is_said = said.contains(&cause.message)
            || (!cause.field.is_empty() && said.contains(&cause.field));
        if !is_said {
            let field = if cause.field.is_empty() { "" } else { ": " };
            said = format!("{said}; {}{field}{}", cause.field, cause.message);
        }
    }
    said
}

/// The chain of `error` and its causes.
pub(super) fn chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |&error| error.source())
}

/// `error` as an `E`, also in a box.
pub(super) fn as_a<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    match error.downcast_ref::<Box<E>>() {
        Some(boxed) => Some(boxed),
        None => error.downcast_ref(),
    }
}

/// The answer of the API server, if `error` is one.
fn status<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    as_a(error)
}

/// The API server's answer that caused `error`, even if it arrived during a watch.
pub(super) fn answer<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    chain(error).find_map(status)
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path, time::Duration};

    use anyhow::anyhow;
    use http::{Request, Response, Uri};
    use hyper_util::rt::TokioExecutor;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kube::{
        Api, Client, Config,
        client::{Body, ConfigExt},
        config::Kubeconfig,
        error::DiscoveryError,
        runtime::watcher,
    };
    use proptest::prelude::*;
    use serde_json::json;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
        time::timeout,
    };
    use tower::service_fn;

    use super::{
        super::{
            children::error::Error as ChildError,
            diagnosis::reason,
            requests,
            serve::{self, Certificate},
        },
        *,
    };

    /// The forms in which a user's error can contain an error of kube.
    #[derive(Debug, thiserror::Error)]
    enum Outer {
        #[error("cannot write")]
        Write(#[source] kube::Error),
        #[error("cannot write: {0}")]
        Shown(#[source] kube::Error),
        #[error("cannot write ({0}), trying again")]
        Within(#[source] Box<kube::Error>),
        #[error(transparent)]
        Same(#[from] kube::Error),
        #[error("cannot reconcile: {0}")]
        Deep(#[source] Box<Outer>),
    }

    fn api(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, "").with_code(code).boxed())
    }

    fn outer(code: u16, message: &str) -> Outer {
        Outer::Write(api(code, message))
    }

    /// Checks the message of `error`, in each form in which a user's error can contain it. `new` makes the error anew,
    /// because kube's errors cannot be cloned.
    fn check(new: impl Fn() -> kube::Error, expected: &str) {
        assert_eq!(message(&new()), expected);
        let shown = format!("cannot write: {expected}");
        assert_eq!(message(&Outer::Write(new())), shown);
        assert_eq!(message(&Outer::Shown(new())), shown);
        assert_eq!(message(&Outer::Same(new())), expected);
        let within = format!("cannot write ({expected}), trying again");
        assert_eq!(message(&Outer::Within(Box::new(new()))), within);
        let deep = Outer::Deep(Box::new(Outer::Deep(Box::new(Outer::Shown(new())))));
        let deeper = format!("cannot reconcile: cannot reconcile: {shown}");
        assert_eq!(message(&deep), deeper);
        let watch = watcher::Error::WatchStartFailed(new());
        let watched = format!("failed to start watching object: {expected}");
        assert_eq!(message(&watch), watched);
        let task = anyhow!(Outer::Shown(new())).context("the task `a` failed");
        let failed = format!("the task `a` failed: {shown}");
        assert_eq!(message(task.as_ref()), failed);
        let child = ChildError::Request {
            verb: "patch",
            child: "ConfigMap a".to_owned(),
            source: new(),
        };
        assert_eq!(
            message(&child),
            format!("cannot patch ConfigMap a: {expected}")
        );
    }

    /// Checks that `text` has no Rust value and no line break.
    fn assert_is_for_people(text: &str) {
        for value in [
            "Status {", "Api(", "Some(", "Output {", "Elapsed", "\\\"", "\n",
        ] {
            assert!(!text.contains(value), "{text}");
        }
    }

    #[test]
    fn what_the_api_server_answers_is_said_as_the_api_server_says_it() {
        let rows = [
            (
                json!({"code": 403, "reason": "Forbidden",
                    "message": "pods \"a\" is forbidden: User \"b\" cannot get resource \"pods\""}),
                "pods \"a\" is forbidden: User \"b\" cannot get resource \"pods\"",
            ),
            (
                json!({"code": 422, "reason": "Invalid",
                    "message": "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: null: may not change",
                    "details": {"name": "a", "kind": "Service", "causes": [{"reason": "FieldValueInvalid",
                        "field": "spec.clusterIPs[0]", "message": "Invalid value: null: may not change"}]}}),
                "Service \"a\" is invalid: spec.clusterIPs[0]: Invalid value: null: may not change",
            ),
            (
                json!({"code": 429, "reason": "TooManyRequests", "message": "Cannot evict pod.",
                    "details": {"causes": [{"reason": "DisruptionBudget", "message": "a needs 1 healthy pod"}]}}),
                "Cannot evict pod.; a needs 1 healthy pod",
            ),
            (
                json!({"code": 409, "reason": "Conflict",
                    "message": "Apply failed with 2 conflicts: conflicts with \"hpa\":\n- .spec.replicas\n- .spec.a",
                    "details": {"causes": [
                        {"reason": "FieldManagerConflict", "message": "conflict with \"hpa\"", "field": ".spec.replicas"},
                        {"reason": "FieldManagerConflict", "message": "conflict with \"hpa\"", "field": ".spec.a"}]}}),
                "Apply failed with 2 conflicts: conflicts with \"hpa\": - .spec.replicas - .spec.a",
            ),
            (
                json!({"code": 400, "reason": "Denied", "message": "no", "details": {"causes": [
                    {"field": "spec.size", "message": "too large"}]}}),
                "no; spec.size: too large",
            ),
            (
                json!({"code": 503, "reason": "ServiceUnavailable"}),
                "the API server answered 503 Service Unavailable: ServiceUnavailable",
            ),
            (
                json!({"code": 418}),
                "the API server answered 418 I'm a teapot",
            ),
            (json!({}), "the API server answered an error without a code"),
        ];
        for (status, expected) in rows {
            let answer: Status = serde_json::from_value(status).expect("a Status");
            check(|| kube::Error::Api(answer.clone().boxed()), expected);
        }
    }

    /// The error of a request whose answer has this code and body.
    async fn answered(code: u16, body: &'static str) -> kube::Error {
        let answer = service_fn(move |_: Request<Body>| async move {
            let body = Body::from(body.as_bytes().to_vec());
            Response::builder().status(code).body(body)
        });
        let pods: Api<Pod> = Api::all(Client::new(answer, "default"));
        pods.get("a").await.expect_err("no Pod")
    }

    #[tokio::test]
    async fn what_a_proxy_answers_is_told_from_the_api_server() {
        let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n</html>";
        let rows = [
            (
                502,
                page,
                "a web page arrived instead of the API server's answer: 502 Bad Gateway",
            ),
            (404, "404 page not found\n", "404 page not found"),
            (
                503,
                "upstream connect error\n",
                "503 Service Unavailable: upstream connect error",
            ),
            (500, "", "the API server answered 500 Internal Server Error"),
            (
                200,
                "<html>",
                "cannot read the API server's answer: expected value at line 1 column 1",
            ),
            (
                200,
                "{\"metadata\": \"say \\\"a\\\"\"}",
                "cannot read the API server's answer: invalid type: string \"say \"a\"\", expected \
                 ObjectMeta at line 1 column 24",
            ),
        ];
        for (code, body, expected) in rows {
            let said = message(&answered(code, body).await);
            assert_eq!(said, expected);
        }
    }

    /// The error of a request to `config`.
    async fn failed(config: Config) -> kube::Error {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let pods: Api<Pod> = Api::all(requests::connect(&config).expect("a client"));
        pods.get("a").await.expect_err("no Pod")
    }

    fn config(scheme: &str, port: u16) -> Config {
        let url = format!("{scheme}://127.0.0.1:{port}");
        Config::new(url.parse().expect("a URL"))
    }

    /// A user's reconciler calls other systems, with the same libraries.
    #[tokio::test]
    async fn a_failure_of_another_system_is_not_one_of_the_api_server() {
        #[derive(Debug, thiserror::Error)]
        enum Billing {
            #[error("cannot reach the billing service")]
            Connect(#[from] legacy::Error),
            #[error("the billing service is slow")]
            Slow(#[from] Elapsed),
            #[error(transparent)]
            Kube(#[from] kube::Error),
        }

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let client = legacy::Client::builder(TokioExecutor::new()).build_http::<Body>();
        let request = Request::get(format!("http://127.0.0.1:{port}"));
        let request = request.body(Body::empty()).expect("a request");
        let refused = Billing::from(client.request(request).await.expect_err("no server"));
        let said = message(&refused);
        let expected =
            "cannot reach the billing service: client error (Connect): tcp connect error";
        assert!(said.starts_with(expected), "{said}");
        assert_eq!(reason(&refused), "reconciler");

        let waited = timeout(Duration::ZERO, std::future::pending::<()>()).await;
        let slow = Billing::from(waited.expect_err("no time"));
        let expected = "the billing service is slow: deadline has elapsed";
        assert_eq!(message(&slow), expected);

        let refused = Billing::from(failed(config("http", port)).await);
        let said = message(&refused);
        assert!(
            said.starts_with("cannot connect to the API server"),
            "{said}"
        );
        assert_eq!(reason(&refused), "connection");
    }

    #[tokio::test]
    async fn a_broken_connection_is_said_in_words() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let refused = message(&failed(config("http", port)).await);
        let expected = "cannot connect to the API server: tcp connect error: Connection refused";
        assert!(refused.starts_with(expected), "{refused}");

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = tokio::spawn(async move {
            let answers = [
                // Ends before the answer, within the head, and within the body.
                "",
                "HTTP/1.1 200",
                "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf",
                // Is not TLS.
                "HTTP/1.1 400 Bad Request\r\n\r\n",
            ];
            for answer in answers {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            listener
        });
        for scheme in ["http", "http", "http", "https"] {
            let error = failed(config(scheme, port)).await;
            let said = message(&error);
            let starts = [
                "cannot connect to the API server: ",
                "the connection to the API server failed: ",
            ];
            assert!(starts.iter().any(|start| said.starts_with(start)), "{said}");
            assert_is_for_people(&said);
            let transparent = message(&Outer::Same(error));
            assert_eq!(transparent, said);
        }

        // The server's certificate is signed by an unknown authority.
        let listener = server
            .await
            .expect("no panic")
            .into_std()
            .expect("a listener");
        let never = std::future::pending();
        let routes = axum::Router::new();
        tokio::spawn(serve::secure(
            listener,
            routes,
            Certificate::SelfSigned,
            "tests",
            never,
        ));
        let said = message(&failed(config("https", port)).await);
        assert!(said.contains("certificate"), "{said}");
        assert_is_for_people(&said);
    }

    #[tokio::test]
    async fn a_request_without_an_answer_is_said_in_words() {
        let late = timeout(Duration::ZERO, std::future::pending::<()>()).await;
        let error = kube::Error::Service(Box::new(late.expect_err("too late")));
        let error = Outer::Shown(error);
        let expected = "cannot write: the API server did not answer in time";
        assert_eq!(message(&error), expected);
    }

    #[test]
    fn each_error_of_a_request_is_said_in_words() {
        type NewError = Box<dyn Fn() -> kube::Error>;
        let rows: Vec<(NewError, &str)> = vec![
            (
                Box::new(|| kube::Error::Service("this process does not hold the lease".into())),
                "this process does not hold the lease",
            ),
            (
                Box::new(|| kube::Error::ProxyProtocolUnsupported {
                    proxy_url: Box::new(Uri::from_static("ftp://user:secret@proxy")),
                }),
                "cannot use a proxy of this protocol",
            ),
            (
                Box::new(|| {
                    let text = String::from_utf8(vec![0xff]).expect_err("no text");
                    kube::Error::FromUtf8(text)
                }),
                "cannot read the API server's answer: invalid utf-8 sequence of 1 bytes from index 0",
            ),
            (
                Box::new(|| kube::Error::LinesCodecMaxLineLengthExceeded),
                "the watch was interrupted",
            ),
            (
                Box::new(|| kube::Error::ReadEvents(io::Error::other("reset"))),
                "the watch was interrupted: reset",
            ),
            (
                Box::new(|| {
                    let request = Request::get("a b").body(()).expect_err("no URL");
                    kube::Error::HttpError(request)
                }),
                "cannot build the request: invalid uri character",
            ),
            (
                Box::new(|| {
                    let error = serde_json::from_str::<ConfigMap>("[]");
                    kube::Error::SerdeError(error.expect_err("no ConfigMap"))
                }),
                "cannot read the API server's answer: invalid type: sequence, expected ConfigMap at line \
                 1 column 2",
            ),
            (
                Box::new(|| {
                    let request = kube::core::Request::new("/").get("", &Default::default());
                    kube::Error::BuildRequest(request.expect_err("a name is needed"))
                }),
                "cannot build the request: failed to validate request: A non-empty name is required",
            ),
            (
                Box::new(|| kube::Error::Discovery(DiscoveryError::MissingKind("Page".to_owned()))),
                "Missing Kind: Page",
            ),
            (
                Box::new(|| {
                    let none = Kubeconfig::read_from(Path::new("/none/\"a\""));
                    kube::Error::InferKubeconfig(none.expect_err("no file"))
                }),
                "cannot read `/none/\"a\"`: No such file or directory (os error 2)",
            ),
            (
                Box::new(|| kube::Error::TlsRequired),
                "TLS required but no TLS stack selected",
            ),
        ];
        for (new, expected) in rows {
            let said = message(&new());
            assert_eq!(said, expected);
            let shown = message(&Outer::Shown(new()));
            assert_eq!(shown, format!("cannot write: {expected}"));
        }
    }

    #[test]
    fn the_output_of_a_login_program_is_not_said() {
        let mut config = config("https", 1);
        config.auth_info.exec = serde_json::from_value(json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": ["-c", "echo token; echo say '\"no\"' >&2; exit 3"],
            "interactiveMode": "Never",
        }))
        .expect("a program");
        let error = config.auth_layer().err().expect("an error");
        let expected = "cannot log in to the API server: the kubeconfig's login program ended with exit \
                        status: 3: say \"no\"";
        assert_eq!(message(&error), expected);
        let shown = message(&Outer::Shown(error));
        assert_eq!(shown, format!("cannot write: {expected}"));
    }

    #[test]
    fn a_long_message_keeps_its_end() {
        let template = "x".repeat(5000);
        let said = message(&outer(
            422,
            &format!("spec.template: {template}: field is immutable"),
        ));
        assert!(
            said.starts_with("cannot write: spec.template: xxx"),
            "{said}"
        );
        assert!(said.ends_with("xxx: field is immutable"), "{said}");
        assert_eq!(said.chars().count(), START + END + 3);
    }

    proptest! {
        #[test]
        fn any_answer_is_said_once_and_as_it_is(
            text in "[a-z\"\\\\{}()é\n ]{0,40}",
            reason in "(|Invalid|Forbidden)",
            code in 400_u16..600,
        ) {
            let status = Status::failure(&format!("because {text}"), &reason).with_code(code);
            let words: Vec<_> = status.message.split_whitespace().collect();
            check(|| kube::Error::Api(status.clone().boxed()), &words.join(" "));
        }
    }
}
