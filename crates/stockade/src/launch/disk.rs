//! What a run adds to the disk. The free room of its file systems is looked at often, which costs
//! next to nothing; only when more of it has gone than the run may use is it found out whose that is.

mod usage;
mod unlinked;
mod volume;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use self::usage::{RunUsage, UsageScan};
use self::volume::{Growth, Volume, inner_mounts};
use crate::limits::{ByteCount, LimitHit, Limits};

/// A survey costs at most this part of the time that passes.
const PAUSE_FACTOR: u32 = 20;
/// The same for a survey that nothing has called for: what one takes and another gives back in the
/// same moment shows in no free room, and some file systems do not count their files.
const ROUTINE_PAUSE_FACTOR: u32 = 100;
const ROUTINE_PAUSE_MIN: Duration = Duration::from_secs(2);
/// A file's time is that of the last clock tick.
const CLOCK_SLACK: Duration = Duration::from_millis(20);

/// A folder that the run can write.
#[derive(Debug)]
pub(super) struct Writable {
    pub(super) path: PathBuf,
    pub(super) handle: OwnedFd,
}

/// The disk under watch.
#[derive(Debug)]
pub(super) struct Disk {
    most: Growth,
    folders: Arc<[Writable]>,
    volumes: Vec<Volume>,
    minds_inner_mounts: bool,
    started: Instant,
    /// On the clock that files are stamped by.
    since: SystemTime,
    survey: Option<UsageScan>,
    /// The growth at which somebody has to be asked again.
    due: Growth,
    not_before: Instant,
    /// When the next survey is due whatever else is seen.
    routine_after: Instant,
}

impl Disk {
    /// Notes how full the disk is before the run; nothing if it may grow without bound.
    pub(super) fn before<'a>(
        folders: impl Iterator<Item = (PathBuf, BorrowedFd<'a>)>,
        limits: &Limits,
    ) -> std::io::Result<Option<Self>> {
        if limits.disk.is_none() && limits.files.is_none() {
            return Ok(None);
        }
        let open = |(path, handle): (PathBuf, BorrowedFd<'_>)| {
            Ok(Writable { path, handle: handle.try_clone_to_owned()? })
        };
        let folders: Arc<[Writable]> = folders.map(open).collect::<std::io::Result<_>>()?;
        let mut volumes = Vec::new();
        for folder in folders.iter() {
            Volume::add(&mut volumes, folder.handle.try_clone()?)?;
        }
        let started = Instant::now();
        let most = Growth {
            bytes: limits.disk.map_or(u64::MAX, ByteCount::get),
            files: limits.files.unwrap_or(u64::MAX),
        };
        Ok(Some(Self {
            most,
            folders,
            volumes,
            minds_inner_mounts: false,
            started,
            since: SystemTime::now(),
            survey: None,
            due: most,
            not_before: started,
            routine_after: later(started, ROUTINE_PAUSE_MIN),
        }))
    }

    /// Also minds what is mounted inside the folders, which the run can write too: from the first look
    /// on, for most runs have ended by then.
    fn mind_inner_mounts(&mut self) {
        if std::mem::replace(&mut self.minds_inner_mounts, true) {
            return;
        }
        for mount in inner_mounts(&self.folders) {
            // One that is gone again cannot be written either.
            let _gone = Volume::add(&mut self.volumes, mount);
        }
    }

    /// Whether an answer is on its way, so that the next look should be soon.
    pub(super) fn is_being_surveyed(&self) -> bool {
        self.survey.is_some()
    }

    /// Looks at the disk; says which limit the run has passed.
    pub(super) fn look(&mut self, first: u32) -> Option<LimitHit> {
        self.mind_inner_mounts();
        let growth = self.growth();
        let now = Instant::now();
        if let Some(survey) = &mut self.survey {
            let found = survey.found()?;
            let (began, growth_then) = (survey.began, survey.growth);
            self.survey = None;
            let verdict = self.judge(found, growth);
            if verdict.is_none() {
                self.due = self.room_after(found, growth_then);
                let took = now.saturating_duration_since(began);
                self.not_before = later(now, took.saturating_mul(PAUSE_FACTOR));
                let pause = took.saturating_mul(ROUTINE_PAUSE_FACTOR).max(ROUTINE_PAUSE_MIN);
                self.routine_after = later(now, pause);
            }
            return verdict;
        }
        let is_due = growth.bytes > self.due.bytes || growth.files > self.due.files;
        if (is_due && now >= self.not_before) || now >= self.routine_after {
            let since = self.since();
            self.survey = Some(UsageScan::begin(Arc::clone(&self.folders), since, first, growth));
        }
        None
    }

    /// A limit is passed by what the run has made; or if the disk has grown by more, and what the run
    /// has made and changed is more too. What could not be seen is then the run's.
    fn judge(&self, found: RunUsage, growth: Growth) -> Option<LimitHit> {
        let most = self.most;
        let is_suspect = found.doubt || found.bytes() > most.bytes;
        if found.made.bytes > most.bytes || (is_suspect && growth.bytes > most.bytes) {
            Some(LimitHit::Disk)
        } else if found.made.files > most.files || (found.doubt && growth.files > most.files) {
            Some(LimitHit::Files)
        } else {
            None
        }
    }

    /// What the disk may grow to before the run could be over its limit.
    fn room_after(&self, found: RunUsage, growth: Growth) -> Growth {
        Growth {
            bytes: growth.bytes.saturating_add(self.most.bytes.saturating_sub(found.bytes())),
            files: growth.files.saturating_add(self.most.files.saturating_sub(found.made.files)),
        }
    }

    /// By how much all file systems together have grown since they were least full.
    fn growth(&mut self) -> Growth {
        let mut sum = Growth::default();
        for volume in &mut self.volumes {
            let grown = volume.grown();
            sum.bytes = sum.bytes.saturating_add(grown.bytes);
            sum.files = sum.files.saturating_add(grown.files);
        }
        sum
    }

    /// When the run began by the clock of files, which may have been set back since.
    fn since(&mut self) -> SystemTime {
        let began = SystemTime::now().checked_sub(self.started.elapsed());
        self.since = began.map_or(self.since, |began| began.min(self.since));
        self.since.checked_sub(CLOCK_SLACK).unwrap_or(self.since)
    }
}

fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or(from)
}

#[cfg(test)]
mod tests;
