//! Any message between host and shim is refused or is what it says: no panic, no endless wait, and no
//! read beyond what came.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stockade_sandbox::fuzzing;

fuzz_target!(|data: &[u8]| {
    fuzzing::shim_receives(data);
    fuzzing::host_receives(data);
});
