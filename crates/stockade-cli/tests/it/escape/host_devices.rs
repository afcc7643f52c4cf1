//! The devices of the host stay as they are: programs that make sandboxes get none of them as a
//! standard stream, and no program in a sandbox changes their attributes. None of the tests changes one.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Project, Told, skip};

/// Owner and rights of a device.
fn attributes(path: &str) -> (u32, u32, u32) {
    let found = fs::metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode())
}

/// Programs by the names of `runsc` and the engines that only say which files their standard streams
/// are, and what a kernel would. They are no scripts, which are not started in their place.
fn stand_in(project: &Project) -> bool {
    let folder = project.beside("bin");
    fs::create_dir(&folder).unwrap();
    let source = format!(
        r#"#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {{
    FILE *told = fopen("{}", "a");
    char link[32], to[256];
    FILE *given = fopen("{}", "a");
    fprintf(given, "%s %s %s\n", getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"), getenv("HOME"));
    for (int fd = 0; fd < 3; fd++) {{
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, to, sizeof to - 1);
        fprintf(told, "%.*s\n", n < 0 ? 0 : (int)n, to);
    }}
    puts("another kernel");
    return 0;
}}
"#,
        project.beside("streams").display(),
        project.beside("given").display()
    );
    fs::write(project.beside("stand_in.c"), source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(folder.join("runsc")).arg(project.beside("stand_in.c"));
    if !compiler.status().is_ok_and(|status| status.success()) {
        skip("cc", "a stand-in for runsc cannot be compiled here");
        return false;
    }
    for name in ["podman", "docker"] {
        crate::support::copy_program(folder.join("runsc"), folder.join(name));
    }
    true
}

fn with_stand_in(project: &Project, args: &[&str]) -> Told {
    let folder = project.beside("bin");
    let mut command = project.command(args);
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display()));
    Told::from(command.output().unwrap())
}

/// All files beneath a folder, with what is in them.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}

/// runsc gives its streams to the user of the sandbox: the host's `/dev/null` was nobody's then.
#[test]
fn no_stream_of_runsc_or_an_engine_is_a_device() {
    let project = Project::new();
    if !stand_in(&project) {
        return;
    }
    let policy = project.beside("policy.toml");
    fs::write(&policy, "box.tier = 'container'\nbox.image = 'localhost/x'\n").unwrap();
    let policy = policy.to_str().unwrap();
    let before = attributes("/dev/null");
    for args in [
        &["doctor"][..],
        &["run", "--profile", "contained", "--tier", "gvisor", "--", "true"],
        &["run", "--policy", policy, "--", "true"],
    ] {
        fs::remove_file(project.beside("streams")).ok();
        let told = with_stand_in(&project, args);
        let streams = fs::read_to_string(project.beside("streams")).unwrap_or_default();
        assert!(streams.lines().count() >= 3, "{args:?}: the control: {told:?}");
        let other: Vec<&str> = streams.lines().filter(|line| !line.starts_with("pipe:")).collect();
        assert_eq!(other, Vec::<&str>::new(), "{args:?}");
    }
    assert_eq!(attributes("/dev/null"), before);
}

/// `runsc do` writes a bundle into `TMPDIR`, and engines without root the state of their containers: a
/// sandbox that shows the folder would change what runs outside of every sandbox.
#[test]
fn what_engines_keep_is_in_no_folder_that_a_project_may_hold() {
    let project = Project::new();
    if !stand_in(&project) {
        return;
    }
    for name in ["tmp", "run"] {
        fs::create_dir(project.path(name)).unwrap();
        fs::set_permissions(project.path(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
    let policy = project.beside("policy.toml");
    fs::write(&policy, "box.tier = 'container'\nbox.image = 'localhost/x'\n").unwrap();
    let policy = policy.to_str().unwrap();
    for args in [
        &["doctor"][..],
        &["run", "--profile", "contained", "--tier", "gvisor", "--", "true"],
        &["run", "--policy", policy, "--", "true"],
    ] {
        fs::remove_file(project.beside("given")).ok();
        let mut command = project.command(args);
        let folder = project.beside("bin");
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        command.env("TMPDIR", project.path("tmp")).env("XDG_RUNTIME_DIR", project.path("run"));
        let told = Told::from(command.output().unwrap());
        let given = fs::read_to_string(project.beside("given")).unwrap_or_default();
        assert!(given.lines().count() >= 1, "{args:?}: the control: {told:?}");
        let inside = project.path("").display().to_string();
        assert!(!given.contains(inside.trim_end_matches('/')), "{args:?}: {given}");
        // What is asked of the machine alone leaves nothing in the home folder either.
        let home = project.beside("home").display().to_string();
        assert_eq!(given.contains(&home), args[0] == "run", "{args:?}: {given}");
    }
}

#[test]
fn doctor_leaves_nothing_behind() {
    let project = Project::new();
    if !stand_in(&project) {
        return;
    }
    let all = || ["home", "state", "config", "work"].map(|name| files(&project.beside(name)));
    let before = all();
    with_stand_in(&project, &["doctor"]);
    assert_eq!(all(), before);
    assert_eq!(project.scratch_folders(), Vec::<String>::new());
}

/// Sets the attributes that a device has already, by its name and by standard input: where that is
/// allowed nothing changes, and where the mount is read-only it says so before it asks who owns it.
#[test]
fn the_attributes_of_a_device_cannot_be_set_in_the_jail() {
    let project = Project::new();
    let before = attributes("/dev/null");
    let script = "import os\n\
        def attempt(what):\n\
        \x20   try: what(); print('done')\n\
        \x20   except OSError as e: print(e.strerror)\n\
        for one in ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom', 0]:\n\
        \x20   found = os.stat(one)\n\
        \x20   attempt(lambda: os.chmod(one, found.st_mode & 0o7777))\n\
        \x20   attempt(lambda: os.chown(one, -1, -1) if one else os.fchown(0, -1, -1))\n\
        open('/dev/null', 'w').write('x'); print(len(open('/dev/zero', 'rb').read(3)))\n\
        print(repr(os.read(0, 1)), os.fstat(0).st_rdev == os.stat('/dev/null').st_rdev)\n";
    project.write("script.py", script);
    let told = project.stockade(&["run", "--", "/usr/bin/python3", "script.py"]);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(lines.len(), 14, "{told:?}");
    assert!(lines[..12].iter().all(|line| *line == "Read-only file system"), "{told:?}");
    // The control: they are still read and written, and an empty input is the null device.
    assert_eq!(lines[12..], ["3", "b'' True"], "{told:?}");
    assert_eq!(attributes("/dev/null"), before);
}
