//! A call on its way to the process that keeps the session: a line of JSON, with the source, both
//! streams of the caller and its terminal as descriptors.

use std::ffi::OsString;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};
use stockade::json;

/// A letter is shorter.
const BYTES_MAX: usize = 4096;
/// The source, both streams, and perhaps the terminal.
const DESCRIPTORS_MAX: usize = 4;

type AnyError = Box<dyn std::error::Error>;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) session: String,
    /// The caller's policy, which must be that of the session.
    pub(crate) policy: u64,
    pub(crate) language: String,
    pub(crate) wall_millis: Option<u64>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) end: bool,
}

/// What comes with it.
#[derive(Debug)]
pub(crate) struct MessageFds {
    pub(crate) source: Vec<u8>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) terminal: Option<File>,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// It was done, and this is how to exit.
    Done(u8),
    /// It was not.
    Error(String),
}

/// What became of a letter.
#[derive(Debug)]
pub(crate) enum Sent {
    Whole,
    /// Nobody is there any more to take it.
    Refused,
}

/// What was typed, in a memory file.
pub(crate) fn typed(words: impl Iterator<Item = OsString>) -> Result<OwnedFd, AnyError> {
    let mut file = File::from(memfd_create("typed", MemfdFlags::CLOEXEC)?);
    for word in words {
        file.write_all(word.as_bytes())?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(OwnedFd::from(file))
}

/// What was typed, from that file.
pub(crate) fn read_typed(file: OwnedFd) -> std::io::Result<Vec<OsString>> {
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let words = bytes.strip_suffix(&[0]).unwrap_or_default().split(|byte| *byte == 0);
    Ok(words.map(|word| OsString::from_vec(word.to_vec())).collect())
}

impl Reply {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        json::from_str(text).ok()
    }

    pub(crate) fn send(&self, mut line: &UnixStream) -> std::io::Result<()> {
        let text = serde_json::to_string(self).map_err(std::io::Error::other)?;
        line.write_all(text.as_bytes())
    }
}

impl Message {
    /// Sends it with all that belongs to it.
    pub(crate) fn send(
        &self,
        line: &UnixStream,
        source: &[u8],
        terminal: Option<&File>,
    ) -> Result<Sent, AnyError> {
        let text = serde_json::to_vec(self)?;
        let mut file = File::from(memfd_create("source", MemfdFlags::CLOEXEC)?);
        file.write_all(source)?;
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let mut rights = vec![file.as_fd(), stdout.as_fd(), stderr.as_fd()];
        rights.extend(terminal.map(AsFd::as_fd));
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = SendAncillaryBuffer::new(&mut room);
        if !ancillary.push(SendAncillaryMessage::ScmRights(&rights)) {
            return Err("hand the call over: too many descriptors".into());
        }
        let sent = sendmsg(line, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL);
        match sent {
            Ok(bytes) if bytes == text.len() => Ok(Sent::Whole),
            Ok(_) => Err("hand the call over: it is too long".into()),
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(Sent::Refused),
            Err(errno) => Err(format!("hand the call over: {errno}").into()),
        }
    }

    /// Takes one.
    pub(crate) fn receive(line: &UnixStream) -> Result<(Self, MessageFds), AnyError> {
        let mut bytes = vec![0; BYTES_MAX];
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut room);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(line, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags)?;
        let message = json::from_slice(bytes.get(..got.bytes).unwrap_or_default())?;
        let mut rights = ancillary.drain().filter_map(|message| {
            if let RecvAncillaryMessage::ScmRights(rights) = message { Some(rights) } else { None }
        });
        let mut rights = rights.next().ok_or("there are no descriptors")?;
        let mut next = || rights.next().ok_or("a descriptor is missing");
        let (source, stdout, stderr) = (next()?, next()?, next()?);
        let terminal = rights.next().map(File::from);
        let mut file = File::from(source);
        file.rewind()?;
        let mut source = Vec::new();
        file.take(crate::code::SOURCE_BYTES_MAX).read_to_end(&mut source)?;
        Ok((message, MessageFds { source, stdout, stderr, terminal }))
    }
}
