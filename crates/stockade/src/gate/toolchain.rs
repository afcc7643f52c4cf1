//! Toolchains in the home directory that the policy lists, and the program of an agent: which of them
//! are installed, and that their programs may run.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use crate::confine::{Toolchain, ToolchainPath, program_folders};
use crate::inspect::Settings;
use crate::outcome::Failure;
use crate::policy::Policy;
use crate::tier::Tier;

/// The installed toolchains. None in a tier without a sandbox, where nothing would keep calls from
/// changing them.
pub(super) fn found(policy: &Policy) -> Vec<ToolchainPath> {
    if policy.tier < Tier::Jail {
        return Vec::new();
    }
    let program = |path: &PathBuf| ToolchainPath { path: path.clone(), links: Vec::new() };
    let of_agent = policy.files.agent_programs.iter().map(program);
    policy.files.toolchains.iter().copied().flat_map(of_home).chain(of_agent).collect()
}

/// The folders of a toolchain in the home directory.
fn of_home(toolchain: Toolchain) -> Vec<ToolchainPath> {
    let Some(home) = std::env::home_dir() else { return Vec::new() };
    let places = toolchain.places(&home, |name| std::env::var_os(name)).into_iter();
    // A toolchain that is not installed is skipped.
    places.filter_map(present).collect()
}

/// The same folder with real paths, without dangling links.
fn present(one: ToolchainPath) -> Option<ToolchainPath> {
    let links = one.links.into_iter();
    let links = links.filter_map(|(in_home, to)| Some((in_home, real(&to)?))).collect();
    Some(ToolchainPath { path: real(&one.path)?, links })
}

/// Puts the folders of their programs in front of the search path.
pub(super) fn trust(toolchains: &[ToolchainPath], settings: &mut Settings) {
    let mut folders = program_folders(toolchains, &own_search_path());
    folders.retain(|folder| !settings.search_path.contains(folder));
    settings.search_path.splice(0..0, folders);
    settings.toolchains = toolchains.iter().map(|one| one.path.clone()).collect();
}

/// Adds a remedy to the failure if a toolchain has the missing program.
pub(super) fn offered(failure: Failure, program: &OsStr) -> Failure {
    let has_it = |toolchain: &Toolchain| {
        let folders = program_folders(&of_home(*toolchain), &own_search_path());
        folders.iter().any(|folder| folder.join(program).is_file())
    };
    match Toolchain::ALL.into_iter().find(has_it) {
        Some(toolchain) => failure.with_remedy(format!(
            "it is in your home folder, which the jail shows in part if it is asked to: --tier jail \
             --toolchain {toolchain}, or box.toolchains in your own policy file"
        )),
        None => failure,
    }
}

fn own_search_path() -> Vec<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

/// The real path, with all links resolved.
fn real(path: &Path) -> Option<PathBuf> {
    let handle =
        rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()
}
