//! Resource limits of one process, as the kernel numbers them.

use crate::protocol::{RLIMITS_MAX, Rlimit};

/// Limits that the program and each of its processes get; `None` leaves what is inherited.
///
/// A limit can only be lowered: what the host already has lower stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rlimits {
    /// Processor time of one process; SIGXCPU at the limit, SIGKILL one second later.
    pub cpu_seconds: Option<u64>,
    /// Address space of one process.
    pub address_space_bytes: Option<u64>,
    /// Size of a file that is written.
    pub file_size_bytes: Option<u64>,
    /// Tasks of the *user*, see [`tasks_on_machine`](crate::tasks_on_machine). A sandbox with
    /// namespaces has a count of its own, its init included, so that there it is a limit for the
    /// whole sandbox that the kernel holds at each fork.
    pub processes: Option<u64>,
    /// One more than the highest descriptor.
    pub open_files: Option<u64>,
    /// Size of a core file. 1 rather than 0 also keeps it from a piped `core_pattern`, core(5).
    pub core_bytes: Option<u64>,
    /// Size of the main thread's stack.
    pub stack_bytes: Option<u64>,
}

impl Rlimits {
    /// The limits that are set, and how many they are.
    pub(crate) fn table(&self) -> ([Rlimit; RLIMITS_MAX], u32) {
        // Numbers from asm-generic/resource.h.
        let all = [
            (0, self.cpu_seconds),
            (1, self.file_size_bytes),
            (3, self.stack_bytes),
            (4, self.core_bytes),
            (6, self.processes),
            (7, self.open_files),
            (9, self.address_space_bytes),
        ];
        let mut table = [Rlimit::default(); RLIMITS_MAX];
        let mut count = 0_u32;
        let set = all.into_iter().filter_map(|(resource, limit)| Some((resource, limit?)));
        for (entry, (resource, limit)) in table.iter_mut().zip(set) {
            let hard = if resource == 0 { limit.saturating_add(1) } else { limit };
            *entry = Rlimit { resource, soft: limit, hard };
            count = count.saturating_add(1);
        }
        (table, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_an_empty_table() {
        assert_eq!(Rlimits::default().table().1, 0);
    }

    #[test]
    fn a_cpu_limit_warns_one_second_before_it_kills() {
        let (table, count) = Rlimits { cpu_seconds: Some(2), ..Rlimits::default() }.table();
        assert_eq!((table[0], count), (Rlimit { resource: 0, soft: 2, hard: 3 }, 1));
    }

    #[test]
    fn resource_numbers_are_those_of_libc() {
        let limits = Rlimits {
            cpu_seconds: Some(1),
            address_space_bytes: Some(2),
            file_size_bytes: Some(3),
            processes: Some(4),
            open_files: Some(5),
            core_bytes: Some(6),
            stack_bytes: Some(7),
        };
        let (table, count) = limits.table();
        let set = table.iter().take(count.try_into().unwrap());
        let seen: Vec<_> = set.map(|l| (i64::try_from(l.resource).unwrap(), l.soft)).collect();
        let expected = [
            (libc::RLIMIT_CPU, 1),
            (libc::RLIMIT_FSIZE, 3),
            (libc::RLIMIT_STACK, 7),
            (libc::RLIMIT_CORE, 6),
            (libc::RLIMIT_NPROC, 4),
            (libc::RLIMIT_NOFILE, 5),
            (libc::RLIMIT_AS, 2),
        ];
        assert_eq!(seen, expected.map(|(resource, soft)| (i64::from(resource), soft)));
    }
}
