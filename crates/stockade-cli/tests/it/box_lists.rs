//! The lists of paths in `[box]`: patterns mean what they say or are an error.

use crate::support::{Project, Told};

fn policy(project: &Project, text: &str) -> String {
    let path = project.beside("policy.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A line in the box with this policy.
fn shell(project: &Project, text: &str, line: &str) -> Told {
    let path = policy(project, text);
    project.stockade(&["shell", "--policy", &path, "--mode", "bypass", "--", line])
}

fn files(project: &Project) {
    for folder in ["a/b", "a/[x]", "deep/er"] {
        std::fs::create_dir_all(project.path(folder)).unwrap();
    }
    for name in [
        "a/b/secret1",
        "a/b/plain",
        "a/[x]/y",
        "x.pem",
        "deep/er/x.pem",
        "deep/x.txt",
        "st*r",
        "star",
    ] {
        project.write(name, "CONTENT\n");
    }
}

/// A program that the gate does not see through, so that the box has to keep it.
fn read(name: &str) -> String {
    format!("f='{name}'; n=cat; $n \"$f\" 2>&1")
}

#[test]
fn a_pattern_in_box_hide_hides_what_it_means() {
    let project = Project::new();
    files(&project);
    for (pattern, hidden, shown) in [
        ("a/b/secret*", "a/b/secret1", "a/b/plain"),
        ("a/b/secret?", "a/b/secret1", "a/b/plain"),
        ("a/b/s[a-f]cret1", "a/b/secret1", "a/b/plain"),
        ("a/**/secret1", "a/b/secret1", "a/b/plain"),
        ("*.pem", "deep/er/x.pem", "deep/x.txt"),
        ("**/*.pem", "x.pem", "deep/x.txt"),
        ("./*.pem", "x.pem", "deep/er/x.pem"),
        // Names with such characters in them.
        (r"a/\[x\]/y", "a/[x]/y", "a/b/plain"),
        (r"st\*r", "st*r", "star"),
    ] {
        let text = format!("[box]\nhide = ['{pattern}']\n");
        let control = shell(&project, "", &read(hidden));
        assert_eq!(control.stdout, "CONTENT\n", "the control failed: {pattern}");
        let told = shell(&project, &text, &read(hidden));
        assert!(!told.stdout.contains("CONTENT"), "{pattern}: {told:?}");
        let told = shell(&project, &text, &read(shown));
        assert_eq!(told.stdout, "CONTENT\n", "{pattern}: {told:?}");
    }
}

#[test]
fn a_pattern_in_box_protect_protects_what_it_means() {
    let project = Project::new();
    files(&project);
    let write = |name: &str| format!("f='{name}'; n=tee; echo NEW | $n -a \"$f\" 2>&1");
    let content = |name: &str| std::fs::read_to_string(project.path(name)).unwrap();
    let text = "[box]\nprotect = ['a/b/secret*']\n";
    shell(&project, text, &write("a/b/secret1"));
    assert_eq!(content("a/b/secret1"), "CONTENT\n");
    shell(&project, text, &write("a/b/plain"));
    assert!(content("a/b/plain").contains("NEW"));
    shell(&project, "", &write("a/b/secret1"));
    assert!(content("a/b/secret1").contains("NEW"), "the control failed");
    // The file tools, too.
    let path = policy(&project, text);
    let input = format!(
        "{}\n",
        serde_json::json!({"tool": "Write", "input": {"file_path": "a/b/secret1", "content": "x"}})
    );
    let told = project.fed(&["call", "--policy", &path, "--mode", "bypass"], input.as_bytes());
    assert!(told.stdout.contains("box.protect"), "{told:?}");
}

#[test]
fn what_cannot_be_a_pattern_is_an_error_with_its_line() {
    let project = Project::new();
    for (entry, words) in [
        ("write = [\".\", 'build*']", "pattern"),
        ("read = ['/usr/share/*']", "pattern"),
        ("read = ['~/.[a-z]*']", "pattern"),
        ("hide = ['a[']", "no end"),
        ("hide = ['~']", "only ~/ is expanded"),
        ("protect = ['~user/x']", "only ~/ is expanded"),
        ("hide = ['$HOME/x']", "variables"),
        ("hide = ['a/../b*']", "beneath the project root"),
        ("hide = ['.']", "the whole project"),
        ("hide = ['./.']", "the whole project"),
        ("protect = ['./']", "the whole project"),
        ("hide = ['{secret1,other}']", "braces are not expanded"),
        ("protect = ['a/b{1..3}']", "braces are not expanded"),
        ("hide = ['+(x)']", "+(…) is no pattern"),
        ("hide = ['@(a|b)']", "@(…) is no pattern"),
        ("hide = ['?(x)']", "?(…) is no pattern"),
        ("hide = ['*(x)']", "*(…) is no pattern"),
        ("hide = ['!a']", "excludes nothing"),
        ("write = ['.', '{a,b}']", "braces are not expanded"),
    ] {
        let told = shell(&project, &format!("\n[box]\n{entry}\n"), "true");
        assert_eq!(told.code, 125, "{entry}: {told:?}");
        assert!(told.stderr.contains("line 3"), "{entry}: {told:?}");
        assert!(told.stderr.contains(words), "{entry}: {told:?}");
    }
}

#[test]
fn dots_in_a_path_mean_nothing() {
    let project = Project::new();
    std::fs::create_dir(project.path("a")).unwrap();
    project.write("a/b", "secret\n");
    project.script("script.sh", "cat a/b; echo end\n");
    let told = shell(&project, "[box]\nhide = ['./a/./b']\n", "sh script.sh");
    assert_eq!((told.code, told.stdout.as_str()), (0, "end\n"), "{told:?}");
}
