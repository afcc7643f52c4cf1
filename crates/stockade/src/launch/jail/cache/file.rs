//! What is known of the folders of a project, in a file of Stockade's own state: a command that is started
//! for each call would otherwise read every folder each time.
//!
//! The file is read and written by this user alone. One that is not as it was written counts as absent.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::{SearchKey, SearchedFolder};
use crate::files::folders::Stamp;
use crate::launch::jail::name_filter::LivePatterns;
use crate::pattern::MatchState;

/// What the file begins with; another form has another number.
const FORM: &[u8] = b"stockade search 1\n";
/// What a file may hold at most.
const BYTES_MAX: u64 = 64 << 20;

/// How many files there are at most.
const FILES_MAX: usize = 64;

/// Reads the folders of a search; none if there is no such file or it is not as it should be.
pub(in crate::launch::jail) fn read(
    file: &Path,
    key: &SearchKey,
) -> Option<Vec<Arc<SearchedFolder>>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let opened = std::fs::File::options().read(true).custom_flags(flags).open(file).ok()?;
    let found = opened.metadata().ok()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0;
    if !found.is_file() || !is_own || found.len() > BYTES_MAX {
        return None;
    }
    let mut text = Vec::with_capacity(usize::try_from(found.len()).ok()?.saturating_add(1));
    opened.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    let rest = text.strip_prefix(FORM)?.strip_prefix(key.as_slice())?;
    Reader { rest, alive: Vec::new() }.folders()
}

/// Writes the folders of a search. A failure costs time and nothing else: the next search reads the folders.
pub(super) fn write(file: &Path, key: &SearchKey, folders: &[Arc<SearchedFolder>]) {
    let mut text = [FORM, key.as_slice()].concat();
    let mut alive: Vec<&LivePatterns> = Vec::new();
    for folder in folders {
        for one in std::iter::once(&folder.alive).chain(folder.inner.iter().map(|(_, one)| one)) {
            if !alive.contains(&one) {
                alive.push(one);
            }
        }
    }
    let place =
        |one: &LivePatterns| alive.iter().position(|known| *known == one).unwrap_or_default();
    let mut writer = Writer(&mut text);
    writer.count(alive.len());
    for one in &alive {
        writer.count(one.len());
        for (at, stand) in one.iter() {
            writer.count(*at);
            writer.number(stand.bits());
        }
    }
    writer.count(folders.len());
    for folder in folders {
        writer.text(folder.path.as_os_str().as_bytes());
        folder.stamp.0.iter().for_each(|part| writer.number(*part));
        writer.count(place(&folder.alive));
        writer.number(folder.names);
        writer.count(folder.met.len());
        for (name, by) in &folder.met {
            writer.text(name.as_bytes());
            writer.count(*by);
        }
        writer.count(folder.inner.len());
        for (name, alive) in &folder.inner {
            writer.text(name.as_bytes());
            writer.count(place(alive));
        }
    }
    let _unwritten = replace(file, &text);
}

/// Puts a new file in the place of the old one, which another process may be reading.
fn replace(file: &Path, text: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().ok_or(std::io::ErrorKind::NotFound)?;
    std::fs::DirBuilder::new().recursive(true).create(folder)?;
    let mut new = tempfile_in(folder, file)?;
    new.0.write_all(text)?;
    std::fs::rename(&new.1, file).inspect_err(|_| drop(std::fs::remove_file(&new.1)))?;
    remove_oldest(folder)
}

/// Removes the files that were not written for the longest time, if there are too many.
fn remove_oldest(folder: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)?.take(FILES_MAX.saturating_mul(4)) {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    files.sort();
    let surplus = files.len().saturating_sub(FILES_MAX);
    files.iter().take(surplus).try_for_each(|(_, path)| std::fs::remove_file(path))
}

fn tempfile_in(folder: &Path, file: &Path) -> std::io::Result<(std::fs::File, PathBuf)> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{:?}", std::process::id(), std::thread::current().id()));
    let path = folder.join(name);
    let new =
        std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
    Ok((new, path))
}

struct Writer<'t>(&'t mut Vec<u8>);

impl Writer<'_> {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&count.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.count(text.len());
        self.0.extend_from_slice(text);
    }
}

struct Reader<'t> {
    rest: &'t [u8],
    alive: Vec<LivePatterns>,
}

impl<'t> Reader<'t> {
    fn folders(mut self) -> Option<Vec<Arc<SearchedFolder>>> {
        for _ in 0..self.count()? {
            let parts = self.count()?;
            let parts =
                (0..parts).map(|_| Some((self.count()?, MatchState::of_bits(self.number()?))));
            let alive: Option<Vec<_>> = parts.collect();
            self.alive.push(alive?.into());
        }
        let count = self.count()?;
        let folders: Option<Vec<_>> = (0..count).map(|_| self.folder().map(Arc::new)).collect();
        folders.filter(|_| self.rest.is_empty())
    }

    fn folder(&mut self) -> Option<SearchedFolder> {
        let path = PathBuf::from(OsStr::from_bytes(self.text()?));
        let mut stamp = [0; 7];
        for part in &mut stamp {
            *part = self.number()?;
        }
        let (alive, names) = (self.alive()?, self.number()?);
        let met = self.count()?;
        let met: Option<Vec<_>> = (0..met).map(|_| Some((self.name()?, self.count()?))).collect();
        let inner = self.count()?;
        let inner: Option<Vec<_>> =
            (0..inner).map(|_| Some((self.name()?, self.alive()?))).collect();
        Some(SearchedFolder { path, stamp: Stamp(stamp), alive, names, met: met?, inner: inner? })
    }

    fn alive(&mut self) -> Option<LivePatterns> {
        let place = self.count()?;
        self.alive.get(place).cloned()
    }

    fn name(&mut self) -> Option<Box<OsStr>> {
        self.text().map(|text| OsStr::from_bytes(text).into())
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        usize::try_from(u32::from_le_bytes(*count)).ok()
    }

    fn text(&mut self) -> Option<&'t [u8]> {
        let len = self.count()?;
        let (text, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(text)
    }
}
