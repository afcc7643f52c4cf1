//! The paths that a box must not make: those to be protected or hidden that are not there.

use std::ffi::CString;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use stockade_sandbox::{Errno, Mount, StartError, Step};

use super::masks::PathMasks;
use super::root::c_path;
use super::written;
use crate::confine::AgentFolder;
use crate::confine::Files;
use crate::guarantee::{Enforced, Guarantee};
use crate::outcome::{Failure, FailureKind, chain};

/// How many paths the first process of a box can hear of.
const REFUSED_MAX: usize = 256;

/// All of them that are beneath a folder that can be written.
///
/// A link on the way would let the same path be made by another name, so it ends the launch.
pub(super) fn forbidden(files: &Files, cover: &PathMasks) -> Result<Vec<CString>, Failure> {
    let mut forbidden = Vec::new();
    for path in cover.absent.iter().chain(&cover.absent_hidden) {
        let Some(folder) = files.write.iter().find(|folder| path.starts_with(folder)) else {
            continue;
        };
        if let Some(link) = link_on_the_way(folder, path) {
            let message = format!("{link:?} is a link, behind which {path:?} could be made");
            return Err(failure(message).with_remedy("make it a folder, or lower box.require"));
        }
        forbidden.push(c_path(path)?);
    }
    Ok(forbidden)
}

fn link_on_the_way<'a>(folder: &Path, path: &'a Path) -> Option<&'a Path> {
    let above = path.ancestors().skip(1).take_while(|above| *above != folder);
    let is_link = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink());
    above.into_iter().find(|above| is_link(above))
}

/// The protected paths that do not exist and that the box could create, in folders of these mounts.
///
/// More of them than the box can hear of are watched only.
pub(super) fn refused(
    cover: &PathMasks,
    mounts: &[Mount],
    agent: Option<&AgentFolder>,
) -> Result<Vec<CString>, Failure> {
    let folders: Vec<PathBuf> = written(mounts, agent).map(|(folder, _)| folder).collect();
    let can_be_made = |path: &&PathBuf| {
        let folder = folders.iter().find(|folder| path.starts_with(folder));
        folder.is_some_and(|folder| !is_of_new_repository(path, folder))
    };
    let absent = cover.unenforced();
    absent.iter().filter(can_be_made).take(REFUSED_MAX).map(|path| c_path(path)).collect()
}

/// Whether a path is one of those that `git init` creates, where there is no repository.
pub(super) fn is_of_new_repository(path: &Path, folder: &Path) -> bool {
    let git = folder.join(".git");
    let is_missing = || std::fs::symlink_metadata(&git).is_err_and(|e| e.kind() == NotFound);
    path != git && path.starts_with(&git) && is_missing()
}

/// Names no such shim where there is nothing for it to keep.
pub(super) fn forget(enforcement: &mut [Enforced], shim: &str) {
    for line in enforcement.iter_mut().filter(|line| line.guarantee == Guarantee::Protected) {
        line.by.retain(|by| *by != shim);
    }
}

/// Whether it was the broker that could not be started.
pub(in crate::launch) fn is_to_blame(error: StartError) -> bool {
    let is_old = error.step == Step::FilterCalls && error.errno == Errno::INVAL;
    is_old || matches!(error.step, Step::LearnNames | Step::TestBroker)
}

/// Why nothing was started.
pub(super) fn not_started(error: StartError) -> Failure {
    failure(format!("could not {}", chain(&error))).with_remedy(
        "this takes Linux 5.19 and a kernel that lets the box look at its own processes \
         (kernel.yama.ptrace_scope below 3); box.require = [\"protected:detected\"] does without",
    )
}

fn failure(message: String) -> Failure {
    Failure::new(FailureKind::BrokerProtected, message).with_guarantee(Guarantee::Protected)
}
