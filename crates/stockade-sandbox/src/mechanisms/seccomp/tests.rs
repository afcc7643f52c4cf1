//! The filter's program, run by an interpreter of its few operations.

#![expect(clippy::arithmetic_side_effects, reason = "an overflow fails the test")]

mod brokered;

use super::*;

const ALLOWED: u32 = 0x7fff_0000;
const NATIVE: u32 = if cfg!(target_arch = "x86_64") { 0xc000_003e } else { 0xc000_00b7 };

/// The filter's result for a call.
fn run(program: &[u64], number: u32, architecture: u32, args: [u64; 3]) -> u32 {
    let mut data = [0_u8; 64];
    data[0..4].copy_from_slice(&number.to_ne_bytes());
    data[4..8].copy_from_slice(&architecture.to_ne_bytes());
    for (at, arg) in args.iter().enumerate() {
        data[16 + 8 * at..24 + 8 * at].copy_from_slice(&arg.to_ne_bytes());
    }
    let (mut at, mut value) = (0_usize, 0_u32);
    loop {
        let [c0, c1, yes, no, rest @ ..] = program[at].to_ne_bytes();
        let (code, k) = (u16::from_ne_bytes([c0, c1]), u32::from_ne_bytes(rest));
        let branch = |holds: bool| usize::from(if holds { yes } else { no });
        at += 1 + match code {
            0x20 => {
                let from = usize::try_from(k).unwrap();
                value = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
                0
            }
            0x54 => {
                value &= k;
                0
            }
            0x15 => branch(value == k),
            0x35 => branch(value >= k),
            0x45 => branch(value & k != 0),
            0x06 => return k,
            other => panic!("{other:x}"),
        };
    }
}

fn filter(sockets: Sockets) -> Vec<u64> {
    Filter { sockets, tracing: Tracing::Forbidden }.compile(Names::Free)
}

fn outcome(sockets: Sockets, call: libc::c_long, args: [u64; 3]) -> Result<(), i32> {
    match run(&filter(sockets), number(call), NATIVE, args) {
        ALLOWED => Ok(()),
        refused => Err(i32::try_from(refused & 0xffff).unwrap()),
    }
}

#[test]
fn every_call_of_the_table_is_refused_and_its_neighbours_are_not() {
    let program = filter(Sockets::Unix);
    let listed: Vec<_> = table::refused(Tracing::Forbidden).collect();
    for call in 0..470 {
        let given = run(&program, call, NATIVE, [0, 0, 0]);
        match listed.iter().find(|(number, _)| *number == call) {
            Some((_, Outcome::Errno(errno))) => {
                assert_eq!(given, 0x0005_0000 | u32::try_from(*errno).unwrap(), "{call}");
            }
            _ if [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_fallocate]
                .contains(&i64::from(call)) => {}
            _ => assert_eq!(given, ALLOWED, "{call}"),
        }
    }
}

#[test]
fn another_architecture_is_killed_and_unknown_calls_are_absent() {
    let program = filter(Sockets::Unix);
    assert_eq!(run(&program, 1, 0x4000_0003, [0; 3]), 0x8000_0000);
    for unknown in [470, 1000, 0x4000_0000, 0x4000_0029, u32::MAX] {
        assert_eq!(run(&program, unknown, NATIVE, [0; 3]), 0x0005_0026, "{unknown:x}");
    }
}

#[test]
fn sockets_are_those_of_the_listed_families() {
    let socket = |sockets, family, kind, protocol| {
        outcome(sockets, libc::SYS_socket, [family, kind, protocol])
    };
    for sockets in [Sockets::Unix, Sockets::Internet] {
        assert_eq!(socket(sockets, 1, 1, 0), Ok(()));
        for family in [17, 38, 40, 44, 31, 3, 29, 0, 45] {
            assert_eq!(socket(sockets, family, 1, 0), Err(libc::EAFNOSUPPORT), "{family}");
        }
    }
    assert_eq!(socket(Sockets::Unix, 2, 1, 0), Err(libc::EAFNOSUPPORT));
    assert_eq!(socket(Sockets::Pairs, 1, 1, 0), Err(libc::EAFNOSUPPORT));
    assert_eq!(outcome(Sockets::Pairs, libc::SYS_socketpair, [1, 1, 0]), Ok(()));
    let pair = |sockets, kind| outcome(sockets, libc::SYS_socketpair, [1, kind, 0]);
    for sockets in [Sockets::Pairs, Sockets::InternetAndPairs] {
        assert_eq!(socket(sockets, 1, 1, 0), Err(libc::EAFNOSUPPORT));
        assert_eq!(outcome(sockets, libc::SYS_socketpair, [2, 1, 0]), Err(libc::EAFNOSUPPORT));
        assert_eq!((pair(sockets, 0o2_000_001), pair(sockets, 5)), (Ok(()), Ok(())));
        for call in [libc::SYS_shmget, libc::SYS_shmat, libc::SYS_msgrcv, libc::SYS_semop] {
            assert_eq!(outcome(sockets, call, [1, 0, 0]), Err(libc::EPERM));
            assert_eq!(outcome(Sockets::Unix, call, [1, 0, 0]), Ok(()));
        }
        for kind in [2, 3, 0o2_000_002] {
            assert_eq!(pair(sockets, kind), Err(libc::ESOCKTNOSUPPORT));
            assert_eq!(pair(Sockets::Unix, kind), Ok(()));
        }
    }
    assert_eq!(socket(Sockets::InternetAndPairs, 2, 1, 6), Ok(()));
    for family in [2, 10] {
        assert_eq!(socket(Sockets::Internet, family, 0o2_004_001, 6), Ok(()));
        assert_eq!(socket(Sockets::Internet, family, 2, 17), Ok(()));
        assert_eq!(socket(Sockets::Internet, family, 0o2_000_003, 0), Err(libc::EPERM));
        assert_eq!(socket(Sockets::Internet, family, 1, 132), Err(libc::EPROTONOSUPPORT));
        assert_eq!(socket(Sockets::Internet, family, 1, 262), Err(libc::EPROTONOSUPPORT));
    }
    assert_eq!(socket(Sockets::Internet, 16, 3, 0), Ok(()));
    assert_eq!(socket(Sockets::Internet, 16, 3, 9), Err(libc::EPROTONOSUPPORT));
}

#[test]
fn the_upper_half_of_an_argument_changes_nothing() {
    let high = 0xdead_beef_0000_0000;
    for low in [0x5412, 0x541c, 0x541d, 0x5423] {
        for request in [low, low | high] {
            assert_eq!(outcome(Sockets::Unix, libc::SYS_ioctl, [0, request, 0]), Err(libc::EPERM));
        }
    }
    assert_eq!(outcome(Sockets::Unix, libc::SYS_ioctl, [0, 0x5401, 0]), Ok(()));
    assert_eq!(outcome(Sockets::Unix, libc::SYS_socket, [1 | high, 1, 0]), Ok(()));
}

#[test]
fn namespaces_and_listeners_are_refused_threads_and_filters_are_not() {
    let thread = 0x003d_0f00;
    assert_eq!(outcome(Sockets::Unix, libc::SYS_clone, [thread, 0, 0]), Ok(()));
    assert_eq!(outcome(Sockets::Unix, libc::SYS_unshare, [0x400, 0, 0]), Ok(()));
    for flag in
        [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
    {
        assert_eq!(outcome(Sockets::Unix, libc::SYS_clone, [flag | 0x11, 0, 0]), Err(libc::EPERM));
        assert_eq!(outcome(Sockets::Unix, libc::SYS_unshare, [flag, 0, 0]), Err(libc::EPERM));
    }
    assert_eq!(outcome(Sockets::Unix, libc::SYS_unshare, [0x80, 0, 0]), Err(libc::EPERM));
    assert_eq!(outcome(Sockets::Unix, libc::SYS_seccomp, [1, 8, 0]), Err(libc::EPERM));
    assert_eq!(outcome(Sockets::Unix, libc::SYS_seccomp, [1, 0, 0]), Ok(()));
}

#[test]
fn no_call_makes_a_file_that_lends_its_owner() {
    let outcome = |call, args| outcome(Sockets::Unix, call, args);
    for bits in [0o4000, 0o2000, 0o6000] {
        assert_eq!(outcome(libc::SYS_fchmod, [3, 0o755 | bits, 0]), Err(libc::EPERM));
        assert_eq!(outcome(libc::SYS_fchmodat, [3, 0, 0o755 | bits]), Err(libc::EPERM));
    }
    assert_eq!(outcome(libc::SYS_fchmodat, [3, 0, 0o1777]), Ok(()));
    // Without O_CREAT the register holds whatever was there.
    #[cfg(target_arch = "x86_64")]
    for (flags, mode, expected) in
        [(0o101, 0o4755, Err(libc::EPERM)), (0o1, 0o4755, Ok(())), (0o101, 0o755, Ok(()))]
    {
        assert_eq!(outcome(libc::SYS_open, [0, flags, mode]), expected);
    }
    assert_eq!(outcome(libc::SYS_openat2, [0; 3]), Err(libc::ENOSYS));
}

#[test]
fn a_lease_is_refused_and_a_lock_is_not() {
    let fcntl = |command: i32| {
        outcome(Sockets::Unix, libc::SYS_fcntl, [3, u64::try_from(command).unwrap(), 0])
    };
    assert_eq!(fcntl(libc::F_SETLEASE), Err(libc::EPERM));
    for command in [libc::F_GETLEASE, libc::F_SETLK, libc::F_DUPFD_CLOEXEC, libc::F_ADD_SEALS] {
        assert_eq!(fcntl(command), Ok(()));
    }
}

#[test]
fn room_on_the_disk_is_taken_by_writing_only() {
    let outcome = |call, args| outcome(Sockets::Unix, call, args);
    // Plain, of the same size, zeroed, unshared, zeroed on the device.
    for mode in [0, 1, 0x10, 0x11, 0x40, 0x80] {
        assert_eq!(outcome(libc::SYS_fallocate, [3, mode, 0]), Err(libc::EOPNOTSUPP), "{mode:x}");
    }
    for mode in [3, 8, 0x20] {
        assert_eq!(outcome(libc::SYS_fallocate, [3, mode, 0]), Ok(()), "{mode:x}");
    }
    for request in [0x4030_5828, 0x4030_582a, 0x4030_5839] {
        assert_eq!(outcome(libc::SYS_ioctl, [3, request, 0]), Err(libc::EPERM), "{request:x}");
    }
}

#[test]
fn the_program_is_small() {
    // So that every jump of a condition can reach its place, too.
    let len = filter(Sockets::Internet).len();
    assert!(len < 256, "{len}");
}

#[test]
fn the_first_process_of_a_box_is_not_limited_by_others() {
    let outcome = |call, args| outcome(Sockets::Unix, call, args);
    for (call, at) in [(libc::SYS_prlimit64, 0), (libc::SYS_setpriority, 1)] {
        let args = |process| if at == 0 { [process, 7, 0] } else { [0, process, 0] };
        assert_eq!(outcome(call, args(1)), Err(libc::EPERM));
        // A word that the kernel cuts to the same number.
        assert_eq!(outcome(call, args(0x1_0000_0001)), Err(libc::EPERM));
        assert_eq!((outcome(call, args(0)), outcome(call, args(2))), (Ok(()), Ok(())));
    }
}
