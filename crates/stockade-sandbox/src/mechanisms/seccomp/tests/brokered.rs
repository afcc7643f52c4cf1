//! The filter of a sandbox with a broker: the calls that it is notified of.

use super::*;

const TOLD: u32 = 0x7fc0_0000;
const REFUSED: u32 = 0x0005_0001;

fn brokered() -> Vec<u64> {
    let filter = Filter { sockets: Sockets::Internet, tracing: Tracing::Forbidden };
    filter.compile(Names::Brokered)
}

fn given(call: libc::c_long, args: [u64; 3]) -> u32 {
    run(&brokered(), number(call), NATIVE, args)
}

#[test]
fn the_broker_is_told_of_every_call_that_makes_a_name() {
    for call in [
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_bind,
    ] {
        assert_eq!(given(call, [0; 3]), TOLD, "{call}");
    }
    #[cfg(target_arch = "x86_64")]
    for call in [
        libc::SYS_creat,
        libc::SYS_mkdir,
        libc::SYS_mknod,
        libc::SYS_link,
        libc::SYS_symlink,
        libc::SYS_rename,
    ] {
        assert_eq!(given(call, [0; 3]), TOLD, "{call}");
    }
    assert_eq!(given(libc::SYS_openat2, [0; 3]), 0x0005_0026);
    for call in [444, 445, 446, 469] {
        assert_eq!(given(call, [0; 3]), 0x0005_0026, "{call}");
    }
}

#[test]
fn the_broker_is_told_of_opening_only_if_a_name_may_be_made() {
    let creates = [0o100, 0o101, 0o1102, 0o2_000_301, 0o100 | 1 << 40];
    let others = [0, 2, 0o1001, 0o20_200_002, 0o10_000_100, 0o10_200_000];
    for flags in creates {
        assert_eq!(given(libc::SYS_openat, [0, 0, flags]), TOLD, "{flags:o}");
    }
    for flags in others {
        assert_eq!(given(libc::SYS_openat, [0, 0, flags]), ALLOWED, "{flags:o}");
    }
    #[cfg(target_arch = "x86_64")]
    {
        assert_eq!(given(libc::SYS_open, [0, 0o101, 0o644]), TOLD);
        assert_eq!(given(libc::SYS_open, [0, 0o101, 0o4644]), REFUSED);
        assert_eq!(given(libc::SYS_open, [0, 0o1, 0o4644]), ALLOWED);
        assert_eq!(given(libc::SYS_creat, [0, 0o2755, 0]), REFUSED);
    }
    assert_eq!(given(libc::SYS_mknodat, [0, 0, 0o104_755]), REFUSED);
}

#[test]
fn names_are_not_made_or_made_equal_in_secret() {
    for request in [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418, 0x4008_6602, 0x5412] {
        assert_eq!(given(libc::SYS_ioctl, [0, request, 0]), REFUSED, "{request:x}");
    }
    assert_eq!(given(libc::SYS_ioctl, [0, 0x8008_6601, 0]), ALLOWED);
    assert_eq!(given(libc::SYS_fcntl, [0, 1024, 0]), REFUSED);
    assert_eq!(given(libc::SYS_fcntl, [0, 1030, 0]), ALLOWED);
}

#[test]
fn all_else_is_as_without_a_broker() {
    let (free, told) = (filter(Sockets::Internet), brokered());
    // A jump that could not reach its place would kill.
    for call in 0..500 {
        assert_ne!(run(&told, call, NATIVE, [0; 3]), 0x8000_0000, "{call} of {}", told.len());
    }
    let differ =
        |call: &u32| run(&free, *call, NATIVE, [0; 3]) != run(&told, *call, NATIVE, [0; 3]);
    let different: Vec<u32> = (0..500).filter(differ).collect();
    let expected = if cfg!(target_arch = "x86_64") { 7 + 6 + 4 } else { 7 + 4 };
    assert_eq!(different.len(), expected, "{different:?}");
}
