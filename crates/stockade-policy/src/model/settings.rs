//! What the axes look for: lists of names and folders, given by the policy.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The lists that inspection is asked to hold a call against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Programs that are never run, by name and by identity.
    pub deny: BTreeSet<String>,
    /// Programs whose inline code is refused.
    pub interpreters: BTreeSet<String>,
    /// Where programs may live besides the project root.
    pub folders: Vec<PathBuf>,
    /// Where programs may live though the caller can write there, because no call can.
    pub toolchains: Vec<PathBuf>,
    /// The search path of the run, in which bare names are looked up.
    pub search_path: Vec<PathBuf>,
    /// Paths outside the root that a call may name.
    pub outside: Vec<PathBuf>,
    /// Programs whose arguments are plain data, whatever they look like.
    pub data: BTreeSet<String>,
    /// The only programs that a shell line may name; `None` where there is no shell tool.
    pub only: Option<BTreeSet<String>>,
}

/// The first seed's denylist.
pub const DENY: [&str; 24] = [
    "rm",
    "sudo",
    "mkfs",
    "mkfs.ext4",
    "mkfs.fat",
    "curl",
    "wget",
    "chmod",
    "dd",
    "kill",
    "pkill",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "eval",
    "exec",
    "base64",
    "nc",
    "ncat",
    "telnet",
    "su",
    "iptables",
    "ufw",
];

/// The first seed's interpreters.
pub const INTERPRETERS: [&str; 14] = [
    "python", "python3", "bash", "sh", "zsh", "fish", "node", "deno", "perl", "ruby", "lua", "awk",
    "tclsh", "php",
];

const FOLDERS: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/gnu/store", "/snap"];

const SEARCH_PATH: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

const OUTSIDE: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

impl Default for Settings {
    fn default() -> Self {
        Self {
            deny: owned(&DENY),
            interpreters: owned(&INTERPRETERS),
            folders: FOLDERS.iter().map(PathBuf::from).collect(),
            toolchains: Vec::new(),
            search_path: SEARCH_PATH.iter().map(PathBuf::from).collect(),
            outside: OUTSIDE.iter().map(PathBuf::from).collect(),
            data: BTreeSet::new(),
            only: None,
        }
    }
}

fn owned(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
