//! A project in a throw-away folder, with everything in it that could lead a call astray.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};
use stockade::call::ToolCall;
use stockade::gate::{Examination, Examiner};
use stockade::inspect::Root;
use stockade::outcome::Outcome;
use stockade::policy::{self, Policy, Profile};
use stockade::tier::Tier;
use stockade::{Builder, Report, Stockade};

/// The folder `work`, which is the root, and what lies around it.
pub(crate) struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for folder in
            ["work/src/deep", "work/sub", "work/a b", "work/http:", "work-evil", "outside"]
        {
            fs::create_dir_all(project.beside(folder)).unwrap();
        }
        for (file, text) in FILES {
            fs::write(project.beside(file), text).unwrap();
        }
        for file in
            ["work/build.sh", "work/wipe", "work/busybox-x", "outside/tool", "work/my\u{fffd}tool"]
        {
            project.make_executable(file);
        }
        for (link, target) in LINKS {
            symlink(project.filled(target), project.beside(link)).unwrap();
        }
        for (name, program) in [("rm", "/bin/rm"), ("bash", "/bin/bash")] {
            symlink(program, project.beside(&format!("work/{name}-link"))).unwrap();
            fs::copy(program, project.beside(&format!("work/{name}-copy"))).unwrap();
            let hard = project.beside(&format!("work/{name}-hard"));
            // Not across file systems, nor where the kernel protects other people's files.
            if fs::hard_link(program, &hard).is_err() {
                fs::copy(program, &hard).unwrap();
            }
        }
        let mode = Mode::from_raw_mode(0o755);
        rustix::fs::mknodat(CWD, project.beside("work/fifo"), FileType::Fifo, mode, 0).unwrap();
        project
    }

    /// A path next to the root, `work` being the root itself.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.beside("work")
    }

    /// The text with `$ROOT` and `$BESIDE` filled in.
    pub(crate) fn filled(&self, text: &str) -> String {
        let beside = self.folder.path().to_str().unwrap();
        text.replace("$ROOT", &format!("{beside}/work")).replace("$BESIDE", beside)
    }

    pub(crate) fn examiner(&self, policy: Policy) -> Examiner {
        Examiner::new(Root::open(&self.root()).unwrap(), policy)
    }

    /// What the shipped policy says to this argv.
    pub(crate) fn examine(&self, argv: &[&str]) -> Examination {
        self.examiner(Policy::shipped()).examine(&ToolCall::exec(argv))
    }

    /// Opens the project with a journal beside it.
    pub(crate) fn stockade(&self, policy: Policy) -> Stockade {
        self.builder(policy).open().unwrap()
    }

    /// The same, before it is open.
    pub(crate) fn builder(&self, policy: Policy) -> Builder {
        Stockade::builder(&self.root(), policy).journal(&self.journal())
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.beside("journal.jsonl")
    }

    /// Runs one call under the shipped policy, without a box.
    pub(crate) fn run(&self, argv: &[&str]) -> Report {
        self.stockade(unboxed()).run(ToolCall::exec(argv))
    }

    pub(crate) fn make_executable(&self, path: &str) {
        fs::set_permissions(self.beside(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.beside(path);
        fs::write(&path, text).unwrap();
        path
    }
}

const FILES: [(&str, &str); 22] = [
    ("work/f.txt", "hello\n"),
    ("work/hello.txt", "hello\n"),
    ("work/src/main.py", "print('hi')\n"),
    ("work/src/lib.rs", "\n"),
    ("work/script.py", "print('hi')\n"),
    ("work/x.js", "1\n"),
    ("work/x.pl", "1;\n"),
    ("work/x.rb", "1\n"),
    ("work/x.lua", "x = 1\n"),
    ("work/x.php", "<?php\n"),
    ("work/x.awk", "{ print }\n"),
    ("work/x.sed", "p\n"),
    ("work/list", "f.txt\n"),
    ("work/plain", "not a program\n"),
    ("work/build.sh", "#!/bin/sh\necho built\n"),
    ("work/wipe", "#!/bin/rm -rf\n"),
    ("work/my\u{fffd}tool", "#!/bin/sh\n"),
    ("work/busybox-x", "a box of another name\n"),
    ("work/a b/c d.txt", "x\n"),
    ("work-evil/secret.txt", "secret\n"),
    ("outside/secret.txt", "secret\n"),
    ("outside/tool", "#!/bin/sh\necho outside\n"),
];

const LINKS: [(&str, &str); 18] = [
    ("work/in", "src/main.py"),
    ("work/in-dir", "src"),
    ("work/abs-in", "$ROOT/src/main.py"),
    ("work/up-and-in", "../work/f.txt"),
    ("work/out", "/etc/passwd"),
    ("work/out-rel", "../outside/secret.txt"),
    ("work/out-dir", "../outside"),
    ("work/chain", "chain2"),
    ("work/chain2", "src/../out-rel"),
    ("work/chain-in", "in"),
    ("work/loop", "loop2"),
    ("work/loop2", "loop"),
    ("work/out-proc", "/proc/self/root/etc/passwd"),
    ("work/dangling", "nowhere"),
    ("work/dangling-out", "../outside/new"),
    ("work/sub/link", "/etc/passwd"),
    ("work/sub/tool", "/bin/rm"),
    ("link-to-work", "work"),
];

/// The shipped policy in the process tier, which runs on every machine.
pub(crate) fn unboxed() -> Policy {
    Policy { tier: Tier::Process, ..Policy::shipped() }
}

/// The lenient profile, without a box that would contain more, and without its questions.
pub(crate) fn contained() -> Policy {
    Policy { profile: Profile::Contained, mode: policy::Mode::Bypass, ..unboxed() }
}

/// The folder that holds the whole workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// What happened to a call that has to have run.
pub(crate) fn ran(report: &Report) -> &Outcome {
    report.outcome().unwrap_or_else(|| panic!("{report:?}"))
}
