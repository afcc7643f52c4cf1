//! Turns the data about programs into JSON, which is read many times faster than TOML: a process
//! that judges one line and ends pays for it each time.
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
    Ok(fs::write(Path::new(&out).join("programs.rs"), table)?)
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
