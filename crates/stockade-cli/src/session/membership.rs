//! A call as a member of its session: known to the host from its start until nothing of it runs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use stockade::call::{Language, SessionName, Tool};
use stockade::confine::Ports;
use stockade::launch::{FOLDER_LIMITS, LeftCall, Session, SessionSpace};
use stockade::limits::LimitHit;
use stockade::outcome::chain;
use stockade::{Canceller, Report, Stockade, ToolCall};

use super::SessionError;
use super::client::{Client, unexpected};
use super::message::{
    CallStart, FolderInfo, FromHost, HostReply, HostRequest, Joined, LeftInfo, Packet, PortsInfo,
    ProcessInfo, RawPath, SessionStart,
};
use crate::print;

/// How much of a command is shown in lists.
const COMMAND_CHARS: usize = 200;

/// A call in a session of the host.
pub(crate) struct Membership {
    line: Line,
    session: Arc<Session>,
    call: String,
    fate: Arc<Mutex<Fate>>,
    replies: Receiver<HostReply>,
    visits: Receiver<OwnedFd>,
    keeps: Option<Language>,
    /// Whether the last interpreter of this kind was lost.
    is_after_loss: bool,
}

/// A connection that ends with this, also for the thread that listens to it.
struct Line(Arc<Client>);

impl Drop for Line {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What a call joins its session as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinAs {
    /// A call like any other.
    Member,
    /// The first call in an interpreter that is kept for others.
    Keeper(Language),
    /// A later call in it: without its session there is none.
    Visitor,
}

/// An interpreter that is kept for later calls.
pub(super) struct KeptInterpreter {
    /// How it is listed; it is over with the interpreter.
    pub(super) left: Arc<LeftCall>,
    /// The sockets of the commands that have calls for it.
    pub(super) visits: Receiver<OwnedFd>,
}

/// What to do when the call has to end.
#[derive(Default)]
struct Fate {
    canceller: Option<Canceller>,
    left: Option<Arc<LeftCall>>,
    /// Why the call has to end.
    is_over: Option<LimitHit>,
    /// Whether that is because the host is gone.
    is_host_gone: bool,
}

/// What processes of this supervisor still watch.
#[derive(Default)]
pub(crate) struct Waits(Mutex<Vec<JoinHandle<()>>>);

impl Waits {
    fn add(&self, watcher: JoinHandle<()>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watcher| !watcher.is_finished());
        all.push(watcher);
    }

    /// Whether something is left running.
    pub(crate) fn is_any(&self) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|watcher| !watcher.is_finished())
    }

    /// Waits until nothing is.
    pub(crate) fn wait(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for watcher in all {
            // A panic there has been printed.
            let _panicked = watcher.join().is_err();
        }
    }
}

impl Membership {
    /// Joins a session, which begins if there is none. Its namespaces are made known to this Stockade.
    pub(crate) fn join(
        stockade: &Stockade,
        call: &ToolCall,
        name: &SessionName,
    ) -> Result<Self, SessionError> {
        let joined = Self::join_as(stockade, call, name, JoinAs::Member)?;
        joined.ok_or_else(|| {
            format!("join the session {name}: the session host does not let the call in").into()
        })
    }

    /// The same in this role; nothing if there is another keeper, or no session for a visitor.
    pub(super) fn join_as(
        stockade: &Stockade,
        call: &ToolCall,
        name: &SessionName,
        role: JoinAs,
    ) -> Result<Option<Self>, SessionError> {
        let client = Client::start()?;
        let keeps = if let JoinAs::Keeper(language) = role { Some(language) } else { None };
        let start = CallStart {
            root: RawPath::of(stockade.root()),
            session: name.to_string(),
            call: call.id.to_string(),
            command: shown(call),
            sets_folder: matches!(call.tool, Tool::Line(_)) && !call.background,
            interpreter: keeps.map(|language| language.name().to_owned()),
            ports: stockade.session_ports().filter(|_| runs_program(call)).map(PortsInfo::from),
        };
        let purpose = format!("join the session {name}");
        let mut answer = client.ask(&purpose, HostRequest::Join(start.clone()), &[])?;
        if matches!(answer.0, HostReply::Absent) && role != JoinAs::Visitor {
            let space = SessionSpace::create(FOLDER_LIMITS)
                .map_err(|error| format!("begin the session {name}: {}", chain(&error)))?;
            let limits = stockade.sessions().limits();
            let session = SessionStart {
                idle_millis: u64::try_from(limits.idle.as_millis()).unwrap_or(u64::MAX),
                processes: limits.processes,
                memory_bytes: limits.memory.get(),
            };
            let purpose = format!("begin the session {name}");
            let begin = HostRequest::Begin(start, session);
            answer = client.ask(&purpose, begin, &space.descriptors())?;
        }
        let (Joined { calls, folder, is_after_loss, ports }, descriptors) = match answer {
            (HostReply::Joined(joined), descriptors) => (joined, descriptors),
            (HostReply::Absent | HostReply::Kept, _) => return Ok(None),
            (other, _) => return Err(unexpected(&other)),
        };
        let space = SessionSpace::from_descriptors(descriptors)?;
        let folder = folder.map(|folder| (folder.path.path(), (folder.device, folder.inode)));
        let session = stockade.sessions().adopt(name, space, calls, folder, ports.into());
        let (fate, client) = (Arc::<Mutex<Fate>>::default(), Arc::new(client));
        let (send, replies) = mpsc::channel();
        let (bring, visits) = mpsc::channel();
        let (own_fate, own_client) = (Arc::clone(&fate), Arc::clone(&client));
        let listen = move || {
            // Its sender goes with this thread, so that nobody waits for a host that is gone.
            let send = send;
            let limit = loop {
                let Ok(Some(mut packet)) = Packet::receive(own_client.socket()) else {
                    lock(&own_fate).is_host_gone = true;
                    break LimitHit::Cancelled;
                };
                match packet.read::<FromHost>() {
                    Ok(FromHost::Visit) => {
                        // Where nobody keeps an interpreter any more, the command learns that by its
                        // socket.
                        packet.descriptors.drain(..).for_each(|socket| drop(bring.send(socket)));
                    }
                    Ok(FromHost::Reply(reply)) => {
                        // Nobody waits for replies to updates.
                        let _unread = send.send(reply).is_err();
                    }
                    Ok(FromHost::End(order)) => {
                        let limit = order.limit.and_then(|name| LimitHit::named(&name));
                        break limit.unwrap_or(LimitHit::Cancelled);
                    }
                    Err(_) => break LimitHit::Cancelled,
                }
            };
            Fate::end(&own_fate, limit);
        };
        thread::Builder::new().name("session".to_owned()).spawn(listen)?;
        let (line, call) = (Line(client), call.id.to_string());
        Ok(Some(Self { line, session, call, fate, replies, visits, keeps, is_after_loss }))
    }

    /// Has the call end if its session does.
    pub(crate) fn cancels(&self, canceller: Canceller) {
        let mut fate = lock(&self.fate);
        if fate.is_over.is_some() {
            canceller.cancel();
        }
        fate.canceller = Some(canceller);
    }

    /// Tells the host that the program has ended, where, and what it has left running. The report has a
    /// directory only if it is that of the next call.
    pub(crate) fn finish(self, report: &mut Report, waits: &Waits) {
        drop(self.finish_keeping(report, waits));
    }

    /// The same. Returns the interpreter that the call keeps for others.
    pub(super) fn finish_keeping(
        self,
        report: &mut Report,
        waits: &Waits,
    ) -> Option<KeptInterpreter> {
        let folder = report.session_folder().map(Path::to_owned);
        let (counts, ports) = self.report_end(folder.as_deref());
        report.note_ports_of_others(&ports);
        if self.is_after_loss {
            report.note("the interpreter of the session begins anew: the last one has ended");
        }
        if lock(&self.fate).is_host_gone {
            report.note_cancelled_by("its session host has ended");
        }
        if !counts {
            report.clear_session_folder();
        }
        let left = self.session.left();
        let left = left.into_iter().find(|left| left.call().as_str() == self.call);
        let left = left?;
        let is_over = {
            let mut fate = lock(&self.fate);
            fate.canceller = None;
            fate.left = Some(Arc::clone(&left));
            fate.is_over
        };
        if let Some(limit) = is_over {
            end(&left, limit);
        }
        let mut sent = info(&left);
        let log = left.log();
        // What the host does not know of cannot be listed or ended by anybody.
        if self.line.0.send(HostRequest::Left(sent.clone()), &[log.as_fd()]).is_err() {
            left.kill();
        }
        let kept = self.keeps.filter(|_| left.is_interpreter());
        let kept = kept.map(|_| KeptInterpreter { left: Arc::clone(&left), visits: self.visits });
        // An interpreter that no other command finds is not waited for.
        let is_waited_for = kept.is_some() || !left.is_interpreter();
        let session = Arc::clone(&self.session);
        let line = self.line;
        let watch = move || {
            while !left.wait_end(left.look_pause()) {
                let now = info(&left);
                if now != sent {
                    if line.0.send(HostRequest::Left(now.clone()), &[]).is_err() {
                        left.kill();
                    }
                    sent = now;
                }
            }
            // With the last handle of a session it ends.
            drop((line, session));
        };
        match thread::Builder::new().name("left".to_owned()).spawn(watch) {
            Ok(watcher) if is_waited_for => waits.add(watcher),
            Ok(_) => {}
            Err(error) => {
                print::note(&format!(
                    "what it left running was ended: no thread can watch it: {error}"
                ));
                self.session.end();
            }
        }
        kept
    }

    /// Returns whether the directory is that of the next call, and the ports that other calls had open.
    fn report_end(&self, folder: Option<&Path>) -> (bool, Ports) {
        let folder = folder.zip(self.session.folder_identity());
        let folder = folder.map(|(path, (device, inode))| {
            let path = RawPath::of(path);
            FolderInfo { path, device, inode }
        });
        if self.line.0.send(HostRequest::Ended(folder), &[]).is_err() {
            return (false, Ports::default());
        }
        match self.replies.recv() {
            Ok(HostReply::Noted { folder, ports }) => (folder, ports.into()),
            Ok(_) | Err(_) => (false, Ports::default()),
        }
    }
}

impl Fate {
    fn end(fate: &Mutex<Self>, limit: LimitHit) {
        let mut fate = lock(fate);
        fate.is_over = Some(limit);
        if let Some(canceller) = &fate.canceller {
            canceller.cancel();
        }
        if let Some(left) = &fate.left {
            end(left, limit);
        }
    }
}

fn lock(fate: &Mutex<Fate>) -> MutexGuard<'_, Fate> {
    fate.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end(left: &LeftCall, limit: LimitHit) {
    if limit == LimitHit::Cancelled { left.kill() } else { left.end_for(limit) }
}

fn info(left: &LeftCall) -> LeftInfo {
    let (tasks, memory) = left.usage();
    let process = |process: stockade::outcome::LeftProcess| ProcessInfo {
        pid: process.pid,
        command: process.command,
        ports: process.ports,
    };
    let processes = left.processes().into_iter().map(process).collect();
    let is_interpreter = left.is_interpreter();
    LeftInfo { processes, tasks, memory_bytes: memory.get(), is_interpreter }
}

/// Whether a call runs a program in its session.
fn runs_program(call: &ToolCall) -> bool {
    matches!(call.tool, Tool::Exec(_) | Tool::Line(_) | Tool::Code(_))
}

/// A call in one line.
fn shown(call: &ToolCall) -> String {
    let words: Vec<String> = match &call.tool {
        Tool::Line(line) => vec![line.text.to_string_lossy().into_owned()],
        Tool::Exec(exec) => {
            exec.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
        }
        Tool::Code(code) => vec!["code".to_owned(), code.language.name().to_owned()],
        Tool::File(_) | Tool::Unknown(_) | Tool::Malformed(_) => Vec::new(),
    };
    let text = words.join(" ");
    let text: Vec<&str> = text.split_whitespace().collect();
    text.join(" ").chars().take(COMMAND_CHARS).collect()
}
