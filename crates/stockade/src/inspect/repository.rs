//! Checks whether the configuration of a git repository names programs that `git status` would run.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use super::resolver::{PathResolver, Resolution};
use crate::bounded::{self, Links};

/// The most bytes of configuration that are read.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Keys, or parts of keys, whose value is run or includes more configuration.
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

/// Whether programs may run, or whether that is unknown. The person's own configuration is trusted.
pub(crate) fn runs_programs(resolver: &PathResolver<'_>) -> bool {
    let mut folder = resolver.cwd_path().to_owned();
    loop {
        let git = folder.join(".git");
        match resolver.resolve(git.as_os_str()) {
            Resolution::Inside { exists: true, handle } => return of(handle.as_fd()),
            Resolution::Inside { exists: false, .. } => {}
            Resolution::Outside { exists: false, .. } => {}
            Resolution::Outside { exists: true, .. } | Resolution::Unknowable(_) => return true,
        }
        if !folder.pop() {
            // Without a repository, git does nothing else.
            return false;
        }
    }
}

fn of(git: BorrowedFd<'_>) -> bool {
    // It runs whenever the index is written, which `git status` does not do.
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
