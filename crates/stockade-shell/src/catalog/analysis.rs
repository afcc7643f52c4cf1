//! What the knowledge base says about one command: hazards, inner commands, plain text.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use super::schema::Class;

/// One word of a command, and the argument of the call that it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// The word itself; as it is written where it is not known.
    pub text: Cow<'a, OsStr>,
    /// The index in the call's argv, or among the words of a shell line.
    pub argument: usize,
    /// What the text is of that argument.
    pub form: WordForm,
}

/// What the text of a word is of its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordForm {
    /// All of it.
    Whole,
    /// A part (`env -S 'a b'`), which shares its argument with others.
    Part,
    /// What a shell makes of it, in the run, is not known: `$x`, `$(date)`, `*.c`.
    Unknown,
}

impl<'a> Word<'a> {
    /// The whole argument at this index.
    pub fn new(text: &'a OsStr, argument: usize) -> Self {
        Self { text: Cow::Borrowed(text), argument, form: WordForm::Whole }
    }

    /// An argv as words, the program first.
    pub fn list<T: AsRef<OsStr>>(argv: &'a [T]) -> Vec<Self> {
        argv.iter().enumerate().map(|(at, text)| Self::new(text.as_ref(), at)).collect()
    }

    /// A part of an argument.
    pub fn part(text: OsString, argument: usize) -> Self {
        Self { text: Cow::Owned(text), argument, form: WordForm::Part }
    }

    /// Whether the word is a whole argument and not a part of one.
    pub fn is_whole(&self) -> bool {
        self.form != WordForm::Part
    }

    /// Whether the text is what the program will get.
    pub fn is_known(&self) -> bool {
        self.form != WordForm::Unknown
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_encoded_bytes()
    }
}

/// What is known about one command of a known program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis<'a> {
    /// What is dangerous in the words, in the order in which it was found.
    pub hazards: Vec<Hazard>,
    /// The commands that this one starts, to be judged like the call itself.
    pub inner: Vec<Inner<'a>>,
    /// Arguments of the call that are plain data for the program: never a path, never code.
    pub text: Vec<usize>,
    /// Values that are lists of paths (`-cp a:b`) or a path behind a key (`of=x`).
    pub paths: Vec<PathValue>,
    /// Where the value of an option is written in the same word (`-tOUT`, `--file=OUT`).
    pub glued: Vec<GluedOption>,
    /// The subcommand, with its own (`submodule foreach`), where the program has them.
    pub subcommand: Option<String>,
    /// Code in the words, and what runs it.
    pub code: Vec<Code>,
    /// What the command does to files and hosts, as far as its words say.
    pub effects: Vec<Effect>,
    /// Whether the words show that nothing is changed.
    pub nature: Purity,
    /// Whether anything is known of what is dangerous in the words of the program; if not, no
    /// hazard means nothing.
    pub judged: bool,
}

impl Analysis<'_> {
    /// Makes what was found in words that an option held point at the words that were given.
    pub(super) fn point_at(
        &mut self,
        known: (usize, usize),
        split: &[Word<'_>],
        given: &[Word<'_>],
    ) {
        let place = |word: usize| {
            let argument = split.get(word)?.argument;
            given.iter().position(|word| word.argument == argument)
        };
        for code in self.code.iter_mut().skip(known.0) {
            code.words = code.words.iter().filter_map(|word| place(*word)).collect();
        }
        for effect in self.effects.iter_mut().skip(known.1) {
            effect.word = effect.word.and_then(place);
        }
    }
}

/// Code in the words of a command: `sh -c CODE`, `eval CODE`, `ssh host CODE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The words that hold it, by their place in the command; a shell joins several with spaces.
    pub words: Vec<usize>,
    /// The byte where the code begins in the first of them (`-cCODE`).
    pub offset: usize,
    /// What runs it.
    pub runner: Runner,
    /// Whether words are added that are not known before the run (`parallel`).
    pub open: bool,
}

/// What runs code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// A shell of its own: `bash -c`, `watch`.
    Shell,
    /// The shell that reads the line, now: `eval`.
    ThisShell,
    /// The shell that reads the line, at another time: `trap`, `alias`.
    ThisShellLater,
    /// A shell on another machine.
    Remote,
    /// Another language.
    Other,
}

/// One thing that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// What.
    pub kind: EffectKind,
    /// The path or host.
    pub target: OsString,
    /// The word that names it, by its place in the command; none where it is implied (`ls` reads
    /// the folder it is in).
    pub word: Option<usize>,
}

/// What a command does to a path or a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKind {
    /// It is read; a folder with all that is in it.
    Read,
    /// Names and properties are read, of a folder those in it, but not what files hold: `ls`,
    /// `stat`.
    List,
    /// It is made or changed.
    Write,
    /// It is removed; a folder with all that is in it.
    Delete,
    /// It is run.
    Execute,
    /// The other paths of the command start there: `git -C DIR`.
    Enter,
    /// What is in it is handed on whole: to the command that is started (`find DIR -exec`), or as
    /// names that are printed (`ls DIR`). `-` is what is read on standard input.
    Pass,
    /// The mode or the owner of it and of all that is in it changes: `chmod -R`.
    ChangeTree,
    /// Commits are dropped from its history, or what names them: `git reflog expire`.
    Forget,
    /// Something is sent there or fetched from there.
    Host,
}

/// How far a command is known to change nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purity {
    /// It may.
    #[default]
    Unknown,
    /// It reads and prints, as long as the words are these and the configuration of the project
    /// it is in names no program (pagers, hooks, filters of `git`). The caller has to know that,
    /// or to contain what such programs can do.
    ReadsIfContained,
    /// It reads and prints, as long as the words are these: other options would write. A wrapper
    /// only starts what is in [`Analysis::inner`], and is as that is. A builtin changes the shell
    /// that reads the line and nothing else.
    ReadsAsWritten,
    /// It reads and prints, whatever its words are.
    Reads,
}

/// One dangerous thing in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hazard {
    /// What sort of thing.
    pub kind: HazardKind,
    /// The argument of the call that carries it.
    pub argument: usize,
    /// The option, word or name that is meant, as it is known (`--to-command`).
    pub flag: String,
    /// Why it is dangerous; completes "refused: ".
    pub why: Arc<str>,
    /// What to do instead.
    pub instead: Option<Arc<str>>,
    /// What the program can be abused for.
    pub classes: Arc<[Class]>,
}

/// The sort of a hazard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HazardKind {
    /// Code in the arguments: `sh -c`, `awk 'BEGIN{system("id")}'`.
    InlineCode,
    /// Code from standard input: `bash -s`, `python3 -`, no script at all.
    StdinCode,
    /// An option, operand or subcommand that executes, loads or writes.
    Flag,
    /// A program that takes commands from whoever drives it, whatever its arguments.
    Always,
    /// A variable that changes what programs run.
    Environment,
    /// `find -exec`, `fd -x`, `-delete`: acts on whatever is found. The strict profile refuses
    /// it; its commands are also in [`Analysis::inner`].
    FindAction,
    /// The words cannot be read with certainty.
    Unreadable,
}

/// A command inside another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inner<'a> {
    /// Its words, the program first; never empty.
    pub words: Vec<Word<'a>>,
    /// How it is started: the wrapper's name, or the option (`-exec`).
    pub via: String,
    /// Whether the wrapper adds words that are not known before the run (`xargs`, `find`).
    pub open: bool,
}

/// An argument that holds paths in a way of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathValue {
    /// The argument of the call.
    pub argument: usize,
    /// Each path in it.
    pub paths: Vec<OsString>,
}

/// An option and its value in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GluedOption {
    /// The argument of the call; only whole arguments are listed.
    pub argument: usize,
    /// The byte where the value begins.
    pub offset: usize,
}
