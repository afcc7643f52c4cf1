//! Cargo in the jail with the network off: a toolchain in the home folder, reached through rustup.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Somebody, as_everybody, skip};

/// Gives somebody a home with a toolchain of rustup: the one that these tests were built with, by
/// hard links where that is possible.
fn install(somebody: &Somebody) -> bool {
    let Some((rustup, sysroot)) = rustup() else {
        skip("cargo", "there is no cargo of rustup here");
        return false;
    };
    let home = somebody.home();
    let toolchain = home.join(".rustup/toolchains/own");
    for folder in [home.join(".cargo/bin"), toolchain.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    for part in ["bin", "lib"] {
        let (from, to) = (sysroot.join(part), toolchain.join(part));
        linked(&from, &to);
    }
    fs::hard_link(&rustup, home.join(".cargo/bin/rustup"))
        .or_else(|_| fs::copy(&rustup, home.join(".cargo/bin/rustup")).map(drop))
        .unwrap();
    for name in ["cargo", "rustc"] {
        std::os::unix::fs::symlink("rustup", home.join(".cargo/bin").join(name)).unwrap();
    }
    let settings = "version = \"12\"\ndefault_toolchain = \"own\"\nprofile = \"minimal\"\n";
    fs::write(home.join(".rustup/settings.toml"), settings).unwrap();
    for made in [".rustup", ".rustup/toolchains", ".cargo", ".cargo/bin", ".rustup/settings.toml"] {
        somebody.give(&home.join(made));
    }
    true
}

/// Copies a folder by hard links, or truly where it is on another file system.
fn linked(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        // The sources of the library are large, and no build needs them.
        if kind.is_dir() && entry.file_name() != "src" {
            linked(&entry.path(), &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else if kind.is_file() {
            fs::hard_link(entry.path(), &target)
                .or_else(|_| fs::copy(entry.path(), &target).map(drop))
                .unwrap();
        }
    }
}

/// The rustup that cargo goes through, and the toolchain behind it.
fn rustup() -> Option<(PathBuf, PathBuf)> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from)?;
    let sysroot = cargo.parent()?.parent()?.to_owned();
    let search = std::env::var_os("PATH")?;
    let rustup = std::env::split_paths(&search).map(|folder| folder.join("rustup"));
    let mut rustup = rustup.filter(|path| path.is_file());
    sysroot.join("bin/rustc").is_file().then(|| Some((rustup.next()?, sysroot)))?
}

fn crate_with(somebody: &Somebody, dependency: &str, main: &str) {
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    somebody.write("Cargo.toml", &format!("{manifest}[dependencies]\n{dependency}\n"));
    somebody.write("src/main.rs", main);
}

const RUN: [&str; 6] = ["--toolchain", "rust", "--", "cargo", "run", "--offline"];

#[test]
fn cargo_builds_a_small_crate_and_one_with_a_vendored_dependency() {
    as_everybody(|somebody| {
        if !install(somebody) {
            return;
        }
        crate_with(somebody, "", "fn main() { println!(\"{}\", 6 * 7) }\n");
        assert_eq!(somebody.boxed(&RUN), "42\n", "{:?}", somebody.who);
        somebody.write(
            "vendor/part/Cargo.toml",
            "[package]\nname = \"part\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
        );
        somebody.write("vendor/part/src/lib.rs", "pub fn six() -> i32 { 6 }\n");
        somebody.write("vendor/part/.cargo-checksum.json", "{\"files\":{},\"package\":null}");
        somebody.write(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"vendor\"\n",
        );
        crate_with(somebody, "part = \"1\"", "fn main() { println!(\"{}\", part::six() * 7) }\n");
        assert_eq!(somebody.boxed(&RUN), "42\n", "{:?}", somebody.who);
        let told = somebody.boxed(&["--toolchain", "rust", "--", "rustc", "--print", "sysroot"]);
        assert!(told.trim().ends_with("/toolchains/own"), "{told}");
    });
}

#[test]
fn cargo_builds_with_what_is_in_the_cache() {
    let caches = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let Some(registry) = caches.map(|home| home.join("registry")).filter(|path| path.exists())
    else {
        skip("cargo-cache", "nothing was fetched by cargo here");
        return;
    };
    as_everybody(|somebody| {
        if !install(somebody) {
            return;
        }
        let own = somebody.home().join(".cargo/registry");
        fs::create_dir(&own).unwrap();
        somebody.give(&own);
        // Without the unpacked sources: the box unpacks them into a folder of its own.
        for part in ["index", "cache"] {
            if registry.join(part).is_dir() {
                linked(&registry.join(part), &own.join(part));
            }
        }
        crate_with(
            somebody,
            "itoa = \"1\"",
            "fn main() { println!(\"{}\", itoa::Buffer::new().format(42)) }\n",
        );
        let report = somebody.stockade(&RUN);
        let why = report["stderr"].as_str().unwrap_or_default();
        if why.contains("no matching package") || why.contains("attempting to make an HTTP request")
        {
            skip("cargo-cache", "the crate itoa was not fetched by cargo here");
            return;
        }
        assert_eq!(report["stdout"], "42\n", "{:?}: {report}", somebody.who);
        assert!(!own.join("src").exists(), "the cache is as it was");
    });
}
