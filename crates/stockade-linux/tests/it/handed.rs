//! A program that is handed to its box before that was looked at runs on the host's word, and not before.

use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use stockade_linux::{
    Cgroup, Errno, Expectation, Folder, Jail, Mechanism, Network, Origin, Program, Ready,
    StartError, Status, Stdin, Step, Warmth, Yard,
};

use crate::attest::steps_without_broker;
use crate::boxes::project;
use crate::broker::without;
use crate::early::{LIMITS, each_failing_step_is_named};
use crate::support::{Mark, finish, shell, shell_in, text, within};

/// A yard whose next box is being made.
fn foreseeing(mut jail: Jail) -> Yard {
    let yard = Yard::new(Warmth::Cold);
    yard.expect(Expectation { limits: LIMITS, network: Network::None });
    yard.foresee(&mut jail, LIMITS);
    yard
}

/// A yard whose next box is a copy that is being made.
fn copying(jail: impl Fn() -> Jail) -> Yard {
    let yard = Yard::new(Warmth::Warm { spares: 0 });
    let is_copied = || yard.ready(jail(), LIMITS).unwrap().origin() == Origin::Copied;
    assert!(within(Duration::from_secs(5), is_copied));
    let call = yard.under_way();
    yard.anticipate();
    assert_eq!(yard.waiting(), 1);
    drop(call);
    yard
}

/// One yard for every way in which a box comes to be that gets its program early.
fn yards(folder: &Path) -> [Yard; 3] {
    [foreseeing(project(folder)), Yard::new(Warmth::Cold), copying(|| project(folder))]
}

/// A line of shell for a box with this folder.
fn line_in(folder: &Path, line: &str) -> Program {
    let place = text(folder.to_str().unwrap());
    let spec = shell_in(folder, line);
    Program { spec, path: c"/bin/sh".to_owned(), folder: Folder::Judged(place) }
}

fn handed(yard: &Yard, folder: &Path, line: &str) -> Result<Ready, StartError> {
    yard.ready_for(project(folder), LIMITS, &|_| Some(line_in(folder, line)))
}

#[test]
fn it_runs_on_the_word() {
    let folder = tempfile::tempdir().unwrap();
    for yard in yards(folder.path()) {
        let ready = handed(&yard, folder.path(), "cat; pwd; echo $$ >&2; exit 3").unwrap();
        assert!(ready.is_handed());
        assert!(ready.attested().unwrap().missing.is_empty());
        let (ended, out, err) = finish(&mut ready.go().unwrap());
        assert_eq!(
            (ended.status, out, err.as_str()),
            (Status::Code(3), format!("{}\n", folder.path().display()), "2\n")
        );
    }
}

/// What is written to it reaches it, though its streams were opened before it was let go.
#[test]
fn it_has_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let cat = |_: Option<&Cgroup>| {
        let mut program = line_in(folder.path(), "cat");
        program.spec.stdin = Stdin::Piped;
        Some(program)
    };
    let ready = Yard::new(Warmth::Cold).ready_for(project(folder.path()), LIMITS, &cat).unwrap();
    let mut running = ready.go().unwrap();
    rustix::io::write(running.take_stdin().unwrap(), b"said").unwrap();
    assert_eq!(finish(&mut running).1, "said");
}

#[test]
fn without_the_word_nothing_runs_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mark = Mark::new();
    for yard in yards(folder.path()) {
        let program = |_: Option<&Cgroup>| {
            let mut program = line_in(folder.path(), "touch ran");
            program.spec = mark.on(program.spec);
            Some(program)
        };
        let ready = yard.ready_for(project(folder.path()), LIMITS, &program).unwrap();
        assert!(ready.is_handed());
        std::thread::sleep(Duration::from_millis(100));
        assert!(!folder.path().join("ran").exists());
        drop((ready, yard));
        assert!(within(Duration::from_secs(5), || mark.found().is_empty()));
        assert!(!folder.path().join("ran").exists());
    }
}

/// Nor does another program, which would not be executed.
#[test]
fn a_box_that_has_a_program_takes_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let ready = handed(&Yard::new(Warmth::Cold), folder.path(), "touch first").unwrap();
    let refused = ready.run(Program::new(shell("touch second"), c"/bin/sh", c"/")).map(drop);
    assert_eq!(refused, Err(StartError { step: Step::SendRequest, errno: Errno::BUSY }));
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_box_without_a_program_has_nobody_to_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let ready = Yard::new(Warmth::Cold).ready(project(folder.path()), LIMITS).unwrap();
    assert!(!ready.is_handed());
    let refused = ready.go().map(drop);
    assert_eq!(refused, Err(StartError { step: Step::SendRequest, errno: Errno::SRCH }));
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
        let ready = Yard::new(Warmth::Cold).ready(project(folder.path()), LIMITS).unwrap();
        let (ended, out, err) = finish(&mut ready.run(program(spec)).unwrap());
        let start = if length < 3 { "" } else { "abc" };
        let expected = format!("{}\n{start}", length / 3 * 3 + 3);
        assert_eq!((ended.status, out), (Status::Code(0), expected), "{length}: {err}");
    }
}

/// What goes wrong with the program is told when it is let go, by its own step.
#[test]
fn what_is_wrong_with_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let with = |yard: Yard, change: &dyn Fn(&mut Program)| {
        let program = |_: Option<&Cgroup>| {
            let mut program = line_in(folder.path(), "touch ran");
            change(&mut program);
            Some(program)
        };
        let ready = yard.ready_for(project(folder.path()), LIMITS, &program)?;
        // A copy whose program fails at once is followed by another, which gets it later.
        let run = if ready.is_handed() { ready.go() } else { ready.run(program(None).unwrap()) };
        run.map(drop)
    };
    let wrong = |step| Err(StartError { step, errno: Errno::NOENT });
    for (nowhere, nothing) in yards(folder.path()).into_iter().zip(yards(folder.path())) {
        assert_eq!(
            with(nowhere, &|it| it.folder = Folder::Judged(c"/no/such".to_owned())),
            wrong(Step::EnterDirectory)
        );
        assert_eq!(with(nothing, &|it| it.path = c"/no/such".to_owned()), wrong(Step::FindProgram));
    }
    assert!(!folder.path().join("ran").exists());
}

/// It is no fault of the template.
#[test]
fn a_wrong_program_does_not_cost_the_template() {
    let folder = tempfile::tempdir().unwrap();
    let yard = copying(|| project(folder.path()));
    let nothing = |_: Option<&Cgroup>| {
        let mut program = line_in(folder.path(), "true");
        program.path = c"/no/such".to_owned();
        Some(program)
    };
    for _call in 0..3 {
        let call = yard.under_way();
        yard.anticipate();
        let ready = yard.ready_for(project(folder.path()), LIMITS, &nothing).unwrap();
        assert_eq!(ready.origin(), Origin::Copied);
        drop((ready, call));
    }
}

/// One that waits was looked at when its program comes, and so was a copy that nobody had anticipated.
#[test]
fn a_box_that_waits_gets_its_program_when_it_was_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let yard = Yard::new(Warmth::Warm { spares: 1 });
    let (mut seen, mut made) = (Vec::new(), 0);
    while !seen.contains(&Origin::Waiting) && made < 100 {
        let ready = handed(&yard, folder.path(), "true").unwrap();
        assert_eq!(ready.is_handed(), ready.origin() == Origin::Made, "{:?}", ready.origin());
        seen.push(ready.origin());
        made += 1;
        let mut running = if ready.is_handed() {
            ready.go().unwrap()
        } else {
            ready.run(Program::new(shell("true"), c"/bin/sh", c"/")).unwrap()
        };
        assert_eq!(finish(&mut running).0.status, Status::Code(0));
        within(Duration::from_millis(200), || yard.waiting() > 0);
    }
    assert_eq!(seen.first(), Some(&Origin::Made));
    assert!(seen.contains(&Origin::Waiting), "{seen:?}");
}

/// There the program's process cannot know when the host's folders are gone.
#[test]
fn a_box_with_a_broker_gets_it_later_too() {
    let folder = tempfile::tempdir().unwrap();
    let asked = Cell::new(false);
    let ready = Yard::new(Warmth::Cold).ready_for(without(folder.path(), &["no"]), LIMITS, &|_| {
        asked.set(true);
        None
    });
    assert!(!ready.unwrap().is_handed() && !asked.get());
}

/// A mechanism that is missing is seen, though the program's process is about to execute.
#[test]
fn a_box_is_looked_at_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for mechanism in [Mechanism::Filter, Mechanism::Landlock, Mechanism::IpcNamespace] {
        let mut jail = project(folder.path());
        jail.sabotage.left_out.push(mechanism);
        let program = |_: Option<&Cgroup>| Some(line_in(folder.path(), "touch ran"));
        let ready = Yard::new(Warmth::Cold).ready_for(jail, LIMITS, &program).unwrap();
        assert!(ready.is_handed());
        let seen = ready.attested().unwrap();
        assert!(seen.missing.contains(&mechanism), "{mechanism:?}: {seen:?}");
        drop(ready);
        assert!(!folder.path().join("ran").exists(), "{mechanism:?}");
    }
}

#[test]
fn each_step_that_fails_is_named() {
    each_failing_step_is_named(steps_without_broker(), |mut foretold, mut jail, spec| {
        for jail in [&mut foretold, &mut jail] {
            jail.forbidden.clear();
        }
        let (path, cwd) = (jail.program.clone(), jail.cwd.clone());
        let program = |_: Option<&Cgroup>| Some(Program::new(spec(), &path, &cwd));
        let ready = foreseeing(foretold).ready_for(jail, LIMITS, &program)?;
        if ready.is_handed() { ready.go() } else { ready.run(Program::new(spec(), &path, &cwd)) }
    });
}
