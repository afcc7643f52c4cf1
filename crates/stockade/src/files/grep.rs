//! `Grep`: files and lines by what is in them, searched with the library of ripgrep on handles that
//! we opened.

mod output;
mod bounded;
mod workers;
mod engine;
mod record;
mod sink;

use std::fs::File;
use std::io::Seek as _;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

use globset::GlobSet;
use ignore::types::{Types, TypesBuilder};
use rustix::fs::FileType;

use self::engine::{Engine, HEAP_BYTES_MAX};
use self::output::GrepOutput;
use self::sink::End;
use self::workers::{FileResult, Workers, search};
use super::error::FileError;
use super::glob::either_pattern;
use super::open::{entry, judged};
use super::tree::{Next, WalkEntry, WalkResult, walk};
use super::{Job, ToolOutput};
use crate::call::file::Grep;
use crate::inspect::stat_of;
use crate::limits::LimitHit;

/// So many files are searched without threads, which take a moment to start.
const ALONE_MAX: usize = 32;

/// Looks for the pattern in a file, or in all files of a folder.
pub(super) fn grep(job: &Job<'_>, grep: &Grep) -> Result<ToolOutput, FileError> {
    let mut search = GrepRun::new(job, grep)?;
    let handle = job.place.file.as_ref();
    let handle = handle.ok_or_else(|| FileError::Missing(job.place.real.clone()))?;
    let mode =
        stat_of(handle.as_fd()).map_err(FileError::system("look at", &job.place.real))?.st_mode;
    let walked = if FileType::from_raw_mode(mode) == FileType::Directory {
        search.folder()?
    } else {
        search.named()?;
        WalkResult::default()
    };
    Ok(search.told(&walked))
}

/// Files of which not all was searched.
#[derive(Debug, Default)]
struct SkipCounts {
    binary: u64,
    binary_later: u64,
    large: u64,
    unread: u64,
    unseen: u64,
    late: bool,
}

impl SkipCounts {
    fn add(&mut self, end: &End) {
        let count = match end {
            End::Done => return,
            End::Late => {
                self.late = true;
                return;
            }
            End::Binary => &mut self.binary,
            End::BinaryLater => &mut self.binary_later,
            End::Large => &mut self.large,
            End::Unread(_) => &mut self.unread,
        };
        *count = count.saturating_add(1);
    }

    fn remarks(&self) -> Vec<String> {
        let said = |count: u64, text: &str| (count > 0).then(|| format!("{count} {text}"));
        let large = format!("files were not searched to the end: more than {HEAP_BYTES_MAX} bytes");
        let large = format!("{large} in one line, or in all if multiline");
        [
            said(self.binary, "binary files were passed by"),
            said(self.binary_later, "files were searched up to a zero byte in them"),
            said(self.large, &large),
            said(self.unread, "files could not be read"),
            said(self.unseen, "files were left out: the policy hides another name of theirs"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

struct GrepRun<'s> {
    job: &'s Job<'s>,
    engine: Engine,
    names: Option<GlobSet>,
    types: Option<Types>,
    answer: GrepOutput<'s>,
    passed: SkipCounts,
}

impl<'s> GrepRun<'s> {
    fn new(job: &'s Job<'s>, grep: &'s Grep) -> Result<Self, FileError> {
        Ok(Self {
            job,
            engine: Engine::new(grep)?,
            names: grep.glob.as_deref().map(either_pattern).transpose()?,
            types: grep.kind.as_deref().map(types).transpose()?,
            answer: GrepOutput::new(job, grep),
            passed: SkipCounts::default(),
        })
    }

    /// Searches the file that the call names.
    fn named(&mut self) -> Result<(), FileError> {
        let path = &self.job.place.real;
        let (file, stat) = judged(self.job.place)?;
        match self.file(path, &file) {
            End::Binary => {
                let bytes = u64::try_from(stat.st_size).unwrap_or_default();
                Err(FileError::Binary { path: path.clone(), bytes })
            }
            End::Unread(source) => {
                Err(FileError::System { doing: "read", path: path.clone(), source })
            }
            end @ (End::Done | End::BinaryLater | End::Large | End::Late) => {
                self.passed.add(&end);
                Ok(())
            }
        }
    }

    /// Searches all files of the folder that the call names.
    fn folder(&mut self) -> Result<WalkResult, FileError> {
        let (job, engine) = (self.job, self.engine.clone());
        thread::scope(|scope| {
            let (mut workers, mut files) = (None, 0_usize);
            let walked = walk(job, |met| {
                if !self.is_meant(met) {
                    return Next::Go;
                }
                files = files.saturating_add(1);
                if files > ALONE_MAX && workers.is_none() {
                    // Without threads it takes longer.
                    workers = Workers::start(scope, &engine, job.until).ok();
                }
                self.meet(met, workers.as_mut())
            })?;
            self.settle_all(workers.as_mut().map(Workers::finish).unwrap_or_default());
            Ok(walked)
        })
    }

    fn meet(&mut self, met: &WalkEntry<'_>, workers: Option<&mut Workers>) -> Next {
        let opened =
            entry(met.folder, met.name).and_then(|handle| Ok((stat_of(handle.as_fd())?, handle)));
        match opened {
            Ok((stat, _)) if self.job.sight.hides_link(&stat) => {
                self.passed.unseen = self.passed.unseen.saturating_add(1);
            }
            Ok((_, handle)) => {
                let path = met.path.to_owned();
                match workers {
                    Some(workers) => self.settle_all(workers.search(path, handle)),
                    None => {
                        let searched = search(&mut self.engine, path, &handle, self.job.until);
                        self.settle(searched);
                    }
                }
            }
            Err(_) => self.passed.unread = self.passed.unread.saturating_add(1),
        }
        if self.is_over() { Next::Stop } else { Next::Go }
    }

    fn settle_all(&mut self, all: Vec<FileResult>) {
        for searched in all {
            if self.is_over() {
                return;
            }
            self.settle(searched);
        }
    }

    /// Whether nothing more would be told.
    fn is_over(&self) -> bool {
        self.answer.is_full() || self.passed.late
    }

    /// Tells what was found in a file.
    fn settle(&mut self, FileResult { path, result }: FileResult) {
        match result {
            Ok((file, record)) => {
                let end = match record.tell(self.answer.about(&path)) {
                    Some(end) => end,
                    None => self.again(&path, file),
                };
                self.passed.add(&end);
            }
            // It was replaced by something else since the folder was read.
            Err(FileError::NoFile { .. }) => {}
            Err(_) => self.passed.unread = self.passed.unread.saturating_add(1),
        }
    }

    /// Searches a file from its beginning.
    fn again(&mut self, path: &Path, mut file: File) -> End {
        match file.rewind() {
            Ok(()) => self.file(path, &file),
            Err(error) => End::Unread(error),
        }
    }

    fn is_meant(&self, met: &WalkEntry<'_>) -> bool {
        let has_name = self.names.as_ref().is_none_or(|names| names.is_match(met.below));
        let is_type = |types: &Types| types.matched(met.path, false).is_whitelist();
        met.kind == FileType::RegularFile && has_name && self.types.as_ref().is_none_or(is_type)
    }

    fn file(&mut self, path: &Path, file: &File) -> End {
        self.engine.search(file, self.job.until, self.answer.about(path))
    }

    fn told(self, walked: &WalkResult) -> ToolOutput {
        let is_late = self.passed.late && walked.limit.is_none();
        let late = is_late.then(|| "the time was up before the end".to_owned());
        let mut told = self.answer.told();
        told.remarks.extend(walked.remarks());
        told.remarks.extend(self.passed.remarks());
        told.remarks.extend(late);
        told.limit = walked.limit.or_else(|| self.passed.late.then_some(LimitHit::Wall));
        told
    }
}

fn types(name: &str) -> Result<Types, FileError> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|error| FileError::Pattern(error.to_string()))
}
