//! A project and a home of somebody, and the binary under test there.

#[path = "../../../stockade/tests/shared/skip.rs"]
mod skip;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

pub(crate) use self::skip::skip;

const NOBODY: u32 = 65_534;
/// Where a box looks for programs too.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// As whom something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever runs the tests.
    Caller,
    /// An ordinary user, which only root can become.
    Nobody,
}

/// A folder with a project, a home and a copy of the binary, all of somebody.
pub(crate) struct Somebody {
    pub(crate) who: Who,
    folder: tempfile::TempDir,
}

/// Does something as everybody that the caller can be, if there are boxes here.
pub(crate) fn as_everybody(work: impl Fn(&Somebody)) {
    let nobody = is_root().then_some(Who::Nobody);
    for who in std::iter::once(Who::Caller).chain(nobody) {
        let somebody = Somebody::new(who);
        let report = somebody.stockade(&["--", "true"]);
        if report["failure"]["message"].as_str().is_some_and(|why| why.contains("namespace")) {
            skip("userns", "user namespaces are forbidden here");
            return;
        }
        assert_eq!(report["ok"], true, "{who:?}: {report}");
        work(&somebody);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

impl Somebody {
    pub(crate) fn new(who: Who) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let somebody = Self { who, folder };
        for name in ["work", "home", "state", "tmp"] {
            fs::create_dir(somebody.beside(name)).unwrap();
            somebody.give(&somebody.beside(name));
        }
        let (built, own) = (Path::new(env!("CARGO_BIN_EXE_stockade")), somebody.beside("stockade"));
        // The folder it was built in need not be one that others can enter.
        fs::hard_link(built, &own).or_else(|_| fs::copy(built, &own).map(drop)).unwrap();
        somebody
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.beside("home")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.beside("work").join(name)
    }

    /// Makes this somebody the owner.
    pub(crate) fn give(&self, path: &Path) {
        if self.who == Who::Nobody {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Writes a file into the project, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        for made in path.ancestors().take_while(|above| *above != self.beside("work")) {
            self.give(made);
        }
    }

    /// A program outside of any box, in the project.
    pub(crate) fn outside(&self, argv: &[&str]) -> Command {
        let (program, rest) = argv.split_first().unwrap();
        let mut command = Command::new(program);
        command
            .args(rest)
            .current_dir(self.beside("work"))
            .env_clear()
            .env("PATH", SEARCH_PATH)
            .env("HOME", self.home())
            .env("XDG_STATE_HOME", self.beside("state"))
            .env("TMPDIR", self.beside("tmp"))
            .stdin(Stdio::null());
        if self.who == Who::Nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// What a script prints in the project without any box.
    pub(crate) fn control(&self, script: &str) -> String {
        let output = self.outside(&["bash", "-ec", script]).output().unwrap();
        assert!(output.status.success(), "{:?}: {script}: {output:?}", self.who);
        String::from_utf8(output.stdout).unwrap()
    }

    /// `stockade run` in the jail with these options and words.
    pub(crate) fn stockade(&self, args: &[&str]) -> Value {
        let own = self.beside("stockade");
        let own = own.to_str().unwrap();
        let words = [&[own, "run", "--json", "--tier", "jail"], args].concat();
        let output = self.outside(&words).output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        let report = serde_json::from_str(&told);
        assert!(report.is_ok(), "{args:?}: {output:?}");
        report.unwrap()
    }

    /// Runs a program in the jail, which must end well, and gives what it printed.
    #[track_caller]
    pub(crate) fn boxed(&self, args: &[&str]) -> String {
        let report = self.stockade(args);
        assert_eq!(report["ok"], true, "{:?}: {args:?}: {report}", self.who);
        report["stdout"].as_str().unwrap().to_owned()
    }
}

/// Where a program of the system is, if it is there; `STOCKADE_TEST_REQUIRES` may want it to be.
pub(crate) fn has(program: &str) -> bool {
    let found = SEARCH_PATH.split(':').any(|folder| Path::new(folder).join(program).exists());
    if !found {
        skip(program, &format!("there is no {program} here"));
    }
    found
}
