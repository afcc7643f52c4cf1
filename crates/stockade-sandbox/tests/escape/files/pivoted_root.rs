//! 22: puts another folder in the place of the root.

use stockade_sandbox::Mechanism::{Filter, Landlock, NoCapabilities, NoNesting};

use crate::support::{Attack, Reason, address, call, done, in_child, lend_capabilities, word};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 22,
    attempt: |aim| {
        let project = word(aim.project(""));
        let (project, here) = (address(project.as_c_str()), address(c"."));
        done(in_child(|| {
            lend_capabilities(libc::CLONE_NEWNS);
            let flags = (libc::MS_BIND | libc::MS_REC) as usize;
            call(libc::SYS_mount, &[project, project, 0, flags])?;
            call(libc::SYS_chdir, &[project])?;
            call(libc::SYS_pivot_root, &[here, here]).map(drop)
        }))
    },
    refused: &[Reason::Errno(libc::EPERM)],
    locks: &[&[Filter], &[Landlock], &[NoNesting, NoCapabilities]],
    ..Attack::CALL
};
