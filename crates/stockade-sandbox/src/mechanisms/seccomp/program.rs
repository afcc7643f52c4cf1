//! Turns a list of calls and outcomes into a program for the kernel's packet filter.

use super::instruction::{ANY_BIT, AT_LEAST, EQUAL, and, give, jump, load, refuse};
use super::{Names, Sockets};

/// The outcome of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is made.
    Allow,
    /// It fails with this error.
    Errno(i32),
    /// The broker makes it.
    Tell,
    /// It depends on its arguments.
    Check(Check),
}

/// A check of the arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// No new namespace.
    Clone,
    /// No new namespace.
    Unshare,
    /// The family, and no raw sockets.
    Socket(Sockets),
    /// Unix sockets only, and where these have no path, no datagrams.
    SocketPair(Sockets),
    /// Nothing that puts words into a terminal's mouth, and nothing that makes names in secret.
    Ioctl(Names),
    /// No lease: whoever opens the file outside would wait for it, and so would the broker.
    Fcntl,
    /// Nothing that takes room on the disk without writing to it.
    Allocation,
    /// No listener, which would answer instead of this filter.
    Seccomp,
    /// Not the init of a sandbox, which rules it: the argument that names a process.
    NotTheFirst {
        /// Which argument it is.
        process: u32,
    },
    /// Only harmless personalities.
    Personality,
    /// No set-user-ID and no set-group-ID.
    Mode {
        /// The argument with the permissions.
        mode: u32,
    },
    /// No set-user-ID and no set-group-ID, if a file is made.
    ModeIfMade {
        /// The argument with the flags.
        flags: u32,
        /// The argument with the permissions.
        mode: u32,
    },
    /// No set-user-ID and no set-group-ID; the broker makes it.
    ModeTold {
        /// The argument with the permissions.
        mode: u32,
    },
    /// No set-user-ID and no set-group-ID, if a file is made; the broker makes one with a name.
    ModeIfMadeTold {
        /// The argument with the flags.
        flags: u32,
        /// The argument with the permissions.
        mode: u32,
    },
}

/// One more than the highest number that this table knows (Linux 6.18): newer calls were not
/// examined.
const FIRST_UNKNOWN: u32 = 470;
/// The bit that marks calls of the x32 architecture.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// `AUDIT_ARCH_*` of `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

// Where things are in struct seccomp_data; the low half of an argument comes first.
const AT_NUMBER: u32 = 0;
const AT_ARCHITECTURE: u32 = 4;
const AT_ARGUMENTS: u32 = 16;

const KILL_PROCESS: u32 = 0x8000_0000;
const ALLOW: u32 = 0x7fff_0000;
const USER_NOTIF: u32 = 0x7fc0_0000;

/// The whole program: architecture first, then the number, then arguments.
///
/// The tree comes first, one instruction for each decision, and jumps forward to the outcomes, each
/// of which is there once: a shorter program is loaded faster.
pub(super) fn compile(mut calls: Vec<(u32, Outcome)>) -> Vec<u64> {
    calls.sort_unstable_by_key(|(number, _)| *number);
    let segments = segments(&calls);
    let mut outcomes = Outcomes::of(&segments);
    let mut tree = Vec::new();
    search(&segments, &mut tree);
    let mut program = vec![
        load(AT_ARCHITECTURE),
        jump(EQUAL, ARCHITECTURE, 1, 0),
        give(KILL_PROCESS),
        load(AT_NUMBER),
    ];
    program.extend(outcomes.linked(&tree));
    program.append(&mut outcomes.code);
    program
}

/// From which number on each outcome holds, over all numbers.
fn segments(calls: &[(u32, Outcome)]) -> Vec<(u32, Outcome)> {
    let mut all: Vec<(u32, Outcome)> = vec![(0, Outcome::Allow)];
    let mut add = |from: u32, outcome: Outcome| match all.last_mut() {
        Some(last) if last.0 == from => last.1 = outcome,
        Some(last) if last.1 == outcome => {}
        _ => all.push((from, outcome)),
    };
    for (number, outcome) in calls {
        add(*number, *outcome);
        add(number.saturating_add(1), Outcome::Allow);
    }
    add(FIRST_UNKNOWN, Outcome::Errno(libc::ENOSYS));
    #[cfg(target_arch = "x86_64")]
    add(X32, Outcome::Errno(libc::ENOSYS));
    all
}

/// One decision: at least this number, or less.
struct Node {
    from: u32,
    upper: Next,
    lower: Next,
}

/// Where a decision leads to.
#[derive(Clone, Copy)]
enum Next {
    /// To another decision, by its place.
    Node(usize),
    /// To an outcome.
    Outcome(Outcome),
}

/// Adds a search tree for the segments, its root first, and gives where to start.
fn search(segments: &[(u32, Outcome)], tree: &mut Vec<Node>) -> Next {
    let (lower, upper) = segments.split_at(segments.len() / 2);
    let (Some((from, outcome)), false) = (upper.first(), lower.is_empty()) else {
        return Next::Outcome(upper.first().map_or(Outcome::Allow, |(_, outcome)| *outcome));
    };
    let at = tree.len();
    let unset = Next::Outcome(*outcome);
    tree.push(Node { from: *from, upper: unset, lower: unset });
    let lower = search(lower, tree);
    let upper = search(upper, tree);
    if let Some(node) = tree.get_mut(at) {
        (node.lower, node.upper) = (lower, upper);
    }
    Next::Node(at)
}

/// The code of every outcome, and where it starts.
struct Outcomes {
    starts: Vec<(Outcome, usize)>,
    code: Vec<u64>,
}

impl Outcomes {
    fn of(segments: &[(u32, Outcome)]) -> Self {
        let mut all = Self { starts: Vec::new(), code: Vec::new() };
        for (_, outcome) in segments {
            if all.start(*outcome).is_none() {
                all.starts.push((*outcome, all.code.len()));
                all.code.extend(leaf(*outcome));
            }
        }
        all
    }

    fn start(&self, outcome: Outcome) -> Option<usize> {
        self.starts.iter().find(|(known, _)| *known == outcome).map(|(_, start)| *start)
    }

    /// The tree as instructions, to be followed by the code. A place that a condition cannot reach,
    /// 255 instructions on, would be a bug of this table: such a call is then killed.
    fn linked(&self, tree: &[Node]) -> Vec<u64> {
        let jump_of = |(at, node): (usize, &Node)| {
            let distance = |next: Next| {
                let to = match next {
                    Next::Node(place) => place,
                    Next::Outcome(outcome) => tree.len().checked_add(self.start(outcome)?)?,
                };
                u8::try_from(to.checked_sub(at)?.checked_sub(1)?).ok()
            };
            match (distance(node.upper), distance(node.lower)) {
                (Some(upper), Some(lower)) => jump(AT_LEAST, node.from, upper, lower),
                _ => give(KILL_PROCESS),
            }
        };
        tree.iter().enumerate().map(jump_of).collect()
    }
}

fn leaf(outcome: Outcome) -> Vec<u64> {
    match outcome {
        Outcome::Allow => vec![give(ALLOW)],
        Outcome::Errno(errno) => vec![refuse(errno)],
        Outcome::Tell => vec![give(USER_NOTIF)],
        Outcome::Check(check) => checked(check),
    }
}

fn checked(check: Check) -> Vec<u64> {
    // CLONE_NEW* of linux/sched.h; for clone the lowest byte is a signal, so not CLONE_NEWTIME.
    const NAMESPACES: u32 = 0x7e02_0000;
    const NEW_TIME: u32 = 0x80;
    const NEW_LISTENER: u32 = 8;
    // From linux/fcntl.h.
    const F_SETLEASE: u32 = 1024;
    /// The same for folders, since Linux 6.19: `F_SETDELEG` of `linux/fcntl.h`.
    const F_SETDELEG: u32 = 1040;
    match check {
        Check::Clone => unless_bits(0, NAMESPACES, libc::EPERM),
        Check::Unshare => unless_bits(0, NAMESPACES | NEW_TIME, libc::EPERM),
        Check::Seccomp => unless_bits(1, NEW_LISTENER, libc::EPERM),
        Check::SocketPair(Sockets::Unix | Sockets::Internet) => {
            one_of(0, &[UNIX], libc::EAFNOSUPPORT)
        }
        Check::SocketPair(Sockets::Pairs | Sockets::InternetAndPairs) => connected_pairs(),
        // PER_LINUX, PER_LINUX32, each without randomisation, and the question what is set.
        Check::Personality => {
            one_of(0, &[0, 8, 0x4_0000, 0x4_0008, 0x2_0000, 0x2_0008, u32::MAX], libc::EPERM)
        }
        // Only the low half counts in the kernel, so only that is compared (CVE-2019-7303).
        Check::Fcntl => none_of(1, &[F_SETLEASE, F_SETDELEG], libc::EPERM),
        Check::NotTheFirst { process } => none_of(process, &[1], libc::EPERM),
        Check::Ioctl(Names::Free) => {
            none_of(1, &[&TERMINAL[..], &ALLOCATING].concat(), libc::EPERM)
        }
        Check::Ioctl(Names::Told) => {
            none_of(1, &[&TERMINAL[..], &ALLOCATING, &MAKING_NAMES].concat(), libc::EPERM)
        }
        Check::Ioctl(Names::Brokered) => {
            none_of(1, &[&TERMINAL[..], &ALLOCATING, &NAMING].concat(), libc::EPERM)
        }
        Check::Allocation => {
            let allowed = jump(ANY_BIT, GIVES_BACK, 1, 0);
            vec![load(argument(1)), allowed, refuse(libc::EOPNOTSUPP), give(ALLOW)]
        }
        Check::Mode { mode } => unless_bits(mode, SET_IDS, libc::EPERM),
        Check::ModeIfMade { flags, mode } => {
            let mut check = vec![load(argument(flags)), jump(ANY_BIT, MAKES, 1, 0), give(ALLOW)];
            check.extend(unless_bits(mode, SET_IDS, libc::EPERM));
            check
        }
        Check::ModeTold { mode } => mode_told(mode),
        Check::ModeIfMadeTold { flags, mode } => {
            // With O_PATH nothing is made, whatever else is said.
            let mut check = vec![load(argument(flags)), jump(ANY_BIT, MAKES, 1, 0), give(ALLOW)];
            check.extend([load(argument(mode)), jump(ANY_BIT, SET_IDS, 0, 1)]);
            check.extend([refuse(libc::EPERM), load(argument(flags))]);
            check.extend([jump(ANY_BIT, PATH_ONLY, 2, 0), jump(ANY_BIT, CREATES, 0, 1)]);
            check.extend([give(USER_NOTIF), give(ALLOW)]);
            check
        }
        Check::Socket(Sockets::Pairs) => vec![refuse(libc::EAFNOSUPPORT)],
        Check::Socket(Sockets::Unix) => one_of(0, &[UNIX], libc::EAFNOSUPPORT),
        Check::Socket(Sockets::Internet) => internet(give(ALLOW)),
        Check::Socket(Sockets::InternetAndPairs) => internet(refuse(libc::EAFNOSUPPORT)),
    }
}

/// `FALLOC_FL_PUNCH_HOLE`, `FALLOC_FL_COLLAPSE_RANGE` and `FALLOC_FL_INSERT_RANGE`.
const GIVES_BACK: u32 = 0x2a;
/// `FS_IOC_RESVSP`, `FS_IOC_RESVSP64` and `FS_IOC_ZERO_RANGE` of linux/falloc.h, which do the same as
/// `fallocate`, and `XFS_IOC_ALLOCSP` with its sibling, which old kernels have.
const ALLOCATING: [u32; 5] = [0x4030_5828, 0x4030_582a, 0x4030_5839, 0x4030_580a, 0x4030_5824];

fn mode_told(mode: u32) -> Vec<u64> {
    let told = [refuse(libc::EPERM), give(USER_NOTIF)];
    [[load(argument(mode)), jump(ANY_BIT, SET_IDS, 0, 1)], told].concat()
}

/// `TIOCSTI`, `TIOCLINUX`, `TIOCCONS`, `TIOCSETD`.
const TERMINAL: [u32; 4] = [0x5412, 0x541c, 0x541d, 0x5423];
/// Commands that create a name although their call does not say so: subvolumes and snapshots of
/// btrfs (four) and of bcachefs, reference links of OCFS2; and the command that changes which names
/// are equal in a folder.
const NAMING: [u32; 7] =
    [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418, 0x4020_bc10, 0x4018_6f04, 0x4008_6602];
/// Those of them that make a name.
const MAKING_NAMES: [u32; 6] =
    [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418, 0x4020_bc10, 0x4018_6f04];
/// `O_CREAT`.
const CREATES: u32 = 0o100;
/// `O_PATH`.
const PATH_ONLY: u32 = 0o10_000_000;
/// `S_ISUID` and `S_ISGID`.
const SET_IDS: u32 = 0o6000;
/// `O_CREAT`, and the bit of `O_TMPFILE` that is not `O_DIRECTORY`.
const MAKES: u32 = 0o20_000_100;

const UNIX: u32 = 1;
const INET: u32 = 2;
const INET6: u32 = 10;
const NETLINK: u32 = 16;

/// The bits of a socket's type that are no flags.
const TYPE_MASK: u32 = 0xf;

/// Streams and packets, whose other end cannot be changed. `SOCK_RAW` is a datagram to the kernel.
fn connected_pairs() -> Vec<u64> {
    const STREAM: u32 = 1;
    const PACKETS: u32 = 5;
    vec![
        load(argument(0)),
        jump(EQUAL, UNIX, 1, 0),
        refuse(libc::EAFNOSUPPORT),
        load(argument(1)),
        and(TYPE_MASK),
        jump(EQUAL, STREAM, 2, 0),
        jump(EQUAL, PACKETS, 1, 0),
        refuse(libc::ESOCKTNOSUPPORT),
        give(ALLOW),
    ]
}

/// Stream and datagram sockets over IP with the protocols that go with them; the list of
/// interfaces; what is said to Unix sockets.
fn internet(unix: u64) -> Vec<u64> {
    const RAW: u32 = 3;
    const TCP: u32 = 6;
    const UDP: u32 = 17;
    let protocols = {
        let mut check = vec![load(argument(1)), and(TYPE_MASK), jump(EQUAL, RAW, 0, 1)];
        check.push(refuse(libc::EPERM));
        check.extend(one_of(2, &[0, TCP, UDP], libc::EPROTONOSUPPORT));
        check
    };
    let netlink = one_of(2, &[0], libc::EPROTONOSUPPORT);
    let after = |program: &Vec<u64>| u8::try_from(program.len()).unwrap_or(u8::MAX);
    let mut all = vec![load(argument(0)), jump(EQUAL, UNIX, 0, 1), unix];
    all.push(jump(EQUAL, NETLINK, 0, after(&netlink)));
    all.extend(netlink);
    all.push(jump(EQUAL, INET, 2, 0));
    all.push(jump(EQUAL, INET6, 1, 0));
    all.push(refuse(libc::EAFNOSUPPORT));
    all.extend(protocols);
    all
}

fn unless_bits(index: u32, bits: u32, errno: i32) -> Vec<u64> {
    vec![load(argument(index)), jump(ANY_BIT, bits, 0, 1), refuse(errno), give(ALLOW)]
}

fn one_of(index: u32, values: &[u32], errno: i32) -> Vec<u64> {
    compare(index, values, give(ALLOW), refuse(errno))
}

fn none_of(index: u32, values: &[u32], errno: i32) -> Vec<u64> {
    compare(index, values, refuse(errno), give(ALLOW))
}

/// Looks for the low half of an argument among a few values.
fn compare(index: u32, values: &[u32], found: u64, other: u64) -> Vec<u64> {
    let mut program = vec![load(argument(index))];
    // From the last value it is one instruction over the other outcome, from those before more.
    for (value, distance) in values.iter().rev().zip(1..).collect::<Vec<_>>().into_iter().rev() {
        program.push(jump(EQUAL, *value, distance, 0));
    }
    program.extend([other, found]);
    program
}

const fn argument(index: u32) -> u32 {
    AT_ARGUMENTS.saturating_add(index.saturating_mul(8))
}
