//! How entries of lists of paths are read.

use std::path::PathBuf;

use super::{Entry, entry, literal_folder};

fn read(text: &str) -> String {
    match entry(text) {
        Ok(Entry::Path(path)) => format!("path {}", path.display()),
        Ok(Entry::Pattern(pattern)) => format!("pattern {pattern}"),
        Err(_) => "error".to_owned(),
    }
}

#[test]
fn an_entry_is_a_path_or_a_pattern_and_never_a_pattern_taken_for_a_path() {
    let home = std::env::home_dir().unwrap_or(PathBuf::from("/"));
    let in_home = format!("path {}", home.join("a b").display());
    for (text, expected) in [
        (".", "path ."),
        ("./a", "path a"),
        ("a/b", "path a/b"),
        ("/a/b", "path /a/b"),
        ("~/a b", in_home.as_str()),
        ("a/b/secret*", "pattern /a/b/secret*"),
        ("secret?", "pattern /**/secret?"),
        ("./secret?", "pattern /secret?"),
        ("[ab]/", "pattern /**/[ab]/"),
        ("a/**", "pattern /a/**"),
        ("**/x", "pattern /**/x"),
        ("/etc/*.key", "pattern //etc/*.key"),
        ("~/.[a-z]*", "pattern ~/.[a-z]*"),
        // A name that has such characters in it.
        (r"a\*b", "path a*b"),
        (r"\[x\]/y\?", "path [x]/y?"),
        (r"a\\b", r"path a\b"),
        (r"./~user", "path ~user"),
        (r"\~x", "path ~x"),
        (r"\{a,b\}", "path {a,b}"),
        (r"\!a", "path !a"),
        ("./!a", "path !a"),
        ("a!", "path a!"),
        ("copy (1)", "path copy (1)"),
        (r"@\(a\)", "path @(a)"),
        ("[{]x", "pattern /**/[{]x"),
        ("!(a|b)", "pattern /**/!(a|b)"),
        // Syntax of other programs, which would be taken for a name.
        ("{a,b}", "error"),
        ("{secret1,other}", "error"),
        ("a/b{1..3}", "error"),
        ("+(x)", "error"),
        ("a/@(a|b)", "error"),
        ("?(x)", "error"),
        ("*(x)", "error"),
        ("!a", "error"),
        ("a[", "error"),
        ("a\\", "error"),
        ("", "error"),
        ("~", "error"),
        ("~user/x", "error"),
        ("$HOME/x", "error"),
        ("${HOME}/x", "error"),
        ("../x", "error"),
        ("a/../b*", "error"),
        ("a\0b", "error"),
    ] {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn a_pattern_begins_in_the_folder_before_its_first_wildcard() {
    for (text, expected) in
        [("a/b/c*", "a/b"), ("*", ""), ("/*/x", "/"), (r"a\*/b?", "a*"), ("~/.s*", "~/")]
    {
        assert_eq!(literal_folder(text), expected, "{text:?}");
    }
}
