//! 34: watches a folder outside for changes.

use stockade_sandbox::Mechanism::MountNamespace;

use crate::support::{Attack, Reason, address, call, done, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 34,
    attempt: |aim| {
        let (watch, path) = (call(libc::SYS_inotify_init1, &[0])?, word(aim.outside("")));
        let mask = libc::IN_MODIFY as usize;
        done(call(libc::SYS_inotify_add_watch, &[watch, address(path.as_c_str()), mask]))
    },
    refused: &[Reason::Errno(libc::ENOENT)],
    // Landlock does not know watches.
    locks: &[&[MountNamespace]],
    ..Attack::CALL
};
