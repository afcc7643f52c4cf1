//! Hands a program to a shim or to a prepared sandbox: encodes it, and sends it with its streams.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::Errno;

use crate::channel::Channel;
use crate::memory_file;
use crate::protocol::step::Step;
use crate::protocol::{ExecMessage, Plain, Request, UNLIMITED, cwd, slot, terminal};
use crate::start::{At, OurStreams, Spec, StartError, Stdin, open_streams};

/// A program for a sandbox: its path there, and the folder there that it starts in.
///
/// [`Spec::signal_scope`] and [`Spec::processes_max`] are not used: the sandbox has its own.
#[derive(Debug)]
pub struct Program {
    /// How it is started.
    pub spec: Spec,
    /// Its path in the sandbox.
    pub path: CString,
    /// Its folder in the sandbox.
    pub folder: Folder,
}

/// The folder of a sandbox that its program starts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Whatever the sandbox has at this path. [`Spec::cwd`] is not used.
    Any(CString),
    /// [`Spec::cwd`], as the sandbox shows it at this path. Another folder there is an error.
    Judged(CString),
    /// The closed one that the sandbox shows at this path, which it hides
    /// ([`Mount::Hide`](crate::Mount::Hide)). A folder of the host there is an error. [`Spec::cwd`]
    /// is not used.
    Hidden(CString),
}

impl Program {
    /// A program that starts in whatever its sandbox has at a path.
    pub fn new(spec: Spec, path: &CStr, folder: &CStr) -> Self {
        Self { spec, path: path.to_owned(), folder: Folder::Any(folder.to_owned()) }
    }
}

impl Folder {
    fn path(&self) -> &CStr {
        let (Self::Any(path) | Self::Judged(path) | Self::Hidden(path)) = self;
        path
    }
}

/// Sends a program to a prepared sandbox whose streams must belong to this user, and returns the
/// host's ends of them.
pub(crate) fn send_program(
    exec_channel: &Channel,
    owner: Option<(u32, u32)>,
    Program { spec, path, folder }: &Program,
) -> Result<OurStreams, StartError> {
    let (ours, theirs) = open_streams(spec).at(Step::OpenStreams)?;
    theirs.give_to(owner, &spec.stdin).at(Step::OpenStreams)?;
    let mut packed = encode(spec, Some((path, folder.path()))).at(Step::PackRequest)?;
    match folder {
        Folder::Any(_) => {}
        Folder::Judged(_) => {
            let judged = statx(&spec.cwd, c"", AtFlags::EMPTY_PATH, StatxFlags::INO);
            let judged = judged.at(Step::EnterDirectory)?;
            packed.request.cwd_is = cwd::JUDGED;
            packed.request.cwd_inode = judged.stx_ino;
            packed.request.cwd_device = [judged.stx_dev_major, judged.stx_dev_minor];
        }
        Folder::Hidden(_) => packed.request.cwd_is = cwd::OWN,
    }
    let mut descriptors = [spec.program.as_fd(); slot::FOR_BOX];
    descriptors[slot::STDIN] = theirs.stdin.as_fd();
    descriptors[slot::STDOUT] = theirs.stdout.as_fd();
    descriptors[slot::STDERR] = theirs.stderr.as_fd();
    descriptors[slot::PROGRAM] = spec.program.as_fd();
    let mut descriptors = descriptors.to_vec();
    let mut handed = ExecMessage { request: packed.request, ..ExecMessage::empty() };
    let file = match handed.strings.bytes_mut().get_mut(..packed.strings.len()) {
        Some(room) => {
            room.copy_from_slice(&packed.strings);
            None
        }
        None => Some(memory_file::sealed(&packed.strings).at(Step::PackRequest)?),
    };
    descriptors.extend(file.as_ref().map(AsFd::as_fd));
    // A descriptor for tests that leak one.
    descriptors.extend(cfg!(feature = "fault-injection").then(|| spec.cwd.as_fd()));
    handed.request.descriptors = u32::try_from(descriptors.len()).unwrap_or(0);
    exec_channel.send(&handed, &descriptors).at(Step::SendRequest)?;
    // The sandbox has them now. Only the program may hold its ends of the streams, or the host
    // would never see them close.
    Ok(ours)
}

/// A request and the bytes that its offsets point into.
pub(crate) struct EncodedRequest {
    pub(crate) request: Request,
    pub(crate) strings: Vec<u8>,
}

/// Encodes everything in the specification that is not a descriptor, and for a prepared sandbox the
/// paths of the program and its working directory. The sender sets the number of descriptors.
pub(crate) fn encode(spec: &Spec, in_box: Option<(&CStr, &CStr)>) -> io::Result<EncodedRequest> {
    let layout = Layout::of(&spec.argv, &spec.env, spec.script.as_deref(), in_box);
    let (rlimits, rlimit_count) = spec.rlimits.table();
    let request = Request {
        argc: count(spec.argv.len())?,
        envc: count(spec.env.len())?,
        strings_len: size(layout.bytes.len()),
        script: layout.script,
        program: layout.program,
        cwd: layout.cwd,
        processes_max: spec.processes_max.map_or(UNLIMITED, |max| max.min(UNLIMITED - 1)),
        rlimit_count,
        rlimits,
        is_stdin_empty: u64::from(matches!(spec.stdin, Stdin::Empty)),
        terminal: match spec.stdin {
            Stdin::Terminal(size) => terminal::of(size.rows, size.columns),
            Stdin::Empty | Stdin::Piped | Stdin::Given(_) => terminal::NONE,
        },
        ..Request::empty()
    };
    Ok(EncodedRequest { request, strings: layout.bytes })
}

/// The bytes of the memory file: both tables of offsets, then the strings.
struct Layout {
    bytes: Vec<u8>,
    script: u64,
    program: u64,
    cwd: u64,
}

impl Layout {
    fn of(
        argv: &[CString],
        env: &[CString],
        script: Option<&CStr>,
        in_box: Option<(&CStr, &CStr)>,
    ) -> Self {
        let entries = argv.len().saturating_add(env.len()).saturating_add(2);
        let mut at = size(entries.saturating_mul(size_of::<u64>()));
        let mut place = |string: &CStr| {
            let offset = at;
            at = at.saturating_add(size(string.count_bytes())).saturating_add(1);
            offset
        };
        let mut tables = Vec::with_capacity(entries);
        tables.extend(argv.iter().map(|string| place(string)));
        tables.push(0);
        tables.extend(env.iter().map(|string| place(string)));
        tables.push(0);
        let script_at = script.map_or(0, &mut place);
        let program_at = in_box.map_or(0, |(program, _)| place(program));
        let cwd_at = in_box.map_or(0, |(_, cwd)| place(cwd));

        // One byte more, so that the file ends with a NUL even when there is no string.
        let mut bytes = Vec::with_capacity(usize::try_from(at).unwrap_or(0).saturating_add(1));
        for offset in tables {
            bytes.extend_from_slice(&offset.to_ne_bytes());
        }
        let paths = in_box.into_iter().flat_map(<[&CStr; 2]>::from);
        let strings = argv.iter().chain(env).map(CString::as_c_str).chain(script).chain(paths);
        for string in strings {
            bytes.extend_from_slice(string.to_bytes_with_nul());
        }
        bytes.push(0);
        Self { bytes, script: script_at, program: program_at, cwd: cwd_at }
    }
}

fn count(len: usize) -> io::Result<u32> {
    u32::try_from(len).map_err(|_too_many| Errno::TOOBIG.into())
}

/// A length in memory as a length on the wire; the crate is for 64-bit machines.
fn size(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<CString> {
        list.iter().map(|text| CString::new(*text).unwrap()).collect()
    }

    /// Reads as the shim would at an offset.
    fn at(bytes: &[u8], offset: u64) -> &str {
        let rest = &bytes[usize::try_from(offset).unwrap()..];
        CStr::from_bytes_until_nul(rest).unwrap().to_str().unwrap()
    }

    fn table(bytes: &[u8], len: usize) -> Vec<u64> {
        let words = bytes.chunks_exact(8).take(len);
        words.map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn both_tables_end_with_zero_and_lead_to_their_strings() {
        let in_box = Some((c"/bin/ls", c"/work"));
        let layout =
            Layout::of(&strings(&["ls", "", "-l"]), &strings(&["A=1"]), Some(c"./s"), in_box);
        let table = table(&layout.bytes, 6);
        assert_eq!((table[3], table[5]), (0, 0));
        let texts = [table[0], table[1], table[2], table[4], layout.script];
        assert_eq!(texts.map(|offset| at(&layout.bytes, offset)), ["ls", "", "-l", "A=1", "./s"]);
        let texts = [layout.program, layout.cwd].map(|offset| at(&layout.bytes, offset));
        assert_eq!(texts, ["/bin/ls", "/work"]);
    }

    #[test]
    fn nothing_at_all_is_two_zeroes_and_a_nul() {
        let layout = Layout::of(&[], &[], None, None);
        assert_eq!((layout.bytes, layout.script), (vec![0; 17], 0));
    }
}
