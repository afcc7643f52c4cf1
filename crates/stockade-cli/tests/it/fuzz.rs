//! Runs `stockade hook` over the seeds of the fuzz target `hook`, and over changed copies of them.

#[path = "../../../../fuzz/src/copies.rs"]
mod copies;

use serde_json::Value;

use crate::support::Project;

/// Each copy is a process of its own.
const COPIES: usize = 60;

#[test]
fn whatever_a_hook_is_sent_is_answered_or_refused() {
    let project = Project::new();
    let seeds = copies::seeds("hook");
    let mut numbers = copies::Numbers::new();
    let changed: Vec<_> = (0..COPIES).map(|_| copies::changed(&seeds, &mut numbers)).collect();
    for sent in seeds.iter().chain(&changed) {
        let told = project.fed(&["hook", "pre"], sent);
        assert!(matches!(told.code, 0 | 2), "{:?}: {told:?}", String::from_utf8_lossy(sent));
        assert!(told.code == 0 || told.stderr.starts_with("refused: "), "{told:?}");
        assert!(told.stdout.is_empty() || matches!(told.json(), Value::Object(_)), "{told:?}");
    }
}
