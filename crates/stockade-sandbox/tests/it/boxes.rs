//! Sandboxes that the tests share.

use std::ffi::CStr;
use std::path::Path;

use stockade_sandbox::{
    Access, Ended, Jail, Landlock, Mount, ProcView, Rule, rights, start_jailed,
};

use crate::support::{finish, shell, text};

/// The closed form of a sandbox around a program: the host's system folders to read, a private
/// `/tmp`, five devices, its own `/proc`.
pub(crate) fn closed(program: &str) -> Jail {
    let mut jail = Jail::new(&text(program), c"/");
    jail.root = Some(system());
    let allow = |path: &CStr, rights| Rule { path: path.to_owned(), rights };
    let mut rules = vec![
        allow(c"/", rights::LIST),
        allow(c"/dev", rights::READ | rights::WRITE | rights::DEVICE),
        allow(c"/proc", rights::READ | rights::WRITE),
        allow(c"/tmp", rights::READ | rights::WRITE),
    ];
    for mount in jail.root.iter().flatten() {
        if let Mount::Bind { target, access: Access::ReadOnly, .. } = mount {
            rules.push(allow(target, rights::READ));
        }
    }
    jail.landlock = Some(Landlock { rules });
    jail
}

/// The closed form around a shell that works in a folder it may write.
pub(crate) fn project(folder: &Path) -> Jail {
    let path = text(folder.to_str().unwrap());
    let mut jail = closed("/bin/sh");
    jail.cwd.clone_from(&path);
    let root = jail.root.as_mut().unwrap();
    root.push(Mount::bind(&path, Access::Writable).unwrap());
    allow(&mut jail, &path);
    jail
}

/// Lets Landlock allow everything beneath a path of a sandbox.
pub(crate) fn allow(jail: &mut Jail, path: &CStr) {
    let rule = Rule { path: path.to_owned(), rights: rights::READ | rights::WRITE };
    jail.landlock.as_mut().unwrap().rules.push(rule);
}

/// Runs a line of shell in a sandbox.
pub(crate) fn run(jail: Jail, line: &str) -> (Ended, String, String) {
    finish(&mut start_jailed(shell(line), jail).unwrap())
}

/// What a sandbox shows of the system.
fn system() -> Vec<Mount> {
    let folders = [c"/usr", c"/bin", c"/sbin", c"/lib", c"/lib64", c"/lib32", c"/etc"];
    let mut all: Vec<_> =
        folders.into_iter().filter_map(|path| Mount::read_only(path).ok()).collect();
    all.extend(Mount::devices(16 << 20).unwrap());
    all.push(Mount::Proc { target: c"/proc".to_owned(), view: ProcView::Whole });
    all.push(Mount::Memory {
        target: c"/tmp".to_owned(),
        bytes_max: 64 << 20,
        files_max: 10_000,
        mode: 0o1777,
    });
    all
}
