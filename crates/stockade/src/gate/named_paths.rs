//! The files and folders that the input of an agent's tool names, with where each of them leads.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::facts::is_absent;
use super::guarded::finding;
use super::path_text::meanings;
use crate::call::{Foreign, PATCH_NAMES, patched_files};
use crate::inspect::{Finding, View, Weight};
use crate::policy::rule::{PathFacts, Reach, Touch, overwrites};

/// Fields that name a file or a folder, in small letters and without what joins their words.
const FIELDS: [&str; 16] = [
    "dest",
    "destination",
    "dst",
    "folders",
    "from",
    "include",
    "location",
    "out",
    "output",
    "resource",
    "saveas",
    "saveto",
    "source",
    "src",
    "target",
    "to",
];
/// How the names of other such fields end: `notebook_path`, `targetFile`, `rootDir`.
const ENDINGS: [&str; 13] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "folder",
    "dir",
    "dirs",
    "directory",
    "directories",
    "uri",
    "uris",
];
/// How the names of fields begin that name what a tool writes, whatever its own name says.
const WRITTEN: [&str; 5] = ["dest", "dst", "out", "save", "write"];
/// The most paths that one call may name. Each of them is looked up.
pub(super) const PATHS_MAX: usize = 1000;
/// Fields that hold a patch.
const PATCHES: [&str; 3] = ["command", "input", "patch"];

/// What a call names.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) reads: Vec<PathFacts>,
    pub(super) writes: Vec<PathFacts>,
    /// What keeps the call from being judged.
    pub(super) findings: Vec<Finding>,
}

impl Named {
    /// What the input of a tool names. A tool that is not known to read or to write may do either.
    pub(super) fn of(foreign: &Foreign, view: &View<'_>, home: Option<&Path>) -> Self {
        if is_patch(foreign) {
            return Self::of_patch(foreign, view);
        }
        let touch = Touch::of(&foreign.name);
        let mut named = Self::default();
        let Some(texts) = texts(foreign) else {
            named.findings.push(too_many());
            return named;
        };
        let downloads = downloads(foreign);
        for NamedText { text, is_written } in texts {
            for path in meanings(&text, view.cwd_path(), home) {
                let fact = fact(&path, view, &foreign.name);
                if touch != Touch::Writes {
                    named.reads.push(fact.clone());
                }
                if touch != Touch::Reads || is_written || downloads {
                    named.writes.push(fact);
                }
            }
        }
        named
    }

    /// The files of a patch, which have to be in the project.
    fn of_patch(foreign: &Foreign, view: &View<'_>) -> Self {
        let mut named = Self::default();
        let refuse = |text: String| {
            let instead = "send one patch from `*** Begin Patch` to `*** End Patch` that names files \
                           of the project";
            finding("patch", text, instead, Weight::Always)
        };
        let files = match patch(foreign).map(|text| patched_files(&text)) {
            Some(Ok(files)) => files,
            Some(Err(error)) => {
                named.findings.push(refuse(format!("the patch cannot be read: {error}")));
                return named;
            }
            None => {
                named.findings.push(refuse("the call has no patch that is a text".to_owned()));
                return named;
            }
        };
        if files.len() > PATHS_MAX {
            named.findings.push(too_many());
            return named;
        }
        for file in files {
            let fact = fact(&view.cwd_path().join(&file.path), view, &foreign.name);
            let fact = PathFacts { unread: fact.unread || !file.reads, ..fact };
            if !fact.free {
                let text = format!("the patch names {:?}, outside of the project", file.path);
                named.findings.push(refuse(text));
            }
            // A folder in the place of a file would go as a whole.
            named.writes.push(PathFacts { free: false, reach: Reach::Tree, ..fact });
        }
        named
    }
}

/// Whether a tool applies patches.
pub(super) fn is_patch(foreign: &Foreign) -> bool {
    PATCH_NAMES.contains(&foreign.name.to_lowercase().as_str())
}

/// A path that the input of a tool names.
pub(super) fn fact(path: &Path, view: &View<'_>, tool: &str) -> PathFacts {
    let real = view.real(path.as_os_str());
    let free = real.as_ref().is_some_and(|real| real.starts_with(view.root().path()));
    let fact = PathFacts { real, free, ..PathFacts::new(path) };
    PathFacts { unread: overwrites(tool) || is_absent(&fact), ..fact }
}

/// The text of a patch: a field, or the last word of a command.
fn patch(foreign: &Foreign) -> Option<String> {
    let mut found = PATCHES.iter().filter_map(|field| match foreign.input.get(*field)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => match words.as_slice() {
            [_, Value::String(text)] => Some(text.clone()),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    });
    let first = found.next()?;
    // With two of them nobody knows which is applied.
    found.next().is_none().then_some(first)
}

/// The paths that an input names, as the agent would find them. A call that names too many is refused.
pub(super) fn paths(foreign: &Foreign, view: &View<'_>, home: Option<&Path>) -> Vec<PathBuf> {
    let paths = |text: NamedText| meanings(&text.text, view.cwd_path(), home);
    texts(foreign).unwrap_or_default().into_iter().flat_map(paths).collect()
}

pub(super) fn too_many() -> Finding {
    let text = format!("the call names more than {PATHS_MAX} paths or addresses");
    finding("many", text, "split it into several calls", Weight::Always)
}

/// Whether a call has an address besides its paths, so that it may write there what it loads.
fn downloads(foreign: &Foreign) -> bool {
    let is_web = |text: &str| text.contains("://") && !text.trim_start().starts_with("file:");
    foreign.input.iter().any(|(name, value)| {
        name.to_lowercase().contains("url") && value.as_str().is_some_and(is_web)
    })
}

/// A text that names paths.
#[derive(Debug)]
struct NamedText {
    text: String,
    /// Whether its field says that the tool writes there.
    is_written: bool,
}

/// What the name of a field says of its texts.
#[derive(Debug, Clone, Copy)]
struct Field {
    names: bool,
    is_written: bool,
}

impl Field {
    fn of(name: &str) -> Self {
        let plain: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let plain = plain.to_lowercase();
        let names = FIELDS.contains(&plain.as_str())
            || ENDINGS.iter().any(|ending| plain.ends_with(ending));
        let is_written = names && WRITTEN.iter().any(|begin| plain.starts_with(begin));
        Self { names, is_written }
    }

    fn within(self, outer: Self) -> Self {
        Self { names: self.names || outer.names, is_written: self.is_written || outer.is_written }
    }
}

/// Every text in a field that names paths, where there are not too many of them.
fn texts(foreign: &Foreign) -> Option<Vec<NamedText>> {
    // Objects may hold such fields at any depth, which the reader of JSON bounds.
    let mut all = Vec::new();
    let mut left: Vec<(Field, &Value)> =
        foreign.input.iter().map(|(name, value)| (Field::of(name), value)).collect();
    while let Some((field, value)) = left.pop() {
        match value {
            Value::String(text) if field.names => {
                all.push(NamedText { text: text.clone(), is_written: field.is_written });
            }
            Value::Array(values) => left.extend(values.iter().map(|value| (field, value))),
            Value::Object(fields) => {
                let fields = fields.iter();
                left.extend(fields.map(|(name, value)| (Field::of(name).within(field), value)));
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if all.len() > PATHS_MAX {
            return None;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Foreign, patch, texts};

    fn foreign(input: &serde_json::Value) -> Foreign {
        Foreign { name: "apply_patch".to_owned(), input: input.as_object().unwrap().clone() }
    }

    #[test]
    fn a_patch_is_one_text() {
        for (input, expected) in [
            (json!({"command": "p"}), Some("p")),
            (json!({"input": "p"}), Some("p")),
            (json!({"command": ["apply_patch", "p"]}), Some("p")),
            (json!({"command": "p", "input": "q"}), None),
            (json!({"command": ["bash", "-lc", "p"]}), None),
            (json!({"command": 1}), None),
            (json!({}), None),
        ] {
            assert_eq!(patch(&foreign(&input)).as_deref(), expected, "{input}");
        }
    }

    #[test]
    fn paths_are_found_under_the_names_that_agents_use() {
        for input in [
            json!({"file_path": "p"}),
            json!({"absolute_path": "p"}),
            json!({"filePath": "p"}),
            json!({"target_file": "p"}),
            json!({"paths": ["p"], "content": "q"}),
            json!({"source": "p"}),
            json!({"dst": "p"}),
            json!({"outputPath": "p"}),
            json!({"args": {"target": {"path": "p"}}}),
            json!({"edits": [{"file_path": "p", "new_string": "q"}]}),
            json!({"file-path": "p"}),
            json!({"imagePath": ["p"]}),
            json!({"root_dir": "p", "pattern": "q"}),
        ] {
            let found = texts(&foreign(&input)).unwrap();
            let found: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
            assert_eq!(found, ["p"], "{input}");
        }
    }
}
