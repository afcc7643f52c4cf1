//! Roles for sandboxes with a broker: races against it, and what it costs.

use std::ffi::CString;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use crate::roles::say;

const ROUNDS: u32 = 10_000;

/// A path in memory that another thread changes.
static PATH: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];

/// `.mcp.json` and `.mcp.jsoX`, which differ in one word of memory.
const FORBIDDEN: &[u8; 12] = b".mcp.json\0\0\0";
const HARMLESS: &[u8; 12] = b".mcp.jsoX\0\0\0";

fn put(path: &[u8; 12]) {
    for (place, word) in PATH.iter().zip(path.chunks_exact(4)) {
        place.store(u32::from_ne_bytes(word.try_into().unwrap()), Ordering::Relaxed);
    }
}

fn make(path: *const libc::c_char) -> bool {
    // SAFETY: the path has a NUL at its end, whatever another thread makes of the bytes before.
    let fd = unsafe { libc::open(path, libc::O_CREAT | libc::O_WRONLY, 0o600) };
    if fd >= 0 {
        // SAFETY: it was opened above.
        unsafe { libc::close(fd) };
    }
    fd >= 0
}

/// Role: three races, each of many rounds.
pub(crate) fn race() {
    let done = AtomicBool::new(false);
    let (mut harmless, mut forbidden) = (0_u32, 0_u32);
    let mut count = |name: &str, others: &str| {
        forbidden = forbidden.saturating_add(u32::from(fs::remove_file(name).is_ok()));
        harmless = harmless.saturating_add(u32::from(fs::remove_file(others).is_ok()));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                put(HARMLESS);
                put(FORBIDDEN);
            }
        });
        for _ in 0..ROUNDS {
            make(PATH.as_ptr().cast());
            count(".mcp.json", ".mcp.jsoX");
        }
        done.store(true, Ordering::Relaxed);
    });
    fs::create_dir("real").unwrap();
    fs::create_dir("decoy").unwrap();
    let moves: [fn(); 2] = [
        || {
            // The folder on the way is now a link to one, now to the other.
            for target in ["decoy", "real"] {
                let _either = fs::remove_file("way");
                let _either = std::os::unix::fs::symlink(target, "way");
            }
        },
        || {
            // The folder itself has now one name, now the other.
            let swap = |one: &str, other: &str| fs::rename(one, other).is_ok();
            let _either = swap("real", "aside") && swap("decoy", "real") && swap("real", "decoy");
            let _either = swap("aside", "real");
        },
    ];
    for (moves, path) in moves.into_iter().zip(["way/secret", "decoy/secret"]) {
        let done = AtomicBool::new(false);
        let path = CString::new(path).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    moves();
                }
            });
            for _ in 0..ROUNDS {
                make(path.as_ptr());
                count("real/secret", "decoy/secret");
            }
            done.store(true, Ordering::Relaxed);
        });
    }
    say("harmless", harmless);
    say("forbidden", forbidden);
}

/// Role: the time of each of some calls, in microseconds.
pub(crate) fn costs() {
    const CALLS: u32 = 2000;
    // In memory, so that no disk is measured.
    std::env::set_current_dir("/tmp").unwrap();
    let names: Vec<String> = (0..CALLS).map(|number| format!("n{number}")).collect();
    let time = |what: &str, call: &dyn Fn(&str)| {
        let start = Instant::now();
        for name in &names {
            call(name);
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS);
        say(what, format!("{micros:.1}"));
    };
    time("open", &|name| drop(fs::File::create(name).unwrap()));
    time("existing", &|name| drop(fs::File::create(name).unwrap()));
    time("rename", &|name| fs::rename(name, format!("{name}r")).unwrap());
    time("mkdir", &|name| fs::create_dir(name).unwrap());
}
