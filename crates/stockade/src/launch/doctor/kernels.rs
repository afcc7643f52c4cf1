//! Kernels that are known to break what a box keeps, as data. They are told by their numbers: a
//! distribution may have repaired its own without changing that.

use serde::Serialize;

use crate::guarantee::Guarantee;

/// Something that this kernel is known to do wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFault {
    /// Its name.
    pub name: &'static str,
    /// What it breaks.
    pub breaks: &'static [Guarantee],
    /// What can happen.
    pub says: &'static str,
    /// The first kernel without it.
    pub fixed_in: String,
}

/// Major, minor and patch.
type Version = (u32, u32, u32);

struct Fault {
    name: &'static str,
    since: Version,
    /// The first good release of each line that was repaired; the last is that of the main line.
    fixed: &'static [Version],
    breaks: &'static [Guarantee],
    says: &'static str,
}

const FAULTS: [Fault; 3] = [
    Fault {
        name: "CVE-2022-0847 (Dirty Pipe)",
        since: (5, 8, 0),
        fixed: &[(5, 10, 102), (5, 15, 25), (5, 16, 11), (5, 17, 0)],
        breaks: &[Guarantee::Writes, Guarantee::Protected],
        says: "what can be read can be overwritten, read-only mounts or not",
    },
    Fault {
        name: "CVE-2023-3269 (StackRot)",
        since: (6, 1, 0),
        fixed: &[(6, 1, 37), (6, 3, 11), (6, 4, 1), (6, 5, 0)],
        breaks: &[Guarantee::Privileges, Guarantee::Kernel],
        says: "any program can take over the kernel, without capabilities",
    },
    Fault {
        name: "CVE-2024-42318 (Landlock lost)",
        since: (5, 13, 0),
        fixed: &[(6, 1, 103), (6, 6, 44), (6, 10, 3), (6, 11, 0)],
        breaks: &[Guarantee::Writes, Guarantee::Reads],
        says: "a program can shed Landlock by keyctl, which the box's filter refuses",
    },
];

/// What this release is known to do wrong.
pub(super) fn known_faults(release: &str) -> Vec<KnownFault> {
    let Some(version) = parse(release) else { return Vec::new() };
    FAULTS.iter().filter_map(|fault| fault.in_kernel(version)).collect()
}

impl Fault {
    fn in_kernel(&self, version: Version) -> Option<KnownFault> {
        let line = |(major, minor, _): Version| (major, minor);
        let of_line = self.fixed.iter().find(|fixed| line(**fixed) == line(version));
        let fixed = of_line.or(self.fixed.last()).filter(|fixed| version < **fixed)?;
        if version < self.since {
            return None;
        }
        let (major, minor, patch) = fixed;
        Some(KnownFault {
            name: self.name,
            breaks: self.breaks,
            says: self.says,
            fixed_in: format!("{major}.{minor}.{patch}"),
        })
    }
}

/// The numbers at the head of a release, as `5.15.0-91-generic`.
fn parse(release: &str) -> Option<Version> {
    let numbers = release.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut numbers = numbers.split('.').map(str::parse::<u32>);
    let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((major, minor, numbers.next().and_then(Result::ok).unwrap_or(0)))
}

/// Landlock's errata that bear on a box: the number, the ABI that it is about, and what it means.
/// (The first is about TCP, which is not used.) From `security/landlock/errata/` of the kernel.
const ERRATA: [(u32, u32, &str); 2] = [
    (2, 6, "erratum 2: threads of one program may be kept from signalling each other"),
    (3, 1, "erratum 3: a folder that is moved out of its mount may be renamed past the rules"),
];

/// Those that this kernel's Landlock has not repaired, or does not say that it has.
pub(super) fn landlock_errata(abi: Option<u32>, repaired: Option<u32>) -> Vec<String> {
    let Some(abi) = abi else { return Vec::new() };
    let repaired = repaired.unwrap_or(0);
    let is_open = |(number, since, _): &&(u32, u32, &str)| {
        let bit = number.checked_sub(1).and_then(|place| 1_u32.checked_shl(place)).unwrap_or(0);
        abi >= *since && repaired & bit == 0
    };
    ERRATA.iter().filter(is_open).map(|(_, _, says)| (*says).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(release: &str) -> Vec<&'static str> {
        known_faults(release).into_iter().map(|fault| fault.name).collect()
    }

    #[test]
    fn a_kernel_is_judged_by_its_own_line_of_releases() {
        let [pipe, stack, landlock] = FAULTS.each_ref().map(|fault| fault.name);
        for (release, expected) in [
            ("5.7.19", vec![]),
            ("5.10.101", vec![pipe]),
            ("5.10.102-1-amd64", vec![]),
            ("5.15.0-91-generic", vec![pipe, landlock]),
            ("5.15.200", vec![landlock]),
            ("6.1.36", vec![stack, landlock]),
            ("6.1.103", vec![]),
            ("6.2.0", vec![stack, landlock]),
            ("6.6.43", vec![landlock]),
            ("6.18.44-fc-v490", vec![]),
            ("7.0", vec![]),
            ("nonsense", vec![]),
        ] {
            assert_eq!(names(release), expected, "{release}");
        }
    }

    #[test]
    fn an_erratum_is_open_unless_the_kernel_says_otherwise() {
        assert_eq!(landlock_errata(None, None), Vec::<String>::new());
        assert_eq!(landlock_errata(Some(5), None).len(), 1);
        assert_eq!(landlock_errata(Some(6), None).len(), 2);
        assert_eq!(landlock_errata(Some(7), Some(0b110)).len(), 0);
        assert!(landlock_errata(Some(7), Some(0b011))[0].contains("erratum 3"));
    }
}
