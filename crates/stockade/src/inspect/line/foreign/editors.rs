//! The commands of a shell in the languages of `ed` and Emacs.

use super::Command;

/// Functions of Emacs that give their argument to a shell.
const SHELLS_OF_EMACS: [&str; 5] = [
    "async-shell-command",
    "call-process-shell-command",
    "compile",
    "shell-command",
    "shell-command-to-string",
];
/// Functions of Emacs that run or delete what their arguments say.
const RUN_BY_EMACS: [&str; 24] = [
    "apply",
    "call-process",
    "call-process-region",
    "delete-directory",
    "delete-file",
    "dired-delete-file",
    "eval",
    "eval-buffer",
    "eval-region",
    "funcall",
    "intern",
    "load",
    "load-file",
    "make-process",
    "make-term",
    "move-file-to-trash",
    "process-file",
    "process-file-shell-command",
    "process-lines",
    "rename-file",
    "shell-command-on-region",
    "start-file-process",
    "start-process",
    "start-process-shell-command",
];
/// Functions and forms of Emacs that run no program and delete nothing.
const HARMLESS_IN_EMACS: [&str; 88] = [
    "+",
    "-",
    "*",
    "/",
    "<",
    ">",
    "<=",
    ">=",
    "=",
    "1+",
    "1-",
    "and",
    "or",
    "not",
    "null",
    "if",
    "when",
    "unless",
    "while",
    "progn",
    "prog1",
    "let",
    "let*",
    "lambda",
    "dolist",
    "dotimes",
    "setq",
    "setq-local",
    "setq-default",
    "save-excursion",
    "save-restriction",
    "with-temp-buffer",
    "with-current-buffer",
    "current-buffer",
    "message",
    "princ",
    "prin1",
    "print",
    "format",
    "concat",
    "equal",
    "eq",
    "string=",
    "string-match",
    "car",
    "cdr",
    "list",
    "cons",
    "length",
    "nth",
    "point",
    "point-min",
    "point-max",
    "goto-char",
    "goto-line",
    "forward-line",
    "forward-char",
    "forward-sexp",
    "backward-char",
    "beginning-of-line",
    "end-of-line",
    "beginning-of-buffer",
    "end-of-buffer",
    "search-forward",
    "re-search-forward",
    "search-backward",
    "re-search-backward",
    "looking-at",
    "replace-match",
    "replace-string",
    "replace-regexp",
    "replace-regexp-in-string",
    "match-string",
    "insert",
    "newline",
    "delete-region",
    "delete-char",
    "delete-trailing-whitespace",
    "kill-line",
    "indent-region",
    "untabify",
    "tabify",
    "whitespace-cleanup",
    "sort-lines",
    "buffer-string",
    "save-buffer",
    "buffer-file-name",
    "kill-emacs",
];
/// Parts of the names of variables that say what Emacs runs.
const PROGRAMS_OF_EMACS: [&str; 6] = [
    "shell-file",
    "shell-command-switch",
    "command",
    "program",
    "exec-path",
    "process-environment",
];
/// Commands of `ed` behind which lines of text stand, up to one with a dot.
const TEXT_FOLLOWS: [&str; 3] = ["a", "i", "c"];
/// Programs that run what they read.
const RUN_INPUT: [&str; 22] = [
    "sh", "ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "tcsh", "zsh", "busybox", "ed",
    "ex", "node", "parallel", "perl", "python", "python3", "ruby", "vi", "vim", "xargs",
];

/// `!cmd`, `r !cmd`, `w !cmd` in a script for `ed`. Lines that are put into the file are text.
pub(super) fn commands_of_ed(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let mut text_begins: Option<bool> = None;
    let mut is_continued = false;
    for line in text.split('\n') {
        let is_text = text_begins.is_some();
        if is_text && line == "." {
            text_begins = None;
            continue;
        }
        // An address that is not in the file makes the lines of a text commands.
        if text_begins != Some(true) {
            commands_of_ed_line(line, &mut found);
        }
        let command = behind_addresses(line);
        if !is_text && !is_continued && TEXT_FOLLOWS.contains(&command.trim()) {
            let address = line.get(..line.len().saturating_sub(command.len())).unwrap_or_default();
            text_begins =
                Some(command.trim() != "c" && matches!(address.trim(), "" | "$" | "." | "0"));
        }
        is_continued = line.ends_with('\\');
    }
    found
}

fn commands_of_ed_line(line: &str, found: &mut Vec<Command>) {
    let command = behind_addresses(line);
    let has_range = command.len() < line.trim().len();
    if let Some(code) = command.strip_prefix('!') {
        found.push(shell_text(code, has_range));
        return;
    }
    if let Some(whole) = command.strip_prefix(['g', 'v']) {
        if let Some(mark) = whole.chars().next().filter(|mark| is_mark(*mark)) {
            commands_of_ed_line(behind(whole, mark, 2), found);
        }
        return;
    }
    let Some(rest) = command.strip_prefix(['r', 'w', 'W', 'e', 'E', 'f']) else { return };
    let name = rest.strip_prefix('q').unwrap_or(rest);
    let writes = command.starts_with(['w', 'W']);
    if let Some(code) = name.trim_start().strip_prefix('!') {
        found.push(shell_text(code, writes));
    } else if name.starts_with([' ', '\t']) && !name.trim().is_empty() {
        let is_plain = |c: char| c.is_alphanumeric() || "_-./,+@:=~".contains(c);
        let name = name.trim();
        if name.chars().all(is_plain) {
            let sign = if writes { ">" } else { "<" };
            found.push(Command::Text(format!(": {sign} {name}")));
        }
    }
}

/// Code for a shell as an editor gives it on, if that is known: `%` and `#` are names of files there, and `!`
/// is the last code. `reads` says whether the program gets text of the file.
pub(super) fn shell_text(code: &str, reads: bool) -> Command {
    let code = code.trim();
    let mut made = String::new();
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek().is_some_and(|next| "%#!".contains(*next)) => {
                made.extend(letters.next());
            }
            '%' | '#' | '!' => return Command::Unknown,
            letter => made.push(letter),
        }
    }
    // `<cword>`, `<cfile>`, `<sfile>`
    let is_word = |part: &str| {
        let name = part.split_once('>').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(char::is_alphabetic))
    };
    let runs_input = code
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| RUN_INPUT.contains(&word));
    if made.is_empty() || code.split('<').skip(1).any(is_word) || (reads && runs_input) {
        return Command::Unknown;
    }
    Command::Text(made)
}

/// What stands behind the addresses of a command: in patterns a sign means itself.
pub(super) fn behind_addresses(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| "0123456789,;$.%+-: \t".contains(c));
        let mut letters = rest.chars();
        match (letters.next(), letters.next()) {
            (Some(mark @ ('/' | '?')), _) => rest = behind(rest, mark, 2),
            (Some('\''), Some(name)) => {
                rest = rest.get(1_usize.saturating_add(name.len_utf8())..).unwrap_or_default();
            }
            _ => return rest,
        }
    }
}

pub(super) fn is_mark(sign: char) -> bool {
    !sign.is_alphanumeric() && !" \t\n|\"!".contains(sign)
}

/// What stands behind the mark of this number that is not escaped; nothing if there are fewer.
pub(super) fn behind(text: &str, mark: char, number: usize) -> &str {
    let mut is_escaped = false;
    let mut rest = number;
    for (at, sign) in text.char_indices() {
        if sign == mark && !is_escaped {
            rest = rest.saturating_sub(1);
            if rest == 0 {
                return text.get(at.saturating_add(sign.len_utf8())..).unwrap_or_default();
            }
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    ""
}

/// Whether a function runs, deletes or loads what it is given.
pub(super) fn is_run_by_emacs(name: &str) -> bool {
    let asks =
        ["eval-expression", "eval-defun", "eval-last-sexp", "shell", "eshell", "term", "ansi-term"];
    SHELLS_OF_EMACS.contains(&name) || RUN_BY_EMACS.contains(&name) || asks.contains(&name)
}

/// `(shell-command "…")`, and functions of which more is not known.
pub(super) fn commands_of_emacs(text: &str) -> Vec<Command> {
    let is_name = |c: char| c.is_alphanumeric() || "-_*+/".contains(c);
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        rest = rest.get(start..).unwrap_or_default();
        let (name, after) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        if SHELLS_OF_EMACS.contains(&name) {
            found.push(literal(after.trim_start()).map_or(Command::Unknown, Command::Text));
        } else if RUN_BY_EMACS.contains(&name) || name.starts_with("org-babel-execute") {
            found.push(Command::Unknown);
        }
        rest = after;
    }
    if found.is_empty() && !forms_are_harmless(text) {
        found.push(Command::Unknown);
    }
    found
}

/// A list in the code of Emacs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A call; `true` until the list of its variables has come.
    Call(bool),
    /// The variables of `let`.
    Variables,
    /// A variable with its value.
    Variable,
    Data,
}

/// Whether each list is a call of a function that runs nothing, names variables, or is quoted.
fn forms_are_harmless(text: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "()\"';`,".contains(c);
    let mut forms: Vec<(Form, bool)> = Vec::new();
    let mut rest = text;
    let mut is_quoted = false;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let quoted = std::mem::replace(&mut is_quoted, first == '\'');
        match first {
            '"' => length = behind_string(rest),
            ';' => length = rest.find('\n').unwrap_or(rest.len()),
            '`' | ',' | '?' => return false,
            '(' => {
                let inside = rest.get(1..).unwrap_or_default().trim_start();
                let head = inside.split(is_end).next().unwrap_or_default();
                let (form, is_let) = match forms.last_mut() {
                    _ if quoted => (Form::Data, false),
                    Some((Form::Data, _)) => (Form::Data, false),
                    Some((Form::Variables, _)) => (Form::Variable, false),
                    Some((form @ Form::Call(true), is_let)) => {
                        *form = Form::Call(false);
                        (if *is_let { Form::Variables } else { Form::Variable }, false)
                    }
                    Some((Form::Call(false) | Form::Variable, _)) | None => {
                        if !HARMLESS_IN_EMACS.contains(&head) {
                            return false;
                        }
                        let binds =
                            matches!(head, "let" | "let*" | "dolist" | "dotimes" | "lambda");
                        (Form::Call(binds), head.starts_with("let"))
                    }
                };
                forms.push((form, is_let));
            }
            ')' => {
                forms.pop();
            }
            letter if !is_end(letter) => {
                length = rest.find(is_end).unwrap_or(rest.len());
                let name = rest.get(..length).unwrap_or_default();
                if PROGRAMS_OF_EMACS.iter().any(|part| name.contains(part))
                    || name.ends_with("-hook")
                {
                    return false;
                }
            }
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    true
}

/// The length of a string that begins here.
fn behind_string(text: &str) -> usize {
    let inside = text.get(1..).unwrap_or_default();
    text.len().saturating_sub(behind(inside, '"', 1).len())
}

/// A string that begins here.
fn literal(text: &str) -> Option<String> {
    let mut letters = text.strip_prefix('"')?.chars();
    let mut made = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(made),
            '\\' => match letters.next()? {
                'n' => made.push('\n'),
                't' => made.push('\t'),
                sign if sign.is_alphanumeric() => return None,
                sign => made.push(sign),
            },
            letter => made.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Command {
        Command::Text(text.to_owned())
    }

    #[test]
    fn text_that_a_script_puts_into_the_file_is_no_command() {
        let script = "2a\nif (!x) system(y);\n.\n$i\n!important\n.\n!rm -rf .git\nw\nq\n";
        assert_eq!(commands_of_ed(script), [text("rm -rf .git")]);
        assert_eq!(commands_of_ed("1,$d\nw\nq!\n"), []);
        assert_eq!(commands_of_ed("r !id\nw !tee x\n"), [text("id"), text("tee x")]);
        assert_eq!(commands_of_ed("e !id\nw x"), [text("id"), text(": > x")]);
        assert_eq!(commands_of_ed("!!"), [Command::Unknown]);
        assert_eq!(commands_of_ed("w !sh"), [Command::Unknown]);
        assert_eq!(commands_of_ed("!rm %"), [Command::Unknown]);
        assert_eq!(commands_of_ed("g/a\\/b/s#!x#y#\nw"), []);
        assert_eq!(commands_of_ed("g/x/r !id"), [text("id")]);
        // The address may not be there, and `a` behind a backslash is a text itself.
        assert_eq!(commands_of_ed("99a\n!rm x\n."), [text("rm x")]);
        assert_eq!(commands_of_ed("s/x/y\\\na\n!rm x"), [text("rm x")]);
    }

    #[test]
    fn commands_of_emacs_are_found() {
        assert_eq!(commands_of_emacs("(shell-command \"rm -rf .git\")"), [text("rm -rf .git")]);
        let both = "(progn (shell-command\n \"echo \\\"a\\\"\") (delete-file f))";
        assert_eq!(commands_of_emacs(both), [text("echo \"a\""), Command::Unknown]);
        assert_eq!(commands_of_emacs("(shell-command cmd)"), [Command::Unknown]);
        assert_eq!(
            commands_of_emacs("(call-process \"rm\" nil nil nil \"x\")"),
            [Command::Unknown]
        );
        for code in [
            "(progn (indent-region 1 9) (save-buffer))",
            "(let ((a 1) (b (point))) (goto-char b) (insert \"(x)\"))",
            "(dolist (f '(a b)) (message \"%s\" f))",
            "(while (re-search-forward \"a\" nil t) (replace-match \"b\"))",
        ] {
            assert_eq!(commands_of_emacs(code), [], "{code}");
        }
        for code in [
            "(vc-delete-file \"x\")",
            "(let ((a (f \"x\"))) a)",
            "(setq shell-file-name \"rm\")",
            "(setq kill-emacs-hook 'f)",
            "(mapc f '(a))",
            "((lambda () (f)))",
        ] {
            assert_eq!(commands_of_emacs(code), [Command::Unknown], "{code}");
        }
    }
}
