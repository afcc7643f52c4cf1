//! A program, handed to a box.

use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxFlags, statx};

use crate::control::Line;
use crate::keeper::step::Step;
use crate::keeper::wire::{Handed, Plain, cwd, slot};
use crate::request;
use crate::start::{At, OurStreams, Spec, StartError, open_streams};

/// A program for a box: its path there, and the folder there that it starts in.
///
/// [`Spec::signal_scope`] and [`Spec::processes_max`] are not used: the box has its own.
#[derive(Debug)]
pub struct Program {
    /// How it is started.
    pub spec: Spec,
    /// Its path in the box.
    pub path: CString,
    /// Its folder in the box.
    pub folder: Folder,
}

/// The folder of a box that its program starts in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// Whatever the box has at this path. [`Spec::cwd`] is not used.
    Any(CString),
    /// [`Spec::cwd`], as the box shows it at this path. Another folder there is an error.
    Judged(CString),
    /// The closed one that the box shows at this path, which it hides ([`Mount::Hide`](crate::Mount::Hide)).
    /// A folder of the host there is an error. [`Spec::cwd`] is not used.
    Hidden(CString),
}

impl Program {
    /// A program that starts in whatever its box has at a path.
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

/// Hands a program over at the gate of a box whose streams have to belong to this user, and gives the
/// host's ends of them.
pub(crate) fn hand(
    gate: &Line,
    owner: Option<(u32, u32)>,
    Program { spec, path, folder }: &Program,
) -> Result<OurStreams, StartError> {
    let (ours, theirs) = open_streams(&spec.stdin).at(Step::OpenStreams)?;
    theirs.give_to(owner, &spec.stdin).at(Step::OpenStreams)?;
    let mut packed = request::pack(spec, Some((path, folder.path()))).at(Step::PackRequest)?;
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
    let mut handed = Handed { request: packed.request, ..Handed::empty() };
    let file = match handed.strings.bytes_mut().get_mut(..packed.strings.len()) {
        Some(room) => {
            room.copy_from_slice(&packed.strings);
            None
        }
        None => Some(request::sealed(&packed.strings).at(Step::PackRequest)?),
    };
    descriptors.extend(file.as_ref().map(AsFd::as_fd));
    // What a test may want to leak.
    descriptors.extend(cfg!(feature = "sabotage").then(|| spec.cwd.as_fd()));
    handed.request.descriptors = u32::try_from(descriptors.len()).unwrap_or(0);
    gate.send(&handed, &descriptors).at(Step::SendRequest)?;
    // The box has them now. Only the program may hold its ends of the streams, or their closing
    // would never be seen.
    Ok(ours)
}
