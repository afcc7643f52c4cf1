//! What patches touch.

use super::{Change, PatchError, patched_files};

fn read(text: &str) -> Result<String, PatchError> {
    let one = |file: &super::PatchedFile| {
        let sign = match file.change {
            Change::Write => '+',
            Change::Delete => '-',
        };
        format!("{sign}{}", file.path.display())
    };
    Ok(patched_files(text)?.iter().map(one).collect::<Vec<_>>().join(" "))
}

#[test]
fn a_patch_shows_every_file_that_it_touches() {
    for (inside, expected) in [
        ("*** Add File: a/b\n+x\n+\n+*** Delete File: no", "+a/b"),
        ("*** Delete File: a", "-a"),
        ("*** Update File: a\n@@ fn f()\n x\n-y\n+z\n\n*** End of File", "+a"),
        ("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", "-a +b"),
        ("*** Update File: a\n-x\n+y\n*** Delete File: b\n*** Add File: c\n+1", "+a -b +c"),
        ("*** Environment ID: local\n*** Add File: a\n+x", "+a"),
        ("  *** Environment ID:remote \n*** Delete File: a", "-a"),
        // Either reading of these counts.
        ("  *** Add File: a\n+x", "+a"),
        ("*** Update File: a\n x\n *** Delete File: b", "+a -b"),
        ("*** Add File: a \n+x", "+a +a "),
        ("*** Add File: /etc/x\r\n+x\r", "+/etc/x"),
    ] {
        let whole = format!("*** Begin Patch\n{inside}\n*** End Patch");
        assert_eq!(read(&whole).as_deref(), Ok(expected), "{inside:?}");
        for around in [
            format!("\n{whole}\n\n"),
            format!("<<EOF\n{whole}\nEOF"),
            format!("<<'EOF'\n{whole}\nEOF\n"),
            format!("<<\"X\"\n{whole}\nX"),
        ] {
            assert_eq!(read(&around).as_deref(), Ok(expected), "{around:?}");
        }
    }
}

#[test]
fn a_patch_that_is_not_understood_to_its_end_is_none() {
    for text in [
        "",
        "*** Begin Patch",
        "*** Begin Patch\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x",
        "*** Add File: a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n*** Add File: b\n+y",
        "*** Begin Patch\n*** Add File: a\n+x\nrest\n*** End Patch",
        "*** Begin Patch\n*** Add File: \n+x\n*** End Patch",
        "*** Begin Patch\n*** Delete File: a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x\n*** Move to: b\n*** End Patch",
        "*** Begin Patch\n*** Move to: b\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n*** Move to: b\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n*** Rename File: b\n*** End Patch",
        "*** Begin Patch\n*** Environment ID:\n*** Add File: a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Environment ID: x\n*** Environment ID: y\n*** Add File: a\n+x\n*** End Patch",
        "*** Begin Patch\n*** Environment ID: x\n*** End Patch",
        "*** Begin Patch\n*** Add File: a\n+x\n*** Environment ID: x\n*** End Patch",
        "*** Begin Patch\n*** Update File: a\n???\n*** End Patch",
        "--- a\n+++ b",
        "<<EOF\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch",
    ] {
        assert!(read(text).is_err(), "{text:?}: {:?}", read(text));
    }
}

#[test]
fn an_update_and_a_move_depend_on_what_is_in_the_file() {
    let text = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n@@\n-x\n+y\n\
                *** Update File: d\n*** Move to: e\n@@\n-x\n+y\n*** End Patch";
    let files = patched_files(text).unwrap();
    let reads: Vec<bool> = files.iter().map(|file| file.reads).collect();
    assert_eq!(reads, [false, false, true, true, false]);
}
