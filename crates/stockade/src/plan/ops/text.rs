//! The operations in words.

use std::fmt;

use stockade_sandbox::{CgroupLimits, Sockets};

use super::{Access, Allow, Content, Inline, Mount, Oci, Op, Rlimit, Target, Watch};
use crate::confine::{Keep, Leftovers, Network};
use crate::limits::Limits;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Survey(survey) => write!(
                f,
                "record the state of the writable directories, to report changes ({})",
                survey.watched.name()
            ),
            Self::GuardOwn(own) => {
                write!(f, "make sure that {:?}, which is Stockade's own, can be kept", own.path)
            }
            Self::Unenforced(_, _, what) => write!(f, "report what is not enforced: {what}"),
            Self::Scratch(scratch) => f.write_str(match scratch.content {
                Content::OfProgram => "create a private scratch directory for HOME and TMPDIR",
                Content::OfLaunch => "create a private scratch directory for the launch itself",
            }),
            Self::Environment(environment) => {
                let names = environment.variables.iter().map(|(name, _)| name.to_string_lossy());
                let names: Vec<_> = names.chain(["HOME".into(), "TMPDIR".into()]).collect();
                write!(f, "build the environment: {}", names.join(" "))
            }
            Self::Shim => f.write_str("start the shim, which ends the tree even if Stockade dies"),
            Self::Namespaces(kinds) => write!(f, "create namespaces: {}", kinds.join(" ")),
            Self::Network(network) => f.write_str(match network {
                Network::None => "create a network namespace with nothing in it",
                Network::Loopback => "create a network namespace with a loopback of its own",
                Network::Host => "share the network of this machine",
            }),
            Self::JoinSession { leftovers, network } => join(f, *leftovers, *network),
            Self::Publish(port) => write!(f, "open port {port} of the sandbox to this machine"),
            Self::HostPort(port) => write!(f, "open port {port} of this machine to the sandbox"),
            Self::HostName(name) => write!(f, "set the host name to {name}"),
            Self::ForbidNesting => f.write_str("forbid user namespaces inside"),
            Self::NewRoot => f.write_str("create an empty root"),
            Self::Mount(mount) => mount.fmt(f),
            Self::Hide(target) => write!(f, "hide {target}"),
            Self::Protect(target) => write!(f, "protect {target}"),
            Self::Check(Keep::Hidden, target) => write!(f, "see that it does not read {target}"),
            Self::Check(Keep::Protected, target) => {
                write!(f, "see that it does not write or create {target}")
            }
            Self::SealRoot => f.write_str("make the root read-only, enter it and lock its mounts"),
            Self::Cgroup(limits) => cgroup(f, limits),
            Self::Broker => {
                f.write_str("create every new name for it, but protected and hidden ones (broker)")
            }
            Self::RefuseCreation => {
                f.write_str("refuse to create protected paths (seccomp notification)")
            }
            Self::DropCapabilities => f.write_str("drop every capability"),
            Self::NoNewPrivileges => f.write_str("forbid new privileges (no_new_privs)"),
            Self::SignalScope { is_root } => {
                f.write_str("keep signals and tracing within the tree (Landlock)")?;
                let dropped = ", and drop CAP_SYS_ADMIN and CAP_PERFMON, which read past that";
                if *is_root { f.write_str(dropped) } else { Ok(()) }
            }
            Self::Allow(allow) => allow.fmt(f),
            Self::Landlock => {
                f.write_str("restrict files, signals and abstract sockets (Landlock)")
            }
            Self::Seccomp(filter) => {
                write!(f, "filter system calls; {} (seccomp)", sockets(filter.sockets))
            }
            Self::Attest => f.write_str("compare the sandbox with this plan, from outside"),
            Self::Rlimit(limit) => limit.fmt(f),
            Self::CloseDescriptors => f.write_str("close every descriptor but the standard three"),
            Self::Exec => f.write_str("execute the program by its handle"),
            Self::Oci(op) => op.fmt(f),
            Self::Inline(op) => op.fmt(f),
            Self::Watch(watch) => watch.fmt(f),
            Self::CleanUp => f.write_str("kill what is left and remove the scratch directory"),
        }
    }
}

fn sockets(sockets: Sockets) -> &'static str {
    match sockets {
        Sockets::Pairs => "of sockets, connected pairs only",
        Sockets::Unix => "of sockets, Unix sockets only",
        Sockets::Internet => "of sockets, Unix and internet sockets only",
        Sockets::InternetAndPairs => "of sockets, internet sockets and connected pairs only",
    }
}

fn cgroup(f: &mut fmt::Formatter<'_>, limits: &CgroupLimits) -> fmt::Result {
    f.write_str("limit the whole tree by a cgroup, where there are any")?;
    let mut mark = ":";
    let mut part = |text: Option<String>| {
        let Some(text) = text else { return Ok(()) };
        let before = std::mem::replace(&mut mark, ",");
        write!(f, "{before} {text}")
    };
    part(limits.memory_bytes_max.map(|most| format!("{most} bytes of memory")))?;
    part(limits.tasks_max.map(|most| format!("{most} tasks")))?;
    part(limits.cpu_millis_per_second.map(|most| format!("{most} ms of CPU time a second")))
}

fn join(f: &mut fmt::Formatter<'_>, leftovers: Leftovers, network: Network) -> fmt::Result {
    let loopback = if network == Network::Loopback { ", its loopback" } else { "" };
    let left = match leftovers {
        Leftovers::End => "are killed",
        Leftovers::Stay => "stay in this sandbox",
    };
    write!(
        f,
        "share the System V IPC of the session{loopback} and its folder; processes that the program \
         leaves running {left}"
    )
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(folders) => {
                write!(f, "mount read-only what there is of {}", folders.join(" "))
            }
            Self::Devices { shared_memory_bytes } => {
                write!(f, "mount a private /dev, with {shared_memory_bytes} bytes of shared memory")
            }
            Self::Proc => f.write_str("mount a private /proc"),
            Self::HideInProc(path) => write!(f, "hide {path}"),
            Self::Memory { path, bytes, .. } => {
                write!(f, "mount a private {path} in memory, of {bytes} bytes")
            }
            Self::Session { path } => write!(f, "mount the folder of the session at {path}"),
            Self::Project(path, access) | Self::Path(path, access) => {
                write!(f, "mount {path:?} {access}")
            }
            Self::Home(path) => write!(f, "create {path}"),
            Self::Exception(path) => write!(f, "mount {path:?} writable, if it exists"),
            Self::Pins => f.write_str("pin the parents of what follows in their places"),
            Self::Toolchain(shown) => {
                write!(f, "mount {:?} {}, if it exists", shown.path, Access::ReadOnly)?;
                for (link, _) in &shown.links {
                    write!(f, ", linked from ~/{}", link.display())?;
                }
                Ok(())
            }
            Self::Agent(agent) => {
                write!(f, "mount a private {:?}, linked from ~/{}", agent.path, agent.name)?;
                for part in &agent.parts {
                    let access = if part.is_written { Access::Writable } else { Access::ReadOnly };
                    write!(f, ", with {:?} {access}", part.path.file_name().unwrap_or_default())?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::Writable => "writable",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path, _) => write!(f, "{path:?}"),
            Self::Pattern(pattern) => write!(f, "what matches {}", pattern.rule()),
        }
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(folders) => {
                write!(f, "allow it to read what there is of {}", folders.join(" "))
            }
            Self::Proc => f.write_str("allow it to read /proc"),
            Self::Devices(paths) => write!(f, "allow it to use {}", paths.join(" ")),
            Self::Scratch => f.write_str("allow it to write the scratch directory"),
            Self::Project(path) | Self::Read(path) => write!(f, "allow it to read {path:?}"),
            Self::Toolchain(shown) => write!(f, "allow it to read {:?}, if it exists", shown.path),
            Self::Write(path) => write!(f, "allow it to write {path:?}"),
        }
    }
}

impl fmt::Display for Rlimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(seconds) => write!(f, "set RLIMIT_CPU to {seconds} seconds"),
            Self::FileSize(bytes) => write!(f, "set RLIMIT_FSIZE to {bytes}"),
            Self::Core(bytes) => write!(f, "set RLIMIT_CORE to {bytes}"),
            Self::Tasks { most, above_cgroup: 0 } => write!(f, "set RLIMIT_NPROC to {most}"),
            Self::Tasks { most, above_cgroup } => write!(
                f,
                "set RLIMIT_NPROC to {most}, and {above_cgroup} more where a cgroup limits tasks"
            ),
            Self::MoreTasks(more) => {
                write!(f, "set RLIMIT_NPROC to {more} more than the user's tasks now")
            }
            Self::OpenFiles(most) => write!(f, "set RLIMIT_NOFILE to {most}"),
            Self::AddressSpace { bytes, unless_cgroup } => {
                write!(f, "set RLIMIT_AS to {bytes}")?;
                let unless = ", unless a cgroup limits memory";
                if *unless_cgroup { f.write_str(unless) } else { Ok(()) }
            }
        }
    }
}

impl fmt::Display for Oci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container { image, engine, runtime, pull } => {
                let image = image.as_ref().map_or("(none)", |image| image.as_str());
                write!(f, "create a container of the image {image}, named by the call")?;
                if let Some(engine) = engine {
                    write!(f, ", by {}", engine.name())?;
                }
                if let Some(runtime) = runtime {
                    write!(f, ", with the runtime {runtime}")?;
                }
                write!(f, " (pull: {})", pull.name())
            }
            Self::Bundle(Some(image)) => write!(f, "write a bundle of the image {image} for runsc"),
            Self::Bundle(None) => {
                f.write_str("write a bundle of the system's directories for runsc")
            }
            Self::ReadOnlyRoot => f.write_str("make its root read-only"),
            Self::OtherUser => f.write_str("run it as a user that is not root"),
            Self::EngineFilter => f.write_str("filter system calls by the engine's list (seccomp)"),
            Self::Start => f.write_str("start the container"),
            Self::ExecInWaiting(calls) => {
                write!(f, "execute the program in a waiting container, for at most {calls} calls")
            }
            Self::Remove => f.write_str("kill and remove the container"),
            Self::OwnKernel => f.write_str("start it on a kernel of its own (gVisor)"),
        }
    }
}

impl fmt::Display for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByHandle => {
                f.write_str("read and write by handles beneath the root, without a program")
            }
            Self::FileSize(most) => write!(f, "write no file above {} bytes", most.get()),
            Self::Closure => f.write_str("run a closure of the host, on a thread of its own"),
        }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let either = |one: Option<String>, other: Option<String>| {
            one.into_iter().chain(other).collect::<Vec<_>>().join(" or ")
        };
        match self {
            Self::Processes(most) => write!(f, "end the tree above {most} processes"),
            Self::Usage { cpu, memory } => {
                let cpu = cpu.map(|most| format!("{most:?} of CPU time"));
                let memory = memory.map(|most| {
                    format!("{} bytes of memory, where no cgroup limits it", most.get())
                });
                write!(f, "sample the tree and end it above {}", either(cpu, memory))
            }
            Self::Disk { bytes, files } => {
                let bytes = bytes.map(|most| format!("{} bytes", most.get()));
                let files = files.map(|most| format!("{most} files"));
                write!(f, "end the tree once it has added {} to the disk", either(bytes, files))
            }
            Self::Deadline(Limits::NO_DEADLINE) => f.write_str("set no deadline"),
            Self::Deadline(time) => write!(f, "kill the whole tree after {time:?}"),
            Self::Output { kept, flood } => write!(
                f,
                "keep at most {} bytes of each output stream, and end the tree above {}",
                kept.get(),
                flood.get()
            ),
        }
    }
}
