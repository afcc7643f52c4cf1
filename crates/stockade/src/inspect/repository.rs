//! Whether the configuration of a git repository names programs that `git status` would run.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::view::{Landing, View};
use crate::bounded::{self, Links};

/// More configuration than this is not read.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Keys, or parts of them, whose value is run or says where more of it is.
const RUNS: [&str; 17] = [
    "fsmonitor",
    "pager",
    "textconv",
    "external",
    "include",
    "hookspath",
    "command",
    "clean",
    "smudge",
    "process",
    "helper",
    "askpass",
    "editor",
    "program",
    "driver",
    "pack",
    "worktree",
];

/// Whether programs may run; also where that cannot be told. The person's own configuration is
/// the person's.
pub(crate) fn runs_programs(view: &View<'_>) -> bool {
    let mut folder = view.cwd_path().to_owned();
    loop {
        let git = folder.join(".git");
        match view.land(git.as_os_str()) {
            Landing::Inside { exists: true, handle } => return of(handle.as_fd()),
            Landing::Inside { exists: false, .. } => {}
            Landing::Outside { exists: false, .. } => {}
            Landing::Outside { exists: true, .. } | Landing::Unknowable(_) => return true,
        }
        if !folder.pop() {
            // No repository, so that git says no more than that.
            return false;
        }
    }
}

fn of(git: BorrowedFd<'_>) -> bool {
    // It runs whenever the index is written, which looking at the state does.
    let hook = rustix::fs::statat(git, "hooks/post-index-change", rustix::fs::AtFlags::empty());
    if hook.is_ok() {
        return true;
    }
    let config = Path::new("config");
    let Ok(bytes) = bounded::read_at(git, config, Links::Refused, CONFIG_BYTES_MAX) else {
        return true;
    };
    let Ok(text) = String::from_utf8(bytes) else { return true };
    let text = text.to_ascii_lowercase();
    RUNS.iter().any(|key| text.contains(key))
}
