//! A policy file as a person writes it: every key optional, unknown keys refused.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::entry::Entry;
use super::hook::HookTable;
use super::named::NamedTable;
use super::tool::ToolTable;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    pub(super) mode: Text,
    #[serde(default)]
    pub(super) questions: QuestionsTable,
    #[serde(default)]
    pub(super) project: ProjectTable,
    #[serde(default)]
    pub(super) exec: ExecTable,
    #[serde(default)]
    pub(super) shell: ShellTable,
    #[serde(default, rename = "box")]
    pub(super) boxed: BoxTable,
    #[serde(default)]
    pub(super) limits: LimitsTable,
    #[serde(default)]
    pub(super) code: CodeTable,
    #[serde(default)]
    pub(super) journal: JournalTable,
    #[serde(default)]
    pub(super) rules: RulesTable,
    #[serde(default)]
    pub(super) hook: Vec<Spanned<HookTable>>,
    #[serde(default)]
    pub(super) tool: BTreeMap<String, Spanned<ToolTable>>,
}

/// `[questions]`: how people are asked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuestionsTable {
    pub(super) timeout: Text,
}

/// `[project]`: what may be a project.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectTable {
    pub(super) home: Option<Spanned<bool>>,
}

/// A list of names; it and each of them with its place in the file.
pub(super) type Names = Option<Spanned<Vec<Spanned<String>>>>;
/// A text with its place in the file.
pub(super) type Text = Option<Spanned<String>>;

/// `[exec]`: what the axes look for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExecTable {
    pub(super) profile: Text,
    pub(super) deny: Names,
    pub(super) interpreters: Names,
    pub(super) folders: Names,
    pub(super) search_path: Names,
    pub(super) outside: Names,
    pub(super) data: Names,
}

/// `[shell]`: shell lines.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellTable {
    pub(super) profile: Text,
    pub(super) only: Names,
}

/// `[box]`: the tier and what it has to keep.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoxTable {
    pub(super) tier: Text,
    pub(super) env: Names,
    pub(super) require: Names,
    pub(super) write: Names,
    pub(super) read: Names,
    pub(super) toolchains: Names,
    pub(super) hide: Names,
    pub(super) protect: Names,
    pub(super) net: Text,
    pub(super) changes: Text,
    pub(super) image: Text,
    pub(super) engine: Text,
    pub(super) runtime: Text,
    pub(super) pull: Text,
    pub(super) warm: Option<Spanned<u32>>,
}

/// `[limits]`: sizes and times as text; `none` for no limit on cpu, cpus, memory, file size and disk.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    pub(super) wall: Text,
    pub(super) cpu: Text,
    pub(super) cpus: Text,
    pub(super) memory: Text,
    pub(super) processes: Option<Spanned<u32>>,
    pub(super) file_size: Text,
    pub(super) disk: Text,
    pub(super) files: Option<Spanned<u64>>,
    pub(super) open_files: Option<Spanned<u64>>,
    pub(super) output: Text,
    pub(super) flood: Text,
}

/// `[code]`: source for interpreters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeTable {
    pub(super) warm: Option<Spanned<u32>>,
    pub(super) session_idle: Text,
    #[serde(default)]
    pub(super) limits: LimitsTable,
}

/// `[journal]`: durability.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JournalTable {
    pub(super) durability: Text,
    pub(super) window: Text,
}

/// `[rules]`: each a text, or a table with examples; named ones, and those that are dropped.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RulesTable {
    pub(super) deny: Entries,
    pub(super) ask: Entries,
    pub(super) allow: Entries,
    #[serde(default)]
    pub(super) named: Vec<Spanned<NamedTable>>,
    pub(super) drop: Names,
}

/// Rules, each with its place in the file.
pub(super) type Entries = Option<Vec<Spanned<Entry>>>;
