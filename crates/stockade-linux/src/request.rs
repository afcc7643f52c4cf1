//! Packs what the program is started with: for a message, or for a sealed memory file.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::keeper::wire::{Request, UNLIMITED};
use crate::start::{Spec, Stdin};

/// A request and the bytes that its offsets point into.
pub(crate) struct Packed {
    pub(crate) request: Request,
    pub(crate) strings: Vec<u8>,
}

/// Packs everything in the specification that is not a descriptor, and the paths of a program and its working
/// directory in a box that waits for them. Who sends it says how many descriptors there are.
pub(crate) fn pack(spec: &Spec, in_box: Option<(&CStr, &CStr)>) -> io::Result<Packed> {
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
        ..Request::empty()
    };
    Ok(Packed { request, strings: layout.bytes })
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

/// A memory file with these bytes that nobody can change any more.
pub(crate) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = match memfd_create("stockade-request", flags | MemfdFlags::NOEXEC_SEAL) {
        // The flag is known since Linux 6.3.
        Err(Errno::INVAL) => memfd_create("stockade-request", flags)?,
        other => other?,
    };
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<CString> {
        list.iter().map(|text| CString::new(*text).unwrap()).collect()
    }

    /// What the keeper would read at an offset.
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

    #[test]
    fn a_sealed_file_cannot_be_written() {
        let file = File::from(sealed(b"x").unwrap());
        let error = (&file).write_all(b"y").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
    }
}
