//! The command rules of one list.

use super::facts::{AssignmentFacts, CommandFacts};
use super::line::{LinePattern, known_beginnings, narrow_line, wide_lines};
use super::tool::Shell;

/// Command rules, by the shell whose lines they judge.
#[derive(Debug, Clone, Default)]
pub(super) struct Commands {
    bash: Vec<(LinePattern, usize)>,
    exec: Vec<(LinePattern, usize)>,
    powershell: Vec<(LinePattern, usize)>,
}

/// Variables that change how a program speaks, and not what it runs, reads or writes: a rule that
/// allows a command allows it with these before it. In the order of the alphabet.
const SAFE_VARIABLES: [&str; 37] = [
    "BLOCKSIZE",
    "BLOCK_SIZE",
    "CGO_ENABLED",
    "CHARSET",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "FORCE_COLOR",
    "GCC_COLORS",
    "GO111MODULE",
    "GOARCH",
    "GOEXPERIMENT",
    "GOOS",
    "GREP_COLOR",
    "GREP_COLORS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LINES",
    "LSCOLORS",
    "LS_COLORS",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TIME_STYLE",
    "TZ",
];

/// Programs that run any other: a star in a rule does not allow them, only the whole line does.
const WHOLE_LINE_ONLY: [&str; 4] = ["flock", "ionice", "setsid", "watch"];

/// What makes `find` act on what it finds.
const FIND_ACTIONS: [&str; 9] =
    ["-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok", "-okdir"];

impl Commands {
    /// Adds a pattern.
    pub(super) fn insert(&mut self, shell: Shell, pattern: LinePattern, rule: usize) {
        let rules = match shell {
            Shell::Bash => &mut self.bash,
            Shell::Exec => &mut self.exec,
            Shell::Windows => &mut self.powershell,
        };
        rules.push((pattern, rule));
    }

    /// The first rule that refuses a command of this shell, in any of its spellings and whatever
    /// is assigned before it.
    pub(super) fn refusing(&self, command: &CommandFacts, shell: Shell) -> Option<usize> {
        let lists = self.of(shell);
        if lists.iter().all(|rules| rules.is_empty()) {
            return None;
        }
        let lines = wide_lines(command).into_iter().map(|line| cased(line, shell));
        let found = lines.filter_map(|line| {
            let all = lists.iter().copied().flatten();
            let fits = all.filter(|(pattern, _)| {
                pattern.matches(&line) && pattern.finds(&command.assignments)
            });
            fits.map(|(_, rule)| *rule).min()
        });
        found.min()
    }

    /// Whether a rule before this one would refuse the command if words that are not known were what
    /// it names.
    pub(super) fn could_refuse(&self, command: &CommandFacts, shell: Shell, until: usize) -> bool {
        let lists = self.of(shell);
        known_beginnings(command).into_iter().any(|line| {
            let known = cased(line, shell);
            let mut all = lists.iter().copied().flatten();
            all.any(|(pattern, rule)| *rule < until && pattern.could_match(&known))
        })
    }

    /// The first rule that allows a command of this shell.
    pub(super) fn allowing(&self, command: &CommandFacts, shell: Shell) -> Option<usize> {
        let line = cased(narrow_line(command)?, shell);
        let whole_line = needs_whole_line(command);
        let lists = self.of(shell);
        let all = lists.iter().copied().flatten();
        let fits = all.filter(|(pattern, _)| {
            let expected = |given: &AssignmentFacts| is_safe(given) || pattern.names(given);
            (pattern.is_exact() || !whole_line)
                && pattern.matches(&line)
                && pattern.finds(&command.assignments)
                && command.assignments.iter().all(expected)
        });
        fits.map(|(_, rule)| *rule).min()
    }

    fn of(&self, shell: Shell) -> Vec<&Vec<(LinePattern, usize)>> {
        match shell {
            Shell::Bash => vec![&self.bash],
            Shell::Exec => vec![&self.bash, &self.exec],
            Shell::Windows => vec![&self.powershell],
        }
    }
}

/// Whether a command only assigns variables that change nothing of note.
pub(super) fn only_assigns_safely(command: &CommandFacts) -> bool {
    command.words.is_empty() && !command.dynamic && command.assignments.iter().all(is_safe)
}

/// Whether a variable changes nothing of note, whatever its value.
pub(super) fn is_safe(given: &AssignmentFacts) -> bool {
    SAFE_VARIABLES.binary_search(&given.name.as_str()).is_ok()
}

fn needs_whole_line(command: &CommandFacts) -> bool {
    let Some(program) = command.words.first() else { return false };
    let Some(program) = program.text.to_str() else { return true };
    let name = program.rsplit('/').next().unwrap_or(program);
    let acts = command.words.iter().skip(1).any(|word| {
        !word.known || word.text.to_str().is_none_or(|text| FIND_ACTIONS.contains(&text))
    });
    WHOLE_LINE_ONLY.contains(&name) || (name == "find" && acts)
}

fn cased(line: Vec<u8>, shell: Shell) -> Vec<u8> {
    match shell {
        Shell::Bash | Shell::Exec => line,
        Shell::Windows => line.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::SAFE_VARIABLES;

    #[test]
    fn the_safe_variables_are_sorted() {
        assert!(SAFE_VARIABLES.is_sorted());
    }
}
