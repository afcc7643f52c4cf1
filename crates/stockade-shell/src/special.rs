//! Variables that are the shell's own.

/// Variables of the shell that are numbers as long as nothing sets them. Bash gives most of them
/// the integer attribute (`variables.c`), so that what they are given is evaluated; the others
/// count as if it did.
pub(super) const NUMBERS: [&str; 13] = [
    "UID",
    "EUID",
    "PPID",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "BASHPID",
    "OPTIND",
    "HISTCMD",
    "MAILCHECK",
    "BASH_SUBSHELL",
];

/// Variables that have a value though no line sets them.
pub(super) fn is_set_by_the_shell(name: &str) -> bool {
    const SET: [&str; 25] = [
        "HOSTNAME",
        "HOSTTYPE",
        "MACHTYPE",
        "OSTYPE",
        "SHLVL",
        "SHELL",
        "SHELLOPTS",
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
        "EPOCHREALTIME",
        "OPTERR",
        "MAPFILE",
        "COPROC",
        "_",
    ];
    SET.contains(&name)
        || NUMBERS.contains(&name)
        || name.starts_with("BASH")
        || name.starts_with("LC_")
        || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
