//! What this machine is said to be able to do is what it does.

use std::io::{Write, stderr};

use stockade_sandbox::{
    Controller, Errno, Jail, Landlock, Rule, StartError, Step, capabilities, landlock_abi, rights,
    start_jailed,
};

use crate::locks::attacker;
use crate::roles::{self, payload, said, say};
use crate::support::{bare, finish, is_root, shell};

#[test]
fn what_can_be_done_was_tried() {
    let found = capabilities();
    writeln!(stderr().lock(), "{found:#?}").unwrap();
    assert_eq!(found.landlock_abi, landlock_abi());
    assert_eq!(found.filter, Ok(()));
    // The other tests of sandboxes need these.
    assert_eq!((found.namespaces, found.network, found.root), (Ok(()), Ok(()), Ok(())));
    let named: Vec<_> = found.cgroups.iter().map(|(controller, _)| *controller).collect();
    assert_eq!(named, [Controller::Memory, Controller::Tasks, Controller::Cpu]);
    let any = found.cgroups.iter().any(|(_, limited)| limited.is_ok());
    assert!(any || !is_root() || !std::path::Path::new("/sys/fs/cgroup/memory").exists());
}

/// As on a machine whose administrator has switched them off.
#[test]
fn namespaces_that_are_forbidden_are_found_to_be() {
    if is_root() {
        return;
    }
    let role = roles::command("capabilities");
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\"";
    let mut command = bare("unshare");
    command.args(["--user", "--map-current-user", "--keep-caps", "sh", "-c", forbid]);
    command.arg(role.get_program()).args(role.get_args());
    command.envs(role.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let refused = format!("{:?}", StartError { step: Step::CloneBox, errno: Errno::NOSPC });
    assert_eq!(said(&text, "namespaces"), format!("Err({refused})"), "{text}");
    assert_eq!(said(&text, "root"), format!("Err({refused})"), "{text}");
}

/// As in a container whose filter refuses namespaces: a sandbox of ours is such a container.
#[test]
fn in_a_box_no_box_can_be_made_but_locks_can_be_put_on() {
    let mut run = start_jailed(payload("capabilities"), attacker()).unwrap();
    let (_, out, err) = finish(&mut run);
    let refused = format!("{:?}", StartError { step: Step::CloneBox, errno: Errno::PERM });
    assert_eq!(said(&out, "namespaces"), format!("Err({refused})"), "{err}");
    assert_eq!(said(&out, "locked"), "Code(8)", "{err}");
}

/// Says what can be done, as a role.
pub(crate) fn say_capabilities() {
    let found = capabilities();
    say("namespaces", format!("{:?}", found.namespaces));
    say("root", format!("{:?}", found.root));
    let rule = Rule { path: c"/usr".to_owned(), rights: rights::READ };
    let null = Rule { path: c"/dev/null".to_owned(), rights: rights::READ | rights::WRITE };
    let jail = Jail::locks_only(c"/bin/sh", Landlock { rules: vec![rule, null] });
    let line = "touch /tmp/x 2>/dev/null && exit 1; exit 8";
    let ended = start_jailed(shell(line), jail).unwrap().wait().unwrap();
    say("locked", format!("{:?}", ended.status));
}
