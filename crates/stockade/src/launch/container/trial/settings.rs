//! The configuration of a trial: that of the machine and of its user, but for all places. Otherwise Podman
//! keeps its locks in `/dev/shm`, and a runtime its state in `/run`. No option helps: Podman does not pass
//! them on to the command that it starts when a container ends.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::bounded::{self, Links, TEXT_BYTES_MAX};
use crate::launch::client::{Client, Variable, config_home};

/// Where distributions and administrators configure engines.
const OF_MACHINE: [&str; 2] = ["/usr/share/containers", "/etc/containers"];
/// The runtimes that Podman knows by itself.
const RUNTIMES: [&str; 2] = ["crun", "runc"];
/// Where it looks for them before it searches `PATH`.
const FOLDERS: [&str; 5] =
    ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/run/current-system/sw/bin"];
/// More files than a person writes.
const FILES_MAX: usize = 1000;

/// Variables by which Podman and its runtimes keep everything in this folder. This runtime is used, if one
/// is given, instead of the configured one.
pub(super) fn settings_in(folder: &Path, runtime: Option<&str>) -> Result<Vec<Variable>> {
    settings_from(&files(), folder, runtime)
}

fn settings_from(files: &[PathBuf], folder: &Path, runtime: Option<&str>) -> Result<Vec<Variable>> {
    let mut engine = Table::new();
    for file in files {
        match bounded::read_text(file, Links::Followed, TEXT_BYTES_MAX) {
            Ok(text) => merge(&mut engine, parsed(file, &text)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(about(file, &error)),
        }
    }
    merge(&mut engine, places(folder));
    let used =
        runtime.or_else(|| engine.get("engine")?.get("runtime")?.as_str()).map(str::to_owned);
    let wrapped = wrapped_runtimes(&engine, used.as_deref(), folder)?;
    merge(&mut engine, table("engine", wrapped));
    let storage = [
        ("driver", "vfs".into()),
        ("graphroot", text_of(&folder.join("storage"))),
        ("runroot", text_of(&run_root(folder))),
    ];
    let storage = table("storage", storage.map(|(key, value)| (key.to_owned(), value)));
    let (engine_file, storage_file) = (folder.join("containers.conf"), folder.join("storage.conf"));
    fs::write(&engine_file, toml::to_string(&engine).map_err(Error::other)?)?;
    fs::write(&storage_file, toml::to_string(&storage).map_err(Error::other)?)?;
    Ok(vec![
        ("CONTAINERS_CONF", engine_file.clone().into()),
        // Since Podman 4.4 it is read last.
        ("CONTAINERS_CONF_OVERRIDE", engine_file.into()),
        ("CONTAINERS_STORAGE_CONF", storage_file.into()),
    ])
}

/// Podman's folder for run time state, of at most 50 characters.
pub(super) fn run_root(folder: &Path) -> PathBuf {
    folder.join("r")
}

/// The files that Podman reads, the last ones of which win.
fn files() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut files = Vec::new();
    if let Some(only) = variable("CONTAINERS_CONF") {
        files.push(only);
    } else {
        let user =
            (!rustix::process::geteuid().is_root()).then(|| config_home().join("containers"));
        for folder in OF_MACHINE.map(PathBuf::from).into_iter().chain(user) {
            files.push(folder.join("containers.conf"));
            let more = folder.join("containers.conf.d");
            let names = bounded::names(&more, FILES_MAX).unwrap_or_default().into_iter();
            let mut more: Vec<PathBuf> = names.map(|(name, _)| more.join(name)).collect();
            more.retain(|path| path.extension().is_some_and(|end| end == "conf"));
            more.sort();
            files.extend(more);
        }
    }
    files.extend(variable("CONTAINERS_CONF_OVERRIDE"));
    files
}

/// All places in which Podman keeps something.
fn places(folder: &Path) -> Table {
    let place = |key: &str, name: &str| (key.to_owned(), text_of(&folder.join(name)));
    let engine = [
        place("tmp_dir", "tmp"),
        place("static_dir", "static"),
        place("volume_path", "volumes"),
        ("lock_type".to_owned(), "file".into()),
    ];
    let mut places = table("engine", engine);
    places.extend(table("network", [place("network_config_dir", "networks")]));
    places
}

/// Each runtime that is there as a script that has it keep its state in this folder. The one in use may be a
/// path.
fn wrapped_runtimes(settings: &Table, used: Option<&str>, folder: &Path) -> Result<Table> {
    let known = settings.get("engine").and_then(|engine| engine.get("runtimes")?.as_table());
    let configured = known.into_iter().flatten().map(|(name, _)| name.as_str());
    // The one in use wins where a path has the name of another.
    let runtimes = RUNTIMES.into_iter().chain(configured).filter(|name| Some(*name) != used);
    let scripts = folder.join("runtimes");
    fs::create_dir(&scripts)?;
    let mut wrapped = Table::new();
    for runtime in runtimes.chain(used) {
        let name = name_of(runtime);
        let paths = known.and_then(|known| known.get(runtime)?.as_array()).into_iter().flatten();
        let Some(real) = found(runtime, paths.filter_map(Value::as_str)) else { continue };
        let words = [real.as_os_str().to_string_lossy(), "--root".into()];
        let state = folder.join("state");
        let line = crate::shell::quoted_line(words.into_iter().chain([state.to_string_lossy()]));
        let script = scripts.join(name);
        fs::write(&script, format!("#!/bin/sh\nexec {line} \"$@\"\n"))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o700))?;
        wrapped.insert(name.to_owned(), Value::Array(vec![text_of(&script)]));
    }
    let mut engine = Table::from_iter([("runtimes".to_owned(), Value::Table(wrapped))]);
    engine.extend(used.map(|used| ("runtime".to_owned(), name_of(used).into())));
    Ok(engine)
}

/// The name by which a runtime is known in a trial.
pub(super) fn name_of(runtime: &str) -> &str {
    Path::new(runtime).file_name().and_then(|name| name.to_str()).unwrap_or(runtime)
}

/// The program of a runtime, in the order in which Podman looks.
fn found<'p>(runtime: &str, configured: impl Iterator<Item = &'p str>) -> Option<PathBuf> {
    if runtime.contains('/') {
        return Some(PathBuf::from(runtime));
    }
    let usual = FOLDERS.iter().map(|folder| Path::new(folder).join(runtime));
    let mut paths = configured.map(PathBuf::from).chain(usual);
    paths.find(|path| path.exists()).or_else(|| Some(Client::find(runtime)?.path().to_owned()))
}

/// Lets the second table win where both have a key.
fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn table(name: &str, entries: impl IntoIterator<Item = (String, Value)>) -> Table {
    Table::from_iter([(name.to_owned(), Value::Table(Table::from_iter(entries)))])
}

fn text_of(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}

fn parsed(file: &Path, text: &str) -> Result<Table> {
    text.parse().map_err(|error: toml::de::Error| about(file, &error.message()))
}

fn about(file: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::other(format!("read {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine_of(settings: &[Variable]) -> Table {
        let text = fs::read_to_string(&settings[0].1).unwrap();
        text.parse::<Table>().unwrap()["engine"].as_table().unwrap().clone()
    }

    #[test]
    fn what_is_configured_stays_but_for_places() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        };
        let first = "[engine]\nruntime = 'runc'\nlock_type = 'shm'\ncgroup_manager = 'cgroupfs'\n\
                     [engine.runtimes]\nmine = ['/no/such', '/bin/true']\ngone = ['/no/such']\n";
        let second = "[engine]\nruntime = 'mine'\n[containers]\npids_limit = 7\n";
        let files = [file("first", first), folder.path().join("not there"), file("second", second)];
        let trial = folder.path().join("trial");
        fs::create_dir(&trial).unwrap();
        let settings = settings_from(&files, &trial, None).unwrap();
        let engine = engine_of(&settings);
        let text = |key: &str| engine[key].as_str().unwrap().to_owned();
        assert_eq!((text("runtime"), text("lock_type")), ("mine".to_owned(), "file".to_owned()));
        assert_eq!(text("cgroup_manager"), "cgroupfs");
        for key in ["tmp_dir", "static_dir", "volume_path"] {
            assert!(Path::new(&text(key)).starts_with(&trial), "{key}");
        }
        let runtime = engine["runtimes"]["mine"][0].as_str().unwrap();
        let script = fs::read_to_string(runtime).unwrap();
        let state = trial.join("state");
        assert_eq!(
            script,
            format!("#!/bin/sh\nexec /bin/true --root {} \"$@\"\n", state.display())
        );
        assert_eq!(engine["runtimes"]["gone"][0].as_str(), Some("/no/such"), "as it was");
        let whole: Table = fs::read_to_string(&settings[0].1).unwrap().parse().unwrap();
        assert_eq!(whole["containers"]["pids_limit"].as_integer(), Some(7));
        assert!(run_root(&trial).ends_with("r"));
    }

    #[test]
    fn a_runtime_that_is_asked_for_is_used_also_by_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runc");
        let path = path.to_str().unwrap();
        let engine = engine_of(&settings_from(&[], folder.path(), Some(path)).unwrap());
        assert_eq!(engine["runtime"].as_str(), Some("runc"));
        let script = fs::read_to_string(engine["runtimes"]["runc"][0].as_str().unwrap()).unwrap();
        assert!(script.contains(&format!("exec {path} --root ")), "{script}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("containers.conf");
        fs::write(&file, "[engine\n").unwrap();
        let error = settings_from(std::slice::from_ref(&file), folder.path(), None).unwrap_err();
        assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    }
}
