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
        if is_shell(tool) {
            return Self::Lines;
        }
        match family(canonical(tool)) {
            Family::Shell(Shell::Windows) => Self::OtherLines,
            Family::Shell(Shell::Bash | Shell::Exec) => Self::Lines,
            Family::Reads => Self::Reads,
            Family::Writes => Self::Writes,
            Family::Hosts => Self::Hosts,
            Family::Field(_) => Self::Unknown,
            Family::Other if OTHER_SHELLS.contains(&own_name(tool).as_str()) => Self::OtherLines,
            Family::Other => Self::by_words(tool),
        }
    }

    /// By the words of a name, as in `read_multiple_files`. A name with words of both kinds, or with
    /// none that is known, may do either.
    fn by_words(tool: &str) -> Self {
        let words = words(tool);
        let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let writes = has(&OVERWRITING) || has(&EDITING);
        match (has(&READING), writes) {
            _ if has(&TAKING) => Self::Unknown,
            (true, false) => Self::Reads,
            (false, true) => Self::Writes,
            (true, true) | (false, false) => Self::Unknown,
        }
    }
}

/// Whether a tool that writes a file learns nothing of what is in it: it replaces, creates or deletes
/// the file. An edit shows what is there, and a move or a copy takes it elsewhere.
pub fn overwrites(tool: &str) -> bool {
    let words = words(tool);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&OVERWRITING) && !has(&EDITING) && !has(&TAKING) && !has(&READING)
}

/// Whether a tool is known to read files.
pub fn is_reader(tool: &str) -> bool {
    family(canonical(tool)) == Family::Reads
}

/// Whether a tool runs command lines of a POSIX shell, by its own name or by that behind the name of a
/// server.
pub fn is_shell(tool: &str) -> bool {
    SHELLS.contains(&own_name(tool).as_str()) || is_shell_of_server(tool)
}

/// Whether the words of a server's tool say that it runs commands. The tools of agents that merely
/// handle a running command, such as `KillShell`, are known by their names.
fn is_shell_of_server(tool: &str) -> bool {
    let words = words(tool);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if !tool.starts_with("mcp__") || has(&READING) {
        return false;
    }
    // To write to a terminal is to run what is written.
    let types = has(&["stdin", "terminal", "tty", "pty"]) && has(&["write"]);
    let is_typed = has(&["keys", "keystrokes", "input", "text"]) && is_terminal_server(tool);
    types || ((has(&RUNNING) || is_typed) && !has(&OVERWRITING))
}

/// Whether the name of a server says that it holds terminals.
fn is_terminal_server(tool: &str) -> bool {
    const TERMINALS: [&str; 10] =
        ["bash", "console", "iterm", "pty", "screen", "shell", "ssh", "terminal", "tmux", "zellij"];
    let server = tool.strip_prefix("mcp__").and_then(|rest| rest.rsplit_once("__"));
    let words = server.map_or_else(Vec::new, |(server, _)| words(server));
    words.iter().any(|word| TERMINALS.contains(&word.as_str()))
}

/// The words of a tool's own name, in small letters: `search`, `files` of `mcp__fs__searchFiles`.
pub fn words(tool: &str) -> Vec<String> {
    let own = tool.rsplit("__").next().unwrap_or(tool);
    let mut words: Vec<String> = Vec::new();
    let mut was_small = false;
    for letter in own.chars() {
        let is_break = !letter.is_alphanumeric();
        if is_break || (letter.is_uppercase() && was_small) || words.is_empty() {
            words.push(String::new());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
        if let Some(word) = words.last_mut().filter(|_| !is_break) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The name of a tool without that of its server, in small letters.
fn own_name(tool: &str) -> String {
    tool.rsplit("__").next().unwrap_or(tool).to_lowercase()
}

/// Names under which agents and their servers run command lines.
const SHELLS: [&str; 30] = [
    "bash",
    "bash_command",
    "container.exec",
    "container_exec",
    "exec",
    "exec_command",
    "execute_bash",
    "execute_command",
    "execute_shell",
    "execute_shell_command",
    "local_shell",
    "local_shell_call",
    "monitor",
    "run",
    "run_bash",
    "run_bash_command",
    "run_command",
    "run_in_terminal",
    "run_shell",
    "run_shell_command",
    "run_terminal_cmd",
    "run_terminal_command",
    "sh",
    "shell",
    "shell_command",
    "shell_exec",
    "terminal",
    "unified_exec",
    "write_stdin",
    "zsh",
];
/// Words for tools of servers that run command lines.
const RUNNING: [&str; 13] = [
    "bash", "cmd", "command", "commands", "console", "exec", "execute", "process", "run", "sh",
    "shell", "terminal", "zsh",
];
/// Names under which they run lines of another shell.
const OTHER_SHELLS: [&str; 6] =
    ["cmd", "powershell", "pwsh", "run_powershell", "execute_powershell", "fish"];
/// Words for tools that read.
const READING: [&str; 25] = [
    "cat", "count", "describe", "diff", "exists", "find", "get", "glob", "grep", "head", "info",
    "list", "lookup", "ls", "query", "read", "rg", "ripgrep", "search", "show", "stat", "tail",
    "tree", "view", "metadata",
];
/// Words for tools that write a file as a whole, or delete it.
const OVERWRITING: [&str; 11] = [
    "append",
    "create",
    "delete",
    "mkdir",
    "overwrite",
    "put",
    "remove",
    "save",
    "truncate",
    "unlink",
    "write",
];
/// Words for tools that change a part of a file.
const EDITING: [&str; 10] =
    ["apply", "edit", "insert", "modify", "multiedit", "patch", "replace", "set", "update", "undo"];
/// Words for tools that take what is in a file, or elsewhere, to another place.
const TAKING: [&str; 27] = [
    "archive",
    "backup",
    "capture",
    "checkout",
    "clone",
    "compress",
    "convert",
    "copy",
    "cp",
    "download",
    "dump",
    "export",
    "extract",
    "fetch",
    "generate",
    "link",
    "move",
    "mv",
    "pull",
    "rename",
    "render",
    "restore",
    "screenshot",
    "sync",
    "unzip",
    "upload",
    "zip",
];

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
        // A patch creates, changes and removes files.
        "apply_patch" => &["apply_patch", "Edit", "Write"],
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
pub(crate) fn is_known_tool(name: &str) -> bool {
    is_known(canonical(name))
}

/// The tool that a name was probably meant to be: one that is at most two letters away.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    crate::config::nearest::nearest(name, KNOWN)
}

#[cfg(test)]
mod tests {
    use super::{Touch, is_shell, overwrites, words};

    #[test]
    fn names_tell_what_a_tool_does() {
        for (tool, expected) in [
            ("mcp__fs__search_files", Touch::Reads),
            ("mcp__fs__readMultipleFiles", Touch::Reads),
            ("mcp__fs__directory_tree", Touch::Reads),
            ("mcp__fs__get_file_info", Touch::Reads),
            ("list_dir", Touch::Reads),
            ("search_file_content", Touch::Reads),
            ("view_image", Touch::Reads),
            ("mcp__fs__write_file", Touch::Writes),
            ("mcp__fs__edit_file", Touch::Writes),
            ("replace", Touch::Writes),
            ("apply_patch", Touch::Writes),
            ("delete_file", Touch::Writes),
            ("search_replace", Touch::Unknown),
            ("mcp__fs__move_file", Touch::Unknown),
            ("mcp__fs__copy_and_list", Touch::Unknown),
            ("mcp__x__fetch", Touch::Unknown),
            ("mcp__x__download_and_show", Touch::Unknown),
            ("mcp__a__b", Touch::Unknown),
            ("Monitor", Touch::Lines),
            ("mcp__sh__start_process", Touch::Lines),
            ("mcp__sh__get_process_info", Touch::Reads),
            ("PowerShell", Touch::OtherLines),
            ("mcp__sh__pwsh", Touch::OtherLines),
            ("KillShell", Touch::Unknown),
            ("BashOutput", Touch::Unknown),
        ] {
            assert_eq!(Touch::of(tool), expected, "{tool}");
        }
        assert!(is_shell("container.exec") && !is_shell("KillShell") && !is_shell("BashOutput"));
    }

    #[test]
    fn a_tool_that_replaces_a_file_learns_nothing_of_it() {
        for (tool, expected) in [
            ("Write", true),
            ("create_file", true),
            ("mcp__fs__delete_file", true),
            ("Edit", false),
            ("NotebookEdit", false),
            ("MultiEdit", false),
            ("mcp__fs__move_file", false),
            ("mcp__fs__write_and_read", false),
            ("apply_patch", false),
            ("mcp__a__b", false),
        ] {
            assert_eq!(overwrites(tool), expected, "{tool}");
        }
        assert_eq!(words("mcp__fs__searchFiles-in.dir"), ["search", "files", "in", "dir"]);
    }
}
