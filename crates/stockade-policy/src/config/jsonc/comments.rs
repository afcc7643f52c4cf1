//! Comments in settings files: some agents take them, and people write them.

use std::borrow::Cow;

/// The same text with comments as white space, so that every place stays what it was. One that has
/// no end stays, and is no JSON.
pub(crate) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let mut blanked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => {
                let end = end_of_string(rest);
                blanked.push_str(rest.get(..end).unwrap_or(rest));
                end
            }
            '/' => match comment(rest) {
                Some(end) => {
                    let comment = rest.get(..end).unwrap_or(rest).bytes();
                    blanked.extend(comment.map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
                    end
                }
                None => {
                    blanked.push(c);
                    c.len_utf8()
                }
            },
            _ => {
                blanked.push(c);
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(blanked)
}

/// The length of the comment that a text begins with, if it does and if that has an end.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let inner = text.strip_prefix("/*")?;
    inner.find("*/").map(|end| end.saturating_add(4))
}

/// The length of the string that a text begins with; of all of it, if that has no end.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_are_blank_and_texts_stay() {
        for (text, expected) in [
            ("{}", "{}"),
            ("{ // a\n}", "{     \n}"),
            ("{/* é\n */}", "{     \n   }"),
            (r#"{"a": "// no /* comment */"}"#, r#"{"a": "// no /* comment */"}"#),
            (r#"{"a\\": 1 // b"}"#, r#"{"a\\": 1       "#),
            (r#"{"a\"//": 1}"#, r#"{"a\"//": 1}"#),
            ("{/* no end", "{/* no end"),
            ("{ / }", "{ / }"),
        ] {
            assert_eq!(without_comments(text), expected, "{text}");
            assert_eq!(without_comments(text).len(), text.len());
        }
    }
}
