//! Folders with other owners: what is root's on disk is the sandbox's own in the sandbox.

use std::ffi::CString;
use std::io;

use crate::blob::Blob;
use crate::mechanisms::identity::Identity;

/// Writes down the maps with which the owner of a folder stands for the sandbox's user; none if it
/// is that user, or if there are no privileges to map anything.
pub(crate) fn pack(
    identity: Identity,
    owner: u32,
    group: u32,
    blob: &mut Blob,
) -> io::Result<(u64, u64)> {
    if identity.to_take_on().is_none_or(|outer| outer == (owner, group)) {
        return Ok((0, 0));
    }
    let users = CString::new(swap(owner, identity.outer_uid))?;
    let groups = CString::new(swap(group, identity.outer_gid))?;
    Ok((blob.text_once(&users), blob.text_once(&groups)))
}

/// A map in which two ids stand for each other, and every other id for itself.
fn swap(on_disk: u32, outside: u32) -> String {
    let (low, high) = (on_disk.min(outside), on_disk.max(outside));
    let ranges = [(0, low), (low.saturating_add(1), high), (high.saturating_add(1), u32::MAX)];
    let others = ranges.into_iter().filter(|(from, to)| from < to);
    let others = others.map(|(from, to)| format!("{from} {from} {}\n", to.saturating_sub(from)));
    let pair = [format!("{on_disk} {outside} 1\n"), format!("{outside} {on_disk} 1\n")];
    let pair = if on_disk == outside { pair.into_iter().take(1) } else { pair.into_iter().take(2) };
    pair.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_stands_for_the_user_of_the_box_and_others_for_themselves() {
        assert_eq!(swap(0, 9), "0 9 1\n9 0 1\n1 1 8\n10 10 4294967285\n");
        assert_eq!(swap(3, 9), "3 9 1\n9 3 1\n0 0 3\n4 4 5\n10 10 4294967285\n");
        assert_eq!(swap(9, 9), "9 9 1\n0 0 9\n10 10 4294967285\n");
    }
}
