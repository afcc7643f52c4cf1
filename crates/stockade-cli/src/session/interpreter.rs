//! `stockade code --session`: a call in an interpreter that keeps what its calls leave. The supervisor of the
//! first call keeps it, and makes the calls of the commands that come after, with their streams.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, Shutdown, SocketFlags, SocketType, recv, shutdown, socketpair,
};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use stockade::call::{Language, SessionName};
use stockade::gate::Approver;
use stockade::inspect::Root;
use stockade::launch::PoolSize;
use stockade::outcome::chain;
use stockade::{Canceller, Stockade, ToolCall};

use super::SessionError;
use super::client::{Client, unexpected};
use super::membership::{JoinAs, KeptInterpreter, Membership, Waits};
use super::message::{HostReply, HostRequest, Packet, RawPath, Visit, VisitCall, VisitReply, send};
use super::supervisor::{FrontEnd, let_go_of_streams, supervised};
use crate::args::{Code, Common};
use crate::ask::Terminal;
use crate::code::{SOURCE_BYTES_MAX, language, source};
use crate::exit_code::Status;
use crate::run::{make, show};
use crate::setup::SetupError;
use crate::signals::{Hangup, Interrupts};
use crate::{Answer, ask, print, setup};

/// How long a command may take to say what it wants.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often it is looked whether the interpreter is still there.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// The pause before another look for a supervisor that has just come or gone.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Runs source in a session, or ends the session.
pub(crate) fn code(code: &Code, name: &SessionName) -> Answer {
    if code.end {
        return end(&code.common, name);
    }
    supervised(None, |front_end| {
        let (language, source) = (language(&code.source)?, source(&code.source)?);
        let common = &code.common;
        let call = CodeCall { language, source, name, common, policy: fingerprint(common)? };
        call.perform(front_end)
    })
}

fn end(common: &Common, name: &SessionName) -> Answer {
    let root = root(common)?;
    let kill = |client: Client| client.kill(name.as_str(), Some(name.as_str()), &root);
    match Client::find()?.map(kill).transpose()? {
        None | Some((0, false)) => Err(format!("end the session {name}: there is none").into()),
        Some(_) => Ok(Status::Ok),
    }
}

/// A call that was typed.
struct CodeCall<'a> {
    language: Language,
    source: Vec<u8>,
    name: &'a SessionName,
    common: &'a Common,
    policy: u64,
}

/// What became of a call that was brought to a supervisor.
enum Brought {
    Done(Status),
    /// Nobody has taken it.
    NotTaken,
}

impl CodeCall<'_> {
    /// Brings the call to the supervisor that keeps the interpreter. Where there is none, this one does.
    fn perform(&self, front_end: &FrontEnd) -> Answer {
        let interrupts = Interrupts::watch(Hangup::End)?;
        front_end.interrupts(&interrupts)?;
        loop {
            if let Brought::Done(status) = self.bring(&interrupts)? {
                return Ok(interrupts.status().unwrap_or(status));
            }
            if let Some(status) = self.keep(front_end, &interrupts)? {
                return Ok(interrupts.status().unwrap_or(status));
            }
            thread::sleep(RETRY_PAUSE);
        }
    }

    fn bring(&self, interrupts: &Interrupts) -> Result<Brought, SessionError> {
        let Some(client) = Client::find()? else { return Ok(Brought::NotTaken) };
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
        let visit = Visit {
            root: RawPath::of(&root(self.common)?),
            session: self.name.to_string(),
            language: self.language.name().to_owned(),
        };
        let purpose = format!("find the interpreter of the session {}", self.name);
        match client.ask(&purpose, HostRequest::Visit(visit), &[theirs.as_fd()])? {
            (HostReply::Passed, _) => {}
            (HostReply::Absent, _) => return Ok(Brought::NotTaken),
            (other, _) => return Err(unexpected(&other)),
        }
        // From here on its end is that of the supervisor.
        drop((client, theirs));
        if self.send(&ours).is_err() {
            return Ok(Brought::NotTaken);
        }
        match reply(&ours) {
            Some(VisitReply::Taken) => {}
            Some(VisitReply::Error(why)) => return Err(why.into()),
            Some(VisitReply::Done(_)) | None => return Ok(Brought::NotTaken),
        }
        let ours = Arc::new(ours);
        let own = Arc::clone(&ours);
        // The supervisor cancels the call and answers.
        let _cancellable = interrupts.cancels_by(move || {
            let _gone = shutdown(&*own, Shutdown::Write).is_err();
        });
        match reply(&*ours) {
            Some(VisitReply::Done(status)) => Ok(Brought::Done(Status::Program(status))),
            Some(VisitReply::Error(why)) => Err(why.into()),
            Some(VisitReply::Taken) | None => {
                print::error(&format!(
                    "the session {} was lost: the process that kept its interpreter has ended; the next \
                     call gets a fresh one",
                    self.name
                ));
                Ok(Brought::Done(Status::Failed))
            }
        }
    }

    fn send(&self, socket: &OwnedFd) -> Result<(), SessionError> {
        let common = self.common;
        let call = VisitCall {
            policy: self.policy,
            wall_millis: common.timeout.and_then(|wall| u64::try_from(wall.as_millis()).ok()),
            json: common.json,
            quiet: common.quiet,
        };
        let mut file = File::from(memfd_create("source", MemfdFlags::CLOEXEC)?);
        file.write_all(&self.source)?;
        let terminal = if common.no_ask { None } else { ask::open() };
        let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
        let mut descriptors: Vec<BorrowedFd<'_>> =
            vec![file.as_fd(), stdout.as_fd(), stderr.as_fd()];
        descriptors.extend(terminal.as_ref().map(AsFd::as_fd));
        Ok(send(socket, &call, &descriptors)?)
    }

    /// Makes the call here, and keeps its interpreter for others. Nothing if another supervisor has become
    /// the keeper meanwhile.
    fn keep(
        &self,
        front_end: &FrontEnd,
        interrupts: &Interrupts,
    ) -> Result<Option<Status>, SessionError> {
        let common = self.common;
        let terminal = Arc::new(Terminal::of_others(setup::own_policy(common)));
        let approver: Arc<dyn Approver> = Arc::<Terminal>::clone(&terminal);
        let builder = setup::builder(common, &[])?.pool(PoolSize::NoTemplates).approver(approver);
        let stockade = builder.open().map_err(SetupError::Open)?;
        let source = self.source.clone();
        let call = ToolCall::code(self.language, source).in_session(self.name.clone());
        let role = JoinAs::Keeper(self.language);
        let Some(membership) = Membership::join_as(&stockade, &call, self.name, role)? else {
            return Ok(None);
        };
        terminal.borrow(if common.no_ask { None } else { ask::open() });
        let begun = |canceller| interrupts.cancels(canceller);
        let made = make(&stockade, call, common, Some(&membership), begun)?;
        terminal.borrow(None);
        let Some(mut report) = made else { return Ok(Some(Status::BROKEN_PIPE)) };
        let kept = membership.finish_keeping(&mut report, &front_end.waits);
        show(&stockade, &report, common)?;
        if let Some(kept) = kept {
            let (name, policy) = (self.name.clone(), self.policy);
            let (common, language) = (common.clone(), self.language);
            let keeper = Keeper { stockade, terminal, common, language, name, policy };
            let interrupts = interrupts.clone();
            front_end.stay_for(move || {
                interrupts.forget();
                keeper.serve(&kept);
            });
        }
        Ok(Some(Status::of(&report)))
    }
}

/// The answer of the supervisor; nothing if it is gone.
fn reply(socket: impl AsFd) -> Option<VisitReply> {
    Packet::receive(socket).ok().flatten()?.read().ok()
}

/// Keeps an interpreter, and makes the calls that others bring.
struct Keeper {
    stockade: Stockade,
    terminal: Arc<Terminal>,
    common: Common,
    language: Language,
    name: SessionName,
    policy: u64,
}

impl Keeper {
    /// Makes call after call until the interpreter is gone.
    fn serve(mut self, kept: &KeptInterpreter) {
        while !kept.left.wait_end(Duration::ZERO) {
            match kept.visits.recv_timeout(LOOK_PAUSE) {
                Ok(socket) => self.answer(&Arc::new(socket)),
                Err(RecvTimeoutError::Timeout) => {}
                // The host is gone, and the interpreter soon.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK_PAUSE),
            }
        }
    }

    /// Makes the call of a command. One that has gone away gets no answer, and the interpreter stays.
    fn answer(&mut self, socket: &Arc<OwnedFd>) {
        let made = self.perform(socket);
        let _streams = let_go_of_streams().is_err();
        let reply = match made {
            Ok(Some(status)) => VisitReply::Done(status.code()),
            Ok(None) => return,
            Err(error) => VisitReply::Error(chain(&*error)),
        };
        let _gone = send(socket, &reply, &[]).is_err();
    }

    fn perform(&mut self, socket: &Arc<OwnedFd>) -> Result<Option<Status>, SessionError> {
        set_socket_timeout(socket, Timeout::Recv, Some(SILENCE_MAX))?;
        let Some(packet) = Packet::receive(socket)? else { return Ok(None) };
        let asked: VisitCall = packet.read()?;
        if asked.policy != self.policy {
            let name = &self.name;
            return Err(format!(
                "use the session {name}: its interpreter was started under another policy, journal or \
                 options; end it with --session {name} --end, or name another"
            )
            .into());
        }
        let mut descriptors = packet.descriptors.into_iter();
        let mut next = || descriptors.next().ok_or("a descriptor is missing");
        let (source, stdout, stderr) = (read(File::from(next()?))?, next()?, next()?);
        let mut call = ToolCall::code(self.language, source).in_session(self.name.clone());
        call.wall = asked.wall_millis.map(Duration::from_millis);
        let joined = Membership::join_as(&self.stockade, &call, &self.name, JoinAs::Visitor)?;
        // Without the session there is no interpreter, and the command finds another.
        let Some(membership) = joined else { return Ok(None) };
        send(socket, &VisitReply::Taken, &[])?;
        dup2_stdout(&stdout)?;
        dup2_stderr(&stderr)?;
        drop((stdout, stderr));
        (self.common.json, self.common.quiet) = (asked.json, asked.quiet);
        self.terminal.borrow(descriptors.next().map(File::from));
        let begun = |canceller| Hearer::begin(socket, canceller);
        let made = make(&self.stockade, call, &self.common, Some(&membership), begun);
        self.terminal.borrow(None);
        let Some(mut report) = made? else { return Ok(Some(Status::BROKEN_PIPE)) };
        membership.finish(&mut report, &Waits::default());
        show(&self.stockade, &report, &self.common)?;
        Ok(Some(Status::of(&report)))
    }
}

fn read(mut file: File) -> std::io::Result<Vec<u8>> {
    file.rewind()?;
    let mut source = Vec::new();
    file.take(SOURCE_BYTES_MAX).read_to_end(&mut source)?;
    Ok(source)
}

/// Hears whether the command that waits for a call goes away, which cancels the call.
struct Hearer(Arc<OwnedFd>);

impl Hearer {
    fn begin(socket: &Arc<OwnedFd>, canceller: Canceller) -> Self {
        let own = Arc::clone(socket);
        let _no_limit = set_socket_timeout(socket, Timeout::Recv, None).is_err();
        let hear = move || {
            let mut word = [0];
            while matches!(recv(&*own, &mut word, RecvFlags::empty()), Err(rustix::io::Errno::INTR))
            {
            }
            canceller.cancel();
        };
        let begun = thread::Builder::new().name("command".to_owned()).spawn(hear);
        // Without it the call goes on until its deadline.
        let _unheard = begun.is_err();
        Self(Arc::clone(socket))
    }
}

impl Drop for Hearer {
    fn drop(&mut self) {
        // Ends the thread.
        let _over = shutdown(&*self.0, Shutdown::Read).is_err();
    }
}

/// The real path of the project.
fn root(common: &Common) -> Result<PathBuf, SessionError> {
    let policy = setup::policy(common, &[])?;
    Ok(Root::open_for(&common.sources.root, &policy)?.path().to_owned())
}

/// Equal for calls that would be judged and confined alike, but for their deadline and what is shown of
/// their output.
fn fingerprint(common: &Common) -> Result<u64, SessionError> {
    let mut policy = setup::policy(common, &[])?;
    policy.limits.wall = Duration::ZERO;
    policy.code_limits.wall = Duration::ZERO;
    let journal = std::path::absolute(setup::journal(common.journal.as_deref())?)?;
    let mut hasher = DefaultHasher::new();
    (policy.fingerprint(), journal, root(common)?).hash(&mut hasher);
    Ok(hasher.finish())
}
