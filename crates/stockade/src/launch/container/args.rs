//! The flags of a container: everything closed, then what the policy opens.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use stockade_sandbox::CgroupLimits;

use super::build::ContainerSetup;
use crate::confine::{EngineName, Network};
use crate::launch::setup::Setup;
use crate::launch::shown::Bind;
use crate::plan::ops::{Access, Rlimit};

/// What a container is made of besides what was planned.
#[derive(Debug)]
pub(super) struct ContainerRequest<'a> {
    pub(super) name: &'a str,
    pub(super) labels: Vec<String>,
    pub(super) user: Option<(u32, u32)>,
    pub(super) binds: &'a [Bind],
    /// A file of `NAME=value` lines; with none there is the search path alone, and each call brings
    /// its own.
    pub(super) variables: Option<PathBuf>,
    /// Where the engine writes the id of the first process, if it can.
    pub(super) pidfile: PathBuf,
    pub(super) cwd: &'a Path,
    pub(super) reads_stdin: bool,
    pub(super) argv: Vec<OsString>,
}

/// The words that make a container, and do not start it.
pub(super) fn create(
    engine: EngineName,
    wanted: &ContainerRequest<'_>,
    setup: &ContainerSetup,
) -> Vec<OsString> {
    let mut args = Args(vec!["create".into()]);
    let (oci, common) = (&setup.oci, &setup.common);
    args.pair("--name", wanted.name);
    wanted.labels.iter().for_each(|label| args.pair("--label", label));
    args.one(&format!("--pull={}", oci.pull.name()));
    closed(engine, wanted, setup, &mut args);
    limits(common, &mut args);
    for bind in wanted.binds {
        args.0.push("--mount".into());
        args.0.push(mount(engine, bind));
    }
    match &wanted.variables {
        Some(file) => args.path("--env-file", file),
        None => {
            let listed = common.environment.iter().flat_map(|planned| &planned.variables);
            let path = listed.into_iter().find(|(name, _)| name == "PATH");
            if let Some((_, value)) = path {
                args.0.extend(["--env".into(), joined("PATH=", value)]);
            }
        }
    }
    args.path("--workdir", wanted.cwd);
    if engine == EngineName::Podman {
        args.path("--pidfile", &wanted.pidfile);
        // Neither the image's variables nor the client's proxies.
        args.one("--unsetenv-all");
        args.one("--http-proxy=false");
        // Folders that the image wants to be writable.
        args.one("--image-volume=ignore");
    } else if let Some(runtime) = &oci.runtime {
        args.pair("--runtime", runtime);
    }
    if wanted.reads_stdin {
        args.one("--interactive");
    }
    // An image may name a program of its own, which would get ours as its arguments.
    args.pair("--entrypoint", "");
    args.one(oci.image.as_ref().map_or("", |image| image.as_str()));
    args.0.extend(wanted.argv.iter().cloned());
    args.0
}

fn closed(
    engine: EngineName,
    wanted: &ContainerRequest<'_>,
    setup: &ContainerSetup,
    args: &mut Args,
) {
    let mut flag = |flag: Option<&str>| flag.into_iter().for_each(|flag| args.one(flag));
    flag(setup.has_read_only_root.then_some("--read-only"));
    flag(setup.common.network.map(|network| match network {
        // There is a loopback in any case.
        Network::None | Network::Loopback => "--network=none",
        Network::Host => "--network=host",
    }));
    flag(setup.drops_capabilities.then_some("--cap-drop=all"));
    flag(setup.forbids_privileges.then_some("--security-opt=no-new-privileges"));
    if let Some((uid, gid)) = wanted.user {
        args.pair("--user", &format!("{uid}:{gid}"));
    }
    args.one("--log-driver=none");
    if let Some(name) = setup.common.host_name {
        args.pair("--hostname", name);
    }
    let memory = setup
        .memory
        .map(|(path, bytes)| format!("{path}:rw,exec,nosuid,nodev,size={bytes},mode=1777"));
    match engine {
        EngineName::Podman => {
            if let Some(memory) = memory {
                // What the image has at /tmp would be copied there, its mode included.
                args.pair("--tmpfs", &format!("{memory},notmpcopyup,U"));
            }
            args.one("--read-only-tmpfs=false");
            if !rustix::process::geteuid().is_root() {
                args.one("--userns=keep-id");
            }
        }
        EngineName::Docker => {
            if let Some(memory) = memory {
                let (uid, gid) = wanted.user.unwrap_or_default();
                args.pair("--tmpfs", &format!("{memory},uid={uid},gid={gid}"));
            }
        }
    }
}

fn limits(setup: &Setup, args: &mut Args) {
    let CgroupLimits { memory_bytes_max, tasks_max, cpu_millis_per_second } = setup.cgroup;
    if let Some(memory) = memory_bytes_max {
        args.pair("--memory", &format!("{memory}b"));
        // As much with swap as without: none.
        args.pair("--memory-swap", &format!("{memory}b"));
    }
    if let Some(most) = tasks_max {
        args.pair("--pids-limit", &most.to_string());
    }
    if let Some(thousandths) = cpu_millis_per_second {
        let (whole, part) = (thousandths / 1000, thousandths % 1000);
        args.pair("--cpus", &format!("{whole}.{part:03}"));
    }
    for limit in &setup.rlimits {
        // Engines raise limits that not everybody may raise, unless they are told others.
        let (name, value) = match *limit {
            Rlimit::Cpu(seconds) => ("cpu", seconds),
            Rlimit::FileSize(bytes) => ("fsize", within(Resource::Fsize, bytes)),
            Rlimit::Core(bytes) => ("core", bytes),
            Rlimit::Tasks { most, .. } => ("nproc", within(Resource::Nproc, most)),
            Rlimit::OpenFiles(most) => ("nofile", within(Resource::Nofile, most)),
            // No container is planned with these.
            Rlimit::MoreTasks(_) | Rlimit::AddressSpace { .. } => continue,
        };
        args.pair("--ulimit", &format!("{name}={value}:{value}"));
    }
}

/// No more than we have ourselves.
fn within(resource: Resource, wanted: u64) -> u64 {
    getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted))
}

/// A mount, in which each part is quoted as in a table of comma-separated values.
fn mount(engine: EngineName, bind: &Bind) -> OsString {
    let mut parts = vec![OsString::from("type=bind")];
    parts.push(joined("src=", bind.source.as_os_str()));
    parts.push(joined("dst=", bind.target.as_os_str()));
    if bind.access == Access::ReadOnly {
        parts.push("readonly=true".into());
        if engine == EngineName::Podman {
            // What is mounted beneath would stay writable.
            parts.push("bind-nonrecursive=true".into());
        }
    }
    let parts: Vec<OsString> = parts.into_iter().map(quoted).collect();
    parts.join(OsStr::new(","))
}

fn joined(name: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(name);
    word.push(value);
    word
}

fn quoted(part: OsString) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    if !part.as_bytes().iter().any(|byte| b",\"\n\r".contains(byte)) {
        return part;
    }
    let doubled = part.as_bytes().iter().flat_map(|byte| {
        let count = if *byte == b'"' { 2 } else { 1 };
        std::iter::repeat_n(*byte, count)
    });
    OsString::from_vec([b'"'].into_iter().chain(doubled).chain([b'"']).collect())
}

struct Args(Vec<OsString>);

impl Args {
    fn one(&mut self, word: &str) {
        self.0.push(word.into());
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.0.extend([name.into(), value.into()]);
    }

    fn path(&mut self, name: &str, value: &Path) {
        self.0.extend([name.into(), value.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_add_an_option_to_its_mount() {
        let bind = Bind {
            source: PathBuf::from("/a,readonly=false"),
            target: PathBuf::from("/b\"c"),
            access: Access::ReadOnly,
        };
        assert_eq!(
            mount(EngineName::Docker, &bind),
            "type=bind,\"src=/a,readonly=false\",\"dst=/b\"\"c\",readonly=true"
        );
    }
}
