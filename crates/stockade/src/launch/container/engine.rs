//! The engine: found by its program, asked in its own words.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use serde_json::Value;

use super::trial;
use crate::confine::{EngineName, Network, Oci};
use crate::json;
use crate::launch::client::{Answer, Client, typed};
use crate::outcome::{Failure, FailureKind};

/// How long an engine may take for a word.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where it may have to fetch an image first.
const PULL_PATIENCE: Duration = Duration::from_secs(900);

/// An engine that is there.
#[derive(Debug)]
pub(in crate::launch) struct Engine {
    pub(super) name: EngineName,
    client: Client,
    /// What stands before every command.
    globals: Vec<OsString>,
}

impl Engine {
    /// The engine that the policy names, or the first that answers.
    pub(in crate::launch) fn find(oci: &Oci, network: Network) -> Option<Self> {
        let known = match &oci.engine {
            Some(engine) => std::slice::from_ref(engine),
            None => EngineName::ALL.as_slice(),
        };
        let there = |name: &EngineName| Client::find(name.name()).map(|client| (*name, client));
        let mut there: Vec<(EngineName, Client)> = known.iter().filter_map(there).collect();
        // A single one is asked by its first order; what is wrong with it is told then.
        if there.len() > 1 {
            let answering = there.iter().position(|(name, client)| answers(*name, client));
            there = there.into_iter().skip(answering.unwrap_or_default()).collect();
        }
        let (name, client) = there.into_iter().next()?;
        Some(Self { name, client, globals: globals(name, oci, network) })
    }

    /// All words of a command.
    pub(super) fn words<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<OsString> {
        let args = args.iter().map(|word| word.as_ref().to_owned());
        self.globals.iter().cloned().chain(args).collect()
    }

    /// Has it do something, and reads its answer.
    pub(in crate::launch) fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Answer, Failure> {
        let is_slow = args.iter().any(|word| word.as_ref() == "--pull=missing");
        let patience = if is_slow { PULL_PATIENCE } else { PATIENCE };
        self.client.ask(&self.words(args), patience)
    }

    /// The same, for something that takes its time.
    pub(in crate::launch) fn ask_long<S: AsRef<OsStr>>(
        &self,
        args: &[S],
    ) -> Result<Answer, Failure> {
        self.client.ask(&self.words(args), PULL_PATIENCE)
    }

    /// The name of its program.
    pub(in crate::launch) fn program(&self) -> &'static str {
        self.name.name()
    }

    /// Its program.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// What it knows of a container; none if there is no such container.
    pub(super) fn inspect(&self, container: &str) -> Result<Option<Value>, Failure> {
        let answer = self.ask(&["container", "inspect", container])?;
        if !answer.is_good() {
            return Ok(None);
        }
        let unreadable = |why: String| {
            let message = format!("the answer of {} is not as expected: {why}", self.name.name());
            Failure::new(FailureKind::InspectContainer, message)
        };
        let known: Value =
            json::from_slice(&answer.stdout).map_err(|error| unreadable(error.to_string()))?;
        let first = known.get(0).cloned();
        first.map(Some).ok_or_else(|| unreadable("no container in it".to_owned()))
    }

    /// Whether it has this image.
    pub(super) fn has_image(&self, image: &str) -> Result<bool, Failure> {
        Ok(self.ask(&["image", "inspect", "--format", "{{.Id}}", image])?.is_good())
    }
}

/// The version of each installed engine that can start containers, or why it cannot. Nothing of it
/// stays on the machine.
pub(in crate::launch) fn versions(oci: &Oci) -> Vec<(EngineName, Result<String, String>)> {
    let version = |name: EngineName| {
        let client = Client::find(name.name())?;
        Some((name, trial::of(name, &client, oci)))
    };
    EngineName::ALL.into_iter().filter_map(version).collect()
}

fn answers(name: EngineName, client: &Client) -> bool {
    client.ask(&version_args(name), PATIENCE).is_ok_and(|answer| answer.is_good())
}

/// Docker's client answers for itself also where no daemon does.
pub(super) fn version_args(name: EngineName) -> [&'static str; 3] {
    match name {
        EngineName::Podman => ["version", "--format", "{{.Client.Version}}"],
        EngineName::Docker => ["version", "--format", "{{.Server.Version}}"],
    }
}

/// Podman takes a runtime before its command. Its `none` is a namespace with nothing in it, in which
/// runsc would still look for an interface, unless it is told.
fn globals(name: EngineName, oci: &Oci, network: Network) -> Vec<OsString> {
    let mut globals = Vec::new();
    if let (EngineName::Podman, Some(runtime)) = (name, &oci.runtime) {
        globals.extend(["--runtime".into(), runtime.into()]);
        if oci.has_own_kernel() && network.is_own() {
            globals.extend(["--runtime-flag".into(), "network=none".into()]);
        }
    }
    globals
}

/// What to do where there is no engine, with the command that would have been run.
pub(super) fn none(oci: &Oci, network: Network, create: &[OsString]) -> Failure {
    let name = oci.engine.unwrap_or(EngineName::Podman);
    let wanted = match oci.engine {
        Some(engine) => format!("{} is not", engine.name()),
        None => "neither podman nor docker is".to_owned(),
    };
    let words: Vec<OsString> =
        globals(name, oci, network).into_iter().chain(create.iter().cloned()).collect();
    let command = typed(name.name(), &words);
    Failure::new(
        FailureKind::FindEngine,
        format!("{wanted} in a folder of PATH; it would have run: {command}"),
    )
    .with_remedy(
        "install one (apt-get install podman, dnf install podman, or https://docs.docker.com/engine/\
         install), or use --tier jail, which needs none, or --tier gvisor, which needs runsc alone",
    )
}
