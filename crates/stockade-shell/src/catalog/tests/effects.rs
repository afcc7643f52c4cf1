//! What a reading says of words that are not known, of natures, and of words in other words.

use std::borrow::Cow;
use std::ffi::OsStr;

use super::super::{Analysis, Catalog, EffectKind, Purity, Runner, Word, WordForm};

/// Reads a line; a word with a dollar sign is not known before the run.
fn read(line: &str) -> Analysis<'static> {
    let texts = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
    let words: Vec<_> = texts
        .into_iter()
        .enumerate()
        .map(|(argument, text)| {
            let form = if text.contains('$') { WordForm::Unknown } else { WordForm::Whole };
            Word { text: Cow::Owned(text.into()), argument, form }
        })
        .collect();
    let name = words[0].text.to_str().unwrap().to_owned();
    Catalog::shipped().read(&name, &words).unwrap().unwrap_or_else(|| panic!("{line}"))
}

fn effects(line: &str) -> Vec<(EffectKind, String, Option<usize>)> {
    let found = read(line).effects.into_iter();
    found.map(|effect| (effect.kind, effect.target.into_string().unwrap(), effect.word)).collect()
}

#[test]
fn a_word_that_is_not_known_is_a_target_as_it_is_written() {
    assert_eq!(effects("rm -rf $x/*"), [(EffectKind::Delete, "$x/*".to_owned(), Some(2))]);
    assert_eq!(effects("sort -o$out f")[1], (EffectKind::Write, "$out".to_owned(), Some(1)));
    assert_eq!(effects("curl https://$HOST/x"), [(EffectKind::Host, "$HOST".to_owned(), Some(1))]);
    let reading = read("bash -c $code");
    assert_eq!((reading.code[0].words.as_slice(), reading.code[0].offset), ([2].as_slice(), 0));
}

#[test]
fn an_effect_names_the_word_that_it_is_in() {
    assert_eq!(
        effects("cp -t out a b"),
        [
            (EffectKind::Read, "a".to_owned(), Some(3)),
            (EffectKind::Read, "b".to_owned(), Some(4)),
            (EffectKind::Write, "out".to_owned(), Some(2)),
        ]
    );
    assert_eq!(
        effects("ls"),
        [(EffectKind::List, ".".to_owned(), None), (EffectKind::Pass, ".".to_owned(), None)]
    );
    assert_eq!(effects("dd of=x")[0], (EffectKind::Write, "x".to_owned(), Some(1)));
    assert_eq!(effects("env -S '-C d ls' -l")[0], (EffectKind::Enter, "d".to_owned(), Some(2)));
}

#[test]
fn natures_are_told_apart() {
    for (line, nature) in [
        ("cat a", Purity::Reads),
        ("cat $x", Purity::Reads),
        ("ls --whatever $x", Purity::Reads),
        ("sort a", Purity::ReadsAsWritten),
        ("sort $x", Purity::Unknown),
        ("sort -o a a", Purity::Unknown),
        ("find . -name x", Purity::ReadsAsWritten),
        ("find . -delete", Purity::Unknown),
        ("find . $x", Purity::Unknown),
        ("sed -n 1p a", Purity::ReadsAsWritten),
        ("sed -i 1d a", Purity::Unknown),
        ("sed '1w x' a", Purity::Unknown),
        ("git status", Purity::ReadsIfContained),
        ("git -c core.pager=x log", Purity::Unknown),
        ("git commit", Purity::Unknown),
        ("git $x", Purity::Unknown),
        ("git --version", Purity::ReadsAsWritten),
        ("cargo --version", Purity::ReadsAsWritten),
        ("cargo build", Purity::Unknown),
        ("timeout 5 rm x", Purity::ReadsAsWritten),
        ("env LD_PRELOAD=x ls", Purity::Unknown),
        ("rm x", Purity::Unknown),
        ("curl https://h", Purity::Unknown),
        ("bash -c id", Purity::Unknown),
        ("eval id", Purity::Unknown),
        ("eval --help", Purity::Unknown),
        ("bash --version", Purity::ReadsAsWritten),
        ("cd x", Purity::ReadsAsWritten),
        ("printf -v x y", Purity::ReadsAsWritten),
        ("hostname x", Purity::Unknown),
        ("awk '{print $1}' f", Purity::Unknown),
        ("awk '{print}' f", Purity::ReadsAsWritten),
    ] {
        assert_eq!(read(line).nature, nature, "{line}");
    }
}

#[test]
fn no_command_that_changes_something_reads_whatever_its_words_are() {
    let knowledge = Catalog::shipped();
    for name in knowledge.names() {
        let word = Word::new(OsStr::new(name), 0);
        let reading = knowledge.read(name, &[word]).unwrap().unwrap();
        let changes = |kind| matches!(kind, EffectKind::Write | EffectKind::Delete);
        if reading.nature == Purity::Reads {
            assert!(!reading.effects.iter().any(|effect| changes(effect.kind)), "{name}");
            assert!(reading.hazards.is_empty() && reading.inner.is_empty(), "{name}");
        }
    }
}

#[test]
fn code_of_a_shell_is_found_in_every_spelling() {
    for (line, runner, words) in [
        ("bash -ec 'id; ls' a", Runner::Shell, vec![2]),
        ("bash -o pipefail -c id", Runner::Shell, vec![4]),
        ("bash -c -e id", Runner::Shell, vec![3]),
        ("eval a 'b;' c", Runner::ThisShell, vec![1, 2, 3]),
        ("trap id EXIT", Runner::ThisShellLater, vec![1]),
        ("ssh -p 22 h -v ls -l", Runner::Remote, vec![5, 6]),
        ("su - x -c id", Runner::Shell, vec![4]),
        ("python3 -c 1", Runner::Other, vec![2]),
    ] {
        let code = read(line).code;
        assert_eq!(code.len(), 1, "{line}: {code:?}");
        assert_eq!((code[0].runner, &code[0].words), (runner, &words), "{line}");
    }
}
