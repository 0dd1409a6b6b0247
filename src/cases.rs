//! How many random cases a property test tries.

use std::env;

use proptest::test_runner::Config;

/// Returns the configuration of a property test with `few` cases, or with more if `$PROPTEST_CASES` says so.
pub fn cases(few: u32) -> Config {
    let usual = Config::default();
    let is_set = env::var_os("PROPTEST_CASES").is_some();
    Config {
        cases: if is_set { usual.cases.max(few) } else { few },
        failure_persistence: None,
        ..usual
    }
}
