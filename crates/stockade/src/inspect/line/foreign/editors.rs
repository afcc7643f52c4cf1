//! The commands of a shell in the languages of editors.

use super::Command;

/// Functions and commands of vim that run or delete what their arguments say.
const RUN_BY_VIM: [&str; 15] = [
    "system",
    "systemlist",
    "job_start",
    "jobstart",
    "term_start",
    "termopen",
    "terminal",
    "delete",
    "rename",
    "execute",
    "exe",
    "eval",
    "feedkeys",
    "libcall",
    "libcallnr",
];
/// Other languages that vim runs.
const LANGUAGES_OF_VIM: [&str; 18] = [
    "lua", "luado", "luafile", "mz", "mzscheme", "perl", "perldo", "py", "py3", "py3do", "pydo",
    "python", "python3", "pyx", "pyxdo", "ruby", "rubydo", "tcl",
];
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
/// Commands of `ed` and `ex` behind which lines of text stand, up to one with a dot.
const TEXT_FOLLOWS: [&str; 9] = ["a", "i", "c", "a!", "i!", "c!", "append", "insert", "change"];

/// `!cmd`, `silent !cmd`, `%!cmd`, `r !cmd`, and functions that run a text.
pub(super) fn commands_of_vim(text: &str) -> Vec<Command> {
    text.split('\n').flat_map(|line| commands_of_line(line, behind_addresses(line))).collect()
}

/// The same in a script for `ed` or `ex`, with lines that are put into the file.
pub(super) fn commands_of_script(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    let mut is_text = false;
    for line in text.split('\n') {
        if is_text {
            is_text = line != ".";
            continue;
        }
        let command = behind_addresses(line);
        found.extend(commands_of_line(line, command));
        is_text = TEXT_FOLLOWS.contains(&command.trim());
    }
    found
}

fn commands_of_line(line: &str, command: &str) -> Vec<Command> {
    let mut found = Vec::new();
    // A sign behind a name changes how that command works: `q!`, `w!`.
    let starts = |(at, sign): &(usize, char)| {
        let before = command.get(..*at).and_then(|before| before.chars().next_back());
        *sign == '!' && before.is_none_or(|before| !before.is_alphanumeric() && before != '=')
    };
    if let Some((at, _)) = command.char_indices().find(starts) {
        let code = command.get(at.saturating_add(1)..).unwrap_or_default().trim();
        let is_known = !code.is_empty() && !code.starts_with('!');
        found.push(if is_known { Command::Text(code.to_owned()) } else { Command::Unknown });
    }
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let mut commands =
        command.split('|').map(|one| behind_addresses(one).split_whitespace().next());
    if words.any(|word| RUN_BY_VIM.contains(&word))
        || commands.any(|first| first.is_some_and(|first| LANGUAGES_OF_VIM.contains(&first)))
    {
        found.push(Command::Unknown);
    }
    found
}

/// What stands behind the addresses of a command, the pattern of `g` and all of `s/…/…/`: in patterns and
/// texts a sign means itself.
fn behind_addresses(line: &str) -> &str {
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(|c: char| "0123456789,;$.%+-: \t".contains(c));
        let mut letters = rest.chars();
        match (letters.next(), letters.next()) {
            (Some(mark @ ('/' | '?')), _) => rest = behind(rest, mark, 2),
            (Some('\''), Some(name)) => {
                rest = rest.get(1_usize.saturating_add(name.len_utf8())..).unwrap_or_default();
            }
            (Some('g' | 'v'), Some(mark)) if is_mark(mark) => rest = behind(rest, mark, 2),
            (Some('s'), Some(mark)) if is_mark(mark) => rest = behind(rest, mark, 3),
            _ => return rest,
        }
    }
}

fn is_mark(sign: char) -> bool {
    !sign.is_alphanumeric() && !" \t\n|\"!".contains(sign)
}

/// What stands behind the mark of this number that is not escaped; nothing if there are fewer.
fn behind(text: &str, mark: char, number: usize) -> &str {
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
    found
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
    fn commands_of_vim_are_found() {
        assert_eq!(commands_of_vim(":!rm -rf .git"), [text("rm -rf .git")]);
        assert_eq!(commands_of_vim("silent !rm x"), [text("rm x")]);
        assert_eq!(commands_of_vim("%!sort -u"), [text("sort -u")]);
        assert_eq!(commands_of_vim("'a,'b!sort -u"), [text("sort -u")]);
        assert_eq!(commands_of_vim("argdo !rm %"), [text("rm %")]);
        assert_eq!(commands_of_vim("g/x/!rm y"), [text("rm y")]);
        assert_eq!(commands_of_vim("s/a/b/ | !rm y"), [text("rm y")]);
        assert_eq!(commands_of_vim("%s/a/\\=system('rm x')/"), [Command::Unknown]);
        assert_eq!(commands_of_vim("call system('rm x')"), [Command::Unknown]);
        assert_eq!(commands_of_vim("w | lua os.remove('x')"), [Command::Unknown]);
        assert_eq!(commands_of_vim("wq!"), []);
        assert_eq!(commands_of_vim("%s/a/b/g | w"), []);
        assert_eq!(commands_of_vim("%s/python/python3/ | w!"), []);
        assert_eq!(commands_of_vim("/if (!x)/s/(!x)/(x)/ | g!/y/d"), []);
    }

    #[test]
    fn text_that_a_script_puts_into_the_file_is_no_command() {
        let script = "2a\nif (!x) system(y);\n.\n$i\n!important\n.\n!rm -rf .git\nw\nq\n";
        assert_eq!(commands_of_script(script), [text("rm -rf .git")]);
        assert_eq!(commands_of_script("1,$d\nw\nq!\n"), []);
        assert_eq!(commands_of_script("r !id\nw !tee x\n"), [text("id"), text("tee x")]);
        assert_eq!(commands_of_script("e !id"), [text("id")]);
        assert_eq!(commands_of_script("!!"), [Command::Unknown]);
        // For vim a line divides commands, also behind `s`.
        assert_eq!(commands_of_script("s|!rm x"), [text("rm x")]);
        assert_eq!(commands_of_script("g/a\\/b/s#!x#y#\nw"), []);
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
        assert_eq!(commands_of_emacs("(progn (indent-region 1 9) (save-buffer))"), []);
    }
}
