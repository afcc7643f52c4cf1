//! What an edit changes, in the unified form.

use std::path::Path;

use stockade::shell::invisible::shown;

/// Lines around a change that are shown.
const CONTEXT: usize = 3;

/// The difference between two texts of a file, of which either may be absent. One part of the text
/// has changed, so that one hunk shows it.
pub(super) fn unified(path: &Path, old: Option<&str>, new: Option<&str>) -> String {
    let name = |text: Option<&str>| match text {
        Some(_) => shown(&path.display().to_string()),
        None => "/dev/null".to_owned(),
    };
    let mut out = vec![format!("--- {}", name(old)), format!("+++ {}", name(new))];
    let (old, new) = (lines(old), lines(new));
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let shorter = old.len().min(new.len()).saturating_sub(before);
    let backwards = old.iter().rev().zip(new.iter().rev());
    let after = backwards.take(shorter).take_while(|(old, new)| old == new).count();
    let from = before.saturating_sub(CONTEXT);
    let part = |lines: &[&str]| {
        let to = lines.len().saturating_sub(after).saturating_add(CONTEXT).min(lines.len());
        (from, to.saturating_sub(from))
    };
    let ((start, old_count), (_, new_count)) = (part(&old), part(&new));
    let place = |count: usize| {
        let first = if count == 0 { start } else { start.saturating_add(1) };
        format!("{first},{count}")
    };
    out.push(format!("@@ -{} +{} @@", place(old_count), place(new_count)));
    let middle = |lines: &[&str]| lines.len().saturating_sub(after).saturating_sub(before);
    let mut put = |mark: char, line: &&str| {
        let text = line.strip_suffix('\n');
        out.push(format!("{mark}{}", shown(text.unwrap_or(line))));
        if text.is_none() {
            out.push("\\ No newline at end of file".to_owned());
        }
    };
    old.iter().skip(from).take(before.saturating_sub(from)).for_each(|line| put(' ', line));
    old.iter().skip(before).take(middle(&old)).for_each(|line| put('-', line));
    new.iter().skip(before).take(middle(&new)).for_each(|line| put('+', line));
    old.iter().skip(old.len().saturating_sub(after)).take(CONTEXT).for_each(|line| put(' ', line));
    out.push(String::new());
    out.join("\n")
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.map(|text| text.split_inclusive('\n').collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::unified;

    #[test]
    fn shows_what_changes_and_three_lines_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5\nx\n6\n7\n8\n9\n";
        let expected = "--- f\n+++ f\n@@ -3,6 +3,7 @@\n 3\n 4\n 5\n+x\n 6\n 7\n 8\n";
        assert_eq!(unified(Path::new("f"), Some(old), Some(new)), expected);
    }

    #[test]
    fn says_where_a_file_comes_from_nothing_and_where_a_line_has_no_end() {
        let expected = "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+{}\n\\ No newline at end of file\n";
        assert_eq!(unified(Path::new("f"), None, Some("{}")), expected);
    }

    #[test]
    fn lines_that_repeat_are_not_counted_twice() {
        let expected = "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n a\n+a\n";
        assert_eq!(unified(Path::new("f"), Some("a\na\n"), Some("a\na\na\n")), expected);
    }
}
