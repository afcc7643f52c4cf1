//! The language of `ex` and `vim`: commands of which it is known that they run nothing, commands of a shell in
//! plain text, and everything else, which is unknown.

use super::Command;
use super::editors::{behind, behind_addresses, is_mark, shell_text};

/// How the argument of a command that runs nothing is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Argument {
    /// Addresses, counts, registers and words.
    Words,
    /// The name of a file that is read.
    Reads,
    /// The name of a file that is written.
    Writes,
    Options,
    Expression,
    /// Keys of the normal mode.
    Keys,
    /// Another command, for each file or window.
    Inner,
}

/// Commands that run nothing: the shortest and the full name.
const HARMLESS: [(&str, &str, Argument); 81] = [
    ("arga", "argadd", Argument::Reads),
    ("argdo", "argdo", Argument::Inner),
    ("ar", "args", Argument::Reads),
    ("b", "buffer", Argument::Words),
    ("bd", "bdelete", Argument::Words),
    ("bn", "bnext", Argument::Words),
    ("bp", "bprevious", Argument::Words),
    ("bufdo", "bufdo", Argument::Inner),
    ("buffers", "buffers", Argument::Words),
    ("bw", "bwipeout", Argument::Words),
    ("clo", "close", Argument::Words),
    ("co", "copy", Argument::Words),
    ("cq", "cquit", Argument::Words),
    ("d", "delete", Argument::Words),
    ("di", "display", Argument::Words),
    ("ec", "echo", Argument::Expression),
    ("echom", "echomsg", Argument::Expression),
    ("echon", "echon", Argument::Expression),
    ("e", "edit", Argument::Reads),
    ("ene", "enew", Argument::Words),
    ("ex", "ex", Argument::Reads),
    ("exi", "exit", Argument::Writes),
    ("files", "files", Argument::Words),
    ("filet", "filetype", Argument::Words),
    ("fir", "first", Argument::Words),
    ("fix", "fixdel", Argument::Words),
    ("h", "help", Argument::Words),
    ("j", "join", Argument::Words),
    ("keepa", "keepalt", Argument::Inner),
    ("keepj", "keepjumps", Argument::Inner),
    ("kee", "keepmarks", Argument::Inner),
    ("keepp", "keeppatterns", Argument::Inner),
    ("la", "last", Argument::Words),
    ("l", "list", Argument::Words),
    ("lockm", "lockmarks", Argument::Inner),
    ("ls", "ls", Argument::Words),
    ("ma", "mark", Argument::Words),
    ("marks", "marks", Argument::Words),
    ("mes", "messages", Argument::Words),
    ("m", "move", Argument::Words),
    ("new", "new", Argument::Reads),
    ("n", "next", Argument::Reads),
    ("noa", "noautocmd", Argument::Inner),
    ("noh", "nohlsearch", Argument::Words),
    ("nos", "noswapfile", Argument::Inner),
    ("norm", "normal", Argument::Keys),
    ("nu", "number", Argument::Words),
    ("on", "only", Argument::Words),
    ("pre", "preserve", Argument::Words),
    ("prev", "previous", Argument::Words),
    ("p", "print", Argument::Words),
    ("P", "Print", Argument::Words),
    ("pu", "put", Argument::Words),
    ("q", "quit", Argument::Words),
    ("qa", "qall", Argument::Words),
    ("quita", "quitall", Argument::Words),
    ("r", "read", Argument::Reads),
    ("red", "redo", Argument::Words),
    ("reg", "registers", Argument::Words),
    ("ret", "retab", Argument::Words),
    ("sav", "saveas", Argument::Writes),
    ("se", "set", Argument::Options),
    ("setg", "setglobal", Argument::Options),
    ("setl", "setlocal", Argument::Options),
    ("sil", "silent", Argument::Inner),
    ("sl", "sleep", Argument::Words),
    ("sor", "sort", Argument::Words),
    ("sp", "split", Argument::Reads),
    ("sy", "syntax", Argument::Words),
    ("tabe", "tabedit", Argument::Reads),
    ("t", "t", Argument::Words),
    ("u", "undo", Argument::Words),
    ("up", "update", Argument::Writes),
    ("ve", "version", Argument::Words),
    ("vs", "vsplit", Argument::Reads),
    ("windo", "windo", Argument::Inner),
    ("w", "write", Argument::Writes),
    ("wa", "wall", Argument::Words),
    ("wq", "wq", Argument::Writes),
    ("x", "xit", Argument::Writes),
    ("y", "yank", Argument::Words),
];
/// Names that are no prefix of another.
const HARMLESS_BESIDES: [(&str, Argument); 5] = [
    ("wqa", Argument::Words),
    ("wqall", Argument::Words),
    ("xa", Argument::Words),
    ("xall", Argument::Words),
    ("view", Argument::Reads),
];
/// Options that name no program, no file and no expression.
const OPTIONS: [&str; 92] = [
    "ai",
    "autoindent",
    "autoread",
    "ar",
    "background",
    "bg",
    "backup",
    "bk",
    "bin",
    "binary",
    "bomb",
    "bri",
    "breakindent",
    "cin",
    "cindent",
    "ci",
    "compatible",
    "copyindent",
    "cp",
    "cul",
    "cursorline",
    "encoding",
    "enc",
    "endofline",
    "eol",
    "et",
    "expandtab",
    "fdm",
    "fenc",
    "fencs",
    "ff",
    "ffs",
    "fileencoding",
    "fileencodings",
    "fileformat",
    "fileformats",
    "filetype",
    "fixendofline",
    "fixeol",
    "fo",
    "foldenable",
    "fen",
    "formatoptions",
    "ft",
    "gd",
    "gdefault",
    "hid",
    "hidden",
    "hls",
    "hlsearch",
    "ic",
    "ignorecase",
    "incsearch",
    "is",
    "laststatus",
    "lazyredraw",
    "list",
    "ls",
    "lz",
    "ma",
    "magic",
    "modeline",
    "ml",
    "modifiable",
    "more",
    "mouse",
    "nu",
    "number",
    "paste",
    "readonly",
    "report",
    "ro",
    "ruler",
    "scs",
    "shiftround",
    "shiftwidth",
    "si",
    "smartcase",
    "smartindent",
    "softtabstop",
    "spell",
    "sr",
    "sts",
    "sw",
    "swapfile",
    "swf",
    "tabstop",
    "textwidth",
    "ts",
    "tw",
    "wrap",
    "wrapscan",
];
/// Functions that run nothing and change nothing.
const FUNCTIONS: [&str; 13] = [
    "col",
    "executable",
    "exepath",
    "exists",
    "getline",
    "has",
    "len",
    "line",
    "printf",
    "strlen",
    "tolower",
    "toupper",
    "wordcount",
];
/// Commands behind which lines of text stand, up to one with a dot.
const TEXT_FOLLOWS: [&str; 9] = ["a", "i", "c", "a!", "i!", "c!", "append", "insert", "change"];
/// Commands that run a text of vim or of another language, as far as lines of a text are no such commands.
const RUNS_CODE: [(&str, &str); 9] = [
    ("cal", "call"),
    ("exe", "execute"),
    ("let", "let"),
    ("lua", "lua"),
    ("pe", "perl"),
    ("py", "python3"),
    ("rub", "ruby"),
    ("so", "source"),
    ("tcl", "tcl"),
];
/// How deep commands stand in others.
const DEPTH_MAX: usize = 32;

/// The commands in the word behind `-c`, `--cmd` or `+`, or in a script for `ex`.
pub(super) fn commands_of_vim(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let mut text_begins: Option<bool> = None;
    let mut is_continued = false;
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if let Some(is_certain) = text_begins {
            if line == "." {
                text_begins = None;
            } else if !is_certain {
                found.extend(commands_where_text_is_refused(line));
            }
            continue;
        }
        let is_escaped = line.ends_with('\\');
        let command = behind_addresses(line);
        if is_escaped || is_continued {
            // Whether the next line belongs to this one depends on the command and the program.
            found.push(Command::Unknown);
        } else if TEXT_FOLLOWS.contains(&command.split('|').next().unwrap_or_default().trim()) {
            if let Some((_, first)) = command.split_once('|') {
                found.extend(commands_where_text_is_refused(first));
            }
            let address = line.get(..line.len().saturating_sub(command.len())).unwrap_or_default();
            text_begins = Some(matches!(address.trim(), "" | "$" | "." | "0"));
        } else {
            commands_of_line(line, 0, &mut found);
        }
        is_continued = is_escaped;
    }
    found
}

/// An address that is not in the file makes the lines of a text commands.
fn commands_where_text_is_refused(line: &str) -> Vec<Command> {
    let mut found = Vec::new();
    commands_of_line(line, 0, &mut found);
    let (name, rest) = name_of(behind_addresses(line));
    let is_code =
        rest.starts_with([' ', '\t']) && RUNS_CODE.iter().any(|one| abbreviates(name, *one));
    found.retain(|command| *command != Command::Unknown || is_code);
    found
}

/// What an editor reads as if it were typed: lines that begin with a colon are commands.
pub(super) fn commands_of_keys(text: &str) -> Vec<Command> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    if lines().all(|line| line.starts_with(':')) {
        return lines().flat_map(commands_of_vim).collect();
    }
    vec![Command::Unknown]
}

fn name_of(command: &str) -> (&str, &str) {
    command.split_at(command.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(command.len()))
}

fn abbreviates(name: &str, (shortest, full): (&str, &str)) -> bool {
    name.starts_with(shortest) && full.starts_with(name)
}

/// One line, with commands that `|` divides.
fn commands_of_line(line: &str, depth: usize, found: &mut Vec<Command>) {
    let mut rest = line;
    loop {
        if depth > DEPTH_MAX || rest.contains('\u{16}') {
            found.push(Command::Unknown);
            return;
        }
        let command = behind_addresses(rest);
        let has_range = !rest
            .get(..rest.len().saturating_sub(command.len()))
            .unwrap_or_default()
            .trim_matches([' ', '\t', ':'])
            .is_empty();
        if command.is_empty() && rest.contains('|') {
            // Not each of these programs takes a bar in a pattern that is not closed for itself.
            found.push(Command::Unknown);
        }
        if command.is_empty() || command.starts_with('"') {
            return;
        }
        if let Some(after) = command.strip_prefix('|') {
            rest = after;
            continue;
        }
        match commands_of_one(command, has_range, depth, found) {
            Some(after) => rest = after,
            None => return,
        }
    }
}

/// The first command; what stands behind the `|` after it, if anything does.
fn commands_of_one<'t>(
    command: &'t str,
    has_range: bool,
    depth: usize,
    found: &mut Vec<Command>,
) -> Option<&'t str> {
    if let Some(code) = command.strip_prefix('!') {
        found.push(shell_text(code, has_range));
        return None;
    }
    let (name, after) = name_of(command);
    let is = |shortest, full| abbreviates(name, (shortest, full));
    if name.is_empty() {
        // `<`, `>`, `&` and `=` change or show lines; the others run a register or a program.
        let rest = after.trim_start_matches(['<', '>', '&', '=', '#']);
        let is_known = rest.len() < after.len();
        return plain(if is_known { rest } else { "`" }, is_word, found).map(|(_, next)| next)?;
    }
    if is("g", "global") || is("v", "vglobal") {
        let whole = after.strip_prefix('!').unwrap_or(after).trim_start();
        match whole.chars().next().filter(|mark| is_mark(*mark)) {
            Some(mark) if !behind(whole, mark, 2).is_empty() || !whole.contains('|') => {
                commands_of_line(behind(whole, mark, 2), depth.saturating_add(1), found);
            }
            Some(_) | None => found.push(Command::Unknown),
        }
        return None;
    }
    if is("s", "substitute")
        && !after.trim_start().starts_with(['\\', '"', '|'])
        && !after.trim().is_empty()
    {
        return replaced(after.trim_start(), found);
    }
    let is_mark_name = name.len() == 2 && name.starts_with('k') && name != "ke";
    if is_mark_name || name == "s" {
        return plain(after, is_word, found).map(|(_, next)| next)?;
    }
    let (is_forced, argument) = match after.strip_prefix('!') {
        Some(argument) => (true, argument),
        None => (false, after),
    };
    if let Some(program) = program_of(name) {
        found.push(started(program, argument));
        return None;
    }
    if is("r", "read") && is_forced {
        found.push(shell_text(argument, false));
        return None;
    }
    let Some(kind) = argument_of(name) else {
        found.push(Command::Unknown);
        return None;
    };
    let code = argument.trim_start().strip_prefix('!');
    match (kind, code) {
        (Argument::Reads | Argument::Writes, Some(code)) => {
            found.push(shell_text(code, kind == Argument::Writes));
            None
        }
        (Argument::Inner, _) => {
            commands_of_line(argument, depth.saturating_add(1), found);
            None
        }
        (Argument::Keys, _) => {
            if !keys_are_plain(argument.strip_prefix(' ').unwrap_or(argument)) {
                found.push(Command::Unknown);
            }
            None
        }
        _ => with_argument(kind, argument, is("sy", "syntax"), found),
    }
}

/// How the argument of a command that runs nothing is read.
fn argument_of(name: &str) -> Option<Argument> {
    let besides = HARMLESS_BESIDES.iter().find(|(full, _)| *full == name).map(|(_, kind)| *kind);
    let is = |one: &&(&'static str, &'static str, Argument)| abbreviates(name, (one.0, one.1));
    besides.or_else(|| HARMLESS.iter().find(is).map(|one| one.2))
}

/// What a command starts with its argument, if it starts anything.
fn program_of(name: &str) -> Option<&'static str> {
    let is = |full: &[(&str, &str)]| full.iter().any(|one| abbreviates(name, *one));
    if is(&[("te", "terminal")]) {
        Some("")
    } else if is(&[("mak", "make"), ("lmak", "lmake")]) {
        Some("make")
    } else if is(&[("gr", "grep"), ("lgr", "lgrep")]) {
        Some("grep -n")
    } else {
        None
    }
}

fn started(program: &str, argument: &str) -> Command {
    let argument = argument.trim();
    if argument.contains(['|', '+']) {
        return Command::Unknown;
    }
    if argument.is_empty() && !program.is_empty() {
        return Command::Text(program.to_owned());
    }
    match shell_text(argument, false) {
        Command::Text(text) => Command::Text(format!("{program} {text}").trim().to_owned()),
        Command::Unknown => Command::Unknown,
    }
}

/// A command that ends at a `|`, which is what stands behind that.
fn with_argument<'t>(
    kind: Argument,
    argument: &'t str,
    is_setting: bool,
    found: &mut Vec<Command>,
) -> Option<&'t str> {
    let signs = match kind {
        Argument::Options => "=?&!:^<",
        Argument::Expression => "'\"()&!?[]:",
        Argument::Reads | Argument::Writes => "/@:~>",
        Argument::Words | Argument::Keys | Argument::Inner => "",
    };
    let (own, next) = plain(argument, |c| is_word(c) || signs.contains(c), found)?;
    let is_known_word = |word: &str| {
        let command = word.strip_prefix('+').unwrap_or_default();
        !command.starts_with(char::is_alphabetic)
            && (!is_setting || matches!(word, "on" | "off" | "enable" | "clear"))
    };
    let is_known = match kind {
        Argument::Words => own.split_whitespace().all(is_known_word),
        Argument::Options => own.split_whitespace().all(is_harmless_option),
        Argument::Expression => calls_nothing(own),
        Argument::Reads | Argument::Writes => {
            files(own, kind == Argument::Writes, found);
            true
        }
        Argument::Keys | Argument::Inner => false,
    };
    if !is_known {
        found.push(Command::Unknown);
    }
    next
}

/// An argument of signs that mean nothing else, and what stands behind the `|` after it.
fn plain<'t>(
    argument: &'t str,
    is_plain: impl Fn(char) -> bool,
    found: &mut Vec<Command>,
) -> Option<(&'t str, Option<&'t str>)> {
    let (own, next) = match argument.split_once('|') {
        Some((own, next)) => (own, Some(next)),
        None => (argument, None),
    };
    if own.chars().all(|c| is_plain(c) || c == ' ' || c == '\t') {
        return Some((own, next));
    }
    found.push(Command::Unknown);
    None
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || "_-.,;$+'/".contains(sign)
}

/// `s/…/…/flags` from its first mark on.
fn replaced<'t>(whole: &'t str, found: &mut Vec<Command>) -> Option<&'t str> {
    let Some(mark) = whole.chars().next().filter(|mark| is_mark(*mark)) else {
        return plain(whole, is_word, found).map(|(_, next)| next)?;
    };
    let flags = behind(whole, mark, 3);
    let is_closed = !flags.is_empty() || whole.ends_with(mark);
    let has_expression =
        behind(whole, mark, 2).starts_with("\\=") || (whole.contains("\\=") && whole.contains('('));
    let is_divided = !is_closed && whole.contains('|');
    if has_expression || is_divided {
        found.push(Command::Unknown);
        return None;
    }
    plain(flags, |c| "cegiInp#lr&0123456789".contains(c), found).map(|(_, next)| next)?
}

/// `ts=4`, `noet`, `ff?`
fn is_harmless_option(option: &str) -> bool {
    let name = option.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let has_value = option.contains(['=', ':']);
    let bare = [Some(name), name.strip_prefix("no"), name.strip_prefix("inv")];
    let is_known = bare.into_iter().flatten().any(|name| OPTIONS.contains(&name));
    // The values of a file type are names of scripts.
    is_known && !(has_value && option.contains(['/', '$']))
}

/// Whether an expression calls only functions that run nothing.
fn calls_nothing(expression: &str) -> bool {
    let mut before = expression;
    while let Some((head, _)) = before.rsplit_once('(') {
        let name =
            head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        if !FUNCTIONS.contains(&name) {
            return false;
        }
        before = head;
    }
    true
}

/// Files that are read or written, as redirections.
fn files(names: &str, writes: bool, found: &mut Vec<Command>) {
    let (sign, names) = match names.trim_start().strip_prefix(">>") {
        Some(names) if writes => (">>", names),
        _ => (if writes { ">" } else { "<" }, names),
    };
    for name in names.split_whitespace() {
        let is_code = name.starts_with('+') && !name.chars().skip(1).all(|c| c.is_ascii_digit());
        if is_code || name.contains(['>', '$', '\'', ';']) || name.contains("://") {
            found.push(Command::Unknown);
        } else if !name.starts_with('+') {
            found.push(Command::Text(format!(": {sign} {name}")));
        }
    }
}

/// Whether keys of the normal mode move and edit, and start neither a command nor a register or a program.
fn keys_are_plain(keys: &str) -> bool {
    let mut keys = keys.chars();
    let mut has_operator = false;
    let mut is_visual = false;
    while let Some(key) = keys.next() {
        let follows_operator = has_operator;
        has_operator = "dy<>=".contains(key) || (follows_operator && key.is_ascii_digit());
        is_visual |= key == 'v' || key == 'V';
        let is_fine = match key {
            // A text object: `diw`
            'i' | 'a' if follows_operator => keys.next().is_some_and(|c| !c.is_control()),
            'i' | 'a' | 'I' | 'A' | 'o' | 'O' | 'S' | 'C' | 's' | 'c'
                if follows_operator || is_visual =>
            {
                false
            }
            'i' | 'a' | 'I' | 'A' | 'o' | 'O' | 'S' | 'C' | 's' => inserted_is_plain(&mut keys),
            'c' => {
                let mut motion = keys.next();
                while motion.is_some_and(|c| c.is_ascii_digit() && c != '0') {
                    motion = keys.next();
                }
                let takes_another = motion.is_some_and(|c| "iafFtT".contains(c));
                motion.is_some_and(|c| "wWbBeEhjkl$0^G{}()%ciafFtT".contains(c))
                    && (!takes_another || keys.next().is_some_and(|c| !c.is_control()))
                    && inserted_is_plain(&mut keys)
            }
            'f' | 'F' | 't' | 'T' | 'r' | 'm' | '\'' => {
                keys.next().is_some_and(|c| !c.is_control())
            }
            'g' => keys.next().is_some_and(|c| "geEvJ_jk0$".contains(c)),
            '"' => keys.next().is_some_and(char::is_alphanumeric),
            key => " hjklwWbBeEG0123456789$^dDyYpPxXuJ><~.vV%{}();,-+=_|\u{1b}\n".contains(key),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// Text that is put in, up to the escape key.
fn inserted_is_plain(keys: &mut impl Iterator<Item = char>) -> bool {
    let end = keys.find(|key| key.is_control() && *key != '\t');
    end.is_none_or(|key| key == '\u{1b}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Command {
        Command::Text(text.to_owned())
    }

    #[test]
    fn commands_of_vim_are_found() {
        assert_eq!(commands_of_vim(":!rm -rf .git"), [text("rm -rf .git")]);
        assert_eq!(commands_of_vim("silent !rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("%!sort -u"), [text("sort -u")]);
        assert_eq!(commands_of_vim("'a,'b!sort -u"), [text("sort -u")]);
        assert_eq!(commands_of_vim("argdo !rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("g/x/!rm y"), [text("rm y")]);
        assert_eq!(commands_of_vim("s/a/b/ | !rm y"), [text("rm y")]);
        assert_eq!(commands_of_vim("r!rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("rea !rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("te rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("w !tee x"), [text("tee x")]);
        assert_eq!(commands_of_vim("w! x"), [text(": > x")]);
        assert_eq!(commands_of_vim("w >> x|q"), [text(": >> x")]);
        assert_eq!(commands_of_vim("r x"), [text(": < x")]);
        assert_eq!(commands_of_vim("make all"), [text("make all")]);
        assert_eq!(commands_of_vim("make"), [text("make")]);
    }

    #[test]
    fn what_is_not_known_to_be_harmless_is_unknown() {
        for line in [
            "!rm %",
            "!rm #",
            "!!",
            "!echo <cfile>",
            "%!sh",
            "w !bash -s",
            "w !xargs rm",
            "%s/a/\\=system('rm x')/",
            "call system('rm x')",
            "cal setline(1, 'x')|w !sh",
            "let &shell='rm'",
            "exe 'x'",
            "w | lua os.remove('x')",
            "py3 import os",
            "so x.vim",
            "set shell=rm",
            "set mp=rm\\ x|make",
            "set equalprg=rm",
            "se fex=system('x')",
            "e `rm x`",
            "e `=system('x')`",
            "e +!rm x",
            "e http://x.example/a",
            "echo glob('`rm x`')",
            "echo system('x')",
            "pu =system('x')",
            "norm :!rm x",
            "norm @a",
            "norm K",
            "norm diw@a",
            "norm viw@a",
            "sy include x.vim",
            "b +make",
            "g/x|!rm y",
            "/x|!rm y",
            "norm c:!rm x",
            "norm i\u{12}=system('x')",
            "@a",
            "*",
            "au BufRead * !rm x",
            "com X !rm x",
            "X",
            "cd .git",
            "windo PlugInstall",
            "s/a/b|!rm x",
            "g/a/cal delete('x')",
        ] {
            assert!(commands_of_vim(line).contains(&Command::Unknown), "{line}");
        }
    }

    #[test]
    fn edits_run_nothing() {
        for line in [
            "wq!",
            "%s/a/b/g | w",
            "%s/python/python3/ | w!",
            "/if (!x)/s/(!x)/(x)/ | g!/y/d",
            "g/a\\/b/s#!x#y#",
            "argdo %s/a/b/ge | update",
            "g/x/normal dwA;",
            "norm gg=G",
            "norm ggd2iwx",
            "norm 2Gcwnew\u{1b}x",
            "set ts=4 sw=4 noet ff=unix|retab",
            "setl ft=c",
            "1,3d|$t.|2m0|wqa",
            "$-1,$j!|x",
            "v/x/d _",
            "sort u",
            "echo has('python3') &ft",
            "syntax on|filetype plugin indent on|noh",
            "ka|'ap",
            "\" !rm x",
            "1",
            "+3",
            "qa!",
            "$a\nif (!x) system(y);\n.\nx",
            "1i|text (x)\n.",
        ] {
            assert_eq!(commands_of_vim(line), [], "{line}");
        }
    }

    #[test]
    fn keys_are_commands_where_they_begin_with_a_colon() {
        assert_eq!(commands_of_keys(":!rm x\n:q\n"), [text("rm x")]);
        assert_eq!(commands_of_keys("\n"), []);
        assert_eq!(commands_of_keys("!!rm x\n"), [Command::Unknown]);
    }
}
