//! Which files the command of a policy runs, where its words name them by a path that is not whole.

use std::path::{Path, PathBuf};

/// What parts the commands of a line.
const BETWEEN: [char; 6] = [';', '|', '&', '(', ')', '\n'];

/// The script of a program that is found by its name, as in `python3 tools/x.py`: the first argument
/// that is a file in one of these folders, and which word it is. What follows the script is its own.
pub fn of(words: &[String], folders: &[&Path]) -> Option<(usize, PathBuf)> {
    if words.first()?.contains('/') {
        return None;
    }
    let is_option = |at: usize| words.get(at).is_some_and(|word| word.starts_with('-'));
    for (at, word) in words.iter().enumerate().skip(1).filter(|(at, _)| !is_option(*at)) {
        let file = folders.iter().map(|folder| folder.join(word)).find(|path| path.is_file());
        if let Some(file) = file {
            return Some((at, file));
        }
        // Behind an option it may be the value of that.
        if !at.checked_sub(1).is_some_and(is_option) {
            return None;
        }
    }
    None
}

/// The files that a line for a shell names: by their whole path, from the variables that a hook
/// has, or from the project, in which it runs.
pub(super) fn in_line(line: &str, folder: &Path, root: &Path) -> Vec<PathBuf> {
    let apart = line.replace(BETWEEN, " ").replace('>', " > ").replace('<', " < ");
    // A name may hold such a character; two names and what is between them are none.
    let is_one = |path: &Path| !path.to_string_lossy().contains(BETWEEN);
    let mut files = Vec::new();
    for words in [line, &apart].into_iter().filter_map(shlex::split) {
        let before = std::iter::once("").chain(words.iter().map(String::as_str));
        // What a redirection names is data, which a hook may well change itself.
        let run = words.iter().zip(before).filter(|(_, before)| !before.ends_with(['<', '>']));
        let named = run.filter_map(|(word, _)| named(word, folder, root));
        files.extend(named.filter(|path| !path.is_dir() && (is_one(path) || path.is_file())));
    }
    files.sort();
    files.dedup();
    files
}

fn named(word: &str, folder: &Path, root: &Path) -> Option<PathBuf> {
    for (name, at) in [("STOCKADE_HOOK_DIR", folder), ("CLAUDE_PROJECT_DIR", root)] {
        let rest = word
            .strip_prefix(&format!("${name}/"))
            .or_else(|| word.strip_prefix(&format!("${{{name}}}/")));
        if let Some(rest) = rest {
            return Some(at.join(rest));
        }
    }
    if word.starts_with('/') {
        return Some(PathBuf::from(word));
    }
    let here = root.join(word.strip_prefix("./").unwrap_or(word));
    (!word.is_empty() && here.is_file()).then_some(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_command_are_found_by_what_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("ci")).unwrap();
        for name in ["ci/guard.py", "guard.sh"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        let script = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            of(&words, &[root]).map(|(at, path)| (at, path.strip_prefix(root).unwrap().to_owned()))
        };
        let found = |at, name: &str| Some((at, PathBuf::from(name)));
        assert_eq!(script(&["python3", "ci/guard.py", "x"]), found(1, "ci/guard.py"));
        assert_eq!(
            script(&["python3", "-I", "-W", "ignore", "ci/guard.py"]),
            found(4, "ci/guard.py")
        );
        assert_eq!(script(&["./run", "guard.sh"]), None);
        assert_eq!(script(&["cut", "x", "guard.sh"]), None);
        assert_eq!(script(&["sh", "absent.sh"]), None);
        let line = |text: &str| in_line(text, Path::new("/own"), root);
        assert_eq!(line("\"$STOCKADE_HOOK_DIR/a.sh\" -x"), [Path::new("/own/a.sh")]);
        assert_eq!(line("${STOCKADE_HOOK_DIR}/a.sh;true"), [Path::new("/own/a.sh")]);
        assert_eq!(line("sh $CLAUDE_PROJECT_DIR/ci/x|cat"), [root.join("ci/x")]);
        assert_eq!(
            line("cat >/dev/null; ./guard.sh && ci/guard.py"),
            [root.join("ci/guard.py"), root.join("guard.sh")]
        );
        assert_eq!(line("cat >> /log < guard.sh 2>/x"), Vec::<PathBuf>::new());
        assert_eq!(line("echo hello"), Vec::<PathBuf>::new());
    }
}
