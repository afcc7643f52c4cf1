//! Why a call did not run, as a type: what was being done, and the guarantee at stake.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use stockade_sandbox::{Errno, StartError};

use crate::guarantee::Guarantee;

/// Why a call that was allowed, or could not be judged, did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    #[serde(flatten)]
    kind: FailureKind,
    guarantee: Option<Guarantee>,
    message: String,
    remedy: Option<String>,
}

/// What was being done when a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// Looking up a program that is not there.
    MissingProgram,
    /// Looking up bash, which is not there.
    MissingShell,
    /// Looking up an interpreter that is not there.
    MissingInterpreter,
    /// Looking up the program of a registered tool that is not there.
    MissingToolProgram,
    /// Opening a program that is there, but not the one that was judged.
    FindProgram,
    /// Comparing the files of a registered tool with what they were.
    FindToolFiles,
    /// Building the plan.
    Plan,
    /// Inspecting the call and the project, which took all of the call's time.
    Late,
    /// Opening the project root for a file tool.
    OpenRoot,
    /// Opening the project root for a hook.
    OpenProject,
    /// Opening the working directory.
    OpenWorkingFolder,
    /// Reading the owner of the project.
    ReadProject,
    /// Creating the scratch directory.
    MakeScratch,
    /// Opening the scratch directory.
    OpenScratch,
    /// Building the environment.
    BuildEnvironment,
    /// Counting the processes of the machine.
    CountProcesses,
    /// Passing the program to the shim.
    SendProgram,
    /// Giving the program a terminal.
    OpenTerminal,
    /// Opening ports between the loopback of the sandbox and that of the machine.
    OpenPorts,
    /// Passing source code to an interpreter.
    SendSource,
    /// Starting a registered tool.
    StartTool,
    /// Starting an interpreter.
    StartInterpreter,
    /// Starting a program that cannot be one.
    StartProgram,
    /// Starting the program or its sandbox, at this step of the start.
    Start(StartError),
    /// Starting the thread that watches the call.
    Supervise,
    /// Building a jail, with and without user namespaces.
    MakeSandbox,
    /// Checking from outside that the sandbox enforces what was asked for.
    AttestSandbox,
    /// Keeping a required guarantee, before anything runs.
    KeepRequired,
    /// Keeping the guarantees about paths that are required.
    KeepPaths,
    /// Putting limits on the process tree.
    LimitTree,
    /// Keeping signals inside the process tree.
    ScopeSignals,
    /// Measuring the disk before the run.
    WatchDisk,
    /// Showing the project in the sandbox.
    ShowProject,
    /// Showing a path in the sandbox.
    ShowPath,
    /// Hiding a path from the sandbox.
    HidePath,
    /// Looking up protected paths.
    InspectProtected,
    /// Watching protected paths that do not exist.
    WatchProtected,
    /// Preventing the creation of protected paths.
    BrokerProtected,
    /// Protecting the files of Stockade itself.
    ProtectOwnFiles,
    /// Writing a file with a file tool.
    WriteFile,
    /// Opening a session.
    UseSession,
    /// Reading the interpreter's file.
    ReadInterpreter,
    /// Keeping the interpreter's file open.
    HoldInterpreter,
    /// Starting an interpreter in advance.
    PrepareInterpreter,
    /// Looking up a container engine.
    FindEngine,
    /// Looking up an image.
    FindImage,
    /// Importing an image.
    ImportImage,
    /// Creating a container.
    MakeContainer,
    /// Reading back what the engine created.
    InspectContainer,
    /// Starting a container.
    StartContainer,
    /// Running a container to its end.
    RunContainer,
    /// Starting a container in advance.
    PrepareContainer,
    /// Removing a container that a dead supervisor left.
    RemoveContainer,
    /// Looking up `runsc`.
    FindRunsc,
    /// Looking for a platform on which `runsc` works.
    FindPlatform,
    /// Writing the bundle for `runsc`.
    WriteBundle,
    /// Starting `runsc`.
    StartGvisor,
    /// Running `runsc` to its end.
    RunGvisor,
}

impl FailureKind {
    /// Its name in a report (`failure.kind`), which stays the same when words change.
    pub fn name(self) -> &'static str {
        match self {
            Self::MissingProgram => "missing-program",
            Self::MissingShell => "missing-shell",
            Self::MissingInterpreter => "missing-interpreter",
            Self::MissingToolProgram => "missing-tool-program",
            Self::FindProgram => "find-program",
            Self::FindToolFiles => "find-tool-files",
            Self::Plan => "plan",
            Self::Late => "late",
            Self::OpenRoot => "open-root",
            Self::OpenProject => "open-project",
            Self::OpenWorkingFolder => "open-working-folder",
            Self::ReadProject => "read-project",
            Self::MakeScratch => "make-scratch",
            Self::OpenScratch => "open-scratch",
            Self::BuildEnvironment => "build-environment",
            Self::CountProcesses => "count-processes",
            Self::SendProgram => "send-program",
            Self::OpenTerminal => "open-terminal",
            Self::OpenPorts => "open-ports",
            Self::SendSource => "send-source",
            Self::StartTool => "start-tool",
            Self::StartInterpreter => "start-interpreter",
            Self::StartProgram => "start-program",
            Self::Start(_) => "start",
            Self::Supervise => "supervise",
            Self::MakeSandbox => "make-sandbox",
            Self::AttestSandbox => "attest-sandbox",
            Self::KeepRequired => "keep-required",
            Self::KeepPaths => "keep-paths",
            Self::LimitTree => "limit-tree",
            Self::ScopeSignals => "scope-signals",
            Self::WatchDisk => "watch-disk",
            Self::ShowProject => "show-project",
            Self::ShowPath => "show-path",
            Self::HidePath => "hide-path",
            Self::InspectProtected => "inspect-protected",
            Self::WatchProtected => "watch-protected",
            Self::BrokerProtected => "broker-protected",
            Self::ProtectOwnFiles => "protect-own-files",
            Self::WriteFile => "write-file",
            Self::UseSession => "use-session",
            Self::ReadInterpreter => "read-interpreter",
            Self::HoldInterpreter => "hold-interpreter",
            Self::PrepareInterpreter => "prepare-interpreter",
            Self::FindEngine => "find-engine",
            Self::FindImage => "find-image",
            Self::ImportImage => "import-image",
            Self::MakeContainer => "make-container",
            Self::InspectContainer => "inspect-container",
            Self::StartContainer => "start-container",
            Self::RunContainer => "run-container",
            Self::PrepareContainer => "prepare-container",
            Self::RemoveContainer => "remove-container",
            Self::FindRunsc => "find-runsc",
            Self::FindPlatform => "find-platform",
            Self::WriteBundle => "write-bundle",
            Self::StartGvisor => "start-gvisor",
            Self::RunGvisor => "run-gvisor",
        }
    }

    /// What was being done, as the report and the journal have it.
    pub fn step(self) -> &'static str {
        match self {
            Self::MissingProgram | Self::FindProgram => "find the program",
            Self::MissingShell => "find the shell",
            Self::MissingInterpreter => "find the interpreter",
            Self::MissingToolProgram => "find the tool's program",
            Self::FindToolFiles => "find the tool's files",
            Self::Plan => "plan",
            Self::Late | Self::ReadProject => "look at the project",
            Self::OpenRoot => "open the root",
            Self::OpenProject => "open the project",
            Self::OpenWorkingFolder => "open the working folder",
            Self::MakeScratch => "make the scratch folder",
            Self::OpenScratch => "open the scratch folder",
            Self::BuildEnvironment => "build the environment",
            Self::CountProcesses => "count the machine's processes",
            Self::SendProgram => "hand over the program",
            Self::OpenTerminal => "open a terminal",
            Self::OpenPorts => "open the ports",
            Self::SendSource => "hand over the source",
            Self::StartTool => "start the tool",
            Self::StartInterpreter => "start the interpreter",
            Self::StartProgram | Self::Start(_) => "start the program",
            Self::Supervise => "watch the run",
            Self::MakeSandbox => "make the box",
            Self::AttestSandbox => "look at the box from outside",
            Self::KeepRequired => "keep what is required",
            Self::KeepPaths => "keep paths",
            Self::LimitTree => "limit the tree",
            Self::ScopeSignals => "keep signals within the tree",
            Self::WatchDisk => "watch the disk",
            Self::ShowProject => "show the project",
            Self::ShowPath => "show a path",
            Self::HidePath => "hide a path",
            Self::InspectProtected => "look at protected paths",
            Self::WatchProtected => "watch protected paths",
            Self::BrokerProtected => "keep protected paths from being made",
            Self::ProtectOwnFiles => "keep Stockade's own files",
            Self::WriteFile => "write the file",
            Self::UseSession => "use the session",
            Self::ReadInterpreter => "look at the interpreter",
            Self::HoldInterpreter => "hold the interpreter",
            Self::PrepareInterpreter => "wait with an interpreter",
            Self::FindEngine => "find an engine",
            Self::FindImage => "find the image",
            Self::ImportImage => "import the image",
            Self::MakeContainer => "make the container",
            Self::InspectContainer => "look at the container",
            Self::StartContainer => "start the container",
            Self::RunContainer => "run the container",
            Self::PrepareContainer => "warm up a container",
            Self::RemoveContainer => "remove a container that was left",
            Self::FindRunsc => "find runsc",
            Self::FindPlatform => "find a platform for runsc",
            Self::WriteBundle => "write the bundle",
            Self::StartGvisor => "start the box",
            Self::RunGvisor => "run the box",
        }
    }
}

/// What a machine may be short of for a moment.
const SHORTAGES: [Errno; 6] =
    [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY, Errno::BUSY];

impl Failure {
    /// A failure while this was being done.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, guarantee: None, message: message.into(), remedy: None }
    }

    /// A call whose time was up before its program was started.
    pub(crate) fn late() -> Self {
        Self::new(FailureKind::Late, "the time was up before the program was started")
    }

    /// Names the guarantee that could not be kept.
    #[must_use]
    pub fn with_guarantee(mut self, guarantee: impl Into<Option<Guarantee>>) -> Self {
        self.guarantee = guarantee.into();
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// What was being done.
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// What was being done, in words.
    pub fn step(&self) -> &'static str {
        self.kind.step()
    }

    /// The guarantee that could not be kept, where it is one.
    pub fn guarantee(&self) -> Option<Guarantee> {
        self.guarantee
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// Whether the program, or what would interpret it, does not exist.
    pub fn is_no_such_program(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::MissingProgram
                | FailureKind::MissingShell
                | FailureKind::MissingInterpreter
                | FailureKind::MissingToolProgram
        )
    }

    /// Whether another attempt may succeed: the machine was short of something.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, FailureKind::Start(error) if SHORTAGES.contains(&error.errno))
    }

    /// Whether the call's time was up before its program was started.
    pub(crate) fn is_late(&self) -> bool {
        self.kind == FailureKind::Late
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(2))?;
        fields.serialize_entry("kind", self.name())?;
        fields.serialize_entry("step", self.step())?;
        fields.end()
    }
}
