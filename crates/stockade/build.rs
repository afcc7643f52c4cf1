//! Turns the list of files from which code runs into a table.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or("cargo says where to write")?;
    Ok(fs::write(Path::new(&out).join("risky.rs"), risky()?)?)
}

/// The list of files from which code runs, and the names that it is made of, in order.
fn risky() -> Result<String, Box<dyn Error>> {
    let file = Path::new("../../policies/risky.toml");
    println!("cargo::rerun-if-changed={}", file.display());
    let data: Map<String, Value> = toml::from_str(&fs::read_to_string(file)?)?;
    let entries = data.get("file").and_then(Value::as_array).ok_or("a list of files")?;
    let mut list = Vec::new();
    let mut names = Names::default();
    for entry in entries {
        let why = entry.get("why").and_then(Value::as_str).ok_or("why code runs from a file")?;
        let paths = entry.get("paths").and_then(Value::as_array).ok_or("paths")?;
        let paths: Option<Vec<&str>> = paths.iter().map(Value::as_str).collect();
        let paths = paths.ok_or("paths that are text")?;
        for path in &paths {
            names.add(path)?;
        }
        list.push((why, paths));
    }
    let [files, whole] = [names.files, names.whole].map(Vec::from_iter);
    let [ends, folders] = [names.ends, names.folders].map(Vec::from_iter);
    Ok(format!(
        "pub(super) static ENTRIES: &[(&str, &[&str])] = &{};\n\
         pub(super) static FILES: &[(&str, &str)] = &{files:?};\n\
         pub(super) static WHOLE: &[(&str, &str)] = &{whole:?};\n\
         pub(super) static ENDS: &[&str] = &{ends:?};\n\
         pub(super) static FOLDERS: &[&str] = &{folders:?};\n",
        format!("{list:?}").replace(", [", ", &[")
    ))
}

/// Last names with the folders above them, in the order in which they are looked for.
#[derive(Default)]
struct Names {
    files: BTreeSet<(String, String)>,
    whole: BTreeSet<(String, String)>,
    ends: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Names {
    fn add(&mut self, path: &str) -> Result<(), Box<dyn Error>> {
        let is_plain = |part: &str| !part.contains(['*', '?', '[', '{']);
        let (path, is_whole) = match path.strip_suffix("/**") {
            Some(folder) => (folder, true),
            None => (path, false),
        };
        let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
        let parts = || above.split('/').filter(|part| !part.is_empty());
        if !parts().all(|part| part == "*" || part == "**" || is_plain(part)) {
            return Err(format!("{path}: only whole names may be stars").into());
        }
        self.folders.extend(parts().filter(|part| is_plain(part)).map(str::to_owned));
        self.folders.extend(is_whole.then(|| last.to_owned()));
        let end = last.strip_prefix('*').filter(|end| is_plain(end) && above.is_empty());
        match (is_plain(last), end) {
            (true, _) if is_whole => drop(self.whole.insert((last.to_owned(), above.to_owned()))),
            (true, _) => drop(self.files.insert((last.to_owned(), above.to_owned()))),
            (false, Some(end)) if !is_whole => drop(self.ends.insert(end.to_owned())),
            (false, _) => return Err(format!("{path}: names do not tell it").into()),
        }
        Ok(())
    }
}
