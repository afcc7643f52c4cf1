//! Runs an attacker, bare or in a sandbox, and hears its answer.

#[path = "../../../../stockade/tests/shared/program.rs"]
mod program;

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use stockade_sandbox::{Mechanism, Running, Spec, Status, Stdin, start_jailed};

use self::program::copy_program;
use super::attack::{Attack, Reason};
use super::attacker::{ANSWER, ARGS, ATTACK, FACT, PLACE};
use super::boxes;
use super::calls::call;
use super::scene::Scene;

/// What came of an attempt, in the attacker's own words or by its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It got this.
    Reached(String),
    /// It was stopped.
    Stopped(Reason),
    /// It ended in another way, which no attack should.
    Unclear(String),
}

/// Runs the attack without a sandbox, as this process's user.
pub(crate) fn bare(attack: &Attack, scene: &Scene) -> Answer {
    let leaked = opened(&scene.at("outside"));
    #[expect(clippy::disallowed_methods, reason = "the control half runs outside every box")]
    let mut command = Command::new(program());
    command.args(ARGS).env_clear().current_dir(scene.at("project")).stdin(Stdio::null());
    command.envs(environment(attack, scene));
    let leak = move || call(libc::SYS_dup3, &[leaked.as_raw_fd() as usize, LEAKED, 0]).map(drop);
    // SAFETY: between fork and exec there is one system call, which takes no memory.
    let command = unsafe { command.pre_exec(leak) };
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    answer(&words, &errors, output.status.signal())
}

/// The descriptor of a host's folder that is not closed, without a sandbox.
pub(crate) const LEAKED: usize = 50;

/// Runs the attack in the standard sandbox with these mechanisms left out.
pub(crate) fn boxed(attack: &Attack, scene: &Scene, left_out: &[Mechanism]) -> Answer {
    let mut jail = boxes::standard(scene, program(), left_out);
    jail.forbidden = attack.forbids.iter().map(|path| boxes::text(&scene.at(path))).collect();
    let words = std::iter::once(program().to_str().unwrap()).chain(ARGS);
    let text = |text: &str| boxes::text(Path::new(text));
    let env = environment(attack, scene);
    let spec = Spec {
        program: opened(program()),
        script: None,
        argv: words.map(text).collect(),
        env: env.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect(),
        // Not used by a sandbox, and so a descriptor of the host that the program must not get.
        cwd: opened(&scene.at("outside")),
        stdin: Stdin::Empty,
        merges_output: false,
        rlimits: boxes::rlimits(),
        processes_max: None,
        signal_scope: None,
    };
    match start_jailed(spec, jail) {
        Ok(mut run) => hear(&mut run),
        Err(error) => Answer::Unclear(format!("not started: {error}: {}", error.errno)),
    }
}

fn environment(attack: &Attack, scene: &Scene) -> Vec<(String, String)> {
    let mut all = vec![
        ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        (ATTACK.to_owned(), attack.name().to_owned()),
        (PLACE.to_owned(), scene.path().to_str().unwrap().to_owned()),
    ];
    let facts = scene.facts().iter();
    all.extend(facts.map(|(name, value)| (format!("{FACT}{name}"), value.clone())));
    all
}

fn hear(run: &mut Running) -> Answer {
    const PATIENCE: Duration = Duration::from_secs(30);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let ended = loop {
        let ended = run.try_ended().unwrap();
        drain(run.stdout(), &mut out);
        drain(run.stderr(), &mut err);
        if let Some(ended) = ended {
            break ended;
        }
        if start.elapsed() > PATIENCE {
            run.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    };
    let signal = if let Status::Signal(signal) = ended.status { Some(signal) } else { None };
    answer(&String::from_utf8_lossy(&out), &String::from_utf8_lossy(&err), signal)
}

fn drain(from: BorrowedFd<'_>, into: &mut Vec<u8>) {
    let mut file = File::from(from.try_clone_to_owned().unwrap());
    if let Err(error) = file.read_to_end(into) {
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

fn answer(out: &str, err: &str, signal: Option<i32>) -> Answer {
    let mut said = out.lines().filter_map(|line| line.strip_prefix(ANSWER));
    let words = said.next().and_then(|words| words.split_once(' '));
    match (words, signal) {
        (Some(("reached", loot)), _) => Answer::Reached(loot.to_owned()),
        (Some(("errno", number)), _) => Answer::Stopped(Reason::Errno(number.parse().unwrap())),
        (Some(("nothing", _)), _) => Answer::Stopped(Reason::Nothing),
        (_, Some(signal)) => Answer::Stopped(Reason::Signal(signal)),
        _ => Answer::Unclear(format!("{out}{err}")),
    }
}

/// A copy of this test binary where everybody can execute it, removed when the tests are over.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = copied();
        copy_program(std::env::current_exe().unwrap(), &path);
        // SAFETY: the function takes nothing and does not unwind.
        let registered = unsafe { libc::atexit(remove_copy) };
        assert_eq!(registered, 0);
        path
    })
}

fn copied() -> PathBuf {
    format!("/var/tmp/stockade-escape-attacker-{}", std::process::id()).into()
}

extern "C" fn remove_copy() {
    // A copy that is gone already needs no removing, and nobody could be told at this point.
    let _gone = fs::remove_file(copied());
}

fn opened(path: &Path) -> OwnedFd {
    File::open(path).unwrap().into()
}
