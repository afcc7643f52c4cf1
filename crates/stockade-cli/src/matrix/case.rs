//! The calls of the battery, as data: what each runs, and how one sees from outside that it worked.
//!
//! Every attack has a bound of its own, so that it can be run bare.

use stockade::guarantee::Guarantee;

use super::run::{CaseResult, Effect};

/// What the canary holds.
pub(super) const CANARY: &str = "what only those outside may read";
/// What the supervisor has in its environment.
pub(super) const SECRET: &str = "5e55f3b1c0ffee";

/// One call.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What it tries; none for the legal call.
    pub(super) guarantee: Option<Guarantee>,
    /// Options of `stockade run`.
    pub(super) options: &'static [&'static str],
    pub(super) shell: &'static str,
    /// CANARY, OUTSIDE and PORT stand for what the ground has.
    pub(super) script: &'static str,
    pub(super) meanwhile: Meanwhile,
    /// What is seen if it worked.
    pub(super) worked: fn(&CaseResult) -> Option<&'static str>,
}

/// What happens outside while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    /// It is told its supervisor's number.
    SupervisorIsTold,
    /// Its supervisor is killed.
    SupervisorIsKilled,
}

const PLAIN: Case = Case {
    name: "",
    guarantee: None,
    options: &[],
    shell: "sh",
    script: "",
    meanwhile: Meanwhile::Nothing,
    worked: |_| None,
};

/// A child of the shell, so that the end of the shell alone does not end it. What it has counted is never
/// gone, not even for a moment.
const BEATS: &str = "(i=0; while :; do i=$((i+1)); echo $i >> beat; sleep 0.1; done) &\nwait\n";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a legal call",
        script: "cat greeting\n",
        worked: |seen| (seen.stdout != "hello\n").then_some("it did not run"),
        ..PLAIN
    },
    Case {
        name: "a run past its deadline",
        guarantee: Some(Guarantee::Limits),
        options: &["--timeout", "2s"],
        script: BEATS,
        worked: |seen| seen.shows(Effect::GoesOn).then_some("it ran on"),
        ..PLAIN
    },
    Case {
        name: "256 MiB where 64 are allowed",
        guarantee: Some(Guarantee::TreeLimits),
        options: &["--memory", "64M"],
        script: "x=0123456789abcdef\ni=0\n\
                 while [ $i -lt 24 ]; do x=$x$x; i=$((i+1)); done\necho has ${#x}\n",
        worked: |seen| seen.stdout.contains("has 268435456").then_some("it had all of it"),
        ..PLAIN
    },
    Case {
        name: "400 processes where 20 are allowed",
        guarantee: Some(Guarantee::TreeLimits),
        options: &["--processes", "20"],
        // A shell gives up at the first fork that is refused; the one around it forks no more.
        script: "(i=0; while [ $i -lt 400 ]; do sleep 60 & i=$((i+1)); done; sleep 3; echo has $i) && exit 0\n\
                 while :; do :; done\n",
        worked: |seen| seen.stdout.contains("has 400").then_some("all of them ran"),
        ..PLAIN
    },
    Case {
        name: "40 MB of output",
        guarantee: Some(Guarantee::Output),
        script: "yes 0123456789abcdef | head -c 40000000\n",
        worked: |seen| (seen.stdout.len() >= 40_000_000).then_some("the caller holds all of it"),
        ..PLAIN
    },
    Case {
        name: "a read of a file outside",
        guarantee: Some(Guarantee::Reads),
        script: "cat CANARY\nexit 0\n",
        worked: |seen| seen.stdout.contains(CANARY).then_some("it has what is in the file"),
        ..PLAIN
    },
    Case {
        name: "a write to a file outside",
        guarantee: Some(Guarantee::Writes),
        script: "echo written > OUTSIDE\nexit 0\n",
        worked: |seen| seen.shows(Effect::WroteOutside).then_some("the file is changed"),
        ..PLAIN
    },
    Case {
        name: "a connection to a service of this machine",
        guarantee: Some(Guarantee::Network),
        shell: "bash",
        script: "exec 3<>/dev/tcp/127.0.0.1/PORT\nexit 0\n",
        worked: |seen| seen.shows(Effect::Connected).then_some("the service was reached"),
        ..PLAIN
    },
    Case {
        name: "a secret in the supervisor's environment",
        guarantee: Some(Guarantee::Environment),
        script: "env\ncat /proc/[0-9]*/environ 2>/dev/null | grep -a -o 'BATTERY_SECRET=[a-z0-9]*'\n\
                 exit 0\n",
        worked: |seen| seen.stdout.contains(SECRET).then_some("it has the secret"),
        ..PLAIN
    },
    Case {
        name: "a kill of the supervisor",
        guarantee: Some(Guarantee::Processes),
        script: "until [ -s supervisor ]; do sleep 0.1; done\nread -r pid < supervisor\n\
                 kill -9 $pid\nsleep 1\nexit 0\n",
        meanwhile: Meanwhile::SupervisorIsTold,
        worked: |seen| seen.shows(Effect::KilledItsSupervisor).then_some("the supervisor is dead"),
        ..PLAIN
    },
    Case {
        name: "a life after the supervisor's death",
        guarantee: Some(Guarantee::Processes),
        script: BEATS,
        meanwhile: Meanwhile::SupervisorIsKilled,
        worked: |seen| seen.shows(Effect::GoesOn).then_some("it ran on"),
        ..PLAIN
    },
];
