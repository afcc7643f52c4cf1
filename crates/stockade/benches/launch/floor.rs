//! The least that a box can cost, by a program in C that makes one and does nothing else.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::ground::{Ground, spawn};
use crate::stats::{Contestant, Kind};

/// The program, and the project that its boxes show.
#[derive(Clone)]
pub(crate) struct Floor {
    program: PathBuf,
    project: PathBuf,
}

impl Floor {
    /// Compiles it; or says why there is none.
    pub(crate) fn build(ground: &Ground) -> Result<Self, String> {
        let folder = ground.folder("floor");
        let (source, program) = (folder.join("floor.c"), folder.join("floor"));
        std::fs::write(&source, include_str!("floor.c")).unwrap();
        compile(&source, &program)?;
        let floor = Self { program, project: ground.project() };
        let tried = floor.command("own").output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&tried.stderr);
        let works = tried.status.success();
        works.then_some(floor).ok_or_else(|| format!("does not work here ({})", said.trim()))
    }

    /// What such a box costs within a process, and as a command of its own.
    pub(crate) fn contestants<'a>(&self) -> Vec<Contestant<'a>> {
        let within = |name: &str, network: &'static str| {
            let floor = self.clone();
            let name = format!("the floor: a box in C by the caller itself, {name}");
            let mut one = Contestant::new(name, Kind::Floor, None, || {});
            one.once = Box::new(move || vec![Duration::from_nanos(floor.told(network, &["once"]))]);
            one
        };
        let floor = self.clone();
        let command = "the floor: a box in C as a command, own network namespace";
        let argv = [floor.program.into_os_string(), "own".into(), floor.project.into()];
        vec![
            within("own network namespace", "own"),
            within("the host's network", "host"),
            Contestant::new(command, Kind::Floor, None, move || spawn(&argv)),
        ]
    }

    /// How many boxes a second there can be, so many at once, that share an empty network.
    pub(crate) fn per_second(&self, in_flight: usize, time: Duration) -> f64 {
        let millis = time.as_millis().to_string();
        let count = self.told("one", &[&in_flight.to_string(), &millis]);
        f64::from(u32::try_from(count).unwrap()) / time.as_secs_f64()
    }

    fn command(&self, network: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(network).arg(&self.project).stdin(Stdio::null());
        command
    }

    fn told(&self, network: &str, args: &[&str]) -> u64 {
        let output = self.command(network).args(args).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }
}

/// Compiles a program that needs no library at run time.
pub(crate) fn compile(source: &Path, program: &Path) -> Result<(), String> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-static", "-O2", "-o"]).arg(program).arg(source);
    let made = gcc.stdout(Stdio::null()).stderr(Stdio::null()).status();
    let made = made.map_err(|_none| "no `gcc` here".to_owned())?;
    made.success().then_some(()).ok_or_else(|| "not compiled by the `gcc` here".to_owned())
}
