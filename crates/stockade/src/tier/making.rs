//! Steps by which containers and boxes of `runsc` are made, as data.

use std::fmt;

/// One step of an engine or of `runsc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Making {
    /// Make a container of this, named by the call, and not yet started.
    Container(String),
    /// Write down a box of this for `runsc`.
    Bundle(String),
    /// Make the root of the box read-only, with a private `/tmp` in memory.
    ReadOnlyRoot,
    /// Run it as a user that is not root.
    OtherUser,
    /// Ask the engine what the container has of all this, before it starts.
    LookAtContainer,
    /// Start the container.
    StartContainer,
    /// Start the program in a container that runs already.
    ExecInContainer,
    /// Kill the container and remove it.
    RemoveContainer,
    /// Start the box on a kernel of its own.
    OwnKernel,
}

impl fmt::Display for Making {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container(of) => write!(f, "make a container of {of}, named by the call"),
            Self::Bundle(of) => write!(f, "write down a box of {of} for runsc"),
            Self::ReadOnlyRoot => f.write_str("make its root read-only, with /tmp in memory"),
            Self::OtherUser => f.write_str("run it as a user that is not root"),
            Self::LookAtContainer => {
                f.write_str("ask the engine what the container has of this, before it starts")
            }
            Self::StartContainer => f.write_str("start the container"),
            Self::ExecInContainer => f.write_str("start the program in a warm container"),
            Self::RemoveContainer => f.write_str("kill and remove the container"),
            Self::OwnKernel => f.write_str("start it on a kernel of its own (gVisor)"),
        }
    }
}
