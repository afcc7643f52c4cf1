//! Who fills the file, and who does not: a keeper is executed either way.

use std::fs::File;
use std::thread;

use rustix::thread::sched_getaffinity;

use super::*;
use crate::keeper::PROGRAM;

fn errand(filling: u32) -> Errand {
    Errand {
        is_there: AtomicU32::new(1),
        errno: AtomicI32::new(0),
        process: AtomicI32::new(0),
        image: Image::Bytes(PROGRAM),
        blank: 77,
        filling: AtomicU32::new(filling),
        control: -1,
        others: None,
    }
}

#[test]
fn a_file_is_used_once_it_is_filled_and_not_waited_for_if_it_is_not() {
    assert_eq!(filled_in_child(&errand(filling::DONE)), Some(77));
    assert_eq!(filled_in_child(&errand(filling::FAILED)), None);
    // Of a host that was stopped nothing more is heard.
    assert_eq!(filled_in_child(&errand(filling::BEGUN)), None);
    let slow = errand(filling::BEGUN);
    thread::scope(|scope| {
        scope.spawn(|| slow.filling.store(filling::DONE, Ordering::Release));
        let found = std::iter::repeat_with(|| filled_in_child(&slow)).find_map(|file| file);
        assert_eq!(found, Some(77));
    });
}

/// Without a control socket the keeper ends at once.
fn ends(room_filled: bool) {
    let nothing = File::open("/dev/null").unwrap();
    let image = Image::Bytes(PROGRAM);
    let spawned = if room_filled {
        Spawning::begin(image, nothing.as_fd(), Where::Anywhere).unwrap().executed().unwrap()
    } else {
        begun_without_filling(image, &nothing).executed().unwrap()
    };
    reap(&spawned.1);
}

/// As a host that is stopped right after the clone.
fn begun_without_filling(image: Image, control: &File) -> Spawning {
    let blank = blank_file().unwrap();
    let room = Room::new(image, Some(&blank), control.as_raw_fd(), None).unwrap();
    Spawning::begin_in(room, None).unwrap()
}

#[test]
fn it_is_executed_whether_the_host_fills_the_file_or_not() {
    for room_filled in [true, false, true] {
        ends(room_filled);
    }
}

#[test]
fn a_filled_file_cannot_be_changed() {
    let file = blank_file().unwrap();
    assert!(file.as_raw_fd() >= FIRST_AFTER_STDERR);
    fill(word(file.as_raw_fd()), b"all of it").unwrap();
    let mut file = File::from(file);
    let refused = io::Write::write_all(&mut file, b"more").unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    assert_eq!(io::Seek::seek(&mut file, io::SeekFrom::End(0)).unwrap(), 9);
}

/// Some kernels put it on the host's processor and let it go first, though another is idle.
#[test]
fn it_leaves_the_host_s_processor_by_itself() {
    let left = thread::spawn(|| {
        let (here, others) = other_processors()?;
        let mut pinned = CpuSet::new();
        pinned.set(here);
        sched_setaffinity(None, &pinned).unwrap();
        let host_at = |processor| Errand {
            others: Some((processor, words_of(&others))),
            ..errand(filling::DONE)
        };
        leave_host_in_child(&host_at(here + 1));
        assert_eq!(sched_getaffinity(None).unwrap(), pinned, "the host is elsewhere");
        leave_host_in_child(&host_at(here));
        Some(sched_getaffinity(None).unwrap() == others)
    });
    // There may be one processor only.
    assert_ne!(left.join().unwrap(), Some(false));
}
