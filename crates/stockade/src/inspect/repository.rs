//! Whether the configuration of a git repository names programs that `git status` would run.

use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};

use super::view::{Landing, View};

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

fn of(git: std::os::fd::BorrowedFd<'_>) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // It runs whenever the index is written, which looking at the state does.
    let hook = rustix::fs::statat(git, "hooks/post-index-change", rustix::fs::AtFlags::empty());
    if hook.is_ok() {
        return true;
    }
    let Ok(config) = rustix::fs::openat(git, "config", flags, Mode::empty()) else { return true };
    let mut text = String::new();
    let mut file = std::io::Read::take(std::fs::File::from(config), CONFIG_BYTES_MAX);
    if std::io::Read::read_to_string(&mut file, &mut text).is_err() {
        return true;
    }
    let text = text.to_ascii_lowercase();
    u64::try_from(text.len()).is_ok_and(|read| read >= CONFIG_BYTES_MAX)
        || RUNS.iter().any(|key| text.contains(key))
}
