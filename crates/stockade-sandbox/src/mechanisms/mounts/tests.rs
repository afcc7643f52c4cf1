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
