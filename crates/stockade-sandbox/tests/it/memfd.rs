//! Where memory files cannot be executed, the shim is a file without a name.

use crate::roles::{command, said};
use crate::support::{bare, is_root, skip};

#[test]
fn the_shim_is_a_memory_file() {
    if !is_root() {
        // The link of a non-dumpable process can be read by root alone.
        return;
    }
    let output = command("shim-image").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(said(&text, "image").starts_with("/memfd:stockade-shim"), "{text}");
}

#[test]
fn the_shim_is_a_file_where_memory_files_are_not_executable() {
    if !is_root() {
        return;
    }
    if !std::fs::exists("/proc/sys/vm/memfd_noexec").unwrap() {
        skip("this kernel has no setting for memory files, Linux 6.3");
        return;
    }
    // The setting belongs to the PID namespace, so the machine's own stays.
    let role = command("shim-image");
    let mut boxed = bare("unshare");
    boxed.args(["--pid", "--fork", "--mount-proc", "sh", "-c"]);
    boxed.arg("echo 2 > /proc/sys/vm/memfd_noexec && exec \"$@\"").arg("sh");
    boxed.arg(role.get_program()).args(role.get_args());
    for (name, value) in role.get_envs() {
        boxed.env(name, value.unwrap());
    }
    let output = boxed.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // A file of a folder, which nobody else can name.
    let image = said(&text, "image");
    assert!(!image.contains("memfd:") && image.ends_with(" (deleted)"), "{text}");
    assert_eq!(said(&text, "survivors"), "0");
}
