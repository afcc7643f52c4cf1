//! Files that appear while a call is judged are hidden and protected all the same, and a call that is
//! refused gets no box.

use std::fs;

use stockade::hooks::Reply;
use stockade::launch::Origin;

use crate::jail::{jailed, project};
use crate::support::{exec, json, text};

/// A hook that makes a file before the decision.
#[test]
fn what_is_made_before_the_decision_is_hidden_and_protected_in_the_box() {
    let Some(project) = project() else { return };
    project.script("attack.sh", "cat .env; echo changed > kept\n");
    let run = |policy| {
        for name in [".env", "kept"] {
            fs::remove_file(project.path(name)).ok();
        }
        let root = project.root();
        let builder = project.builder(policy).pre_hook("late", move |_| {
            for name in [".env", "kept"] {
                fs::write(root.join(name), "secret\n").unwrap();
            }
            Reply::silent()
        });
        let stockade = builder.open().unwrap();
        let report = json(&stockade.run(exec(&["sh", "attack.sh"])));
        assert_eq!(stockade.pool().given(Origin::Made), 1, "{report}");
        let kept = fs::read_to_string(project.path("kept")).unwrap();
        (text(&report, "stdout").to_owned(), kept)
    };
    let control = run(jailed(|policy| policy.files.hide.clear()));
    assert_eq!(control, ("secret\n".to_owned(), "changed\n".to_owned()));
    let attack = run(jailed(|policy| {
        policy.files.hide = vec![".env".into()];
        policy.files.protect.push("kept".into());
    }));
    assert_eq!(attack, (String::new(), "secret\n".to_owned()));
}

#[test]
fn a_call_that_is_refused_gets_no_box_and_the_next_one_does() {
    let Some(project) = project() else { return };
    let stockade = project.open(jailed(|_| {}));
    let open = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
        all.filter(|fd| fs::read_link(fd).is_ok_and(|to| to == project.root())).count()
    };
    let before = open();
    let refused = json(&stockade.run(exec(&["sudo", "true"])));
    assert_eq!(refused["denied"], true, "{refused}");
    assert_eq!(stockade.pool().given(Origin::Made), 0);
    assert_eq!(open(), before, "its description is not kept");
    let report = json(&stockade.run(exec(&["echo", "next"])));
    assert_eq!(text(&report, "stdout"), "next\n", "{report}");
    assert_eq!(stockade.pool().given(Origin::Made), 1);
}
