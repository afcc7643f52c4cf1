//! What makes two descriptions of a box the same.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, StatxFlags, statx};

use super::Jail;
use crate::mounts::Mount;

/// All that a box depends on, as bytes: two descriptions with the same key make the same box. The
/// program, its folder and the cgroup are not in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    /// The key of a description.
    pub(crate) fn of(jail: &Jail) -> io::Result<Self> {
        let mut key = Self(Vec::with_capacity(4096));
        key.add(jail.host_name.to_bytes());
        key.add(&jail.stamp);
        for mount in jail.root.iter().flatten() {
            key.add_mount(mount, jail)?;
        }
        for rule in jail.landlock.iter().flat_map(|landlock| &landlock.rules) {
            key.add(rule.path.to_bytes());
            key.add(&rule.rights.to_ne_bytes());
        }
        for path in jail.forbidden.iter().chain(&jail.refused) {
            key.add(path.to_bytes());
        }
        // The rest is small and has no descriptor in it.
        let Jail { form, identity, network, filter, nesting, attest, processes_max, .. } = jail;
        let has =
            (jail.root.is_some(), jail.landlock.is_some(), jail.forbidden.len(), jail.names());
        let rest = (has, form, identity, network, filter, nesting, attest, processes_max);
        key.add(format!("{rest:?}").as_bytes());
        #[cfg(feature = "sabotage")]
        key.add(format!("{:?}", jail.sabotage).as_bytes());
        Ok(key)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.len().to_ne_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn add_mount(&mut self, mount: &Mount, jail: &Jail) -> io::Result<()> {
        let (kind, details): (u8, Vec<u8>) = match mount {
            Mount::Bind { source, access, .. } => {
                let identity = identity_of(source.as_fd())?;
                let numbers = identity.into_iter().flat_map(u64::to_ne_bytes);
                (1, numbers.chain(format!("{access:?}").into_bytes()).collect())
            }
            Mount::Memory { bytes_max, files_max, mode, .. } => {
                (2, format!("{bytes_max} {files_max} {mode}").into_bytes())
            }
            Mount::Proc { view, .. } => (3, format!("{view:?}").into_bytes()),
            Mount::Folder { mode, .. } => (4, mode.to_ne_bytes().to_vec()),
            Mount::File { content, .. } => (5, content.clone()),
            Mount::Link { to, .. } => (6, to.to_bytes().to_vec()),
            Mount::Hide { target } => (7, vec![u8::from(*target == jail.cwd)]),
            Mount::Protect { .. } => (8, Vec::new()),
            Mount::Pin { .. } => (9, Vec::new()),
        };
        self.0.push(kind);
        self.add(mount.target().to_bytes());
        self.add(&details);
        Ok(())
    }
}

/// Which file or folder it is, in which mount, and whose.
fn identity_of(file: BorrowedFd<'_>) -> io::Result<[u64; 6]> {
    let flags = StatxFlags::INO | StatxFlags::MNT_ID | StatxFlags::UID | StatxFlags::GID;
    let seen = statx(file, c"", AtFlags::EMPTY_PATH, flags)?;
    let [major, minor, uid, gid] =
        [seen.stx_dev_major, seen.stx_dev_minor, seen.stx_uid, seen.stx_gid].map(u64::from);
    Ok([major, minor, seen.stx_ino, seen.stx_mnt_id, uid, gid])
}
