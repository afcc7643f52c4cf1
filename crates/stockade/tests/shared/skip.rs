//! Tests that cannot run here: none is passed over in silence.

/// Says that a test did not run, which is a failure where `STOCKADE_TEST_REQUIRES` names the need.
#[expect(clippy::print_stderr, reason = "what was skipped is told")]
pub(crate) fn skip(need: &str, why: &str) {
    let required = std::env::var("STOCKADE_TEST_REQUIRES").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == need), "{need} is required: {why}");
    eprintln!("skipped: {why}");
}
