//! Adds rules to a policy file, and leaves all else in it as it is written.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use stockade::Policy;
use stockade::policy::LoadError;
use toml_edit::{Array, DocumentMut, Item, RawString, Table, TomlError, Value};

#[cfg(test)]
mod tests;

/// Adds rules to the allow list of a file, which is made if it is not there.
pub(crate) fn allow(path: &Path, rules: &[String]) -> Result<(), AmendError> {
    let fail = |source| AmendError::Write { path: path.to_owned(), source };
    let (place, text, mode) = read(path).map_err(fail)?;
    let text = amended(&text, rules).map_err(|bad| match bad {
        Bad::Syntax(source) => AmendError::Syntax { path: path.to_owned(), source },
        Bad::NoList => AmendError::NoList { path: path.to_owned() },
    })?;
    // A file that does not load would refuse everything from now on.
    Policy::from_text(path, &text).map_err(AmendError::Load)?;
    replace(&place, &text, mode).map_err(fail)
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AmendError {
    #[error("write the policy file {path:?}")]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("read the policy file {path:?}")]
    Syntax {
        path: PathBuf,
        #[source]
        source: TomlError,
    },
    #[error("add to {path:?}: rules.allow in it is no list")]
    NoList { path: PathBuf },
    #[error(transparent)]
    Load(LoadError),
}

/// What keeps a text from being amended.
#[derive(Debug)]
enum Bad {
    Syntax(TomlError),
    NoList,
}

/// The text with these rules in its allow list, each once. Pure.
fn amended(text: &str, rules: &[String]) -> Result<String, Bad> {
    let mut document: DocumentMut = text.parse().map_err(Bad::Syntax)?;
    let table = document.entry("rules").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or(Bad::NoList)?;
    let list = table.entry("allow").or_insert_with(|| Item::Value(Value::Array(Array::new())));
    let list = list.as_array_mut().ok_or(Bad::NoList)?;
    for rule in rules {
        let is_rule = |value: &Value| {
            let table = value.as_inline_table().and_then(|table| table.get("rule"));
            table.unwrap_or(value).as_str() == Some(rule)
        };
        if !list.iter().any(is_rule) {
            add(list, rule);
        }
    }
    Ok(document.to_string())
}

/// Adds a rule in the way in which the list is written: on the line, or each on a line of its own.
fn add(list: &mut Array, rule: &str) {
    let prefix =
        list.iter().last().and_then(|last| last.decor().prefix()).and_then(RawString::as_str);
    let own_line = prefix.and_then(|text| text.rfind('\n').and_then(|at| text.get(at..)));
    let own_line = own_line.map(str::to_owned);
    let mut value = Value::from(rule);
    match own_line {
        Some(line) => {
            value.decor_mut().set_prefix(line);
            list.push_formatted(value);
            list.set_trailing_comma(true);
            if !list.trailing().as_str().is_some_and(|text| text.contains('\n')) {
                list.set_trailing("\n");
            }
        }
        None => list.push(value),
    }
}

/// The file's own place, what it holds, and who may read it. A link leads to the place.
fn read(path: &Path) -> std::io::Result<(PathBuf, String, u32)> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let place = fs::read_link(path).map_or_else(|_no_link| path.to_owned(), |to| folder.join(to));
    match fs::read_to_string(&place) {
        Ok(text) => {
            let mode = fs::metadata(&place)?.permissions().mode();
            Ok((place, text, mode & 0o777))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok((place, String::new(), 0o600))
        }
        Err(error) => Err(error),
    }
}

/// Puts a whole file in the place of another, so that nobody reads half of it.
fn replace(place: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let new = folder.join(format!(".{name}.{}.new", std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| fs::rename(&new, place));
    if placed.is_err() {
        // What is left of the attempt is of no use to anyone.
        let _gone = fs::remove_file(&new).is_err();
    }
    placed
}
