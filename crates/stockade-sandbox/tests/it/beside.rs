//! A sandbox that is made while the host goes on, and leaves the host while its locks are put on.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stockade_sandbox::{Mount, PoolSize, Program, Rule, SandboxPool, Status, rights, start};

use crate::boxes::closed;
use crate::made::{LIMITS, children_of};
use crate::roles::{command, said, say};
use crate::support::{finish, shell};

#[test]
fn one_that_is_dropped_as_soon_as_it_runs_is_gone_then() {
    for _ in 0..10 {
        let pool = SandboxPool::new(PoolSize::NoTemplates);
        let ready = pool.ready(closed("/bin/sh"), LIMITS).unwrap();
        let running = ready.run(Program::new(shell("sleep 60"), c"/bin/sh", c"/")).unwrap();
        let first = Path::new("/proc").join(running.pid().to_string());
        let program =
            fs::read_to_string(first.join("task").join(running.pid().to_string()).join("children"));
        let program = Path::new("/proc").join(program.unwrap().trim());
        drop(running);
        assert!(!runs(&program), "{program:?}");
    }
}

/// Whether a process is there, and has not ended.
fn runs(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// While the host's root lies over that of the sandbox, `..` at its root leads into the host's.
#[test]
fn a_rule_whose_path_climbs_or_is_a_link_is_about_what_the_box_has_there() {
    for path in [c"/usr/../own", c"/link"] {
        for _ in 0..10 {
            let mut jail = closed("/bin/sh");
            let root = jail.root.as_mut().unwrap();
            let (bytes_max, files_max, mode) = (1 << 20, 10, 0o777);
            root.push(Mount::Memory { target: c"/own".to_owned(), bytes_max, files_max, mode });
            root.push(Mount::Link { target: c"/link".to_owned(), to: c"../own".to_owned() });
            let rule = Rule { path: path.to_owned(), rights: rights::READ | rights::WRITE };
            jail.landlock.as_mut().unwrap().rules.push(rule);
            let ready = SandboxPool::new(PoolSize::NoTemplates).ready(jail, LIMITS).unwrap();
            let line = "echo ok > /own/file && cat /own/file";
            let (ended, out, err) =
                finish(&mut ready.run(Program::new(shell(line), c"/bin/sh", c"/")).unwrap());
            assert_eq!((ended.status, out.trim()), (Status::Code(0), "ok"), "{path:?}: {err}");
        }
    }
}

#[test]
fn a_host_that_has_no_descriptor_left_gets_an_error_and_leaves_nothing() {
    let output = command("lacks-descriptors").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((said(&told, "last"), said(&told, "left")), ("ran", "0"));
    assert_ne!(said(&told, "refused"), "0");
}

pub(crate) fn start_without_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let mut refused = 0;
    for more in 0..60 {
        setrlimit(Resource::Nofile, limit).unwrap();
        let program = shell("echo ran");
        let open = fs::read_dir("/proc/self/fd").unwrap().count();
        let current = u64::try_from(open.saturating_add(more)).ok();
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
        match start(program) {
            Ok(mut run) => say("last", finish(&mut run).1.trim()),
            Err(_) => refused = u32::saturating_add(refused, 1),
        }
    }
    setrlimit(Resource::Nofile, limit).unwrap();
    say("refused", refused);
    say("left", children_of(std::process::id()).len());
}
