//! Turns the shipped rules into a table.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or("cargo says where to write")?;
    Ok(fs::write(Path::new(&out).join("rules.rs"), rules()?)?)
}

/// The named rules of the shipped policy, in order.
fn rules() -> Result<String, Box<dyn Error>> {
    let file = Path::new("../../policies/default.toml");
    println!("cargo::rerun-if-changed={}", file.display());
    let data: Map<String, Value> = toml::from_str(&fs::read_to_string(file)?)?;
    let named = data.get("rules").and_then(|rules| rules.get("named"));
    let named = named.and_then(Value::as_array).ok_or("named rules in the shipped policy")?;
    let mut text = String::from("pub(super) static SHIPPED: &[super::ShippedRule] = &[\n");
    for entry in named {
        let of = |key: &str| entry.get(key).ok_or(format!("{key} in every named rule"));
        text.push_str("    super::ShippedRule {");
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
