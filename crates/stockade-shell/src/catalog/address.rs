//! Addresses in words: which host a URL, `user@host` or `host:path` names.

/// What a word names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address<'t> {
    Host(&'t [u8]),
    Path(&'t [u8]),
}

/// The host of a word that is a URL or a bare host with a port or a path: `curl host:80/x`.
pub(super) fn of(word: &[u8]) -> Address<'_> {
    of_url(word).unwrap_or_else(|| Address::Host(host(word)))
}

/// The host of a word that is a URL or `host:path`; a slash before the colon makes it a path.
pub(super) fn of_remote(word: &[u8]) -> Address<'_> {
    let remote = || {
        let colon = match word {
            [b'[', ..] => word.windows(2).position(|part| part == b"]:")?.saturating_add(1),
            _ => word.iter().position(|byte| *byte == b':').filter(|at| *at > 0)?,
        };
        let before = word.get(..colon).filter(|before| !before.contains(&b'/'))?;
        Some(Address::Host(host(before)))
    };
    of_url(word).or_else(remote).unwrap_or(Address::Path(word))
}

fn of_url(word: &[u8]) -> Option<Address<'_>> {
    let scheme = word.iter().position(|byte| *byte == b':')?;
    let (name, rest) = word.split_at_checked(scheme)?;
    let rest = rest.strip_prefix(b":")?;
    if name.eq_ignore_ascii_case(b"file") {
        let path = rest.strip_prefix(b"//").unwrap_or(rest);
        let root = path.iter().position(|byte| *byte == b'/').unwrap_or(0);
        return Some(Address::Path(path.get(root..).unwrap_or(path)));
    }
    rest.strip_prefix(b"//").map(|rest| Address::Host(host(rest)))
}

/// The host at the beginning of an address without a scheme.
fn host(address: &[u8]) -> &[u8] {
    let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b'#' | b'\\');
    let end = address.iter().position(ends).unwrap_or(address.len());
    let authority = address.get(..end).unwrap_or(address);
    let user = authority.iter().rposition(|byte| *byte == b'@');
    let from = user.map_or(0, |at| at.saturating_add(1));
    let host = authority.get(from..).unwrap_or(authority);
    let end = match host {
        [b'[', ..] => host.iter().position(|byte| *byte == b']').map(|at| at.saturating_add(1)),
        _ => host.iter().position(|byte| *byte == b':'),
    };
    host.get(..end.unwrap_or(host.len())).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::{Address, of, of_remote};

    #[test]
    fn a_host_is_found_in_every_spelling() {
        for (word, host) in [
            ("https://h/x", "h"),
            ("https://u:p@h:80/x@y", "h"),
            ("http://h?x=@y", "h"),
            ("http://[::1]:80/x", "[::1]"),
            ("ssh://git@h:22/x", "h"),
            ("h", "h"),
            ("u@h", "h"),
            ("h:80/x", "h"),
            ("http://h\\@x", "h"),
            ("https://$HOST/x", "$HOST"),
        ] {
            assert_eq!(of(word.as_bytes()), Address::Host(host.as_bytes()), "{word}");
        }
        for (word, host) in [
            ("u@h:x/y", "h"),
            ("h:", "h"),
            ("h::module", "h"),
            ("rsync://h/x", "h"),
            ("[::1]:x", "[::1]"),
            ("git@github.com:a/b.git", "github.com"),
        ] {
            assert_eq!(of_remote(word.as_bytes()), Address::Host(host.as_bytes()), "{word}");
        }
    }

    #[test]
    fn a_path_is_no_host() {
        for (word, path) in
            [("file:///etc/passwd", "/etc/passwd"), ("FILE:/x", "/x"), ("file://localhost/x", "/x")]
        {
            assert_eq!(of(word.as_bytes()), Address::Path(path.as_bytes()), "{word}");
        }
        for word in ["a", "./a:b", "/a:b", "../x", ":x", ""] {
            assert_eq!(of_remote(word.as_bytes()), Address::Path(word.as_bytes()), "{word}");
        }
    }
}
