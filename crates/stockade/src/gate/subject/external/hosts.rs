//! The host of an address, as the WHATWG URL standard defines it. A host that cannot be normalised
//! here is reported as unclear.

use super::paths::decoded;

/// Schemes that take any number of slashes before the host.
const SPECIAL: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];
/// Schemes without a network host.
const HOSTLESS: [&str; 7] = ["file", "data", "about", "blob", "mailto", "javascript", "urn"];

/// The host of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UrlHost {
    /// Normalised.
    Plain(String),
    /// No host.
    None,
    /// A host that programs may read in different ways.
    Unclear,
}

/// The host of an address.
pub(super) fn host_of(url: &str) -> UrlHost {
    let url = url.trim_matches(|letter: char| letter <= ' ');
    let url: String = url.chars().filter(|letter| !['\t', '\n', '\r'].contains(letter)).collect();
    let (scheme, rest) = scheme_of(&url);
    let slashes = ['/', '\\'];
    let rest = match scheme.as_deref() {
        Some(scheme) if HOSTLESS.contains(&scheme) => return UrlHost::None,
        Some(scheme) if SPECIAL.contains(&scheme) => rest.trim_start_matches(slashes),
        Some(_) => match rest.strip_prefix("//") {
            Some(rest) => rest,
            // A scheme without slashes may be a host before its port.
            None => url.as_str(),
        },
        None => rest.trim_start_matches(slashes),
    };
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.starts_with('[') {
        return match host.find(']').and_then(|end| host.get(..=end)) {
            Some(host) => UrlHost::Plain(host.to_owned()),
            None => UrlHost::Unclear,
        };
    }
    let host = host.split(':').next().unwrap_or_default();
    plain(&decoded(host))
}

/// The addresses in a text.
pub(super) fn addresses(text: &str) -> Vec<&str> {
    let is_end =
        |letter: char| letter.is_whitespace() || ['"', '\'', '<', '>', '`'].contains(&letter);
    let words = text.split(is_end);
    let is_address = |word: &&str| {
        let (scheme, _) = scheme_of(word.trim_start_matches(['(', '[', '{']));
        scheme.is_some_and(|scheme| SPECIAL.contains(&scheme.as_str()))
    };
    words.filter(is_address).map(|word| word.trim_start_matches(['(', '[', '{'])).collect()
}

/// The scheme in lower case, if any, and the text after its colon.
fn scheme_of(url: &str) -> (Option<String>, &str) {
    let Some((scheme, rest)) = url.split_once(':') else { return (None, url) };
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.chars().all(is_part);
    if is_scheme { (Some(scheme.to_ascii_lowercase()), rest) } else { (None, url) }
}

/// Normalises the characters of a host.
fn plain(host: &str) -> UrlHost {
    let mut plain = String::with_capacity(host.len());
    for letter in host.chars() {
        match mapped(letter) {
            Letter::One(letter) => plain.push(letter),
            Letter::Number(number) => plain.push_str(&number.to_string()),
            Letter::Ignored => {}
            Letter::Unclear => return UrlHost::Unclear,
        }
    }
    if plain.is_empty() { UrlHost::None } else { UrlHost::Plain(plain) }
}

/// How a character of a host is normalised.
enum Letter {
    One(char),
    Number(u32),
    Ignored,
    Unclear,
}

/// The part of the IDNA mapping table (UTS 46) that leads to ASCII. Other characters with a
/// compatible form are unclear.
fn mapped(letter: char) -> Letter {
    let code = u32::from(letter);
    let offset = |first: u32| code.saturating_sub(first);
    let ascii = |first: u8, offset: u32| {
        let code = u32::from(first).saturating_add(offset);
        char::from_u32(code)
            .map_or(Letter::Unclear, |letter| Letter::One(letter.to_ascii_lowercase()))
    };
    match code {
        0x2d | 0x2e | 0x5f | 0x30..=0x39 | 0x41..=0x5a | 0x61..=0x7a => {
            Letter::One(letter.to_ascii_lowercase())
        }
        0x00..=0x7f => Letter::Unclear,
        0xad
        | 0x34f
        | 0x180b..=0x180f
        | 0x200b..=0x200d
        | 0x2060
        | 0x2064
        | 0xfe00..=0xfe0f
        | 0xfeff => Letter::Ignored,
        0x3002 | 0xff0e | 0xff61 => Letter::One('.'),
        0xff01..=0xff5e => {
            let wide = char::from_u32(offset(0xff01).saturating_add(0x21));
            wide.map_or(Letter::Unclear, mapped)
        }
        0xb9 => Letter::Number(1),
        0xb2 | 0xb3 => Letter::Number(offset(0xb0)),
        0x2070 | 0x2074..=0x2079 => Letter::Number(offset(0x2070)),
        0x2080..=0x2089 => Letter::Number(offset(0x2080)),
        0x2460..=0x2473 => Letter::Number(offset(0x2460).saturating_add(1)),
        0x24ea => Letter::Number(0),
        0x24b6..=0x24cf => ascii(b'a', offset(0x24b6)),
        0x24d0..=0x24e9 => ascii(b'a', offset(0x24d0)),
        0x1d400..=0x1d6a3 => match offset(0x1d400).checked_rem(52) {
            Some(at @ 0..=25) => ascii(b'a', at),
            Some(at) => ascii(b'a', at.saturating_sub(26)),
            None => Letter::Unclear,
        },
        0x1d7ce..=0x1d7ff => {
            offset(0x1d7ce).checked_rem(10).map_or(Letter::Unclear, Letter::Number)
        }
        0x1fbf0..=0x1fbf9 => Letter::Number(offset(0x1fbf0)),
        // Characters in other forms: ordinals, modifiers, letter-like signs, ligatures, enclosed
        // ones.
        0xaa
        | 0xba
        | 0x17f
        | 0x2b0..=0x2ff
        | 0x1d2c..=0x1dbf
        | 0x2000..=0x2bff
        | 0x3000..=0x303f
        | 0x3200..=0x33ff
        | 0xfb00..=0xfb4f
        | 0xfe10..=0xfe6f
        | 0xff00..=0xffef
        | 0x1d400..=0x1d7ff
        | 0x1f000..=0x1faff
        | 0xe0000..=0x10_ffff => Letter::Unclear,
        _ if letter.is_alphabetic() => {
            letter.to_lowercase().next().map_or(Letter::Unclear, Letter::One)
        }
        // Digits of other scripts and marks are part of names.
        _ if letter.is_alphanumeric() || !letter.is_ascii_punctuation() => Letter::One(letter),
        _ => Letter::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::{UrlHost, addresses, host_of};

    #[test]
    fn the_host_of_an_address_is_found_in_every_spelling() {
        for (url, expected) in [
            ("https://a.b/c", "a.b"),
            ("https://u:p@a.b:80/@x", "a.b"),
            ("a.b/c", "a.b"),
            ("a.b:80/c", "a.b"),
            ("//a.b/c", "a.b"),
            ("http:a.b", "a.b"),
            ("http:/a.b", "a.b"),
            ("http:\\\\a.b\\c", "a.b"),
            ("HTTP:////a.b", "a.b"),
            (" ht\ntp://A.b", "a.b"),
            ("http://[::1]:8/x", "[::1]"),
            ("https://a.b\\@c", "a.b"),
            ("https://a.b#@c", "a.b"),
            ("http://%61.b", "a.b"),
            ("http://\u{ff11}\u{ff16}\u{ff19}\u{3002}1", "169.1"),
            ("http://\u{2460}\u{2465}\u{1d7d7}.1", "169.1"),
            ("http://\u{ff2d}et\u{ad}\u{24d0}.\u{1d400}", "meta.a"),
            ("git://a.b/c", "a.b"),
        ] {
            assert_eq!(host_of(url), UrlHost::Plain(expected.to_owned()), "{url}");
        }
        assert_eq!(
            host_of("https://m\u{fc}nchen.de/"),
            UrlHost::Plain("m\u{fc}nchen.de".to_owned())
        );
        for url in ["https:///", "data:text/plain,x", "file:///etc/hosts", "", "http://u@/x"] {
            assert_eq!(host_of(url), UrlHost::None, "{url}");
        }
        for url in ["http://a b/", "http://[::1/", "http://\u{212f}.b/", "http://a%2fb"] {
            assert_eq!(host_of(url), UrlHost::Unclear, "{url}");
        }
    }

    #[test]
    fn addresses_are_found_in_a_text() {
        let text = "read (http://a.b/x) and \"HTTPS:c.d\", not e.f or mailto:g@h";
        assert_eq!(addresses(text), ["http://a.b/x)", "HTTPS:c.d"]);
    }
}
