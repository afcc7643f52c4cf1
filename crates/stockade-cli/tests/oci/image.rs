//! `stockade image import`: folders and tar files, and what is neither.

use std::fs;
use std::process::Command;

use crate::support::{Project, Tier, stockade, text};

#[test]
fn a_tar_file_becomes_an_image_for_both_tiers() {
    for tier in [Tier::Container, Tier::Gvisor] {
        let Some(project) = Project::new(tier) else { continue };
        let busybox = Command::new("sh").args(["-c", "command -v busybox"]).output().unwrap();
        if !busybox.status.success() {
            crate::support::skip("busybox", "busybox is not installed");
            return;
        }
        let busybox = String::from_utf8(busybox.stdout).unwrap();
        let is_static = Command::new("ldd").arg(busybox.trim()).output().unwrap();
        if is_static.status.success() {
            crate::support::skip("busybox-static", "busybox is not static");
            return;
        }
        let root = project.beside("image");
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::copy(busybox.trim(), root.join("bin/busybox")).unwrap();
        std::os::unix::fs::symlink("busybox", root.join("bin/cat")).unwrap();
        fs::write(root.join("marker"), "of the tar file\n").unwrap();
        let tar = project.beside("small.tar");
        let packed =
            Command::new("tar").arg("-cf").arg(&tar).arg("-C").arg(&root).arg(".").status();
        assert!(packed.unwrap().success());
        let name = "localhost/stockade-test-tar";
        let output = stockade().args(["image", "import"]).arg(&tar).arg(name).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let report =
            project.run_with(&["--image", name, "--profile", "contained"], &["cat", "/marker"]);
        assert_eq!(text(&report, "stdout"), "of the tar file\n", "{report}");
    }
}

#[test]
fn what_is_no_root_file_system_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let zipped = folder.path().join("root.tar.gz");
    fs::write(&zipped, [0x1f, 0x8b, 8, 0]).unwrap();
    let nonsense = folder.path().join("nonsense.tar");
    fs::write(&nonsense, "this is no archive".repeat(100)).unwrap();
    for (source, said) in [
        (folder.path().join("not-there"), "not-there"),
        (zipped, "gunzip"),
        (nonsense, message!("image.plain-tar-file-folder")),
    ] {
        let mut command = stockade();
        command.env("XDG_DATA_HOME", folder.path().join("data"));
        let output = command.args(["image", "import"]).arg(&source).arg("bad").output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(125));
        assert!(told.contains(said), "{told}");
        let images = folder.path().join("data/stockade/images");
        let left = fs::read_dir(images).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{source:?}");
    }
    let output = stockade().args(["image", "import", "x", "--", "--privileged"]).output().unwrap();
    assert!(
        String::from_utf8(output.stderr).unwrap().contains(message!("oci.no-name-image-letters"))
    );
}
