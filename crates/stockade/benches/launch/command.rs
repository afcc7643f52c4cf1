//! The command: as it is installed, for musl, and as `cargo build` makes it, for glibc.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ground::{Ground, PROGRAM, spawn};
use crate::stats::{Contestant, Kind, Target};

/// One way to build it.
#[derive(Debug, Clone, Copy)]
struct Build {
    libc: &'static str,
    target: Option<&'static str>,
    /// The variable that names another file.
    named_by: &'static str,
}

/// Those that are built, and a line about each that is not.
pub(crate) fn installed(ground: &Ground) -> (Vec<Installed>, Vec<String>) {
    let (mut commands, mut missing) = (Vec::new(), Vec::new());
    for build in builds() {
        match build.installed(ground) {
            Some(command) => commands.push(command),
            None => missing.push(build.missing()),
        }
    }
    (commands, missing)
}

/// All ways, the quicker one first.
fn builds() -> [Build; 2] {
    let musl = if cfg!(target_arch = "x86_64") {
        "x86_64-unknown-linux-musl"
    } else {
        "aarch64-unknown-linux-musl"
    };
    [
        Build { libc: "musl", target: Some(musl), named_by: "STOCKADE_BENCH_BINARY" },
        Build { libc: "glibc", target: None, named_by: "STOCKADE_BENCH_GLIBC_BINARY" },
    ]
}

/// Builds them, so that none of an older day is measured.
pub(crate) fn build() {
    let Some(cargo) = std::env::var_os("CARGO") else {
        println!("not run by cargo: the command is taken as it is");
        return;
    };
    for Build { libc, target, .. } in builds() {
        let mut build = Command::new(&cargo);
        build.args(["build", "--release", "--quiet", "--package", "stockade-cli"]);
        build.arg("--manifest-path").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
        build.args(target.iter().flat_map(|target| ["--target", target]));
        let is_built = build.status().unwrap().success();
        assert!(is_built || target.is_some(), "{build:?}");
        if !is_built {
            println!("not built for {libc}, and so not measured");
        }
    }
}

impl Build {
    /// A copy, as an installation makes it: what a linker has written page by page is mapped more
    /// slowly.
    fn installed(self, ground: &Ground) -> Option<Installed> {
        let built = self.file().filter(|file| file.is_file())?;
        let file = ground.folder(&format!("installed-{}", self.libc)).join("stockade");
        std::fs::copy(built, &file).unwrap();
        Some(Installed { libc: self.libc, file })
    }

    /// A line about one that is not there.
    fn missing(self) -> String {
        let target = self.target.map(|target| format!(" --target {target}")).unwrap_or_default();
        format!("the command for {}: not built (`cargo build --release{target}`)", self.libc)
    }

    fn file(self) -> Option<PathBuf> {
        let own = || {
            let program = std::env::current_exe().ok()?;
            let profile = program.parent()?.parent()?;
            match self.target {
                Some(target) => {
                    Some(profile.parent()?.join(target).join(profile.file_name()?).join("stockade"))
                }
                None => Some(profile.join("stockade")),
            }
        };
        std::env::var_os(self.named_by).map(PathBuf::from).or_else(own)
    }
}

/// A command that can be run.
#[derive(Debug)]
pub(crate) struct Installed {
    libc: &'static str,
    file: PathBuf,
}

impl Installed {
    /// What it costs to start it.
    pub(crate) fn version<'a>(&self) -> Contestant<'a> {
        let argv = [self.file.clone().into_os_string(), "--version".into()];
        let name = format!("`stockade --version`, for {}", self.libc);
        Contestant::new(name, Kind::Floor, None, move || spawn(&argv))
    }

    /// `stockade run` in both tiers.
    pub(crate) fn runs<'a>(&self, ground: &Ground) -> [Contestant<'a>; 2] {
        let one = |tier: &str, target| {
            let journal = ground.beside(&format!("command-{}-{tier}.jsonl", self.libc));
            let argv = self.run(tier, &ground.project(), &journal);
            let name = format!("`stockade run --tier {tier} -- /bin/true`, for {}", self.libc);
            Contestant::new(name, Kind::Ours, target, move || spawn(&argv))
        };
        [one("process", None), one("jail", Some(Target::Bubblewrap(0.95)))]
    }

    fn run(&self, tier: &str, project: &Path, journal: &Path) -> Vec<OsString> {
        let mut argv: Vec<OsString> = vec![self.file.clone().into()];
        argv.extend(["run", "--tier", tier, "--root"].map(OsString::from));
        argv.extend([project.into(), "--journal".into(), journal.into()]);
        argv.extend(["--", PROGRAM].map(OsString::from));
        argv
    }
}
