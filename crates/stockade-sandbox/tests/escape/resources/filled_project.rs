//! 85: writes more and more files into the project.

use std::fs;

use crate::support::{Attack, done};

pub(crate) const ATTACK: Attack = Attack {
    module: module_path!(),
    number: 85,
    attempt: |_| {
        let part = vec![1_u8; 2 << 20];
        done((0..4).try_for_each(|number| fs::write(format!("part{number}"), &part)))
    },
    reached: |scene, _| {
        let len = |number| {
            fs::metadata(scene.at(&format!("project/part{number}"))).map(|file| file.len())
        };
        (0..4).all(|number| len(number).is_ok_and(|len| len == 2 << 20))
    },
    known_gap: Some("each file has a limit, and all files together have none"),
    ..Attack::CALL
};
