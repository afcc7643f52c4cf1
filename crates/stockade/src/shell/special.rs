//! Variables that are the shell's own.

/// Variables of the shell that are numbers, whatever they are given.
pub(super) const NUMBERS: [&str; 9] =
    ["UID", "EUID", "PPID", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "BASHPID"];

/// Variables that have a value though no line sets them.
pub(super) fn is_set_by_the_shell(name: &str) -> bool {
    const SET: [&str; 34] = [
        "UID",
        "EUID",
        "PPID",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "HOSTNAME",
        "HOSTTYPE",
        "MACHTYPE",
        "OSTYPE",
        "SHLVL",
        "SHELL",
        "SHELLOPTS",
        "OPTIND",
        "OPTARG",
        "REPLY",
        "TERM",
        "LANG",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "COLUMNS",
        "LINES",
        "DIRSTACK",
        "GROUPS",
        "FUNCNAME",
        "PIPESTATUS",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "OPTERR",
        "MAPFILE",
        "COPROC",
        "_",
    ];
    SET.contains(&name)
        || name.starts_with("BASH")
        || name.starts_with("LC_")
        || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
