//! A home and a project with the files of coding agents in them.

use std::path::PathBuf;

use stockade::policy::rules::{CommandFacts, Facts};
use stockade::policy::{Decision, Dialect, LoadError, Policy, PolicyFiles, Sources, TrustStore};

pub(super) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work", "state"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with the folders that it needs.
    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// All that is found by itself.
    pub(super) fn sources(&self) -> Sources {
        Sources {
            root: self.path("work"),
            home: Some(self.path("home")),
            files: PolicyFiles {
                user: Some(self.path("home/stockade.toml")),
                managed: Some(self.path("managed.toml")),
                project: Some(self.path("work/stockade.toml")),
            },
            dialects: [Dialect::Claude, Dialect::Codex].into(),
            trust: Some(self.path("state/trust.json")),
            ..Sources::default()
        }
    }

    pub(super) fn load(&self) -> Policy {
        self.sources().load().unwrap()
    }

    /// The shipped policy with one settings file that a person named.
    pub(super) fn named(&self, text: &str) -> Result<Policy, LoadError> {
        let settings = vec![self.write("named/settings.json", text)];
        Sources { settings, dialects: [].into(), ..self.sources() }.load()
    }

    /// The same with rules of the other form.
    pub(super) fn prefix_rules(&self, text: &str) -> Result<Policy, LoadError> {
        let rules = vec![self.write("named/x.rules", text)];
        Sources { rules, dialects: [].into(), ..self.sources() }.load()
    }

    /// Trusts a file as it is now.
    pub(super) fn trust(&self, name: &str) {
        let mut store = TrustStore::read(&self.path("state/trust.json")).unwrap();
        let path = self.path(name);
        store.trust(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
        store.write().unwrap();
    }
}

/// What the rules say to a line of one command.
pub(super) fn decided(policy: &Policy, line: &str) -> Option<Decision> {
    let mut facts = Facts::new("Bash", "/project");
    facts.commands.push(CommandFacts::new(line.split(' ')));
    policy.rules.decide(&facts).map(|found| found.decision)
}

/// Where a complaint is, and that it says this.
#[track_caller]
pub(super) fn complains(result: Result<Policy, LoadError>, at: (usize, usize), says: &str) {
    let error = result.unwrap_err();
    let LoadError::Place { line, column, message, .. } = &error else { panic!("{error}") };
    assert_eq!((*line, *column), at, "{error}");
    assert!(message.contains(says), "{error}");
}
