//! Documents that tests write: they are what the test would write, or `STOCKADE_WRITE_TABLE` is set.

use std::fs;

use crate::project::workspace;

/// Holds a document to its text, or writes it.
pub(crate) fn hold(document: &str, wanted: &str) {
    let path = workspace().join(document);
    if std::env::var_os("STOCKADE_WRITE_TABLE").is_some() {
        fs::write(&path, wanted).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "{document} is not up to date: set STOCKADE_WRITE_TABLE=1 to write it"
    );
}
