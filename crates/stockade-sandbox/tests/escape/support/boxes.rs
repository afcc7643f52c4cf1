//! The standard closed sandbox that every attack is tried in: what a call gets by default, smaller.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use stockade_sandbox::{
    Access, Cgroup, CgroupLimits, Jail, Landlock, Mechanism, Mount, ProcView, Rlimits, Rule, rights,
};

use super::scene::Scene;

const SYSTEM: [&CStr; 9] =
    [c"/usr", c"/bin", c"/sbin", c"/lib", c"/lib32", c"/lib64", c"/libx32", c"/etc", c"/opt"];

/// What a memory folder of the sandbox holds.
pub(crate) const MEMORY_BYTES: u64 = 8 << 20;
/// How many files a memory folder of the sandbox holds.
const MEMORY_FILES: u64 = 512;

/// The sandbox around a program, over a scene, with these mechanisms left out.
pub(crate) fn standard(scene: &Scene, program: &Path, left_out: &[Mechanism]) -> Jail {
    let mut jail = Jail::new(&text(program), &text(&scene.at("project")));
    let mounts = mounts(scene, program);
    jail.landlock = stockade_sandbox::landlock_abi().map(|_| landlock(&mounts));
    jail.root = Some(mounts);
    jail.cgroup = Some(Cgroup::create(CgroupLimits {
        memory_bytes_max: Some(128 << 20),
        tasks_max: Some(TASKS_MAX),
        cpu_millis_per_second: None,
    }));
    jail.faults.left_out = left_out.to_vec();
    jail
}

/// How many tasks the sandbox may have.
const TASKS_MAX: u32 = 32;

/// The limits of each process of the sandbox.
pub(crate) fn rlimits() -> Rlimits {
    Rlimits {
        cpu_seconds: Some(1),
        address_space_bytes: Some(512 << 20),
        file_size_bytes: Some(4 << 20),
        processes: Some(u64::from(TASKS_MAX)),
        open_files: Some(128),
        core_bytes: Some(1),
        stack_bytes: None,
    }
}

fn mounts(scene: &Scene, program: &Path) -> Vec<Mount> {
    let mut all: Vec<_> =
        SYSTEM.into_iter().filter_map(|path| Mount::read_only(path).ok()).collect();
    all.extend(Mount::devices(MEMORY_BYTES).unwrap());
    all.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    if Path::new("/proc/keys").exists() {
        all.push(Mount::Hide { target: c"/proc/keys".to_owned() });
    }
    all.push(Mount::Memory {
        target: c"/tmp".to_owned(),
        bytes_max: MEMORY_BYTES,
        files_max: MEMORY_FILES,
        mode: 0o1777,
    });
    let at = |name: &str| text(&scene.at(name));
    all.push(Mount::bind(&text(program), Access::ReadOnly).unwrap());
    all.push(Mount::bind(&at("tools"), Access::ReadOnly).unwrap());
    all.push(Mount::bind(&at("shown"), Access::ReadOnlyAsOwner).unwrap());
    all.push(Mount::bind(&at("project"), Access::Writable).unwrap());
    all.push(Mount::Pin { target: at("project/.git") });
    all.push(Mount::Hide { target: at("project/.env") });
    all.push(Mount::Hide { target: at("project/keys") });
    all.push(Mount::Protect { target: at("project/.git/config") });
    all.push(Mount::Protect { target: at("project/.git/hooks") });
    all
}

fn landlock(mounts: &[Mount]) -> Landlock {
    let allow = |path: &CStr, rights| Rule { path: path.to_owned(), rights };
    let mut rules = vec![
        allow(c"/", rights::LIST),
        allow(c"/dev", rights::READ | rights::WRITE | rights::DEVICE),
        allow(c"/proc", rights::READ | rights::WRITE),
        allow(c"/tmp", rights::READ | rights::WRITE),
    ];
    for mount in mounts {
        let Mount::Bind { target, access, .. } = mount else { continue };
        let rights = match access {
            Access::ReadOnly | Access::ReadOnlyAsOwner => rights::READ,
            Access::Writable => rights::READ | rights::WRITE,
            Access::Device => continue,
        };
        rules.push(Rule { path: target.clone(), rights });
    }
    Landlock { rules }
}

pub(crate) fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}
