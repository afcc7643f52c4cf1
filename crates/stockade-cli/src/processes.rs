//! `stockade ps`, `logs` and `kill`: the sessions of this user, and what their calls have left running.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stockade::call::SessionName;

use crate::args::{Kill, Logs, Ps};
use crate::exit_code::Status;
use crate::print::escape_line;
use crate::session::{CallInfo, Client, LeftInfo, SessionInfo};
use crate::{Answer, print};

/// Lists sessions.
pub(crate) fn ps(ps: &Ps) -> Answer {
    let mut sessions = match Client::find()? {
        Some(client) => client.list()?,
        None => Vec::new(),
    };
    if let Some(name) = &ps.scope.session {
        let root = root(&ps.scope.root);
        sessions.retain(|session| session.name == name.as_str() && session.root.path() == root);
    }
    if ps.json {
        let all: Vec<Value> = sessions.iter().map(wire).collect();
        print::json(&json!({ "sessions": all }))?;
        return Ok(Status::Ok);
    }
    if sessions.is_empty() {
        print::line("no sessions")?;
    }
    for session in &sessions {
        for line in lines(session) {
            print::line(&line)?;
        }
    }
    Ok(Status::Ok)
}

/// Prints the log of a call.
pub(crate) fn logs(logs: &Logs) -> Answer {
    let Some(client) = Client::find()? else {
        print::note("nothing is left running: there is no session");
        return Ok(Status::Ok);
    };
    let session = logs.scope.session.as_ref().map(SessionName::as_str);
    match client.log(&logs.what, session, &root(&logs.scope.root))? {
        Some(log) => print::bytes(&log)?,
        None => print::note(&format!(
            "nothing is left running that {:?} names; stockade ps shows what is, and stockade audit show how \
             the rest has ended",
            logs.what
        )),
    }
    Ok(Status::Ok)
}

/// Ends what is named.
pub(crate) fn kill(kill: &Kill) -> Answer {
    let nothing = format!("nothing is running that {:?} names", kill.what);
    let Some(client) = Client::find()? else {
        print::line(&nothing)?;
        return Ok(Status::Ok);
    };
    let session = kill.scope.session.as_ref().map(SessionName::as_str);
    let told = match client.kill(&kill.what, session, &root(&kill.scope.root))? {
        (0, false) => nothing,
        (0, true) => format!("session {} ended", kill.what),
        (calls, true) => format!("session {} ended, with {}", kill.what, counted(calls)),
        (calls, false) => format!("{} ended", counted(calls)),
    };
    print::line(&told)?;
    Ok(Status::Ok)
}

fn counted(calls: u32) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

/// The real path of the project; as it was typed, where it has none.
fn root(typed: &Path) -> std::path::PathBuf {
    stockade::inspect::Root::open(typed)
        .map_or_else(|_| typed.to_owned(), |root| root.path().to_owned())
}

fn lines(session: &SessionInfo) -> Vec<String> {
    let root = session.root.path();
    let mut head = format!(
        "session {}  {}  {}, {}",
        escape_line(&session.name),
        escape_line(&root.display().to_string()),
        age(session.age_secs),
        counted(u32::try_from(session.total_calls).unwrap_or(u32::MAX)),
    );
    if let Some(folder) = &session.folder
        && let Ok(inside) = folder.path().strip_prefix(&root)
        && !inside.as_os_str().is_empty()
    {
        let _infallible = write!(head, ", in {}", escape_line(&inside.display().to_string()));
    }
    let mut lines = vec![head];
    for call in &session.calls {
        lines.push(format!(
            "  {}  {}  {}",
            escape_line(&call.call),
            age(call.age_secs),
            escape_line(&call.command)
        ));
        lines.extend(call.left.iter().flat_map(left));
    }
    lines
}

fn left(left: &LeftInfo) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Processes that share a socket have its port in common.
    let mut seen = BTreeSet::new();
    for process in &left.processes {
        let ports = match &process.ports {
            Some(ports) => {
                let new = ports.iter().filter(|port| seen.insert(**port));
                new.map(|port| format!("  :{port}")).collect::<Vec<_>>().concat()
            }
            None => "  ports unknown".to_owned(),
        };
        lines.push(format!("    {:>6}  {}{ports}", process.pid, escape_line(&process.command)));
    }
    lines
}

fn age(secs: u64) -> String {
    humantime::format_duration(Duration::from_secs(secs)).to_string()
}

fn wire(session: &SessionInfo) -> Value {
    let call = |call: &CallInfo| {
        json!({
            "call": call.call,
            "command": call.command,
            "age_s": call.age_secs,
            "left_running": call.left.as_ref().map(|left| &left.processes),
            "memory_bytes": call.left.as_ref().map(|left| left.memory_bytes),
        })
    };
    json!({
        "name": session.name,
        "root": session.root.path().to_string_lossy(),
        "cwd": session.folder.as_ref().map(|folder| folder.path().to_string_lossy().into_owned()),
        "age_s": session.age_secs,
        "idle_s": session.idle_secs,
        "calls_total": session.total_calls,
        "calls": session.calls.iter().map(call).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::ProcessInfo;

    #[test]
    fn ports_are_listed_once_and_those_that_are_not_known_are_no_absent_ones() {
        let process = |pid, ports: Option<&[u16]>| ProcessInfo {
            pid,
            command: "x".to_owned(),
            ports: ports.map(<[u16]>::to_vec),
        };
        let processes = vec![
            process(2, Some(&[80, 81])),
            process(3, Some(&[80])),
            process(4, None),
            process(5, Some(&[])),
        ];
        assert_eq!(
            left(&LeftInfo { processes, ..LeftInfo::default() }),
            [
                "         2  x  :80  :81",
                "         3  x",
                "         4  x  ports unknown",
                "         5  x"
            ]
        );
    }
}
