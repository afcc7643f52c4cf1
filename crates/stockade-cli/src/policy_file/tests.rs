//! Files before and after.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::allow;

#[test]
fn rules_are_added_in_the_way_in_which_the_list_is_written_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let lines = "[rules]\nallow = [\n  # reading\n  'Bash(ls *)', # short\n  'Bash(cat *)',\n]\n";
    for (before, after) in [
        ("", "[rules]\nallow = [\"Bash(make)\"]\n".to_owned()),
        (lines, lines.replace("'Bash(cat *)',\n", "'Bash(cat *)',\n  \"Bash(make)\",\n")),
        ("[rules]\nallow = ['Bash(make)']\n", "[rules]\nallow = ['Bash(make)']\n".to_owned()),
    ] {
        fs::write(&file, before).unwrap();
        allow(&file, &["Bash(make)".to_owned()]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
    }
}

#[test]
fn a_file_is_made_replaced_or_reached_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link] = ["a/b/mine.toml", "link.toml"].map(|name| folder.path().join(name));
    allow(&file, &["Bash(make)".to_owned()]).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    allow(&link, &["Bash(ls *)".to_owned()]).unwrap();
    assert!(link.is_symlink());
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "[rules]\nallow = [\"Bash(make)\", \"Bash(ls *)\"]\n"
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_file_that_would_not_load_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    for text in ["no_such_key = 1\n", "[rules]\nallow = 3\n"] {
        fs::write(&file, text).unwrap();
        assert!(allow(&file, &["Bash(make)".to_owned()]).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn line_ends_and_a_mark_before_the_text_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    for (before, after) in [
        (
            "# mine\r\n[rules]\r\nallow = ['Read']\r\n",
            "# mine\r\n[rules]\r\nallow = ['Read', \"Bash(make)\"]\r\n",
        ),
        (
            "\u{feff}[rules]\nallow = ['Read']\n",
            "\u{feff}[rules]\nallow = ['Read', \"Bash(make)\"]\n",
        ),
    ] {
        fs::write(&file, before).unwrap();
        allow(&file, &["Bash(make)".to_owned()]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = allow(&file, &["Bash(make)".to_owned()]).unwrap_err();
    assert!(error.to_string().contains(message!("bounded.not-regular-file")), "{error}");
}
