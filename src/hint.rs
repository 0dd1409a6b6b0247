//! Errors with a hint: a sentence that tells the user how to continue.

use std::{
    error::Error,
    fmt::{self, Display},
};

use anyhow::Result;
use strsim::levenshtein;

/// Adds a hint to an error.
pub trait OrHint<T> {
    /// The same result; an error also has this `hint`.
    fn or_hint(self, hint: impl Into<String>) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrHint<T> for Result<T, E> {
    fn or_hint(self, hint: impl Into<String>) -> Result<T> {
        self.map_err(|error| {
            anyhow::Error::new(Hinted {
                error: error.into(),
                hint: hint.into(),
            })
        })
    }
}

/// The same result; an error that is an `R` also has the hint that `hint` returns for it, if any.
pub fn or_hint_for<T, R: Error + Send + Sync + 'static, H: Into<String>>(
    result: Result<T>,
    hint: impl FnOnce(&R) -> Option<H>,
) -> Result<T> {
    let Err(error) = result else { return result };
    match error.downcast_ref().and_then(hint) {
        Some(hint) => Err(error).or_hint(hint),
        None => Err(error),
    }
}

/// The hint of `error`, if it has one.
pub fn hint(error: &anyhow::Error) -> Option<&str> {
    error
        .downcast_ref()
        .map(|hinted: &Hinted| hinted.hint.as_str())
}

/// Whether `error` is an `E`, with or without a hint.
pub fn is<E: Error + Send + Sync + 'static>(error: &anyhow::Error) -> bool {
    let hinted: Option<&Hinted> = error.downcast_ref();
    error.is::<E>() || hinted.is_some_and(|hinted| hinted.error.is::<E>())
}

/// The known name that is nearest to `name`: it differs by two letters at most, and by no more than half of its letters.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let all = known
        .iter()
        .map(|known| (levenshtein(&name, &known.to_lowercase()), *known));
    let near = all.filter(|(distance, known)| *distance <= 2 && 2 * distance <= known.len());
    Some(near.min_by_key(|(distance, _)| *distance)?.1)
}

/// An error with a hint. The message and the sources are those of `error`, so the hint does not
/// appear in the chain of errors.
#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Hinted {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn a_hint_changes_no_message_and_survives_context() {
        let error = Err::<(), _>(anyhow!("no such file").context("failed to read `a`"))
            .or_hint("create it")
            .context("failed to load")
            .unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "failed to load: failed to read `a`: no such file"
        );
        assert_eq!(hint(&error), Some("create it"));
        let error = Err::<(), _>(fmt::Error).or_hint("create it").unwrap_err();
        assert!(is::<fmt::Error>(&error) && !is::<std::io::Error>(&error));
        assert_eq!(hint(&anyhow!("no hint")), None);
    }
}
