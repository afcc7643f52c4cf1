//! Each mechanism holds against an attack that succeeds once it is left out: the tests can fail.

use stockade_sandbox::{Jail, Mechanism, start_jailed};

use crate::attest::everything;
use crate::boxes::run;
use crate::locks::{attacker, results};
use crate::roles::payload;
use crate::support::finish;

/// Mechanisms that are left out, an attack, and what it prints when it succeeds.
const ATTACKS: [(&[Mechanism], &str, &str); 7] = [
    (&[Mechanism::HiddenPaths], "cat .env", "secret"),
    (&[Mechanism::ProtectedPaths], "echo evil > .git/config; cat .git/config", "evil\n"),
    (&[Mechanism::ProtectedPaths], "mv .git g2 && ls g2", "config\n"),
    (&[Mechanism::Root, Mechanism::Landlock], "touch /made && ls /made", "/made\n"),
    (&[Mechanism::Landlock], "cat /.stockade-canary && echo read", "read\n"),
    (&[Mechanism::Filter], "cp /bin/true f && chmod u+s f && test -u f && echo lent", "lent\n"),
    (&[Mechanism::Broker], "echo evil > .mcp.json; cat .mcp.json", "evil\n"),
];

#[test]
fn an_attack_succeeds_where_its_mechanism_is_left_out_and_only_there() {
    for (mechanisms, attack, success) in ATTACKS {
        let (_folder, jail) = everything();
        assert_ne!(run(jail, attack).1, success, "{attack}");
        // Two locks on one thing: each of them alone holds.
        if let [_, _, ..] = mechanisms {
            for one in mechanisms {
                let (_folder, mut jail) = everything();
                jail.faults.left_out.push(*one);
                assert_ne!(run(jail, attack).1, success, "{attack} without {one}");
            }
        }
        let (_folder, mut jail) = everything();
        jail.faults.left_out.extend(mechanisms);
        let (_, out, err) = run(jail, attack);
        assert_eq!(out, success, "{attack} without {mechanisms:?}: {err}");
    }
}

/// Mechanisms that are left out, and the system call that then succeeds.
const CALLS: [(&[Mechanism], &str); 4] = [
    (&[Mechanism::Filter], "inet"),
    (&[Mechanism::Filter], "netlink"),
    (&[Mechanism::Landlock], "signal-first"),
    (&[Mechanism::Filter, Mechanism::NoNesting], "clone-user"),
];

#[test]
fn a_call_succeeds_where_its_mechanism_is_left_out_and_only_there() {
    let errno = |jail: Jail, call: &str| {
        let (_, out, err) = finish(&mut start_jailed(payload("attacks"), jail).unwrap());
        *results(&out).get(call).unwrap_or_else(|| panic!("{call}: {out}{err}"))
    };
    for (mechanisms, call) in CALLS {
        if call == "signal-first" && !crate::scope::available() {
            continue;
        }
        assert_ne!(errno(attacker(), call), 0, "{call}");
        if let [_, _, ..] = mechanisms {
            for one in mechanisms {
                let mut jail = attacker();
                jail.faults.left_out.push(*one);
                assert_ne!(errno(jail, call), 0, "{call} without {one}");
            }
        }
        let mut jail = attacker();
        jail.faults.left_out.extend(mechanisms);
        assert_eq!(errno(jail, call), 0, "{call} without {mechanisms:?}");
    }
}
