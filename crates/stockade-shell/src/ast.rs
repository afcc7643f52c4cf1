//! A shell line as a tree: small, ours, and the same whichever parser made it.

/// Where a part of a line begins and ends, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// Statements one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// In the order of the line.
    pub statements: Vec<Statement>,
}

/// One statement with the redirections that hold for all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// In the order of the line.
    pub redirects: Vec<Redirect>,
    /// Whether `&` ends it.
    pub background: bool,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// Assignments and words.
    Simple(Simple),
    /// `a | b |& c`; each of them has a shell of its own.
    Pipeline(Vec<Statement>),
    /// `a && b || c`: the first, and what follows each operator.
    Chain {
        /// What runs in any case.
        first: Box<Statement>,
        /// What may run after it, from left to right.
        rest: Vec<(Connector, Statement)>,
    },
    /// `( … )`
    Subshell(Script),
    /// `{ …; }`
    Group(Script),
    /// `if`, with every `elif` an arm: condition and body.
    If {
        /// In the order of the line.
        arms: Vec<(Script, Script)>,
        /// `else`
        otherwise: Option<Script>,
    },
    /// `for x in …` and `select x in …`; without words, over the arguments of the shell.
    For {
        /// The variable.
        variable: String,
        /// What it becomes in turn.
        words: Option<Vec<Word>>,
        /// What runs each time.
        body: Script,
    },
    /// `for ((a; b; c))`
    ArithmeticFor {
        /// The words in the three expressions.
        expressions: Vec<Word>,
        /// What runs each time.
        body: Script,
    },
    /// `while` and `until`.
    While {
        /// Runs before each round.
        condition: Script,
        /// What runs each time.
        body: Script,
    },
    /// `case`
    Case {
        /// What is compared.
        word: Word,
        /// Patterns and what runs for them.
        arms: Vec<(Vec<Word>, Script)>,
    },
    /// A function; nothing runs yet.
    Function {
        /// Its name.
        name: Word,
        /// What runs when it is called.
        body: Box<Statement>,
    },
    /// `coproc`
    Coproc {
        /// The array of its descriptors.
        name: Option<String>,
        /// What runs.
        body: Box<Statement>,
    },
    /// `time`
    Time(Option<Box<Statement>>),
    /// `[[ … ]]`: the words in it, and how bash reads each of them.
    Test(Vec<(TestRole, Word)>),
    /// `(( … ))`: the words in it.
    Arithmetic(Vec<Word>),
}

/// How bash reads a word in `[[ … ]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestRole {
    /// Text, a pattern or a path.
    Text,
    /// Arithmetic: an operand of `-eq` and the like.
    Expression,
    /// The name of a variable, perhaps with a subscript: the operand of `-v` and `-R`.
    Name,
}

/// What stands between two statements of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// What stands before the words.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments; empty if there are only assignments.
    pub words: Vec<Word>,
    /// From the first assignment or word to the last.
    pub span: Span,
}

/// `name=value`, `name+=value`, `name[…]=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The words in its subscript.
    pub subscript: Option<Word>,
    /// Whether it is added to what is there.
    pub append: bool,
    /// What it becomes; an array is one [`Piece::Array`].
    pub value: Word,
    /// Where it stands.
    pub span: Span,
}

/// One word before expansion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Word {
    /// What it is made of, from left to right; none for an empty word without quotes.
    pub pieces: Vec<Piece>,
    /// Where it stands.
    pub span: Span,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text with its quotes and backslashes taken off. Without quotes, `*` `?` `[` are patterns,
    /// braces are expanded, and a `~` in front is a home.
    Text {
        /// As the program gets it.
        text: String,
        /// Whether any quote or backslash protects it.
        quoted: bool,
    },
    /// `$x`, `${x}`, `$1`, `$@`.
    Variable {
        /// Without the dollar.
        name: String,
        /// Whether double quotes keep it in one word.
        quoted: bool,
    },
    /// Any other `${…}`.
    Parameter {
        /// The variable.
        name: String,
        /// What is done with it.
        operation: Operation,
        /// Whether double quotes keep it in one word.
        quoted: bool,
    },
    /// `$(…)` and the same in backticks.
    Command {
        /// What runs.
        script: Script,
        /// Whether double quotes keep it in one word.
        quoted: bool,
    },
    /// `<(…)` and `>(…)`.
    Process {
        /// What runs.
        script: Script,
    },
    /// `$((…))` and `$[…]`: the words in it.
    Arithmetic(Vec<Word>),
    /// `(a b [k]=c)`: the words in it.
    Array(Vec<Word>),
    /// What the parser knows to be there and cannot say more about.
    Opaque,
}

/// What `${…}` does with a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// `${x:-word}`, `${x-word}`: the word where there is no value.
    Default(Word),
    /// `${x:=word}`: the same, and the variable keeps it.
    Assign(Word),
    /// `${x:+word}`: the word where there is a value.
    Alternative(Word),
    /// `${x:?word}`: an end with a message where there is no value.
    Error(Word),
    /// `${#x}`, `${#a[…]}`: a number; the words in its subscript.
    Length(Option<Word>),
    /// Slices, patterns, replacements, subscripts, `${!x}`.
    Other {
        /// Whether a sign stands before the name: `${!x%y}`.
        prefixed: bool,
        /// Subscripts, offsets and lengths, which are arithmetic.
        expressions: Vec<Word>,
        /// The other words in it.
        words: Vec<Word>,
    },
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What sort.
    pub kind: RedirectKind,
    /// The file, the descriptor, or the text of a here-document or here-string.
    pub target: Word,
    /// Where it stands.
    pub span: Span,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `>>`, `&>`, `&>>`
    Write,
    /// `<>`
    ReadWrite,
    /// `<&`, `>&`: a copy of a descriptor; `>&` with a file name is [`RedirectKind::Write`].
    Copy,
    /// `<<`, `<<-`: the target is the text.
    HereDocument,
    /// `<<<`: the target is the text.
    HereString,
}
