//! The description of a root, without making one.

use super::*;

fn folder(path: &CStr) -> Mount {
    Mount::Memory { target: path.to_owned(), bytes_max: 1, files_max: 1, mode: 0o755 }
}

#[test]
fn nothing_is_made_in_a_folder_of_the_host() {
    let list =
        [Mount::bind(c"/usr", Access::ReadOnly).unwrap(), folder(c"/usr/tmp"), folder(c"/t")];
    assert!(may_make(&list, c"/new"));
    assert!(may_make(&list, c"/usrx/new"));
    assert!(!may_make(&list, c"/usr/new"));
    assert!(may_make(&list, c"/usr/tmp/new"));
    assert!(may_make(&list, c"/t/a/b"));
}

#[test]
fn a_path_in_the_box_is_absolute_and_plain() {
    for good in [c"/a", c"/a/b.c/..d"] {
        assert!(checked(good).is_ok());
    }
    for bad in [c"", c"/", c"a", c"/a/../b", c"/./a", c"/.."] {
        assert!(checked(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_device_with_another_number_is_refused() {
    let null = open(c"/dev/null", OFlags::PATH, Mode::empty()).unwrap();
    assert!(verify_device(null.as_fd(), (MEM_MAJOR, 3)).is_ok());
    assert!(verify_device(null.as_fd(), (MEM_MAJOR, 5)).is_err());
}

#[test]
fn covers_are_made_before_others_can_rename_what_is_on_the_way_to_them() {
    let session = || Mount::Session { target: c"/tmp".to_owned() };
    let home = || Mount::Folder { target: c"/tmp/home".to_owned(), mode: 0o700 };
    let project = |target: &CStr| {
        let source = open(c"/usr", OFlags::PATH, Mode::empty()).unwrap();
        Mount::Bind { source, target: target.to_owned(), access: Access::ReadOnly }
    };
    let hidden = |target: &CStr| Mount::Hide { target: target.to_owned() };
    let pinned = |target: &CStr| Mount::Pin { target: target.to_owned() };
    let kinds = |list: &[Mount]| {
        let mut blob = Blob::new();
        let packed = pack((list, c"/"), Identity::of_caller(), 1, &mut blob).unwrap();
        packed.ops.iter().map(|one| one.kind).collect::<Vec<_>>()
    };
    let list = [
        project(c"/tmp/x/p"),
        hidden(c"/tmp/x/p/.env"),
        pinned(c"/tmp/x/p/.git"),
        project(c"/tmp/x/p/in"),
        project(c"/tmp/q"),
        session(),
        home(),
        pinned(c"/tmp/home"),
    ];
    let expected = [
        op::BIND,
        op::HIDE,
        op::COVER,
        op::BIND,
        op::BIND,
        op::ASIDE,
        op::ASIDE,
        // From here on others reach the folder: whole trees of mounts are put into it.
        op::SESSION,
        op::BACK,
        op::BACK,
        op::FOLDER,
        op::COVER,
    ];
    assert_eq!(kinds(&list), expected);
    // Elsewhere nobody else can rename anything.
    let elsewhere = [project(c"/w/p"), hidden(c"/w/p/.env"), session(), home()];
    assert_eq!(kinds(&elsewhere), [op::BIND, op::HIDE, op::SESSION, op::FOLDER]);
    // What an earlier call has closed there is opened again, and nothing of the host is touched.
    let is_opened = |list: &[Mount]| {
        let mut blob = Blob::new();
        let packed = pack((list, c"/"), Identity::of_caller(), 1, &mut blob).unwrap();
        packed.ops.iter().any(|one| one.flags & op::SHARED != 0)
    };
    assert!(is_opened(&elsewhere));
    let own =
        Mount::Memory { target: c"/tmp".to_owned(), bytes_max: 1, files_max: 1, mode: 0o1777 };
    for list in [
        vec![own, home()],
        vec![project(c"/tmp/home"), session(), home()],
        vec![session(), project(c"/tmp"), home()],
        vec![session(), project(c"/tmp/home"), home()],
    ] {
        assert!(!is_opened(&list));
    }
}
