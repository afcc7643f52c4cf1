//! How long the turns of our own processes are, and those of the programs.

use std::io;

use stockade_sandbox::{Origin, PoolSize, Program, Running, SandboxPool, start};

use crate::boxes::closed;
use crate::made::{LIMITS, children_of};
use crate::support::{shell, skip};

/// The shortest that Linux has.
const SHORT_NS: u64 = 100_000;

#[test]
fn programs_have_those_of_the_host_and_what_keeps_them_has_short_ones() {
    let own = turn_ns(0);
    if own == 0 {
        return skip("the length of a turn cannot be chosen before Linux 6.12");
    }
    assert_ne!(own, SHORT_NS);
    let plain = start(shell("sleep 60")).unwrap();
    assert_eq!(turn_ns(plain.pid()), own);
    for origin in [Origin::Made, Origin::Copied, Origin::Waiting] {
        let boxed = boxed(origin);
        assert_eq!(
            (turn_ns(boxed.pid()), turn_ns(program_in(&boxed))),
            (SHORT_NS, own),
            "{origin:?}"
        );
    }
}

#[test]
fn programs_have_those_that_were_chosen_for_the_host() {
    const CHOSEN_NS: u64 = 5_000_000;
    if turn_ns(0) == 0 {
        return skip("the length of a turn cannot be chosen before Linux 6.12");
    }
    // They are a thread's.
    let thread = std::thread::spawn(|| {
        choose(CHOSEN_NS);
        let plain = start(shell("sleep 60")).unwrap();
        let boxed = boxed(Origin::Made);
        [turn_ns(0), turn_ns(plain.pid()), turn_ns(program_in(&boxed))]
    });
    assert_eq!(thread.join().unwrap(), [CHOSEN_NS; 3]);
}

fn boxed(origin: Origin) -> Running {
    let warmth = match origin {
        Origin::Made => PoolSize::NoTemplates,
        Origin::Copied => PoolSize::Templates { spares: 0 },
        Origin::Waiting => PoolSize::Templates { spares: 1 },
    };
    let pool = SandboxPool::new(warmth);
    let mut boxes = (0..10_000).map(|_| pool.ready(closed("/bin/sh"), LIMITS).unwrap());
    let ready = boxes.find(|ready| ready.origin() == origin).unwrap();
    ready.run(Program::new(shell("sleep 60"), c"/bin/sh", c"/")).unwrap()
}

/// The program of a sandbox, whose init is known.
fn program_in(boxed: &Running) -> i32 {
    let program = children_of(boxed.pid().try_into().unwrap()).into_iter().next().unwrap();
    program.try_into().unwrap()
}

/// `struct sched_attr` of its first version.
#[derive(Default)]
#[repr(C)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    turn_ns: u64,
    deadline: u64,
    period: u64,
}

fn turn_ns(pid: i32) -> u64 {
    let mut found = Scheduling::default();
    let size = size_of::<Scheduling>();
    // SAFETY: the kernel writes as many bytes as it is told, which the struct has.
    let asked = unsafe { libc::syscall(libc::SYS_sched_getattr, pid, &raw mut found, size, 0) };
    assert_eq!(asked, 0, "{}", io::Error::last_os_error());
    found.turn_ns
}

fn choose(turn_ns: u64) {
    let size = size_of::<Scheduling>().try_into().unwrap();
    let asked = Scheduling { size, turn_ns, ..Scheduling::default() };
    // SAFETY: the kernel reads as many bytes as the struct says that it has.
    let chosen = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const asked, 0) };
    assert_eq!(chosen, 0, "{}", io::Error::last_os_error());
}
