//! The data about programs as it is written, turned into what is built in.
//!
//! The build script and the tests compile this file; the crate itself reads only what it makes.

use serde_json::{Map, Value};

/// Keys under which examples stand. They are checked by the tests and are not needed at run time.
const EXAMPLES: [&str; 7] = ["examples", "refused", "allowed", "plain", "judged", "held", "none"];

/// One `[[program]]`.
pub(crate) struct Source {
    /// The line on which it begins.
    pub(crate) line: usize,
    pub(crate) names: Vec<String>,
    pub(crate) versioned: bool,
    pub(crate) like: Vec<String>,
    /// The names of programs and of subcommands in it.
    pub(crate) words: Vec<String>,
    /// The program as JSON.
    pub(crate) whole: String,
    /// The same without its examples.
    pub(crate) data: String,
}

/// The programs of one file.
pub(crate) fn programs(text: &str) -> Result<Vec<Source>, String> {
    let mut file: Map<String, Value> = toml::from_str(text).map_err(|error| error.to_string())?;
    let Some(Value::Array(programs)) = file.remove("program") else { return Ok(Vec::new()) };
    let lines = text.lines().enumerate().filter(|(_, line)| line.trim() == "[[program]]");
    let lines = lines.map(|(line, _)| line.saturating_add(1));
    programs.into_iter().zip(lines).map(|(program, line)| Source::new(program, line)).collect()
}

impl Source {
    fn new(mut program: Value, at_line: usize) -> Result<Self, String> {
        let mut words = Vec::new();
        collect(&program, &["names", "subcommands"], &mut words);
        let fields = program.as_object_mut().ok_or("a program is a table")?;
        let names = texts(fields.get("names"));
        let like = texts(fields.get("like"));
        fields.remove("like");
        let versioned = match fields.remove("versioned") {
            Some(Value::Bool(versioned)) => versioned,
            Some(_) => return Err(format!("line {at_line}: `versioned` is true or false")),
            None => false,
        };
        let (whole, data) = (program.to_string(), without_examples(&program).to_string());
        Ok(Self { line: at_line, names, versioned, like, words, whole, data })
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let all = value.and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The texts in all lists of these names.
fn collect(value: &Value, keys: &[&str], found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(keys.iter().flat_map(|key| texts(fields.get(*key))));
            fields.values().for_each(|value| collect(value, keys, found));
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, keys, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn without_examples(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !EXAMPLES.contains(&name.as_str()));
            Value::Object(
                kept.map(|(name, value)| (name.clone(), without_examples(value))).collect(),
            )
        }
        Value::Array(all) => all.iter().map(without_examples).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
