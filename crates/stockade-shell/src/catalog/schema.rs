//! The form of the data files; a key that is not here is an error.

mod code;
mod effect;

use serde::Deserialize;

pub(super) use code::{Code, CodeOperands, Runner};
pub(super) use effect::{Effect, Reads, TargetForm, Which};

/// One `[[program]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) names: Vec<String>,
    #[serde(default)]
    pub(super) classes: Vec<Class>,
    /// Options with which, alone, the program only prints about itself.
    #[serde(default = "about_itself")]
    pub(super) harmless: Vec<String>,
    /// Whether the first operand names a subcommand.
    #[serde(default)]
    pub(super) subcommands: bool,
    #[serde(default)]
    pub(super) options: Options,
    /// Options that every subcommand takes.
    #[serde(default)]
    pub(super) after: Options,
    #[serde(default)]
    pub(super) scope: Vec<Scope>,
    #[serde(default)]
    pub(super) refuse: Vec<Refuse>,
    pub(super) interpreter: Option<Interpreter>,
    #[serde(default)]
    pub(super) wrapper: Vec<Wrapper>,
    #[serde(default)]
    pub(super) text: Vec<Text>,
    #[serde(default)]
    pub(super) paths: Vec<Paths>,
    #[serde(default)]
    pub(super) code: Vec<Code>,
    #[serde(default)]
    pub(super) effect: Vec<Effect>,
    #[serde(default)]
    pub(super) reads: Vec<Reads>,
    #[serde(default)]
    pub(super) examples: Examples,
}

/// Whole commands and all that a reading of them says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Examples {
    /// A line, split as a shell does, and each piece of code in it after the name of its runner.
    pub(super) code: Vec<Vec<String>>,
    /// A line, and each command inside it.
    pub(super) inner: Vec<Vec<String>>,
    /// A line, and each effect: `read x`, `write x`, `list . implied`.
    pub(super) effects: Vec<Vec<String>>,
    /// Lines that change nothing.
    pub(super) reads: Vec<String>,
    /// Lines that may.
    pub(super) changes: Vec<String>,
}

fn about_itself() -> Vec<String> {
    vec!["--version".to_owned(), "--help".to_owned()]
}

/// What a program can be abused for, in the words of the `GTFOBins` project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are the project's own")]
pub enum Class {
    Shell,
    Command,
    ReverseShell,
    NonInteractiveReverseShell,
    BindShell,
    NonInteractiveBindShell,
    FileUpload,
    FileDownload,
    FileWrite,
    FileRead,
    LibraryLoad,
    Suid,
    Sudo,
    Capabilities,
    LimitedSuid,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 15] = [
        Self::Shell,
        Self::Command,
        Self::ReverseShell,
        Self::NonInteractiveReverseShell,
        Self::BindShell,
        Self::NonInteractiveBindShell,
        Self::FileUpload,
        Self::FileDownload,
        Self::FileWrite,
        Self::FileRead,
        Self::LibraryLoad,
        Self::Suid,
        Self::Sudo,
        Self::Capabilities,
        Self::LimitedSuid,
    ];
}

/// Which options there are and how they take their values.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    /// As for `getopt`: `a` a flag, `b:` with a value, `c::` with a value in the same word if at
    /// all, `d#` with digits in the same word, `e!` followed by a command.
    pub(super) short: String,
    /// With spaces between: `name`, `name=` with a value (`name==` with two), `name?` with a value
    /// after `=` if at all, `name!` followed by a command up to `;`, `name!+` also up to `{} +`.
    pub(super) long: String,
    /// The same for options of one dash and several letters; they may be written with two.
    pub(super) single: String,
    pub(super) order: Order,
    pub(super) values: Values,
    pub(super) abbreviations: Abbreviations,
    pub(super) unknown: Option<UnknownOption>,
    pub(super) plus: Plus,
    /// Options after which every word is an operand.
    pub(super) last: Vec<String>,
    /// Whether `-` alone ends the options, as `--` does.
    pub(super) dash_ends: bool,
    /// Whether options still follow `--`, as the expression of `find` does.
    #[serde(default)]
    pub(super) dashes_end_nothing: bool,
}

/// Where options may stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Order {
    #[default]
    Anywhere,
    BeforeOperands,
    /// Before the first operand and after it, up to the second: `ssh HOST -v COMMAND`.
    BeforeSecond,
    /// Nowhere: a word with a dash is an operand, a first `--` excepted.
    Nowhere,
}

/// Where the value of a short option stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Values {
    /// In the rest of the word, else in the next one.
    #[default]
    Glued,
    /// Always in the next word not yet taken, as the shells do with `-o`.
    Next,
    /// Glued, but a first word without a dash is a cluster whose values follow: `tar xf FILE`.
    Bundled,
}

/// Whether a long option may be cut short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Abbreviations {
    #[default]
    Accepted,
    None,
}

/// What an option that is not listed means for the words after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum UnknownOption {
    /// It takes no value.
    Flag,
    /// Nobody knows, so the command cannot be read.
    Unreadable,
}

/// What a word that begins with `+` is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Plus {
    #[default]
    Operand,
    /// A command of the program: `vim +q`, `less +F`.
    Command,
    /// Options turned off: `bash +x`.
    Cluster,
}

/// A subcommand, or several that are alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scope {
    pub(super) names: Vec<String>,
    /// Whether its first operand names a subcommand in turn.
    #[serde(default)]
    pub(super) nested: bool,
    #[serde(default)]
    pub(super) options: Options,
}

/// One thing that is dangerous.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Refuse {
    /// Only under these; `*` is everywhere. Without any other condition the subcommand itself.
    pub(super) subcommands: Vec<String>,
    /// With `always`: not under these.
    pub(super) unless_subcommands: Vec<String>,
    pub(super) flags: Vec<String>,
    /// Patterns for operands.
    pub(super) operands: Vec<String>,
    /// Patterns for words of any kind.
    pub(super) words: Vec<String>,
    /// Dangerous when none of these options is there.
    pub(super) missing: Vec<String>,
    /// Dangerous with fewer operands than this.
    pub(super) fewer: usize,
    /// Dangerous whatever the arguments, the harmless ones excepted.
    pub(super) always: bool,
    /// Not without any argument.
    pub(super) alone: Alone,
    /// Only when the value of the flag is like one of these.
    pub(super) like: Vec<String>,
    /// Not when the value or operand is like one of these.
    pub(super) unless: Vec<String>,
    /// Not when the value is letters, digits and `_ : . , = -` only.
    pub(super) unless_plain: bool,
    /// Not when one of these options is there.
    pub(super) unless_flags: Vec<String>,
    pub(super) kind: Option<RefuseKind>,
    pub(super) why: String,
    pub(super) instead: Option<String>,
    pub(super) refused: Vec<Vec<String>>,
    pub(super) allowed: Vec<Vec<String>>,
}

/// What a program does without any argument.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Alone {
    #[default]
    Dangerous,
    Harmless,
}

/// The kind of a hazard, where it does not follow from the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RefuseKind {
    InlineCode,
    StdinCode,
    FindAction,
}

/// How a program takes code.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Interpreter {
    /// Options that carry code, or say that the first operand is code.
    pub(super) code: Vec<String>,
    /// Options that say that code comes from standard input.
    pub(super) stdin: Vec<String>,
    /// Options that name the script, so that no operand does.
    pub(super) script: Vec<String>,
    /// Options that name a module to run.
    pub(super) module: Vec<String>,
    /// Modules that run what their arguments or standard input say.
    pub(super) modules: Vec<String>,
    /// Modules that run another module, named after an option of theirs with an `m`.
    pub(super) runners: Vec<String>,
    /// The language of the script, where it can be judged by its text.
    pub(super) language: Option<Language>,
    /// Whether the code is for a shell.
    pub(super) shell: bool,
    pub(super) instead: Option<String>,
    pub(super) refused: Vec<Vec<String>>,
    pub(super) allowed: Vec<Vec<String>>,
}

/// A language that has a judge of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Language {
    Awk,
    Sed,
}

/// How a program finds the command that it runs.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Wrapper {
    pub(super) subcommands: Vec<String>,
    /// Only with one of these options.
    pub(super) with: Vec<String>,
    /// Operands before the command.
    pub(super) skip: usize,
    /// Whether those are numbers, so that a word that is none cannot be read.
    pub(super) numbers: bool,
    /// Whether `NAME=value` words stand before the command.
    pub(super) assignments: bool,
    /// Options whose value is `NAME=value`.
    pub(super) environment: Vec<String>,
    pub(super) command: Command,
    /// Options whose value a shell runs.
    pub(super) code: Vec<String>,
    /// What runs code.
    pub(super) runner: Runner,
    /// Options whose value is split into words that take its place.
    pub(super) split: Vec<String>,
    /// Options whose words up to the end mark are a command.
    pub(super) actions: Vec<String>,
    /// Options with which a command of `shell` kind is not given to a shell.
    pub(super) direct: Vec<String>,
    /// Options with which nothing is run.
    pub(super) idle: Vec<String>,
    /// What happens when no command is given.
    pub(super) bare: Bare,
    /// Whether words are added that are not known before the run.
    pub(super) open: bool,
    pub(super) why: Option<String>,
    pub(super) instead: Option<String>,
    pub(super) refused: Vec<Vec<String>>,
    pub(super) allowed: Vec<Vec<String>>,
}

/// What the words of the inner command are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Command {
    #[default]
    Argv,
    /// Joined and given to a shell.
    Shell,
    /// There are none: only options and assignments matter.
    None,
}

/// What a wrapper does without a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bare {
    #[default]
    Harmless,
    /// It starts a shell.
    Shell,
}

/// Which words are plain data.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Text {
    pub(super) subcommands: Vec<String>,
    /// Options whose value is.
    pub(super) options: Vec<String>,
    /// How many operands are, from the first.
    pub(super) operands: usize,
    /// Options with which no operand is.
    pub(super) unless: Vec<String>,
    /// Only words like these.
    pub(super) like: Vec<String>,
    /// Not words like these.
    pub(super) except: Vec<String>,
    /// Examples with a word that is.
    pub(super) plain: Vec<Vec<String>>,
    /// Examples without.
    pub(super) judged: Vec<Vec<String>>,
}

/// Which words hold paths in a way of their own.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Paths {
    pub(super) subcommands: Vec<String>,
    /// Options whose value is a list with `:` between.
    pub(super) lists: Vec<String>,
    /// Operands that begin so hold one path (`of=`).
    pub(super) keys: Vec<String>,
    /// Examples with such a word.
    pub(super) held: Vec<Vec<String>>,
    /// Examples without.
    pub(super) none: Vec<Vec<String>>,
}
