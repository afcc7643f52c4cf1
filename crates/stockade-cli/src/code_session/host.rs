//! The process that keeps one session: it takes call after call, and ends when it is told to or has
//! had nothing to do for long.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use stockade::call::SessionName;
use stockade::gate::Approver;
use stockade::launch::PoolSize;
use stockade::{Stockade, ToolCall};

use super::message::{Message, MessageFds, Reply, read_typed};
use super::place::Place;
use super::{fingerprint, root};
use crate::args::{Args, Code, Command};
use crate::ask::Terminal;
use crate::exit_code::Status;
use crate::session::{is_trusted, take_over};
use crate::setup::SetupError;
use crate::{Answer, print, setup};

/// Keeps a session until its end.
pub(crate) fn host() -> Answer {
    // The listener and what was typed come as our streams; nothing of the terminal is ours.
    let listener = UnixListener::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    take_over(&listener)?;
    let typed = read_typed(std::io::stdout().as_fd().try_clone_to_owned()?)?;
    quiet()?;
    rustix::process::setsid()?;
    let typed = std::iter::once(OsString::from("stockade")).chain(typed);
    let Command::Code(Code { mut common, session: Some(name), .. }) =
        Args::try_parse_from(typed)?.command
    else {
        return Err("keep a session: none was named".into());
    };
    let policy = setup::policy(&common, &[])?;
    let idle = policy.session.idle;
    let kept = Kept {
        place: Place::of(&root(&common)?, &name)?,
        policy: fingerprint(&common)?,
        terminal: Arc::new(Terminal::of_others(setup::own_policy(&common))),
        name,
    };
    // Who is asked is at the caller's terminal, and notes on the policy were told there too.
    (common.no_ask, common.quiet) = (true, true);
    let approver: Arc<dyn Approver> = Arc::<Terminal>::clone(&kept.terminal);
    let builder = setup::builder(&common, &[])?.pool(PoolSize::NoTemplates).approver(approver);
    let stockade = builder.open().map_err(SetupError::Open)?;
    kept.serve(&listener, &stockade, idle)
}

/// One session, and what belongs to it.
struct Kept {
    name: SessionName,
    place: Place,
    policy: u64,
    terminal: Arc<Terminal>,
}

impl Kept {
    fn serve(&self, listener: &UnixListener, stockade: &Stockade, idle: Duration) -> Answer {
        loop {
            if !comes(listener, idle) {
                // Who comes now waits for the lock, and then finds no socket.
                let _lock = self.place.lock()?;
                if comes(listener, Duration::ZERO) {
                    continue;
                }
                self.place.remove()?;
                return Ok(Status::Ok);
            }
            let (line, _) = listener.accept()?;
            if !is_trusted(&line) {
                continue;
            }
            let message = match Message::receive(&line) {
                Ok(message) => message,
                Err(error) => {
                    answer(&line, &Reply::Error(format!("read the call: {error}")));
                    continue;
                }
            };
            if message.0.end {
                let _lock = self.place.lock()?;
                self.place.remove()?;
                stockade.interpreters().end_session(&self.name);
                answer(&line, &Reply::Done(0));
                return Ok(Status::Ok);
            }
            answer(&line, &self.reply(message, stockade));
        }
    }

    fn reply(&self, (message, fds): (Message, MessageFds), stockade: &Stockade) -> Reply {
        let name = &self.name;
        if message.session != name.as_str() {
            return Reply::Error(format!("this is the session {name}, not {}", message.session));
        }
        if message.policy != self.policy {
            return Reply::Error(format!(
                "use the session {name}: it was started under another policy, journal or options; \
                 end it with --session {name} --end, or name another"
            ));
        }
        match self.run(&message, fds, stockade) {
            Ok(status) => Reply::Done(status.code()),
            Err(error) => Reply::Error(print::chain(&*error)),
        }
    }

    /// Runs a call as if the caller did, who gets what is written.
    fn run(&self, message: &Message, fds: MessageFds, stockade: &Stockade) -> Answer {
        let MessageFds { source, stdout, stderr, terminal } = fds;
        let mut call = ToolCall::code(message.language.parse()?, source);
        call = call.in_session(self.name.clone());
        call.wall = message.wall_millis.map(Duration::from_millis);
        dup2_stdout(&stdout)?;
        dup2_stderr(&stderr)?;
        self.terminal.borrow(terminal);
        let report = stockade.run(call);
        self.terminal.borrow(None);
        let said = if message.json {
            print::json(&report)
        } else {
            let said = print::output(&report);
            print::ending(&report, message.quiet);
            said
        };
        drop((stdout, stderr));
        quiet()?;
        said?;
        Ok(Status::of(&report))
    }
}

/// Whether somebody comes in this time.
fn comes(listener: &UnixListener, patience: Duration) -> bool {
    let timeout = Timespec::try_from(patience).ok();
    let mut polled = [PollFd::new(listener, PollFlags::IN)];
    loop {
        match poll(&mut polled, timeout.as_ref()) {
            Ok(count) => return count > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// A caller that has gone away gets no answer, and the session goes on.
fn answer(line: &UnixStream, reply: &Reply) {
    let _gone = reply.send(line).is_err();
}

/// Lets go of all streams.
fn quiet() -> std::io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}
