//! The data holds, and the reader reads what it says.

use super::Knowledge;

#[test]
fn every_entry_loads_and_every_example_holds() {
    match Knowledge::shipped().check() {
        Ok(_) => {}
        Err(broken) => {
            let lines: Vec<_> = broken.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"));
        }
    }
}
