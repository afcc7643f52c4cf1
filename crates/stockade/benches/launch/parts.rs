//! What each part of a box adds to a launch that makes one from nothing.

use stockade_sandbox::{
    CgroupLimits, Filter, Jail, Nesting, Network, PoolSize, Program, SandboxPool, Sockets, Status,
    Tracing, signal_scope, start,
};

use crate::ground::Ground;
use crate::launches::bare;
use crate::spare::{LIMITS, c_path, c_program, landlock, root, spec};
use crate::stats::{Contestant, Kind, in_turn, ratio, rounds};
use crate::table::{Table, millis};

/// The filter of a box without a network.
const FILTER: Filter = Filter { sockets: Sockets::Unix, tracing: Tracing::Forbidden };

/// Adds a part to a box.
type Add<'a> = Box<dyn Fn(&mut Jail, &mut CgroupLimits) + 'a>;

pub(crate) fn measure(ground: &Ground) -> String {
    let cwd = c_path(&ground.project());
    let parts: Vec<(&str, Add<'_>)> = vec![
        ("user, mount, pid, ipc, uts and cgroup namespaces; no capabilities", Box::new(|_, _| ())),
        ("a limit on namespaces in it", Box::new(|jail, _| jail.nesting = Nesting::Forbidden)),
        ("a root of its own", Box::new(|jail, _| jail.root = Some(root(&cwd)))),
        ("Landlock", Box::new(|jail, _| jail.landlock = Some(landlock(&cwd)))),
        ("the filter of system calls", Box::new(|jail, _| jail.filter = Some(FILTER))),
        ("cgroups for memory and tasks", Box::new(|_, limits| *limits = LIMITS)),
        ("a network namespace", Box::new(|jail, _| jail.network = Network::None)),
    ];
    let mut rows = vec![bare(), Contestant::new("the shim, no box", Kind::Part, None, kept)];
    for last in 0..parts.len() {
        let (parts, cwd) = (&parts, &cwd);
        rows.push(Contestant::new(format!("+ {}", parts[last].0), Kind::Part, None, move || {
            let mut jail = Jail::new(&c_program(), cwd);
            (jail.network, jail.nesting, jail.filter) = (Network::Host, Nesting::Allowed, None);
            let mut limits = CgroupLimits::default();
            parts[..=last].iter().for_each(|(_, add)| add(&mut jail, &mut limits));
            boxed(jail, limits, cwd);
        }));
    }
    let head =
        ["with this too", "median, ms", "p99, ms", "more than the row above, ms", "bare = 1"];
    let mut table = Table::new(&head);
    let (measured, mut before) = (in_turn(&mut rows, rounds()), 0.0);
    let bare = measured[0].1.median;
    for (row, spread) in measured {
        let now = spread.median.as_secs_f64() * 1e3;
        table.row([
            row.name,
            millis(spread.median),
            millis(spread.p99),
            format!("{:+.2}", now - before),
            format!("{:.2}", ratio(spread.median, bare)),
        ]);
        before = now;
    }
    table.to_string()
}

/// A run that a shim holds, without a box.
fn kept() {
    let mut spec = spec();
    spec.signal_scope = signal_scope().unwrap();
    assert_eq!(start(spec).unwrap().wait().unwrap().status, Status::Code(0));
}

/// A run in a box that is made from nothing and removed.
fn boxed(jail: Jail, limits: CgroupLimits, cwd: &std::ffi::CStr) {
    let ready = SandboxPool::new(PoolSize::NoTemplates).ready(jail, limits).unwrap();
    let mut running = ready.run(Program::new(spec(), &c_program(), cwd)).unwrap();
    assert_eq!(running.wait().unwrap().status, Status::Code(0));
}
