//! The escapes of `$'…'` and of backticks.

/// What `$'…'` stands for; without an answer it holds bytes that are no text.
pub(super) fn ansi(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(rest.get(..at)?.as_bytes());
        rest = escape(rest.get(at.saturating_add(1)..)?, &mut out)?;
    }
    out.extend_from_slice(rest.as_bytes());
    // The first zero byte ends the string, as it does in bash.
    let end = out.iter().position(|byte| *byte == 0).unwrap_or(out.len());
    out.truncate(end);
    String::from_utf8(out).ok()
}

/// Decodes what follows a backslash; returns what follows that.
fn escape<'t>(after: &'t str, out: &mut Vec<u8>) -> Option<&'t str> {
    let Some(first) = after.chars().next() else {
        out.push(b'\\');
        return Some(after);
    };
    let rest = after.get(first.len_utf8()..)?;
    let byte = match first {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        '\\' | '\'' | '"' | '?' => u8::try_from(first).ok()?,
        '0'..='7' => return octal(after, out),
        'x' => return hex(rest, out),
        'u' => return unicode(rest, 4, 'u', out),
        'U' => return unicode(rest, 8, 'U', out),
        'c' => return control(rest, out),
        _ => {
            out.push(b'\\');
            out.extend_from_slice(first.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(rest);
        }
    };
    out.push(byte);
    Some(rest)
}

fn octal<'t>(digits: &'t str, out: &mut Vec<u8>) -> Option<&'t str> {
    let (value, rest) = number(digits, 3, 8);
    out.push(u8::try_from(value & 0xff).ok()?);
    Some(rest)
}

fn hex<'t>(rest: &'t str, out: &mut Vec<u8>) -> Option<&'t str> {
    // `\x{…}` takes any number of digits; what it means has changed, so it is no text here.
    if rest.starts_with('{') {
        return None;
    }
    let (value, after) = number(rest, 2, 16);
    if after.len() == rest.len() {
        out.extend_from_slice(b"\\x");
    } else {
        out.push(u8::try_from(value & 0xff).ok()?);
    }
    Some(after)
}

fn unicode<'t>(rest: &'t str, most: usize, letter: char, out: &mut Vec<u8>) -> Option<&'t str> {
    let (value, after) = number(rest, most, 16);
    if after.len() == rest.len() {
        out.push(b'\\');
        out.push(u8::try_from(letter).ok()?);
    } else {
        let c = char::from_u32(value)?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Some(after)
}

/// `\cx`
fn control<'t>(rest: &'t str, out: &mut Vec<u8>) -> Option<&'t str> {
    let Some(c) = rest.chars().next() else {
        out.extend_from_slice(b"\\c");
        return Some(rest);
    };
    let byte = u8::try_from(c).ok().filter(u8::is_ascii)?;
    // Of `\c\\` bash takes both backslashes.
    let taken = if rest.starts_with("\\\\") { 2 } else { 1 };
    out.push(if byte == b'?' { 0x7f } else { byte.to_ascii_uppercase() & 0x1f });
    rest.get(taken..)
}

/// Reads at most so many digits.
fn number(text: &str, most: usize, radix: u32) -> (u32, &str) {
    let mut value = 0_u32;
    let mut rest = text;
    for _ in 0..most {
        let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(radix)) else { break };
        value = value.saturating_mul(radix).saturating_add(digit);
        rest = rest.get(1..).unwrap_or_default();
    }
    (value, rest)
}

/// The command inside of backticks: a backslash protects a dollar, a backtick and itself.
pub(super) fn backticks(text: &str, in_double_quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_taken_off =
            |next: &char| matches!(next, '$' | '`' | '\\') || (in_double_quotes && *next == '"');
        match rest.next_if(|next| c == '\\' && is_taken_off(next)) {
            Some(next) => out.push(next),
            None => out.push(c),
        }
    }
    out
}
