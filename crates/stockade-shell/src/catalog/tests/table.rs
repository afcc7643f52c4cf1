//! The table of cases, and what else a reading holds.

use std::ffi::OsString;

use super::super::{Analysis, Catalog, HazardKind, Inner, Word};

const CASES: &str = include_str!("cases.txt");

fn words(line: &str) -> Vec<OsString> {
    let split = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
    split.into_iter().map(OsString::from).collect()
}

fn read<'a>(words: &[Word<'a>]) -> Analysis<'a> {
    let name = words[0].text.to_str().unwrap().rsplit('/').next().unwrap().to_owned();
    Catalog::shipped().read(&name, words).unwrap().unwrap_or_default()
}

/// The kinds of all hazards in a command and in those inside it.
fn kinds(argv: &[OsString]) -> Vec<HazardKind> {
    let mut found = Vec::new();
    let mut commands = vec![Word::list(argv)];
    while let Some(words) = commands.pop() {
        let reading = read(&words);
        found.extend(reading.hazards.iter().map(|hazard| hazard.kind));
        commands.extend(reading.inner.into_iter().map(|inner| inner.words));
    }
    found
}

/// Joins lines until the quotes close.
fn lines() -> Vec<String> {
    let mut lines = vec![String::new()];
    for line in CASES.lines() {
        let open = lines.last().is_some_and(|last| shlex::split(last).is_none());
        match lines.last_mut().filter(|_| open) {
            Some(last) => {
                last.push('\n');
                last.push_str(line);
            }
            None if line.starts_with('#') => {}
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

#[test]
fn the_table_of_cases_holds_on_both_sides() {
    let (mut refused, mut allowed, mut wrong) = (0, 0, Vec::new());
    for line in lines().iter().filter(|line| !line.is_empty()) {
        if let Some(command) = line.strip_prefix("ok ") {
            allowed += 1;
            let found = kinds(&words(command));
            if !found.is_empty() {
                wrong.push(format!("{line}: {found:?}"));
            }
        } else {
            refused += 1;
            let rest = line.strip_prefix("no ").unwrap();
            let (kind, command) = rest.split_once(' ').unwrap();
            let found = kinds(&words(command));
            if !found.iter().any(|found| format!("{found:?}") == kind) {
                wrong.push(format!("{line}: {found:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(refused >= 120 && allowed >= 120, "{refused} and {allowed}");
}

#[test]
fn every_group_of_the_table_has_both_sides() {
    for group in lines().split(String::is_empty).filter(|group| !group.is_empty()) {
        assert!(group.iter().any(|line| line.starts_with("ok ")), "{group:?}");
        assert!(group.iter().any(|line| line.starts_with("no ")), "{group:?}");
    }
}

#[test]
fn the_inner_command_is_what_would_run() {
    for (outer, inner) in [
        ("nice -n 5 rm -rf x", "rm -rf x"),
        ("nice -5 rm x", "rm x"),
        ("env -i A=b rm x", "rm x"),
        ("env -u A -- rm x", "rm x"),
        ("env -S 'A=b rm' x", "rm x"),
        ("timeout -k 1 5 rm x", "rm x"),
        ("timeout --signal KILL 5 rm -- x", "rm -- x"),
        ("xargs -0 -I {} rm {}", "rm {}"),
        ("sudo -nu root rm x", "rm x"),
        ("find . -exec rm {} +", "rm {}"),
        ("find . -exec rm + ;", "rm +"),
        ("fd -xrm", "rm"),
        ("busybox rm x", "rm x"),
        ("flock -w 5 f rm x", "rm x"),
        ("chroot --userspec=a / rm x", "rm x"),
        ("strace -e trace=open rm x", "rm x"),
        ("ld.so --argv0 x /bin/rm y", "/bin/rm y"),
        ("taskset -c 0 rm x", "rm x"),
        ("bwrap --bind a b --setenv A b rm x", "rm x"),
    ] {
        let outer_words = words(outer);
        let reading = read(&Word::list(&outer_words));
        let found: Vec<_> =
            reading.inner[0].words.iter().map(|word| word.text.clone().into_owned()).collect();
        assert_eq!(found, words(inner), "{outer}");
    }
}

#[test]
fn every_action_of_find_is_an_inner_command_and_a_hazard() {
    let argv = words("find . -exec rm {} ; -o -ok cat x ; -delete");
    let reading = read(&Word::list(&argv));
    let via: Vec<_> = reading.inner.iter().map(|inner: &Inner<'_>| inner.via.as_str()).collect();
    assert_eq!(via, ["-exec", "-ok"]);
    assert!(reading.inner.iter().all(|inner| inner.open));
    assert_eq!(reading.hazards.len(), 3);
    assert!(reading.hazards.iter().all(|hazard| hazard.kind == HazardKind::FindAction));
}

#[test]
fn an_inner_word_points_at_its_argument() {
    let argv = words("env -S 'A=b rm' x");
    let reading = read(&Word::list(&argv));
    let arguments: Vec<_> = reading.inner[0].words.iter().map(|word| word.argument).collect();
    assert_eq!(arguments, [2, 3]);
    assert!(!reading.inner[0].words[0].is_whole());
    assert!(reading.inner[0].words[1].is_whole());
}

#[test]
fn plain_text_is_marked_and_nothing_else() {
    for (line, marked) in [
        ("grep -E 'a|b' f", vec![2]),
        ("grep -e a -e b f", vec![2, 4]),
        ("grep -f a b", vec![]),
        ("git log '--format=%h <%ae>'", vec![2]),
        ("git commit -m 'fix (x) & y'", vec![3]),
        ("git -C x commit -am 'a;b' f", vec![5]),
        ("git commit -F 'a;b'", vec![]),
        ("git tag -m x v1", vec![3]),
        ("rg 'a|b' src", vec![1]),
        ("jq '.a | .b' f", vec![1]),
        ("sed 's/a|b/c/' f", vec![1]),
        ("awk '$1 > 5' f", vec![1]),
        ("find . -name '*;*' -newer x", vec![3]),
        ("curl -H 'A: b;c' http://h", vec![2, 3]),
        ("sort -t '|' f", vec![2]),
        ("bash 'a;b'", vec![]),
    ] {
        let argv = words(line);
        assert_eq!(read(&Word::list(&argv)).text, marked, "{line}");
    }
}

#[test]
fn lists_of_paths_and_glued_values_are_found() {
    let argv = words("java -cp a:/b:: Main");
    let paths = read(&Word::list(&argv)).paths;
    assert_eq!(paths.len(), 1);
    assert_eq!((paths[0].argument, &paths[0].paths), (2, &words("a /b")));
    let argv = words("dd if=/x of=y bs=1");
    let paths = read(&Word::list(&argv)).paths;
    let found: Vec<_> = paths.iter().map(|path| (path.argument, path.paths.clone())).collect();
    assert_eq!(found, [(1, words("/x")), (2, words("y"))]);
    let argv = words("sort -T/tmp --output=x f -k 2");
    let glued = read(&Word::list(&argv)).glued;
    let found: Vec<_> = glued.iter().map(|glued| (glued.argument, glued.offset)).collect();
    assert_eq!(found, [(1, 2), (2, 9)]);
}
