//! The lines in the data files.

/// A line with its name and, if it has one, its tree.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) line: String,
    pub(crate) tree: String,
}

/// Our own lines with their trees.
pub(crate) fn forms() -> Vec<Record> {
    read(include_str!("../../data/shell/forms.txt"))
}

/// Lines from the tests of another parser.
pub(crate) fn parable() -> Vec<Record> {
    read(include_str!("../../data/shell/parable.txt"))
}

/// All of them.
pub(crate) fn all() -> Vec<Record> {
    forms().into_iter().chain(parable()).collect()
}

fn read(text: &str) -> Vec<Record> {
    let mut records = Vec::new();
    for part in text.split("\n=== ").skip(1) {
        let (name, rest) = part.split_once('\n').unwrap();
        let (line, tree) = rest.split_once("\n---\n").unwrap();
        let tree = tree.trim_end().to_owned();
        records.push(Record { name: name.to_owned(), line: line.to_owned(), tree });
    }
    records
}
