//! The file tools, applied: by the handles that were judged, in this process.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::inline::setup;
use super::scratch;
use super::setup::Setup;
use crate::confine::Files;
use crate::files::{Changes, FileError, Job, ToolOutput};
use crate::gate::FileWork;
use crate::guarantee::Guarantee;
use crate::limits::{ByteCount, LimitHit};
use crate::outcome::{Exit, Failure, FailureKind, Outcome, Usage};
use crate::output::CapturedOutput;
use crate::plan::FilesPlan;
use crate::plan::ops::Inline;
use crate::tier::Tier;

/// Carries out what was planned.
pub(super) fn start(plan: FilesPlan) -> Result<Outcome, Failure> {
    let (cleared, description, spent) = plan.into_parts();
    let Setup { files, limits, .. } = setup(&description.ops, Inline::ByHandle)?;
    is_as_judged(&cleared, &files)?;
    let (notes, _) = scratch::open_base(scratch::Room::Little, &[])
        .map_err(|error| scratch::unscratched(&error))?;
    let started = Instant::now();
    let job = Job {
        call: &cleared.file,
        place: &cleared.place,
        sight: &*cleared.sight,
        root: (cleared.root.as_fd(), &cleared.root_path),
        told_from: &cleared.cwd_path,
        notes: notes.as_fd(),
        output_max: limits.output.as_len(),
        file_bytes_max: limits.file_size.map_or(u64::MAX, ByteCount::get),
        until: crate::plan::until(limits.wall.saturating_sub(spent)),
    };
    let result = job.perform();
    let usage = Usage { wall: started.elapsed(), ..Usage::default() };
    let (told, exit) = match result {
        Ok(told) if told.limit.is_none() => (told, Exit::Code(0)),
        Ok(told) => (told, Exit::Code(1)),
        Err(error) => (refused(&error), Exit::Code(1)),
    };
    let changes =
        cleared.file.writes().then_some(Changes { files: told.changes, unseen: Vec::new() });
    Ok(Outcome {
        exit,
        limit: told.limit,
        stdout: told.text,
        stderr: said(&told.remarks),
        usage,
        tier: Tier::Inline,
        enforcement: description.enforcement,
        denials: Vec::new(),
        changes,
        notes: Vec::new(),
        session: None,
        left_running: Vec::new(),
        is_unsealed: false,
    })
}

/// What the box of a program would keep is kept here as well: the journal among it, of which only the
/// permit knows.
fn is_as_judged(work: &FileWork, files: &Files) -> Result<(), Failure> {
    let real: &Path = &work.place.real;
    let hidden = files.hide.iter().find(|path| real.starts_with(path));
    let meets = |path: &&PathBuf| real.starts_with(path) || path.starts_with(real);
    let is_news = |path: &&PathBuf| work.file.writes() && !work.protected.contains(path);
    let protected = files.protect.iter().filter(meets).find(is_news);
    let (path, guarantee) = match (hidden, protected) {
        (Some(path), _) => (path, Guarantee::Reads),
        (None, Some(path)) => (path, Guarantee::Protected),
        (None, None) => return Ok(()),
    };
    Err(Failure::new(FailureKind::WriteFile, format!("{path:?} has to stay as it is"))
        .with_remedy("leave it alone")
        .with_guarantee(guarantee))
}

fn refused(error: &FileError) -> ToolOutput {
    let limit = matches!(error, FileError::Late).then_some(LimitHit::Wall);
    ToolOutput { remarks: vec![error.to_string()], limit, ..ToolOutput::default() }
}

fn said(remarks: &[String]) -> CapturedOutput {
    let bytes: Vec<u8> =
        remarks.iter().flat_map(|line| [line, "\n"].concat().into_bytes()).collect();
    let seen = u64::try_from(bytes.len()).unwrap_or_default();
    CapturedOutput { bytes, seen, dropped: 0 }
}
