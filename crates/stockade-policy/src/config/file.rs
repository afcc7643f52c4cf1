//! A policy file as a person writes it: every key optional, unknown keys refused.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::config::entry::Entry;
use crate::config::named::NamedTable;
use crate::hooks::HookTable;
use crate::tools::ToolTable;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PolicyFile {
    pub(crate) mode: Text,
    #[serde(default)]
    pub(crate) questions: QuestionsTable,
    #[serde(default)]
    pub(crate) project: ProjectTable,
    #[serde(default)]
    pub(crate) exec: ExecTable,
    #[serde(default)]
    pub(crate) shell: ShellTable,
    #[serde(default, rename = "box")]
    pub(crate) boxed: BoxTable,
    #[serde(default)]
    pub(crate) limits: LimitsTable,
    #[serde(default)]
    pub(crate) code: CodeTable,
    #[serde(default)]
    pub(crate) session: SessionTable,
    #[serde(default)]
    pub(crate) journal: JournalTable,
    #[serde(default)]
    pub(crate) rules: RulesTable,
    #[serde(default)]
    pub(crate) hook: Vec<Spanned<HookTable>>,
    #[serde(default)]
    pub(crate) tool: BTreeMap<String, Spanned<ToolTable>>,
}

/// `[questions]`: how people are asked.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionsTable {
    pub(crate) timeout: Text,
}

/// `[project]`: what may be a project.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProjectTable {
    pub(crate) home: Option<Spanned<bool>>,
}

/// A list of ports; it and each of them with its place in the file.
pub(crate) type PortList = Option<Spanned<Vec<Spanned<u32>>>>;
/// A list of names; it and each of them with its place in the file.
pub(crate) type Names = Option<Spanned<Vec<Spanned<String>>>>;
/// A text with its place in the file.
pub(crate) type Text = Option<Spanned<String>>;

/// `[exec]`: what the axes look for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecTable {
    pub(crate) profile: Text,
    pub(crate) deny: Names,
    pub(crate) interpreters: Names,
    pub(crate) folders: Names,
    pub(crate) search_path: Names,
    pub(crate) outside: Names,
    pub(crate) data: Names,
}

/// `[shell]`: shell lines.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellTable {
    pub(crate) profile: Text,
    pub(crate) only: Names,
}

/// `[box]`: the tier and what it has to keep.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoxTable {
    pub(crate) tier: Text,
    pub(crate) env: Names,
    pub(crate) require: Names,
    pub(crate) write: Names,
    pub(crate) read: Names,
    pub(crate) toolchains: Names,
    pub(crate) hide: Names,
    pub(crate) protect: Names,
    pub(crate) net: Text,
    pub(crate) publish: PortList,
    pub(crate) host_ports: PortList,
    pub(crate) changes: Text,
    pub(crate) image: Text,
    pub(crate) engine: Text,
    pub(crate) runtime: Text,
    pub(crate) pull: Text,
    pub(crate) warm: Option<Spanned<u32>>,
}

/// `[limits]`: sizes and times as text; `none` for no limit on cpu, cpus, memory, file size and disk.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsTable {
    pub(crate) wall: Text,
    pub(crate) wall_max: Text,
    pub(crate) background_max: Text,
    pub(crate) cpu: Text,
    pub(crate) cpus: Text,
    pub(crate) memory: Text,
    pub(crate) processes: Option<Spanned<u32>>,
    pub(crate) file_size: Text,
    pub(crate) disk: Text,
    pub(crate) files: Option<Spanned<u64>>,
    pub(crate) open_files: Option<Spanned<u64>>,
    pub(crate) output: Text,
    pub(crate) flood: Text,
}

/// `[code]`: source for interpreters.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeTable {
    pub(crate) warm: Option<Spanned<u32>>,
    #[serde(default)]
    pub(crate) limits: LimitsTable,
}

/// `[session]`: the limits of sessions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionTable {
    pub(crate) idle: Text,
    pub(crate) processes: Option<Spanned<u32>>,
    pub(crate) memory: Text,
}

/// `[journal]`: durability.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalTable {
    pub(crate) durability: Text,
    pub(crate) window: Text,
}

/// `[rules]`: each a text, or a table with examples; named ones, and those that are dropped.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesTable {
    pub(crate) deny: Entries,
    pub(crate) ask: Entries,
    pub(crate) allow: Entries,
    #[serde(default)]
    pub(crate) named: Vec<Spanned<NamedTable>>,
    pub(crate) drop: Names,
}

/// Rules, each with its place in the file.
pub(crate) type Entries = Option<Vec<Spanned<Entry>>>;
