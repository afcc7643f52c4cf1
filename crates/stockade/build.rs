//! Turns data into what is read many times faster than TOML, since a process that judges one line and
//! ends pays for it each time: that about programs into JSON, the list of files from which code runs
//! and the shipped rules into tables.
//!
//! The examples are left out: they are held by the tests, which read the TOML itself. The words that
//! name a program or a subcommand are listed besides.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("../../policies/programs");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.sort();
    let mut table = String::from("&[\n");
    let mut words = BTreeSet::new();
    for file in files.iter().filter(|path| path.extension().is_some_and(|it| it == "toml")) {
        let text = fs::read_to_string(file)?;
        let data: Map<String, Value> =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let Some(Value::Array(programs)) = data.get("program") else { continue };
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        writeln!(table, "    (\"programs/{name}\", &[")?;
        for program in programs {
            writeln!(table, "        {:?},", without_examples(program).to_string())?;
        }
        let listed = text
            .lines()
            .filter(|line| line.starts_with("names = ") || line.starts_with("subcommands = ["));
        let quoted = listed.flat_map(|list| list.split('"').skip(1).step_by(2));
        words.extend(quoted.flat_map(|name| name.split(' ')).map(str::to_owned));
        table.push_str("    ]),\n");
    }
    table.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or("cargo says where to write")?;
    let words: Vec<String> = words.into_iter().collect();
    fs::write(Path::new(&out).join("words.txt"), format!("\n{}\n", words.join("\n")))?;
    fs::write(Path::new(&out).join("risky.rs"), risky()?)?;
    fs::write(Path::new(&out).join("rules.rs"), rules()?)?;
    Ok(fs::write(Path::new(&out).join("programs.rs"), table)?)
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

/// The named rules of the shipped policy, in order.
fn rules() -> Result<String, Box<dyn Error>> {
    let file = Path::new("../../policies/default.toml");
    println!("cargo::rerun-if-changed={}", file.display());
    let data: Map<String, Value> = toml::from_str(&fs::read_to_string(file)?)?;
    let named = data.get("rules").and_then(|rules| rules.get("named"));
    let named = named.and_then(Value::as_array).ok_or("named rules in the shipped policy")?;
    let mut text = String::from("pub(super) static SHIPPED: &[super::Shipped] = &[\n");
    for entry in named {
        let of = |key: &str| entry.get(key).ok_or(format!("{key} in every named rule"));
        text.push_str("    super::Shipped {");
        for (key, field) in [("name", "name"), ("decision", "decision"), ("reason", "reason")]
            .into_iter()
            .chain([("instead", "instead")])
        {
            write!(text, " {field}: {:?},", of(key)?.as_str().ok_or("a text")?)?;
        }
        for (key, field) in
            [("rules", "rules"), ("match", "matching"), ("not_match", "not_matching")]
        {
            let list: Option<Vec<&str>> =
                of(key)?.as_array().ok_or("a list")?.iter().map(Value::as_str).collect();
            write!(text, " {field}: &{:?},", list.ok_or("a list of texts")?)?;
        }
        text.push_str(" },\n");
    }
    text.push_str("];\n");
    Ok(text)
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

/// The same without examples: whole ones are left out, lists of them are empty.
fn without_examples(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "examples");
            let emptied = kept.map(|(name, value)| match name.as_str() {
                "refused" | "allowed" => (name.clone(), Value::Array(Vec::new())),
                _ => (name.clone(), without_examples(value)),
            });
            Value::Object(emptied.collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(without_examples).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
