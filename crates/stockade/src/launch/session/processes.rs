//! The processes of a sandbox that runs: how each was called, and where it listens.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::ffi::OsStrExt as _;

use stockade_sandbox::Running;

use crate::outcome::LeftProcess;

/// How many processes are named.
const PROCESSES_MAX: usize = 32;
/// How much of a command line is kept.
const COMMAND_BYTES_MAX: u64 = 200;
/// How many ports of one process are named.
const PORTS_MAX: usize = 16;
/// How many open files of one process, and sockets of one network, are looked at.
const FILES_MAX: usize = 4096;
/// The state of a listening socket in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// What runs in a sandbox at the moment, without its init, the oldest first. What cannot be read, as that of
/// a process that has just ended, is left out.
pub(super) fn in_sandbox(running: &Running) -> Vec<LeftProcess> {
    let mut pids: Vec<u32> = running.processes().into_iter().collect();
    pids.sort_unstable();
    let mut ports: Option<HashMap<u64, u16>> = None;
    let process = |pid: u32| {
        let inside = pid_inside(pid).filter(|inside| *inside > 1)?;
        let ports = ports.get_or_insert_with(|| listening(pid));
        Some(LeftProcess { pid: inside, command: command(pid)?, ports: ports_of(pid, ports) })
    };
    pids.into_iter().filter_map(process).take(PROCESSES_MAX).collect()
}

/// The process id that a process has in its own namespace.
fn pid_inside(pid: u32) -> Option<u32> {
    let status = read(&format!("/proc/{pid}/status"), 8 << 10)?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    let ids: Vec<&str> = line.split_whitespace().collect();
    // Outside of a namespace of its own, there is one.
    ids.last().filter(|_| ids.len() > 1)?.parse().ok()
}

/// The command line in one line. It is the sandbox's word, so that nothing in it is more than text.
fn command(pid: u32) -> Option<String> {
    let line = read(&format!("/proc/{pid}/cmdline"), COMMAND_BYTES_MAX)?;
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = line.trim_end_matches('\0').chars().map(shown).collect();
    if !text.is_empty() {
        return Some(text);
    }
    let name = read(&format!("/proc/{pid}/comm"), COMMAND_BYTES_MAX)?;
    Some(format!("({})", name.trim_end().chars().map(shown).collect::<String>()))
}

/// The ports on which the sockets of a process's network listen, by the number of the socket.
fn listening(pid: u32) -> HashMap<u64, u16> {
    let mut ports = HashMap::new();
    for table in ["tcp", "tcp6"] {
        let Ok(file) = File::open(format!("/proc/{pid}/net/{table}")) else { continue };
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        ports.extend(lines.take(FILES_MAX).filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, LISTENING, _, _, _, _, _, inode, ..] = *fields else { return None };
            let port = u16::from_str_radix(local.rsplit(':').next()?, 16).ok()?;
            Some((inode.parse().ok()?, port))
        }));
    }
    ports
}

/// The ports on which a process listens; none if that is not shown. One that cannot be dumped (prctl(2),
/// `PR_SET_DUMPABLE`) has its open files shown to root alone.
fn ports_of(pid: u32, listening: &HashMap<u64, u16>) -> Option<Vec<u16>> {
    if listening.is_empty() {
        return Some(Vec::new());
    }
    let open = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(open) => open,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return None,
        // It has just ended.
        Err(_) => return Some(Vec::new()),
    };
    let socket = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let inode = target.as_os_str().as_bytes().strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
        let inode = std::str::from_utf8(inode).ok()?.parse().ok()?;
        listening.get(&inode).copied()
    };
    let ports: BTreeSet<u16> = open.flatten().take(FILES_MAX).filter_map(socket).collect();
    Some(ports.into_iter().take(PORTS_MAX).collect())
}

fn read(path: &str, max: u64) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(max).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
