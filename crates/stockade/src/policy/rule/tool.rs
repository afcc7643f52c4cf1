//! The names of tools: aliases, families, and what a mistyped name may have meant.

/// What calls of a tool do, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// They run command lines of bash.
    Lines,
    /// They run command lines of another shell.
    OtherLines,
    /// They read the path that they name.
    Reads,
    /// They write it.
    Writes,
    /// They talk to the host that they name.
    Hosts,
    /// It cannot be told.
    Unknown,
}

impl Touch {
    /// Of the tool with this name.
    pub fn of(tool: &str) -> Self {
        match family(canonical(tool)) {
            Family::Shell(Shell::Windows) => Self::OtherLines,
            Family::Shell(Shell::Bash | Shell::Exec) => Self::Lines,
            Family::Reads => Self::Reads,
            Family::Writes => Self::Writes,
            Family::Hosts => Self::Hosts,
            Family::Field(_) | Family::Other if canonical(tool) == "Monitor" => Self::Lines,
            Family::Field(_) | Family::Other => Self::Unknown,
        }
    }
}

/// What the content of a tool's rules is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Command lines.
    Shell(Shell),
    /// Paths that are read.
    Reads,
    /// Paths that are written.
    Writes,
    /// Hosts.
    Hosts,
    /// One field of the input, which the pattern stands for: `Agent(name)`.
    Field(&'static str),
    /// Nothing but the fields of the input.
    Other,
}

/// Which command lines a rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shell {
    /// Those of `Bash` and of `Exec`.
    Bash,
    /// Those of `Exec` alone.
    Exec,
    /// Those of `PowerShell`, in which case does not matter.
    Windows,
}

/// The name by which rules know a tool.
pub(super) fn canonical(name: &str) -> &str {
    match name {
        "bash" | "shell" => "Bash",
        "run" | "exec" => "Exec",
        "run_code" => "Code",
        "read_file" | "read" => "Read",
        "write_file" | "write" => "Write",
        "edit_file" | "edit" => "Edit",
        "glob" => "Glob",
        "grep" => "Grep",
        "web_fetch" | "fetch" => "WebFetch",
        "web_search" => "WebSearch",
        "Task" => "Agent",
        _ => name,
    }
}

/// The names under which rules judge a call of this tool: an argv is a command line too.
pub(super) fn judged_as(canonical: &str) -> &[&str] {
    match canonical {
        "Exec" => &["Exec", "Bash"],
        _ => &[],
    }
}

/// What the rules of a tool are about.
pub(super) fn family(canonical: &str) -> Family {
    match canonical {
        "Bash" => Family::Shell(Shell::Bash),
        "Exec" => Family::Shell(Shell::Exec),
        "PowerShell" => Family::Shell(Shell::Windows),
        "Read" | "Grep" | "Glob" | "LS" | "LSP" | "NotebookRead" => Family::Reads,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => Family::Writes,
        "WebFetch" => Family::Hosts,
        "Agent" => Family::Field("subagent_type"),
        "Skill" => Family::Field("skill"),
        _ => Family::Other,
    }
}

/// The field that the pattern of a tool already stands for, so that no rule names it.
pub(super) fn is_primary(canonical: &str, field: &str) -> bool {
    match family(canonical) {
        Family::Shell(_) => field == "command" || field == "argv",
        Family::Reads | Family::Writes => ["file_path", "path", "notebook_path"].contains(&field),
        Family::Hosts => field == "url",
        Family::Field(primary) => field == primary,
        Family::Other => false,
    }
}

const KNOWN: [&str; 22] = [
    "Agent",
    "AskUserQuestion",
    "Bash",
    "Cd",
    "Code",
    "Edit",
    "Exec",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "PowerShell",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// Whether it is a tool of an agent or of Stockade. Others may be registered, or be a mistake.
pub(super) fn is_known(canonical: &str) -> bool {
    KNOWN.contains(&canonical)
}

/// Whether this name, or what it stands for, is a tool of an agent or of Stockade.
pub(in crate::policy) fn is_known_tool(name: &str) -> bool {
    is_known(canonical(name))
}

/// The tool that a name was probably meant to be: one that is at most two letters away.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    crate::call::nearest(name, KNOWN)
}
