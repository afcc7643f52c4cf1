//! Sessions of `stockade code`: a process in the background keeps the box, and every call is handed
//! to it, to be judged, journalled and run there.
//!
//! The call that finds no such process starts it. It has the policy of that call, and tells others.

mod host;
mod message;
mod place;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use stockade::call::SessionName;
use stockade::inspect::Root;
use stockade::launch::take_inherited;

pub(crate) use self::host::host;
use self::message::{Message, Reply, Sent};
use self::place::Place;
use crate::args::{Code, Common};
use crate::code::{language, source};
use crate::exit_code::Status;
use crate::{Answer, ask, print, setup};

/// Runs source in a session, or ends the session.
pub(crate) fn code(code: &Code, name: &SessionName) -> Answer {
    let common = &code.common;
    let place = Place::of(&root(common)?, name)?;
    let (language, source) = if code.end {
        (String::new(), Vec::new())
    } else {
        (language(&code.source)?.name().to_owned(), source(&code.source)?)
    };
    let message = Message {
        session: name.to_string(),
        policy: fingerprint(common)?,
        language,
        wall_millis: common.timeout.and_then(|wall| u64::try_from(wall.as_millis()).ok()),
        json: common.json,
        quiet: common.quiet,
        end: code.end,
    };
    let terminal = if common.no_ask { None } else { ask::open() };
    loop {
        let lock = place.lock()?;
        let (line, is_new) = match place.find()? {
            Some(line) => (line, false),
            None if code.end => return Err(format!("end the session {name}: there is none").into()),
            None => (begin(&place)?, true),
        };
        drop(lock);
        let said = match message.send(&line, &source, terminal.as_ref())? {
            Sent::Whole => hear(line),
            Sent::Refused => Said::NotTaken,
        };
        // It was found at its end, which was not in sight yet: the next is another.
        if !matches!(said, Said::NotTaken) || is_new {
            return answer(said, name);
        }
    }
}

/// What the process that keeps the session said of a call.
enum Said {
    Reply(Reply),
    /// It ended before it read the call.
    NotTaken,
    /// It ended, and nobody knows what became of the call.
    Nothing,
}

/// Waits for the reply. A socket that is closed with something unread in it, or before it was
/// accepted, is reset.
fn hear(mut line: UnixStream) -> Said {
    let mut text = String::new();
    match line.read_to_string(&mut text) {
        Ok(_) => Reply::parse(&text).map_or(Said::Nothing, Said::Reply),
        Err(error) if error.kind() == ErrorKind::ConnectionReset && text.is_empty() => {
            Said::NotTaken
        }
        Err(_) => Said::Nothing,
    }
}

/// What became of the call; the output was written by the host, to our own streams.
fn answer(said: Said, name: &SessionName) -> Answer {
    let lost = match said {
        Said::Reply(Reply::Done(status)) => return Ok(Status::Program(status)),
        Said::Reply(Reply::Error(why)) => return Err(why.into()),
        Said::NotTaken => "began and ended before it took this call",
        Said::Nothing => "has ended",
    };
    print::error(&format!(
        "the session {name} was lost: the process that kept it {lost}; the next call gets a fresh \
         one"
    ));
    Ok(Status::Failed)
}

/// Starts the process that keeps a session. It takes the calls of a socket that is there before it,
/// so that nobody has to wait for it.
fn begin(place: &Place) -> Result<UnixStream, Box<dyn std::error::Error>> {
    // What the caller reads until it is closed must not be held open.
    take_inherited(None)?;
    let listener = place.bind()?;
    let line = place.connect()?;
    let program =
        std::env::current_exe().map_err(|error| format!("find our own program: {error}"))?;
    #[expect(
        clippy::disallowed_methods,
        reason = "it is this program again, with what the person typed"
    )]
    let mut command = Command::new(program);
    // What was typed holds source, which shall not show in the list of processes.
    let typed = message::typed(std::env::args_os().skip(1))?;
    command.arg("code-session-host").stdin(Stdio::from(OwnedFd::from(listener)));
    command.stdout(Stdio::from(typed)).stderr(Stdio::null());
    command
        .spawn()
        .map_err(|error| format!("start the process that keeps the session: {error}"))?;
    Ok(line)
}

/// The real path of the project.
fn root(common: &Common) -> Result<std::path::PathBuf, Box<dyn std::error::Error>> {
    let policy = setup::policy(common, &[])?;
    Ok(Root::open_for(&common.sources.root, &policy)?.path().to_owned())
}

/// Equal for calls that would be judged and boxed alike, but for their deadline and what is shown of
/// their output.
fn fingerprint(common: &Common) -> Result<u64, Box<dyn std::error::Error>> {
    let mut policy = setup::policy(common, &[])?;
    policy.limits.wall = std::time::Duration::ZERO;
    policy.code_limits.wall = std::time::Duration::ZERO;
    let journal = std::path::absolute(setup::journal(common.journal.as_deref())?)?;
    let mut hasher = DefaultHasher::new();
    (policy.fingerprint(), journal, root(common)?).hash(&mut hasher);
    Ok(hasher.finish())
}
