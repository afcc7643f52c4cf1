//! Compiles the shim, a freestanding static program, so that the library can embed it.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/shim");
    println!("cargo::rerun-if-changed=src/protocol.rs");
    println!("cargo::rerun-if-changed=src/protocol");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let source = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("src/shim/main.rs");
    let output = PathBuf::from(variable("OUT_DIR")?).join("shim");

    #[expect(clippy::disallowed_methods, reason = "the compiler is run at build time")]
    let mut rustc = Command::new(variable("RUSTC")?);
    rustc.args(["--crate-name", "shim", "--crate-type", "bin", "--edition", "2024"]);
    rustc.arg("--target").arg(variable("TARGET")?);
    rustc.args(["-C", "panic=abort", "-C", "opt-level=s", "-C", "lto"]);
    rustc.args(["-C", "debuginfo=0", "-C", "strip=symbols", "-C", "force-unwind-tables=no"]);
    // No libc, no start files: the same program for gnu and musl targets.
    // Without outline-atomics, for which a library asks the loader what the processor can do.
    let is_arm = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "aarch64");
    let features = if is_arm { "+crt-static,-outline-atomics" } else { "+crt-static" };
    rustc.args(["-C", "relocation-model=static"]);
    rustc.arg("-C").arg(format!("target-feature={features}"));
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl") {
        // Here rustc would add the start files that it ships itself.
        rustc.args(["-C", "link-self-contained=no"]);
    }
    // Test builds can break a sandbox on purpose: see src/shim/fault.rs.
    if env::var_os("CARGO_FEATURE_FAULT_INJECTION").is_some() {
        rustc.args(["--cfg", "feature=\"fault-injection\""]);
    }
    link(&mut rustc)?;
    rustc.arg("-o").arg(&output).arg(&source);

    let status = rustc.status()?;
    if !status.success() {
        return Err(format!("compile the shim: {status}").into());
    }
    println!("cargo::rustc-env=STOCKADE_SHIM={}", output.display());
    Ok(())
}

/// Chooses the linker: cargo's if it names one; that of rustc for a machine of another kind, since
/// the shim needs no file of that machine; else the usual one.
fn link(rustc: &mut Command) -> Result<(), Box<dyn Error>> {
    let linker = env::var_os("RUSTC_LINKER");
    let (host, target) = (env::var("HOST")?, env::var("CARGO_CFG_TARGET_ARCH")?);
    let mut arguments = vec!["-nostdlib", "-static"];
    // One part to be read and executed, one to be written: each is mapped for every sandbox, and
    // read in.
    let parts = ["-z", "noseparate-code", "-z", "norelro", "--build-id=none", "--no-eh-frame-hdr"];
    if let Some(linker) = &linker {
        let mut option = OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    if linker.is_none() && !host.starts_with(&target) {
        rustc.args(["-C", "linker=rust-lld", "-C", "linker-flavor=ld.lld"]);
        arguments.extend(parts);
    } else {
        arguments.push("-nostartfiles");
        arguments.extend(parts.iter().flat_map(|part| ["-Xlinker", part]));
    }
    for argument in arguments {
        rustc.arg("-C").arg(format!("link-arg={argument}"));
    }
    Ok(())
}

fn variable(name: &str) -> Result<OsString, Box<dyn Error>> {
    env::var_os(name).ok_or_else(|| format!("{name} is not set: run by cargo").into())
}
