//! The inputs of file tools as JSON, as coding agents send them. Unknown fields are errors.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::wire::{BadInput, fit};
use super::{Case, Edit, FileCall, Glob, Grep, Numbers, Occurrence, Read, Show, Span, Write};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRead {
    file_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWrite {
    file_path: String,
    content: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireEdit {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireGlob {
    pattern: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WireGrep {
    pattern: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_mode: Option<WireShow>,
    #[serde(rename = "-i", skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    #[serde(rename = "-n", skip_serializing_if = "Option::is_none")]
    numbers: Option<bool>,
    #[serde(rename = "-A", skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(rename = "-B", skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    #[serde(rename = "-C", skip_serializing_if = "Option::is_none")]
    around: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multiline: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum WireShow {
    FilesWithMatches,
    Content,
    Count,
}

/// The most bytes of a path (`PATH_MAX`). Messages quote the path.
const PATH_BYTES_MAX: usize = 4096;
/// The most bytes of a pattern. A compiled pattern takes hundreds of bytes for each.
const PATTERN_BYTES_MAX: usize = 16 << 10;

pub(super) fn parse(
    tool: &str,
    input: Map<String, Value>,
) -> Result<Result<FileCall, BadInput>, Map<String, Value>> {
    Ok(match tool {
        "Read" | "read" | "read_file" => fit(input).and_then(|wire: WireRead| {
            let WireRead { file_path, offset, limit } = wire;
            Ok(FileCall::Read(Read { path: path("file_path", file_path)?, offset, limit }))
        }),
        "Write" | "write" | "write_file" => fit(input).and_then(|wire: WireWrite| {
            let path = path("file_path", wire.file_path)?;
            Ok(FileCall::Write(Write { path, content: wire.content }))
        }),
        "Edit" | "edit" | "edit_file" => fit(input).and_then(|wire: WireEdit| {
            let occurrence = if wire.replace_all { Occurrence::All } else { Occurrence::Once };
            let (old, new) = (wire.old_string, wire.new_string);
            let path = path("file_path", wire.file_path)?;
            Ok(FileCall::Edit(Edit { path, old, new, occurrence }))
        }),
        "Glob" | "glob" => fit(input).and_then(|wire: WireGlob| {
            let path = wire.path.map(|given| path("path", given)).transpose()?;
            Ok(FileCall::Glob(Glob { pattern: pattern("pattern", wire.pattern)?, path }))
        }),
        "Grep" | "grep" => fit(input).and_then(grep).map(FileCall::Grep),
        _ => return Err(input),
    })
}

fn grep(wire: WireGrep) -> Result<Grep, BadInput> {
    let missing = || BadInput::of(&"missing field `pattern`");
    let sought = wire.pattern.ok_or_else(missing)?;
    let around = wire.around.or(wire.context).unwrap_or_default();
    Ok(Grep {
        pattern: pattern("pattern", sought)?,
        path: wire.path.map(|given| path("path", given)).transpose()?,
        glob: wire.glob.map(|given| pattern("glob", given)).transpose()?,
        kind: wire.kind.map(|given| pattern("type", given)).transpose()?,
        show: match wire.output_mode {
            Some(WireShow::FilesWithMatches) | None => Show::Files,
            Some(WireShow::Content) => Show::Content,
            Some(WireShow::Count) => Show::Count,
        },
        case: if wire.ignore_case == Some(true) { Case::Ignored } else { Case::Matters },
        span: if wire.multiline == Some(true) { Span::Lines } else { Span::Line },
        numbers: if wire.numbers == Some(false) { Numbers::Left } else { Numbers::Shown },
        before: wire.before.unwrap_or(around),
        after: wire.after.unwrap_or(around),
        offset: wire.offset.unwrap_or_default(),
        // Agents send 0 for no limit.
        head_limit: wire.head_limit.filter(|limit| *limit > 0),
    })
}

fn path(field: &str, given: String) -> Result<PathBuf, BadInput> {
    at_most(PATH_BYTES_MAX, field, given).map(PathBuf::from)
}

fn pattern(field: &str, given: String) -> Result<String, BadInput> {
    at_most(PATTERN_BYTES_MAX, field, given)
}

fn at_most(most: usize, field: &str, given: String) -> Result<String, BadInput> {
    if given.len() <= most {
        return Ok(given);
    }
    Err(BadInput::of(&format!("`{field}` has {} bytes; at most {most} are accepted", given.len())))
}

pub(super) fn input(call: &FileCall) -> Map<String, Value> {
    match call {
        FileCall::Read(Read { path, offset, limit }) => {
            object(&WireRead { file_path: text(path), offset: *offset, limit: *limit })
        }
        FileCall::Write(Write { path, content }) => {
            object(&WireWrite { file_path: text(path), content: content.clone() })
        }
        FileCall::Edit(Edit { path, old, new, occurrence }) => object(&WireEdit {
            file_path: text(path),
            old_string: old.clone(),
            new_string: new.clone(),
            replace_all: *occurrence == Occurrence::All,
        }),
        FileCall::Glob(Glob { pattern, path }) => {
            object(&WireGlob { pattern: pattern.clone(), path: path.as_deref().map(text) })
        }
        FileCall::Grep(grep) => object(&WireGrep {
            pattern: Some(grep.pattern.clone()),
            path: grep.path.as_deref().map(text),
            glob: grep.glob.clone(),
            kind: grep.kind.clone(),
            output_mode: Some(match grep.show {
                Show::Files => WireShow::FilesWithMatches,
                Show::Content => WireShow::Content,
                Show::Count => WireShow::Count,
            }),
            ignore_case: (grep.case == Case::Ignored).then_some(true),
            numbers: (grep.numbers == Numbers::Left).then_some(false),
            after: Some(grep.after).filter(|lines| *lines > 0),
            before: Some(grep.before).filter(|lines| *lines > 0),
            multiline: (grep.span == Span::Lines).then_some(true),
            head_limit: grep.head_limit,
            offset: Some(grep.offset).filter(|left_out| *left_out > 0),
            ..WireGrep::default()
        }),
    }
}

fn text(path: &std::path::Path) -> String {
    path.to_string_lossy().into_owned()
}

fn object<T: Serialize>(wire: &T) -> Map<String, Value> {
    match serde_json::to_value(wire) {
        Ok(Value::Object(map)) => map,
        // Serialising these types cannot fail.
        Ok(_) | Err(_) => Map::new(),
    }
}
