//! How much the tests try: more if `$THOROUGH` is set, as in `make test`, and a part of it in `make check`.

use std::env;

use proptest::test_runner::Config;

/// Whether the tests try as much as in `make test`.
pub fn is_thorough() -> bool {
    env::var_os("THOROUGH").is_some()
}

/// Returns the configuration of a property test with `few` cases, or with more if `$PROPTEST_CASES` says so. Without
/// `$THOROUGH`, it has a quarter of them.
pub fn cases(few: u32) -> Config {
    let usual = Config::default();
    let cases = match env::var_os("PROPTEST_CASES") {
        Some(_) => usual.cases.max(few),
        None if is_thorough() => few,
        None => few.div_ceil(4),
    };
    Config {
        cases,
        failure_persistence: None,
        ..usual
    }
}
