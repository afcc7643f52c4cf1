//! Source code for an interpreter.

use std::str::FromStr;

/// The arguments of `Code`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The language.
    pub language: Language,
    /// The source, byte for byte.
    pub source: Vec<u8>,
}

/// The supported languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Python 3, isolated: no user site, no environment, no modules from the working directory.
    Python,
    /// JavaScript for Node.
    Node,
    /// Bash, without its start-up files.
    Bash,
    /// The shell of POSIX.
    Sh,
    /// Perl 5.
    Perl,
    /// Ruby.
    Ruby,
}

/// The names of every language; the first one is canonical.
const NAMES: [(Language, &[&str]); 6] = [
    (Language::Python, &["python", "python3", "py"]),
    (Language::Node, &["node", "javascript", "js", "nodejs"]),
    (Language::Bash, &["bash", "shell"]),
    (Language::Sh, &["sh"]),
    (Language::Perl, &["perl"]),
    (Language::Ruby, &["ruby", "rb"]),
];

/// Reads the source from standard input, replaces that with an empty file, and runs the source.
///
/// The compiled text has a name, so that a traceback shows its lines.
const PYTHON: &str = "\
import os, sys
def start():
    name = 'code.py'
    def show(kind, error, trace):
        import traceback
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)
    source = open(0, 'rb', closefd=False).read()
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    import linecache
    text = source.decode('utf-8', 'replace')
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    sys.excepthook = show
    sys.argv[:] = [name]
    main = sys.modules['__main__'].__dict__
    for own in ('start', 'os', 'sys'):
        main.pop(own, None)
    main['__file__'] = name
    return compile(source, name, 'exec', dont_inherit=True), main
exec(*start())
";

const NODE: &str = "\
const fs = require('fs'), Module = require('module'), path = require('path');
const source = fs.readFileSync(0, 'utf8');
fs.closeSync(0);
fs.openSync('/dev/null', 'r');
const file = path.join(process.cwd(), 'code.js');
process.argv = [process.argv[0], file];
const main = new Module(file, null);
main.filename = file;
main.paths = Module._nodeModulePaths(process.cwd());
process.mainModule = main;
main._compile(source, file);
";

const SHELL: &str = "exec 3<&0 </dev/null; . /proc/self/fd/3";

const PERL: &str = "\
open(my $source, '<&', STDIN) or die; open(STDIN, '<', '/dev/null') or die; \
$0 = 'code.pl'; my $ran = do('/proc/self/fd/' . fileno($source)); die $@ if $@;";

const RUBY: &str = "\
source = $stdin.dup; $stdin.reopen('/dev/null'); $0 = 'code.rb'; \
load \"/proc/self/fd/#{source.fileno}\"";

impl Language {
    /// All languages.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(language, _)| *language)
    }

    /// The canonical name.
    pub fn name(self) -> &'static str {
        let names = NAMES.iter().find(|(language, _)| *language == self).map(|(_, names)| *names);
        names.and_then(<[_]>::first).copied().unwrap_or_default()
    }

    /// The interpreter and its arguments. It reads the source from standard input.
    pub fn interpreter(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Python => ("python3", &["-I", "-c", PYTHON]),
            Self::Node => ("node", &["-e", NODE]),
            Self::Bash => ("bash", &["--noprofile", "--norc", "-c", SHELL]),
            Self::Sh => ("sh", &["-c", SHELL]),
            Self::Perl => ("perl", &["-e", PERL]),
            Self::Ruby => ("ruby", &["-e", RUBY]),
        }
    }

    /// Whether the commands of the source can be found before it runs.
    pub fn is_shell(self) -> bool {
        matches!(self, Self::Bash | Self::Sh)
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.to_ascii_lowercase();
        let known = NAMES.iter().find(|(_, names)| names.contains(&name.as_str()));
        known.map(|(language, _)| *language).ok_or_else(|| UnknownLanguage(text.to_owned()))
    }
}

/// An unknown language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown language {0:?}; expected python, node, bash, sh, perl or ruby")]
pub struct UnknownLanguage(String);
