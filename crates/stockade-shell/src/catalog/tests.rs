//! The data holds, and the reader reads what it says.

mod adversary;
mod effects;
mod table;

use super::index::{Block, Index, ProgramCell};
use super::{Catalog, Class, data, source};

#[test]
fn every_entry_loads_and_every_example_holds() {
    match Catalog::shipped().check() {
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
    let summary = Catalog::shipped().check().unwrap();
    for class in Class::ALL {
        let count = summary.classes.get(&class).copied().unwrap_or_default();
        assert!(count >= 3, "{class:?} has {count}");
    }
}

#[test]
fn finds_a_program_by_version_and_by_pattern() {
    let knowledge = Catalog::shipped();
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
    let knowledge = Catalog::shipped();
    for word in ["git", "bash", "commit", "submodule", "foreach", "python3.9"] {
        assert!(knowledge.is_word(word), "{word}");
    }
    for word in ["src", "main.rs", "", "-c"] {
        assert!(!knowledge.is_word(word), "{word}");
    }
}

/// A knowledge base of these texts, each one program.
fn knowledge(texts: &[String]) -> Catalog {
    fn leaked<T>(all: Vec<T>) -> &'static [T] {
        Vec::leak(all)
    }
    fn texts_of(all: Vec<String>) -> &'static [&'static str] {
        leaked(all.into_iter().map(|text| &*text.leak()).collect())
    }
    let programs: Vec<_> = texts.iter().flat_map(|text| source::programs(text).unwrap()).collect();
    let wholes: Vec<String> = programs.iter().map(|program| program.whole.clone()).collect();
    let block = |program: source::Source| Block {
        file: "test.toml",
        line: program.line,
        versioned: program.versioned,
        like: texts_of(program.like),
        data: program.data.leak(),
    };
    let names = |(at, program): (usize, &source::Source)| {
        let names = texts_of(program.names.clone()).iter();
        names.map(move |name| (*name, at)).collect::<Vec<_>>()
    };
    let mut names: Vec<_> = programs.iter().enumerate().flat_map(names).collect();
    names.sort_unstable();
    let blocks = leaked(programs.into_iter().map(block).collect());
    let parsed = leaked(blocks.iter().map(|_| ProgramCell::new()).collect());
    let index = Index { blocks, names: leaked(names), parsed };
    Catalog::new(index, format!("[{}]", wholes.join(",")).leak())
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
        let broken = knowledge(&[format!("[[program]]\n{text}")]).check().unwrap_err();
        let texts: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.contains(message)), "{texts:?}");
    }
}

#[test]
fn a_name_in_two_entries_is_an_error() {
    const RULE: &str = "[[program]]\nnames = [\"x\"]\n[[program.refuse]]\nalways = true\n\
                        why = \"w\"\nrefused = [[\"x\"]]\nallowed = [[\"x\", \"--help\"]]\n";
    let knowledge = knowledge(&[RULE.to_owned(), RULE.to_owned()]);
    assert!(knowledge.check().unwrap_err().iter().any(|error| error.to_string().contains("twice")));
}

#[test]
fn dangerous_variables_are_told_from_others() {
    let knowledge = Catalog::shipped();
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

#[test]
fn what_is_built_in_is_what_is_written() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/programs");
    let mut programs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let count = text.lines().filter(|line| *line == "[[program]]").count();
        let read = source::programs(&text).unwrap();
        assert_eq!(read.len(), count);
        for program in read {
            programs += 1;
            let at = data::NAMES.binary_search_by_key(&&*program.names[0], |(name, _)| name);
            let block = &data::BLOCKS[data::NAMES[at.unwrap()].1];
            assert_eq!((block.line, block.data), (program.line, &*program.data));
            let mut words = program.words.iter().flat_map(|words| words.split(' '));
            assert!(words.all(|word| Catalog::shipped().is_word(word)), "{:?}", program.words);
            assert!(!block.data.contains("\"refused\"") && program.whole.len() >= block.data.len());
        }
    }
    assert_eq!(programs, data::BLOCKS.len());
}

#[test]
fn words_are_those_of_programs_and_of_their_subcommands() {
    for word in ["git", "status", "commit", "cargo", "ls"] {
        assert!(Catalog::shipped().is_word(word), "{word}");
    }
    for word in ["", "no-such-word", "git\nstatus", "commi", "ommit"] {
        assert!(!Catalog::shipped().is_word(word), "{word:?}");
    }
}
