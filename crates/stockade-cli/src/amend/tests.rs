//! Policy files before and after.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{allow, amended};

fn with(text: &str, rules: &[&str]) -> String {
    let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    amended(text, &rules).unwrap()
}

#[test]
fn a_list_is_made_where_there_is_none() {
    assert_eq!(with("", &["Bash(make)"]), "[rules]\nallow = [\"Bash(make)\"]\n");
    assert_eq!(
        with("mode = 'plan' # for now\n", &["Bash(make)", "Bash(ls *)"]),
        "mode = 'plan' # for now\n\n[rules]\nallow = [\"Bash(make)\", \"Bash(ls *)\"]\n"
    );
}

#[test]
fn what_is_written_stays_as_it_is_written() {
    let before = "# mine\n[rules]   # these\ndeny = ['Read(.env)']\nallow = ['Bash(ls *)'] # few\n\n[box]\ntier = 'jail'\n";
    let after = with(before, &["Bash(make test *)"]);
    assert_eq!(after, before.replace("['Bash(ls *)']", "['Bash(ls *)', \"Bash(make test *)\"]"));
}

#[test]
fn a_list_of_lines_grows_by_a_line() {
    let before = "[rules]\nallow = [\n  # reading\n  'Bash(ls *)', # short\n  'Bash(cat *)',\n]\n";
    let after = with(before, &["Bash(make)"]);
    assert_eq!(after, before.replace("'Bash(cat *)',\n", "'Bash(cat *)',\n  \"Bash(make)\",\n"));
}

#[test]
fn a_rule_that_is_there_is_not_added_again() {
    for before in [
        "[rules]\nallow = ['Bash(make)']\n",
        "[rules]\nallow = [{ rule = 'Bash(make)', match = ['make'] }]\n",
        "rules.allow = ['Bash(make)']\n",
    ] {
        assert_eq!(with(before, &["Bash(make)"]), before);
    }
}

#[test]
fn what_is_no_list_and_no_toml_is_left_alone() {
    assert!(amended("rules = 3\n", &["Bash(make)".to_owned()]).is_err());
    assert!(amended("[rules]\nallow = 'x'\n", &["Bash(make)".to_owned()]).is_err());
    assert!(amended("[rules\n", &["Bash(make)".to_owned()]).is_err());
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
