//! Messages between commands and the session host: one JSON object for each packet, with descriptors where
//! these are needed.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::num::NonZeroU16;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

use data_encoding::BASE64;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stockade::confine::Ports;
use stockade::json;

/// A host and a command with different numbers do not talk.
pub(super) const PROTOCOL: u32 = 4;
/// A longer message is cut by the kernel, and is an error.
const BYTES_MAX: usize = 128 << 10;
/// The most descriptors of one message: those of a session.
const DESCRIPTORS_MAX: usize = 4;

/// A request to the host. Each is answered by one [`HostReply`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Envelope {
    pub(super) protocol: u32,
    pub(super) request: HostRequest,
}

/// What a command asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum HostRequest {
    /// A call begins in a session that exists.
    Join(CallStart),
    /// The same, with the namespaces of the session if it does not exist yet.
    Begin(CallStart, SessionStart),
    /// A command has a call for an interpreter that is kept; its socket comes along.
    Visit(Visit),
    /// The program of the call has ended, in this directory.
    Ended(Option<FolderInfo>),
    /// What the call has left running; the first time with the file of its log.
    Left(LeftInfo),
    /// The sessions and their calls, from here on.
    List(Option<ListPlace>),
    /// The log of a call.
    Log(Selector),
    /// Ends a call, what listens on a port, or a session.
    Kill(Selector),
    /// How many of the calls that this connection has ended are not gone yet.
    Ending,
}

/// A call that begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallStart {
    pub(super) root: RawPath,
    pub(super) session: String,
    pub(super) call: String,
    /// In one line, for lists.
    pub(super) command: String,
    /// Whether the directory in which it ends is that of the next call.
    pub(super) sets_folder: bool,
    /// The language of the interpreter that its supervisor keeps for later calls.
    pub(super) interpreter: Option<String>,
    /// The ports that it opens in the network of the session; none if it does not share that.
    pub(super) ports: Option<PortsInfo>,
}

/// Ports that connect the network of a session with that of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PortsInfo {
    pub(super) publish: Vec<NonZeroU16>,
    pub(super) host: Vec<NonZeroU16>,
}

impl From<&Ports> for PortsInfo {
    fn from(ports: &Ports) -> Self {
        Self { publish: ports.publish.clone(), host: ports.host.clone() }
    }
}

impl From<PortsInfo> for Ports {
    fn from(info: PortsInfo) -> Self {
        Self { publish: info.publish, host: info.host }
    }
}

/// The interpreter that a command looks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Visit {
    pub(super) root: RawPath,
    pub(super) session: String,
    pub(super) language: String,
}

/// What a command asks of the supervisor that keeps an interpreter. The source, both streams and perhaps
/// the terminal come along.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VisitCall {
    /// The command's policy, which must be that of the supervisor.
    pub(super) policy: u64,
    pub(super) wall_millis: Option<u64>,
    pub(super) json: bool,
    pub(super) quiet: bool,
}

/// What that supervisor answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum VisitReply {
    /// The call begins. Where nothing else comes, it was lost.
    Taken,
    /// It is over, and this is how to exit.
    Done(u8),
    /// It was not made; this completes "could not …".
    Error(String),
}

/// The limits of a session that begins.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionStart {
    pub(super) idle_millis: u64,
    pub(super) processes: u32,
    pub(super) memory_bytes: u64,
}

/// What a call has left running.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeftInfo {
    pub(crate) processes: Vec<ProcessInfo>,
    pub(crate) tasks: u32,
    pub(crate) memory_bytes: u64,
    /// Whether it is an interpreter that waits for calls, which does not keep its session.
    pub(crate) is_interpreter: bool,
}

/// One process.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessInfo {
    pub(crate) pid: u32,
    pub(crate) command: String,
    /// None if they are not known.
    pub(crate) ports: Option<Vec<u16>>,
}

/// A call, a port or a session by what a person typed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selector {
    pub(super) what: String,
    /// Only in the session of this name.
    pub(super) session: Option<String>,
    /// The project that is meant where names are not unique.
    pub(super) root: Option<RawPath>,
}

/// The host's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum HostReply {
    /// The call has begun; its namespaces come along.
    Joined(Joined),
    /// There is no session of this name, no such interpreter, or no such call.
    Absent,
    /// Another supervisor keeps such an interpreter already.
    Kept,
    /// The socket was passed on.
    Passed,
    /// It was noted; whether the directory counts, and the ports that other calls had open beside this one.
    Noted { folder: bool, ports: PortsInfo },
    /// Calls of one session, if there is one, and where the next piece of the list begins. A piece fits into
    /// a packet, whatever the calls run.
    Listed { session: Option<Box<SessionInfo>>, next: Option<ListPlace> },
    /// The log comes along.
    Log { call: String },
    /// So many calls were told to end, and whether a session was ended.
    Killed { calls: u32, session: bool },
    /// So many of them are not gone yet.
    Ending { calls: u32 },
    /// It cannot be done, and a hint.
    Refused { why: String, hint: Option<String> },
}

/// A message of the host that nobody asked for: the call has to end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndOrder {
    /// The limit of the session that it is about; none if a person wants it.
    pub(super) limit: Option<String>,
}

/// Anything that the host sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum FromHost {
    Reply(HostReply),
    End(EndOrder),
    /// A command has a call for the interpreter; its socket comes along.
    Visit,
}

/// A call that has begun.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Joined {
    /// How many calls the session had before.
    pub(super) calls: u64,
    /// The working directory.
    pub(super) folder: Option<FolderInfo>,
    /// Whether the last interpreter of the kind that the call keeps has ended between two calls.
    pub(super) is_after_loss: bool,
    /// The ports that other calls have open in its network.
    pub(super) ports: PortsInfo,
}

/// A working directory. Another one at its path is not it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FolderInfo {
    pub(super) path: RawPath,
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A place in the list of sessions.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListPlace {
    pub(super) root: RawPath,
    pub(super) session: String,
    /// The connection of the first call; those are in the order of the calls.
    pub(super) call: u64,
}

/// A session in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionInfo {
    pub(crate) name: String,
    pub(crate) root: RawPath,
    pub(crate) age_secs: u64,
    pub(crate) idle_secs: Option<u64>,
    pub(crate) total_calls: u64,
    pub(crate) folder: Option<RawPath>,
    pub(crate) calls: Vec<CallInfo>,
}

impl SessionInfo {
    /// Whether this is another piece of the same session.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.root == other.root && self.name == other.name
    }
}

/// A call in a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallInfo {
    pub(crate) call: String,
    pub(crate) command: String,
    pub(crate) age_secs: u64,
    /// What it has left running; none while its program runs.
    pub(crate) left: Option<LeftInfo>,
}

/// A path with any bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RawPath(String);

impl RawPath {
    pub(crate) fn of(path: &Path) -> Self {
        Self(BASE64.encode(path.as_os_str().as_encoded_bytes()))
    }

    /// The path; an empty one if this is none.
    pub(crate) fn path(&self) -> PathBuf {
        let bytes = BASE64.decode(self.0.as_bytes()).unwrap_or_default();
        PathBuf::from(OsString::from_vec(bytes))
    }
}

/// Sends a message with descriptors. It is sent as a whole or not at all.
pub(super) fn send(
    socket: impl AsFd,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message).map_err(io::Error::other)?;
    if text.len() > BYTES_MAX {
        return Err(io::Error::other("the message is too long"));
    }
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    sendmsg(socket, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// A message that was received: its bytes, none at the end of the connection, and its descriptors.
pub(super) struct Packet {
    bytes: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Packet {
    /// Takes the next message, and waits for one unless the socket does not block.
    pub(super) fn receive(socket: impl AsFd) -> io::Result<Option<Self>> {
        let mut bytes = vec![0; BYTES_MAX];
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut room);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
        bytes.truncate(got.bytes);
        bytes.shrink_to_fit();
        let rights = ancillary.drain().filter_map(|message| {
            if let RecvAncillaryMessage::ScmRights(rights) = message { Some(rights) } else { None }
        });
        let descriptors = rights.flatten().collect();
        Ok((got.bytes > 0).then_some(Self { bytes, descriptors }))
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> io::Result<T> {
        json::from_slice(&self.bytes).map_err(io::Error::other)
    }
}
