//! Where on this machine a controller can be used: the hierarchy, and a folder to make ours in.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::proc;

/// The version of a hierarchy of cgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    One,
    /// One for all.
    Two,
}

/// A hierarchy and the folders that ours could be made in, the nearest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) version: Version,
    pub(super) parents: Vec<PathBuf>,
}

/// The hierarchies of this machine, and where in them this process is.
#[derive(Debug, Clone)]
pub(crate) struct Hierarchies {
    /// The lines of mountinfo that are of cgroups.
    mounts: Arc<str>,
    membership: String,
    /// The cgroup namespace that both lists refer to.
    namespace: Option<CString>,
    /// Where most are mounted, held open: the way there leads through folders of the kernel that are
    /// locked while somebody makes or ends a network.
    usual: Option<Arc<OwnedFd>>,
}

/// Where hierarchies are mounted as a rule.
const USUAL: &str = "/sys/fs/cgroup";

impl Hierarchies {
    /// Reads both lists.
    pub(crate) fn read() -> Result<Self, Errno> {
        let namespace = namespace();
        let usual = open_folder(CWD, Path::new(USUAL)).ok().map(Arc::new);
        let mountinfo = proc::read("/proc/self/mountinfo")?;
        let read = Self::of(&mountinfo, proc::read("/proc/self/cgroup")?);
        Ok(Self { namespace, usual, ..read })
    }

    /// Opens a folder of a hierarchy, to make others in.
    pub(super) fn open(&self, folder: &Path) -> Result<OwnedFd, Errno> {
        match (&self.usual, folder.strip_prefix(USUAL)) {
            (Some(usual), Ok(beneath)) => open_folder(usual.as_fd(), &Path::new(".").join(beneath)),
            _ => open_folder(CWD, folder),
        }
    }

    /// The same hierarchies, which nobody has mounted or unmounted since; this process may have moved.
    pub(crate) fn again(&self) -> Result<Self, Errno> {
        if self.namespace.is_none() || self.namespace != namespace() {
            return Self::read();
        }
        let membership = proc::read("/proc/self/cgroup")?;
        Ok(Self { membership, ..self.clone() })
    }

    fn of(mountinfo: &str, membership: String) -> Self {
        let mounts = mountinfo.split_inclusive('\n').filter(|line| line.contains(" - cgroup"));
        let mounts = mounts.collect::<String>().into();
        Self { mounts, membership, namespace: None, usual: None }
    }

    /// The place for a controller: its own hierarchy of version 1, else version 2.
    pub(super) fn place_of(&self, controller: &str) -> Option<Place> {
        self.first(controller).or_else(|| self.unified())
    }

    /// The place in a hierarchy of version 1: beneath our own, so that a limit that we have
    /// ourselves holds too.
    pub(super) fn first(&self, controller: &str) -> Option<Place> {
        let is_meant = |mount: &MountLine| mount.kind == "cgroup" && mount.has_option(controller);
        let mount = self.mounts().find(is_meant)?;
        let own = self.path_in(|names| names.split(',').any(|one| one == controller))?;
        Some(Place { version: Version::One, parents: vec![mount.beneath(own)?] })
    }

    /// The place in version 2: ours, or one above.
    pub(super) fn unified(&self) -> Option<Place> {
        let mount = self.mounts().find(|mount| mount.kind == "cgroup2")?;
        let own = mount.beneath(self.path_in(str::is_empty)?)?;
        let within = |path: &&Path| path.starts_with(mount.target);
        let parents = own.ancestors().take_while(within).map(Path::to_owned).collect();
        Some(Place { version: Version::Two, parents })
    }

    fn mounts(&self) -> impl Iterator<Item = MountLine<'_>> {
        self.mounts.lines().filter_map(MountLine::parse)
    }

    /// The path of this process in the hierarchy with these controllers, `cgroups(7)`.
    fn path_in(&self, is_meant: impl Fn(&str) -> bool) -> Option<&str> {
        self.membership.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (names, path) = rest.split_once(':')?;
            is_meant(names).then_some(path)
        })
    }
}

fn open_folder(at: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(at, path, flags, Mode::empty())
}

fn namespace() -> Option<CString> {
    rustix::fs::readlink("/proc/self/ns/cgroup", Vec::new()).ok()
}

/// A line of mountinfo, as far as it matters here.
struct MountLine<'a> {
    root: &'a str,
    target: &'a Path,
    kind: &'a str,
    options: &'a str,
}

impl<'a> MountLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let (root, target) = (front.next()?, front.next()?);
        let mut back = back.split(' ');
        let (kind, _, options) = (back.next()?, back.next()?, back.next()?);
        Some(Self { root, target: Path::new(target), kind, options })
    }

    fn has_option(&self, name: &str) -> bool {
        self.options.split(',').any(|option| option == name)
    }

    /// Where a path of the hierarchy is, seen through this mount.
    fn beneath(&self, path: &str) -> Option<PathBuf> {
        let inside = Path::new(path).strip_prefix(self.root).ok()?;
        Some(self.target.join(inside))
    }
}

/// The error number of an error of the system.
pub(super) fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 1 0:25 / /sys rw,relatime - sysfs sysfs rw
30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const MEMBERSHIP: &str = "4:memory:/a/b\n2:cpu,cpuacct:/\n0::/user.slice/x.scope\n";

    fn hierarchies(mountinfo: &str, membership: &str) -> Hierarchies {
        Hierarchies::of(mountinfo, membership.to_owned())
    }

    fn place(controller: &str) -> Option<(Version, Vec<String>)> {
        let place = hierarchies(MOUNTS, MEMBERSHIP).place_of(controller)?;
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        Some((place.version, place.parents.into_iter().map(text).collect()))
    }

    #[test]
    fn a_controller_of_version_one_is_used_where_we_are() {
        let memory = (Version::One, vec!["/sys/fs/cgroup/memory/a/b".to_owned()]);
        assert_eq!(place("memory"), Some(memory));
        let cpu = (Version::One, vec!["/sys/fs/cgroup/cpu,cpuacct/".to_owned()]);
        assert_eq!(place("cpu"), Some(cpu));
    }

    #[test]
    fn version_two_is_used_where_we_are_or_above() {
        let (version, parents) = place("pids").unwrap();
        let root = "/sys/fs/cgroup/unified";
        let expected = ["/user.slice/x.scope", "/user.slice", ""].map(|own| format!("{root}{own}"));
        assert_eq!((version, parents.as_slice()), (Version::Two, expected.as_slice()));
    }

    #[test]
    fn no_hierarchy_is_no_place() {
        assert_eq!(hierarchies("", MEMBERSHIP).place_of("cpu"), None);
        assert_eq!(hierarchies(MOUNTS, "").place_of("cpu"), None);
    }
}
