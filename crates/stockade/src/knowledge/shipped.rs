//! The data files that are built in.

/// The programs, by theme.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    program_file!("shells"),
    program_file!("interpreters"),
    program_file!("wrappers"),
    program_file!("builtins"),
    program_file!("privilege"),
    program_file!("vcs"),
    program_file!("text"),
    program_file!("files"),
    program_file!("archive"),
    program_file!("editors"),
    program_file!("databases"),
    program_file!("network"),
    program_file!("build"),
    program_file!("system"),
];

/// The variables.
pub(super) const ENVIRONMENT: (&str, &str) = program_file!("environment");

macro_rules! program_file {
    ($theme:literal) => {
        (
            concat!("programs/", $theme, ".toml"),
            include_str!(concat!("../../../../policies/programs/", $theme, ".toml")),
        )
    };
}
use program_file;
