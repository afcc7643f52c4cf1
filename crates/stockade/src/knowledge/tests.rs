//! The data holds, and the reader reads what it says.

mod adversary;
mod effects;
mod table;

use serde_json::{Value, json};

use super::index::Place;
use super::{Class, Knowledge, file, shipped};

#[test]
fn every_entry_loads_and_every_example_holds() {
    match Knowledge::shipped().check() {
        Ok(summary) => {
            assert!(summary.names >= 300, "{summary:?}");
            assert!(summary.examples >= 2500, "{summary:?}");
            assert!(summary.effects >= 300 && summary.readers >= 150, "{summary:?}");
        }
        Err(broken) => {
            let lines: Vec<_> = broken.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"));
        }
    }
}

#[test]
fn every_class_has_three_programs() {
    let summary = Knowledge::shipped().check().unwrap();
    for class in Class::ALL {
        let count = summary.classes.get(&class).copied().unwrap_or_default();
        assert!(count >= 3, "{class:?} has {count}");
    }
}

#[test]
fn finds_a_program_by_version_and_by_pattern() {
    let knowledge = Knowledge::shipped();
    for name in
        ["python3.11", "python3.12-dbg", "perl5.36.0", "vim.basic", "gcc-12", "ld-linux.so.2"]
    {
        assert!(knowledge.read(name, &[]).unwrap().is_some(), "{name}");
    }
    for name in ["lsx", "gitk", "sorted", "find3", "", ".", "3", "pythonic"] {
        let known = knowledge.read(name, &[]).unwrap().is_some();
        assert_eq!(known, name == ".", "{name}");
    }
}

#[test]
fn knows_the_words_of_programs_and_subcommands() {
    let knowledge = Knowledge::shipped();
    for word in ["git", "bash", "commit", "submodule", "foreach", "python3.9"] {
        assert!(knowledge.is_word(word), "{word}");
    }
    for word in ["src", "main.rs", "", "-c"] {
        assert!(!knowledge.is_word(word), "{word}");
    }
}

/// A knowledge base of these texts.
fn knowledge(texts: &[&'static str]) -> Knowledge {
    let file = |text: &&'static str| {
        assert_eq!(file::blocks(text), 1);
        let starts = vec![file::block_after(text, 0)];
        file::File { name: "test.toml", text, starts: starts.leak() }
    };
    let files = texts.iter().map(file).collect::<Vec<_>>().leak();
    let names = Box::leak(Box::new(file::table::<16>(files)));
    let blocks = files.iter().map(|file| file.starts.len()).sum();
    let places = Vec::leak(std::iter::repeat_with(Place::new).take(blocks).collect());
    Knowledge::of((files, names, places), shipped::ENVIRONMENT)
}

#[test]
fn an_entry_that_does_not_load_is_an_error() {
    let cases = [
        ("names = [\"x\"]\nbogus = 1\n", "bogus"),
        ("names = [\"x\"]\n", "no rule"),
        ("names = [\"x\"]\n[[program.refuse]]\nflags = [\"-a\"]\nwhy = \"w\"\n", "not declared"),
        (
            "names = [\"x\"]\n[[program.refuse]]\nalways = true\nwhy = \"w\"\nrefused = [[\"x\"]]\n",
            "both kinds",
        ),
        (
            "names = [\"x\"]\n[[program.refuse]]\nalways = true\nwhy = \"w\"\nrefused = [[\"x\"]]\n\
             allowed = [[\"x\", \"-a\"]]\n",
            "should not be refused",
        ),
        (
            "names = [\"x\"]\n[program.options]\nshort = \"a\"\n[[program.refuse]]\n\
             flags = [\"-a\"]\nwhy = \"w\"\nrefused = [[\"x\", \"-b\"]]\nallowed = [[\"x\"]]\n",
            "should be refused",
        ),
    ];
    for (text, message) in cases {
        let text: &'static str = Box::leak(format!("[[program]]\n{text}").into_boxed_str());
        let knowledge = knowledge(&[text]);
        let error = knowledge.read("x", &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert!(knowledge.check().is_err());
    }
}

#[test]
fn a_name_in_two_entries_is_an_error() {
    const RULE: &str = "[[program]]\nnames = [\"x\"]\n[[program.refuse]]\nalways = true\n\
                        why = \"w\"\nrefused = [[\"x\"]]\nallowed = [[\"x\", \"--help\"]]\n";
    let knowledge = knowledge(&[RULE, RULE]);
    assert!(knowledge.check().unwrap_err().iter().any(|error| error.to_string().contains("twice")));
}

#[test]
fn dangerous_variables_are_told_from_others() {
    let knowledge = Knowledge::shipped();
    for (name, dangerous) in [
        ("LD_PRELOAD", true),
        ("BASH_ENV", true),
        ("GIT_SSH_COMMAND", true),
        ("NODE_OPTIONS", true),
        ("RUST_LOG", false),
        ("LANG", false),
        ("path", false),
    ] {
        let found = knowledge.variable(name.as_ref(), 0).unwrap();
        assert_eq!(found.is_some(), dangerous, "{name}");
    }
}

/// What a released program reads is the data that the tests hold, without its examples.
#[test]
fn every_block_is_the_same_in_json() {
    fn emptied(value: Value) -> Value {
        match value {
            Value::Object(mut fields) => {
                fields.remove("examples");
                for (name, value) in &mut fields {
                    let is_examples = name == "refused" || name == "allowed";
                    *value = if is_examples { json!([]) } else { emptied(value.take()) };
                }
                Value::Object(fields)
            }
            Value::Array(all) => all.into_iter().map(emptied).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
        }
    }
    for entry in Knowledge::shipped().index.entries() {
        let json = entry.json.unwrap();
        let block: Value = toml::from_str(entry.text()).unwrap();
        let read: Value = serde_json::from_str(json).unwrap();
        assert_eq!(read, emptied(block["program"][0].clone()));
        let program = entry.parse_json(json).unwrap();
        let whole = entry.program().unwrap();
        assert_eq!(program.data.names, whole.data.names);
        assert_eq!(program.classes, whole.classes);
    }
}

#[test]
fn words_are_those_of_programs_and_of_their_subcommands() {
    for word in ["git", "status", "commit", "cargo", "ls"] {
        assert!(Knowledge::shipped().is_word(word), "{word}");
    }
    for word in ["", "no-such-word", "git\nstatus", "commi", "ommit"] {
        assert!(!Knowledge::shipped().is_word(word), "{word:?}");
    }
}
