//! How long a sequence that drives a terminal is (ECMA-48, and what xterm adds).

/// The bytes of the sequence that the text begins with, if it begins with one.
///
/// One that does not end is taken to the end of its line: that much a terminal swallows at least.
pub(super) fn length(text: &str) -> Option<usize> {
    let mut chars = text.chars();
    let first = chars.next()?;
    let head = first.len_utf8();
    match first {
        '\u{1b}' => {}
        '\u{9b}' => return Some(head.saturating_add(control(chars.as_str()))),
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => {
            return Some(head.saturating_add(string(chars.as_str())));
        }
        _ => return None,
    }
    let second = chars.next()?;
    let body = head.saturating_add(second.len_utf8());
    match second {
        '[' => Some(body.saturating_add(control(chars.as_str()))),
        ']' | 'P' | 'X' | '^' | '_' => Some(body.saturating_add(string(chars.as_str()))),
        ' '..='/' => Some(head.saturating_add(plain(text.get(head..).unwrap_or_default()))),
        '0'..='~' => Some(body),
        _ => None,
    }
}

/// Parameters, intermediates and one final character.
fn control(text: &str) -> usize {
    let body = text.bytes().take_while(|byte| (0x20..0x40).contains(byte)).count();
    let ended = text.as_bytes().get(body).is_some_and(|byte| (0x40..0x7f).contains(byte));
    body.saturating_add(usize::from(ended))
}

/// Intermediates and one final character.
fn plain(text: &str) -> usize {
    let body = text.bytes().take_while(|byte| (0x20..0x30).contains(byte)).count();
    let ended = text.as_bytes().get(body).is_some_and(|byte| (0x30..0x7f).contains(byte));
    body.saturating_add(usize::from(ended))
}

/// Anything up to BEL or ST; another escape, CAN, SUB and the end of the line cut it off.
fn string(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        let behind = at.saturating_add(c.len_utf8());
        match c {
            '\u{7}' | '\u{9c}' => return behind,
            '\u{1b}' if text.as_bytes().get(behind) == Some(&b'\\') => {
                return behind.saturating_add(1);
            }
            '\u{1b}' | '\u{18}' | '\u{1a}' | '\n' => return at,
            _ => {}
        }
    }
    text.len()
}
