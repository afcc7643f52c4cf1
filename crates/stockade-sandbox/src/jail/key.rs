//! The key by which two equal descriptions of a sandbox are recognized.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, StatxFlags, statx};

#[cfg(feature = "fault-injection")]
use super::FaultInjection;
use super::{Attest, Form, Jail, Nesting, Network};
use crate::mechanisms::identity::Identity;
use crate::mechanisms::landlock::Rule;
use crate::mechanisms::mounts::{Access, Mount, ProcView};
use crate::mechanisms::seccomp::Filter;

/// All that a sandbox depends on: two descriptions with the same key make the same sandbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    form: Form,
    identity: Identity,
    network: Network,
    host_name: CString,
    root: Option<Vec<MountKey>>,
    forbidden: Vec<CString>,
    refused: Vec<CString>,
    sealed: Vec<CString>,
    landlock: Option<Vec<(CString, u64)>>,
    filter: Option<Filter>,
    processes_max: Option<u32>,
    stamp: Vec<u8>,
    nesting: Nesting,
    attest: Attest,
    #[cfg(feature = "fault-injection")]
    faults: FaultInjection,
}

/// One mount of the root.
#[derive(Debug, PartialEq, Eq)]
struct MountKey {
    target: CString,
    kind: MountKind,
}

/// A mount without its path in the sandbox and without descriptors.
#[derive(Debug, PartialEq, Eq)]
enum MountKind {
    Bind { source: FileIdentity, access: Access },
    Memory { bytes_max: u64, files_max: u64, mode: u32 },
    Session,
    Terminals,
    Proc(ProcView),
    Folder { mode: u32 },
    File(Vec<u8>),
    Link(CString),
    Hide { is_cwd: bool },
    Protect,
    Pin,
}

/// Which file or folder it is, in which mount, and whose.
#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    device: (u32, u32),
    inode: u64,
    mount: u64,
    owner: (u32, u32),
}

impl Key {
    /// The key of a description.
    pub(crate) fn of(jail: &Jail) -> io::Result<Self> {
        // By name, so that a new field is either in the key or said not to be.
        let Jail {
            form,
            identity,
            network,
            host_name,
            root,
            forbidden,
            refused,
            sealed,
            landlock,
            filter,
            processes_max,
            stamp,
            nesting,
            attest,
            #[cfg(feature = "fault-injection")]
            faults,
            // These are handed over with the program, and calls of a session never share a sandbox.
            program: _,
            cwd,
            cgroup: _,
            session: _,
        } = jail;
        let mount = |mount: &Mount| {
            let is_cwd = mount.target() == cwd.as_c_str();
            Ok(MountKey { target: mount.target().to_owned(), kind: MountKind::of(mount, is_cwd)? })
        };
        let mounts = |mounts: &Vec<Mount>| mounts.iter().map(mount).collect::<io::Result<_>>();
        let rule = |rule: &Rule| (rule.path.clone(), rule.rights);
        let landlock = landlock.as_ref();
        Ok(Self {
            form: *form,
            identity: *identity,
            network: *network,
            host_name: host_name.clone(),
            root: root.as_ref().map(mounts).transpose()?,
            forbidden: forbidden.clone(),
            refused: refused.clone(),
            sealed: sealed.clone(),
            landlock: landlock.map(|landlock| landlock.rules.iter().map(rule).collect()),
            filter: *filter,
            processes_max: *processes_max,
            stamp: stamp.clone(),
            nesting: *nesting,
            attest: *attest,
            #[cfg(feature = "fault-injection")]
            faults: faults.clone(),
        })
    }
}

impl MountKind {
    fn of(mount: &Mount, is_cwd: bool) -> io::Result<Self> {
        Ok(match mount {
            Mount::Bind { source, access, .. } => {
                Self::Bind { source: FileIdentity::of(source.as_fd())?, access: *access }
            }
            &Mount::Memory { bytes_max, files_max, mode, .. } => {
                Self::Memory { bytes_max, files_max, mode }
            }
            Mount::Session { .. } => Self::Session,
            Mount::Terminals { .. } => Self::Terminals,
            Mount::Proc { view, .. } => Self::Proc(*view),
            Mount::Folder { mode, .. } => Self::Folder { mode: *mode },
            Mount::File { content, .. } => Self::File(content.clone()),
            Mount::Link { to, .. } => Self::Link(to.clone()),
            // The shim makes a hidden working directory one that can be entered.
            Mount::Hide { .. } => Self::Hide { is_cwd },
            Mount::Protect { .. } => Self::Protect,
            Mount::Pin { .. } => Self::Pin,
        })
    }
}

impl FileIdentity {
    fn of(file: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = StatxFlags::INO | StatxFlags::MNT_ID | StatxFlags::UID | StatxFlags::GID;
        let seen = statx(file, c"", AtFlags::EMPTY_PATH, flags)?;
        Ok(Self {
            device: (seen.stx_dev_major, seen.stx_dev_minor),
            inode: seen.stx_ino,
            mount: seen.stx_mnt_id,
            owner: (seen.stx_uid, seen.stx_gid),
        })
    }
}
