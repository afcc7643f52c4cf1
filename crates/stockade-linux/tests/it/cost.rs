//! What a start costs the host.

use std::io::{Write, stderr};

use crate::roles::{command, said};

fn median_us(resident: usize) -> u64 {
    let output =
        command("costs").env("STOCKADE_TEST_RESIDENT", resident.to_string()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    said(&text, "median_us").parse().unwrap()
}

#[test]
fn a_large_host_pays_no_more_than_a_small_one() {
    // Other tests run at the same time and disturb some rounds; a cost that grows with the host
    // is there in every round.
    let holds = (0..5).any(|_| {
        let (small, large) = (median_us(1 << 20), median_us(1 << 30));
        writeln!(stderr(), "start to end of `true`: {small} us; host of 1 GiB: {large} us")
            .unwrap();
        large < small + 2000
    });
    assert!(holds);
}

#[test]
fn two_hundred_runs_leave_no_descriptor_and_no_zombie() {
    let output = command("descriptors").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(said(&text, "before"), said(&text, "after"));
    assert_eq!(said(&text, "zombies"), "0");
}
