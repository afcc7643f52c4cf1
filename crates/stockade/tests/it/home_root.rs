//! A project root that is or holds the home folder, as a host of the library meets it.

use std::path::Path;

use stockade::inspect::ResolverError;
use stockade::{OpenError, Policy, Stockade};

#[test]
fn a_host_of_the_library_has_to_allow_a_root_that_holds_the_home() {
    let state = tempfile::tempdir().unwrap();
    let journal = state.path().join("journal.jsonl");
    // Every home folder is in it.
    let root = Path::new("/");
    let is_refused =
        |error: OpenError| matches!(error, OpenError::Root(ResolverError::HoldsHome { .. }));
    let refused = Stockade::open(root, Policy::shipped(), &journal).map(drop);
    assert!(refused.is_err_and(is_refused));
    let refused = Stockade::adviser(root, Policy::shipped(), &journal).map(drop);
    assert!(refused.is_err_and(is_refused));
    let meant = Policy { project_home: true, ..Policy::shipped() };
    assert!(Stockade::adviser(root, meant, &journal).is_ok());
    assert!(Stockade::adviser(state.path(), Policy::shipped(), &journal).is_ok());
}
