//! `stockade trust`: which files of projects may loosen the policy.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use stockade::bounded::{self, Links, TEXT_BYTES_MAX};
use stockade::policy::{Content, FileFormat, ProjectFile, Sources, Trust as State, TrustStore};

use crate::args::Trust;
use crate::exit_code::Status;
use crate::print::{FAINT, escape};
use crate::{Answer, print, setup};

/// Shows what files would loosen and trusts them, or shows and takes back what was trusted.
pub(crate) fn trust(trust: &Trust) -> Answer {
    let place = TrustStore::default_path()
        .ok_or("find a place for the store of trusted files: there is no home folder")?;
    let mut store = TrustStore::read(&place)?;
    if trust.list {
        return list(&store);
    }
    let sources = Sources {
        root: trust.root.clone(),
        files: setup::found(&trust.root),
        ..Sources::default()
    };
    let files = files(trust, &sources)?;
    if trust.remove {
        return remove(&mut store, &files);
    }
    let mut found = false;
    for file in &files {
        let Some(content) = file.read()? else {
            if trust.files.is_empty() {
                continue;
            }
            return Err(format!("find {}", file.path.display()).into());
        };
        found = true;
        if !show(file, &content, &store)? {
            continue;
        }
        if !trust.yes && !is_wanted(&file.path)? {
            print::line("not trusted")?;
            continue;
        }
        store.trust(&file.path, &content.text)?;
        store.write().map_err(|error| format!("write {}: {error}", place.display()))?;
        print::line(&format!("trusted {}", shown(&file.path)))?;
    }
    if !found {
        print::line("there is no file of the project to trust")?;
    }
    Ok(Status::Ok)
}

/// The files that were named, or all that a project may have.
fn files(trust: &Trust, sources: &Sources) -> Result<Vec<ProjectFile>, Box<dyn std::error::Error>> {
    if trust.files.is_empty() {
        return Ok(sources.project_files());
    }
    let file = |path: &PathBuf| {
        let form = match path.extension().and_then(|ending| ending.to_str()) {
            Some("toml") => FileFormat::Policy,
            Some("json") => FileFormat::Claude { root: trust.root.clone() },
            Some("rules") => FileFormat::Codex,
            _ => {
                let what = "it is no policy (.toml), no settings (.json) and no rules (.rules)";
                return Err(format!("trust {}: {what}", path.display()).into());
            }
        };
        Ok(ProjectFile { path: path.clone(), form })
    };
    trust.files.iter().map(file).collect()
}

/// Tells what a file would loosen; says whether there is something to trust.
fn show(
    file: &ProjectFile,
    content: &Content,
    store: &TrustStore,
) -> Result<bool, print::StdoutError> {
    let path = shown(&file.path);
    if content.loosens.is_empty() {
        print::line(&format!("{path} loosens nothing, so it needs no trust"))?;
        return Ok(false);
    }
    let state = match store.of(&file.path, &content.text) {
        State::Given => {
            print::line(&format!("{path} is trusted"))?;
            return Ok(false);
        }
        State::Changed => " has changed since it was trusted; it",
        State::None => "",
    };
    print::line(&format!("{path}{state} would loosen the policy:"))?;
    for what in &content.loosens {
        print::line(&format!("  {}", escape(what)))?;
    }
    Ok(true)
}

/// Asks the person at the terminal.
fn is_wanted(path: &Path) -> Result<bool, Box<dyn std::error::Error>> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let path = path.display();
        return Err(format!(
            "trust {path}: there is no terminal to ask at; look at it, and say --yes"
        )
        .into());
    }
    let mut out = anstream::stderr();
    write!(out, "trust {} as it is now? [y/N] ", shown(path))?;
    out.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

fn list(store: &TrustStore) -> Answer {
    let mut none = true;
    for (path, trusted) in store.files() {
        none = false;
        let state = match bounded::read_text(path, Links::Refused, TEXT_BYTES_MAX) {
            Ok(text) if store.of(path, &text) == State::Given => "unchanged",
            Ok(_) => "changed, so not trusted any more",
            Err(_) => "not there",
        };
        let since = &trusted.since;
        print::line(&format!("{} {FAINT}since {since}, {state}{FAINT:#}", shown(path)))?;
    }
    if none {
        print::line("no file is trusted")?;
    }
    Ok(Status::Ok)
}

fn remove(store: &mut TrustStore, files: &[ProjectFile]) -> Answer {
    let mut removed = false;
    for file in files {
        if store.remove(&file.path) {
            removed = true;
            print::line(&format!("{} is not trusted any more", shown(&file.path)))?;
        }
    }
    if removed {
        store.write()?;
        return Ok(Status::Ok);
    }
    print::line("none of these was trusted")?;
    Ok(Status::Unexpected)
}

fn shown(path: &Path) -> String {
    escape(&path.display().to_string())
}
