//! A program that is handed to its sandbox arrives there whole.

use std::path::Path;

use stockade_sandbox::{
    Errno, Folder, PoolSize, Program, SandboxPool, StartError, Status, Stdin, Step,
};

use crate::boxes::project;
use crate::made::LIMITS;
use crate::support::{finish, shell_in, text};

/// A line of shell for a sandbox with this folder.
fn line_in(folder: &Path, line: &str) -> Program {
    let place = text(folder.to_str().unwrap());
    let spec = shell_in(folder, line);
    Program { spec, path: c"/bin/sh".to_owned(), folder: Folder::Judged(place) }
}

/// The program reads from the host and writes to it.
#[test]
fn it_has_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = line_in(folder.path(), "cat");
    program.spec.stdin = Stdin::Piped;
    let ready =
        SandboxPool::new(PoolSize::NoTemplates).ready(project(folder.path()), LIMITS).unwrap();
    let mut running = ready.run(program).unwrap();
    rustix::io::write(running.take_stdin().unwrap(), b"said").unwrap();
    assert_eq!(finish(&mut running).1, "said");
}

/// Short strings come in the message, and long ones in a file.
#[test]
fn its_arguments_are_whole_however_long_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let lengths = (2800..3600).step_by(13).chain([0, 100, 3583, 3584, 3585, 10_000, 100_000]);
    for length in lengths {
        let mut spec = shell_in(folder.path(), "printf %s \"$1$LONG\" | wc -c; printf %.3s \"$1\"");
        spec.argv.extend([text("sh"), text(&"abc".repeat(length / 3))]);
        spec.env.push(text("LONG=xyz"));
        let program = |spec| {
            let place = text(folder.path().to_str().unwrap());
            Program { spec, path: c"/bin/sh".to_owned(), folder: Folder::Judged(place) }
        };
        let ready =
            SandboxPool::new(PoolSize::NoTemplates).ready(project(folder.path()), LIMITS).unwrap();
        let (ended, out, err) = finish(&mut ready.run(program(spec)).unwrap());
        let start = if length < 3 { "" } else { "abc" };
        let expected = format!("{}\n{start}", length / 3 * 3 + 3);
        assert_eq!((ended.status, out), (Status::Code(0), expected), "{length}: {err}");
    }
}

/// A program that cannot be executed is an error that names the step.
#[test]
fn what_is_wrong_with_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let with = |change: &dyn Fn(&mut Program)| {
        let mut program = line_in(folder.path(), "touch ran");
        change(&mut program);
        let ready =
            SandboxPool::new(PoolSize::NoTemplates).ready(project(folder.path()), LIMITS)?;
        ready.run(program).map(drop)
    };
    let wrong = |step| Err(StartError { step, errno: Errno::NOENT });
    let nowhere = Folder::Judged(c"/no/such".to_owned());
    assert_eq!(with(&|it| it.folder = nowhere.clone()), wrong(Step::EnterDirectory));
    assert_eq!(with(&|it| it.path = c"/no/such".to_owned()), wrong(Step::FindProgram));
    assert!(!folder.path().join("ran").exists());
}
