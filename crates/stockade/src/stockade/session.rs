//! A call in its session: the working directory that it begins in, and what it leaves.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::Stockade;
use crate::call::{Tool, ToolCall};
use crate::journal::EntryId;
use crate::journal::record::{self, Event};
use crate::launch::{LeftEnd, SessionResult};
use crate::outcome::{Failure, FailureKind, LeftProcess, Outcome};
use crate::report::{Body, Report, RequestView};

impl Stockade {
    /// The call in the working directory of its session, unless it names one itself or is code, which runs
    /// in its scratch folder; and the directory that would be it and is gone.
    pub(super) fn in_session_folder(&self, mut call: ToolCall) -> (ToolCall, Option<PathBuf>) {
        let has_own = call.cwd.is_some() || matches!(call.tool, Tool::Code(_));
        let Some(name) = call.session.as_ref().filter(|_| !has_own) else {
            return (call, None);
        };
        match self.sessions().get(name).folder() {
            Ok(folder) => {
                call.cwd = folder;
                (call, None)
            }
            Err(gone) => (call, Some(gone)),
        }
    }

    /// The report on a call whose session, which another process keeps, cannot be joined: nothing was judged
    /// or run.
    pub fn unjoined(&self, call: ToolCall, why: &str) -> Report {
        let (message, hint) = why.split_once("\nhint: ").unwrap_or((why, "stockade ps"));
        let failure = Failure::new(FailureKind::UseSession, message).with_remedy(hint);
        Report::new(RequestView::from(call), Duration::ZERO, None, Body::Failed(failure))
    }

    /// Gives the session what it gets of a call, and tells it in the outcome.
    pub(super) fn settle_session(
        &self,
        (call, entry): (&ToolCall, EntryId),
        result: SessionResult,
        outcome: &mut Outcome,
    ) {
        let SessionResult { joined, folder, left } = result;
        let mut session = outcome.session.take().unwrap_or_else(|| joined.usage());
        if matches!(call.tool, Tool::Line(_)) && !call.background {
            let folder = folder.as_ref().and_then(|told| joined.set_folder(told, self.root()));
            session.cwd = folder;
        }
        if let Tool::Code(code) = &call.tool
            && session.alive
            && let Err(error) =
                joined.keep_interpreter(&call.id, code.language, self.tell_of(call, entry))
        {
            session.alive = false;
            outcome
                .notes
                .push(format!("its interpreter was ended: nothing could watch it: {error}"));
        }
        outcome.session = Some(session);
        if let Some(left) = left {
            match joined.keep(&call.id, left, self.tell_of(call, entry)) {
                Ok(processes) => outcome.left_running = processes,
                Err(why) => {
                    outcome
                        .notes
                        .push(format!("the processes that it left running were ended: {why}"));
                }
            }
        }
        if !outcome.left_running.is_empty() {
            outcome.notes.push(left_running(&call.id, &outcome.left_running));
        }
    }

    /// Ends all sessions after a call that has ended without its protected folders becoming read-only: what
    /// is left running in one of them may hold a handle on these.
    pub(super) fn end_sessions(&self, result: Option<SessionResult>, outcome: &mut Outcome) {
        let sessions = self.sessions().list();
        if sessions.is_empty() {
            return;
        }
        for session in sessions {
            self.sessions().end(session.name());
        }
        outcome.session = result.map(|result| result.joined.usage());
        outcome.notes.push(
            "the sessions of this project were ended: the protected folders of this call could not be made \
             read-only when it ended, and what is left running may hold a handle on them"
                .to_owned(),
        );
    }

    /// What writes down how the processes that a call has left running have ended.
    fn tell_of(&self, call: &ToolCall, entry: EntryId) -> impl FnOnce(LeftEnd) + Send + 'static {
        let (gate, call) = (Arc::clone(&self.gate), call.id.to_string());
        move |end: LeftEnd| {
            let event = Event::LeftEnded(record::LeftoversEnd {
                call,
                entry: entry.seq(),
                limit: end.limit.map(|limit| limit.name().to_owned()),
                breach: end.is_breach,
                wall: end.wall,
                cpu: end.cpu,
                peak_memory_bytes: end.peak_memory_bytes,
            });
            // Nobody waits for it any more who could be told.
            let _unrecorded = gate.journal().append(&event).is_err();
        }
    }
}

/// How much of the note on what goes on is spent on names.
const NAMES_BYTES_MAX: usize = 800;

/// One line about what goes on: each port once, and as many names as fit.
fn left_running(call: &crate::call::CallId, processes: &[LeftProcess]) -> String {
    let mut named: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut length = 0_usize;
    for process in processes {
        let command = process.command.split_whitespace().collect::<Vec<_>>().join(" ");
        let ports: Vec<String> = match &process.ports {
            Some(ports) => {
                let new = ports.iter().filter(|port| seen.insert(**port));
                new.map(|port| format!(":{port}")).collect()
            }
            None => vec!["(ports unknown)".to_owned()],
        };
        let name = [vec![command], ports].concat().join(" ");
        length = length.saturating_add(name.len());
        if length > NAMES_BYTES_MAX && !named.is_empty() {
            break;
        }
        named.push(name);
    }
    let more = processes.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "left running: {}{more}; output: stockade logs {call}; to end it: stockade kill {call}",
        named.join(", ")
    )
}
