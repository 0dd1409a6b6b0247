//! The path of a webhook.

use anyhow::{Result, ensure};

use super::check::{allow_only, ensure_ends, names};

names! {
    /// The URL path of a webhook, such as `/mutate-webapp-example-com-v1-guestbook`.
    WebhookPath: "the path of a webhook", "/validate-guestbook", near, check;
}

fn near(text: &str) -> String {
    format!("/{}", text.to_lowercase().trim_matches('/'))
}

fn check(text: &str) -> Result<()> {
    ensure!(text.starts_with('/'), "it must begin with `/`");
    let hint = ", only lower-case letters, digits, `-`, `.` and `/`";
    allow_only(
        text,
        |c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '.' | '/'),
        hint,
    )?;
    // The API server checks each part of the path.
    let mut parts = text[1..].split('/');
    parts.try_for_each(|part| ensure_ends(part, "each of its parts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_the_api_server_takes() {
        for path in [
            "/a",
            "/mutate-v1-pod",
            "/a/b.c/d-1",
            "/custom-validate-sailor",
        ] {
            assert_eq!(path.parse::<WebhookPath>().unwrap().as_str(), path);
        }
        for (path, reason) in [
            ("custom", "it must begin with `/`, as in `/custom`"),
            ("", "it must begin with `/`, as in `/validate-guestbook`"),
            (
                "/",
                "each of its parts must begin and end with a letter or a digit",
            ),
            ("/a//b", "each of its parts must begin and end"),
            ("/a/", "as in `/a`"),
            ("/A", "`A` is not allowed, only lower-case letters"),
            ("/a?b", "`?` is not allowed"),
            ("/{a}", "`{` is not allowed"),
        ] {
            let error = path.parse::<WebhookPath>().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
