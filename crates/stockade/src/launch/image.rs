//! Images made from local root file systems: kept as a plain folder for `runsc`, and given to an
//! engine if there is one. No registry takes part.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::container::Engine;
use super::scratch::{Room, Scratch};
use crate::call::CallId;
use crate::confine::{ImageName, Network, Oci, data_folder};
use crate::outcome::{Failure, FailureKind};

/// Folders that every root needs, with their rights: what is mounted on, and scratch.
const NEEDED: [(&str, u32); 5] =
    [("proc", 0o755), ("sys", 0o755), ("dev", 0o755), ("etc", 0o755), ("tmp", 0o1777)];

/// What became of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportResult {
    /// Where the tier `gvisor` finds it.
    pub root: PathBuf,
    /// The engine that has it too, if there is one.
    pub engine: Option<&'static str>,
    /// Files of kinds that no image needs, such as sockets and devices.
    pub left_out: Vec<PathBuf>,
}

/// Makes an image of a folder or a tar file that holds a root file system. One of the same name is
/// replaced.
pub fn import(source: &Path, image: &ImageName, oci: &Oci) -> Result<ImportResult, Failure> {
    let place = place_of(image).ok_or_else(|| failed("there is no home folder to keep it in"))?;
    let staging = place.with_file_name(format!(".{}", CallId::new()));
    let imported = stage(source, &staging).and_then(|left_out| {
        let engine = give_to_engine(&staging.join("root"), image, oci)?;
        replace(&staging, &place).map_err(|error| failed_at(&place, &error))?;
        Ok(ImportResult { root: place.join("root"), engine, left_out })
    });
    if imported.is_err() {
        let _nothing_to_remove = fs::remove_dir_all(&staging);
    }
    imported
}

/// The root of an image that was imported.
pub(super) fn root_of(image: &ImageName) -> Result<PathBuf, Failure> {
    let root = place_of(image).map(|place| place.join("root")).filter(|root| root.is_dir());
    root.ok_or_else(|| {
        Failure::new(
            FailureKind::FindImage,
            format!("there is no image {image} for the tier gvisor"),
        )
        .with_remedy(format!(
            "stockade image import DIR {image} makes one of a local folder or a tar file; \
                 without an image the box shows this machine's system folders"
        ))
    })
}

/// Where an image is kept: in `$XDG_DATA_HOME/stockade/images`. Engines call `tools` also
/// `localhost/tools:latest`.
fn place_of(image: &ImageName) -> Option<PathBuf> {
    let name = image.as_str();
    let name = name.strip_prefix("localhost/").unwrap_or(name);
    let name = name.strip_suffix(":latest").unwrap_or(name);
    Some(data_folder()?.join("images").join(name.replace('/', "+")))
}

fn stage(source: &Path, staging: &Path) -> Result<Vec<PathBuf>, Failure> {
    let root = staging.join("root");
    fs::create_dir_all(&root).map_err(|error| failed_at(staging, &error))?;
    let mut left_out = Vec::new();
    let found = fs::metadata(source).map_err(|error| failed_at(source, &error))?;
    if found.is_dir() {
        copy(source, &root, &mut left_out).map_err(|error| failed_at(source, &error))?;
    } else {
        unpack(source, &root)?;
    }
    for (name, mode) in NEEDED {
        let folder = root.join(name);
        let made = match fs::symlink_metadata(&folder) {
            Ok(_) => Ok(()),
            Err(_) => fs::create_dir(&folder)
                .and_then(|()| fs::set_permissions(&folder, Permissions::from_mode(mode))),
        };
        made.map_err(|error| failed_at(&folder, &error))?;
    }
    Ok(left_out)
}

/// Copies what is in a folder: files, folders and links as links.
fn copy(from: &Path, to: &Path, left_out: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy(&source, &target, left_out)?;
            fs::set_permissions(&target, entry.metadata()?.permissions())?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        } else {
            left_out.push(source);
        }
    }
    Ok(())
}

fn unpack(source: &Path, root: &Path) -> Result<(), Failure> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let at_source = |error: io::Error| failed_at(source, &error);
    let mut start = [0_u8; 2];
    let mut file = File::open(source).map_err(at_source)?;
    if file.read_exact(&mut start).is_ok() && start == GZIP {
        return Err(failed(format!("{source:?} is compressed")).with_remedy(
            "unpack it first: gunzip FILE, or zstd -d FILE, leaves a plain tar file",
        ));
    }
    let file = File::open(source).map_err(at_source)?;
    let mut archive = tar::Archive::new(file);
    archive.set_preserve_permissions(true);
    archive.unpack(root).map_err(|error| {
        failed_at(source, &error).with_remedy("it has to be a plain tar file, or a folder")
    })
}

/// Has the engine make an image of the root, if there is an engine.
fn give_to_engine(
    root: &Path,
    image: &ImageName,
    oci: &Oci,
) -> Result<Option<&'static str>, Failure> {
    let Some(engine) = Engine::find(oci, Network::None) else { return Ok(None) };
    let scratch = Scratch::make(Room::Much, &[]).map_err(|error| failed(error.to_string()))?;
    let path = scratch.path().join("image.tar");
    pack(root, &path).map_err(|error| failed_at(&path, &error))?;
    let answer =
        engine.ask_long(&["import".as_ref(), path.as_os_str(), image.as_str().as_ref()])?;
    if !answer.is_good() {
        let message = format!("{} could not take it: {}", engine.program(), answer.complaint());
        return Err(failed(message)
            .with_remedy(format!("see what `{} info` says of this machine", engine.program())));
    }
    Ok(Some(engine.program()))
}

/// Writes a root as a tar file: everything root's, nothing with a set-user-ID bit, no times.
fn pack(root: &Path, path: &Path) -> io::Result<()> {
    let mut builder = tar::Builder::new(io::BufWriter::new(File::create(path)?));
    builder.mode(tar::HeaderMode::Deterministic);
    builder.follow_symlinks(false);
    builder.append_dir_all(".", root)?;
    builder.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Puts a folder in the place of another.
fn replace(staging: &Path, place: &Path) -> io::Result<()> {
    let old = staging.with_extension("old");
    match fs::rename(place, &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::rename(staging, place)?;
    match fs::remove_dir_all(&old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::ImportImage, message)
}

fn failed_at(path: &Path, error: &io::Error) -> Failure {
    failed(format!("{path:?}: {error}"))
}
