//! What a container has of what was asked for, by the engine's own word, before it starts.

use serde_json::Value;

use super::args::ContainerRequest;
use super::build::ContainerSetup;
use crate::confine::{EngineName, Network};
use crate::guarantee::{Enforced, Guarantee, Kept};
use crate::launch::git::GitSettings;
use crate::plan::ops::Access;

/// Variables that engines set by themselves, and which tell nothing.
const OWN_VARIABLES: [&str; 4] = ["HOSTNAME", "container", "HOME", "TERM"];

/// Lowers what the engine did not do.
pub(super) fn settle(
    engine: EngineName,
    seen: &Value,
    wanted: &ContainerRequest<'_>,
    setup: &ContainerSetup,
    enforcement: &mut [Enforced],
) {
    let lacks: Vec<(Guarantee, String)> = host_lacks(engine, seen, setup)
        .into_iter()
        .chain(mounts_lack(seen, wanted))
        .chain(variables_lack(seen, wanted, setup))
        .chain(user_lacks(seen, wanted))
        .collect();
    for (guarantee, why) in lacks {
        for line in enforcement.iter_mut().filter(|line| line.guarantee == guarantee) {
            line.kept = Kept::None;
            line.by.clear();
            line.note = Some(format!("the engine made the container without it: {why}"));
        }
    }
}

fn host_lacks(
    engine: EngineName,
    seen: &Value,
    setup: &ContainerSetup,
) -> Vec<(Guarantee, String)> {
    let host = |key: &str| seen.pointer(&format!("/HostConfig/{key}")).unwrap_or(&Value::Null);
    let common = &setup.common;
    let limits = &common.cgroup;
    let number = |key: &str| host(key).as_u64();
    let memory = limits.memory_bytes_max;
    let cpus = limits.cpu_millis_per_second;
    let cpus = cpus.map(|millis| u64::from(millis).saturating_mul(1_000_000));
    let mode = |key: &str| host(key).as_str().unwrap_or_default() != "host";
    let checks = [
        (Guarantee::Writes, "its root is writable", host("ReadonlyRootfs") == true),
        (
            Guarantee::Network,
            "it has a network",
            !common.network.is_some_and(Network::is_own) || host("NetworkMode") == "none",
        ),
        (Guarantee::Privileges, "it is privileged", host("Privileged") == false),
        (Guarantee::Privileges, "capabilities are left", has_no_capabilities(engine, seen)),
        (Guarantee::Privileges, "new privileges are not forbidden", forbids_privileges(seen)),
        (Guarantee::Processes, "it shares the machine's processes", mode("PidMode")),
        (Guarantee::Processes, "it shares the machine's IPC", mode("IpcMode")),
        (
            Guarantee::TreeLimits,
            "memory",
            memory.is_none() || (number("Memory") == memory && number("MemorySwap") == memory),
        ),
        (
            Guarantee::TreeLimits,
            "processes",
            limits.tasks_max.is_none_or(|most| number("PidsLimit") == Some(u64::from(most))),
        ),
        (Guarantee::TreeLimits, "processors", cpus.is_none() || number("NanoCpus") == cpus),
    ];
    let lacking = checks.into_iter().filter(|(_, _, holds)| !holds);
    lacking.map(|(guarantee, why, _)| (guarantee, why.to_owned())).collect()
}

fn list<'a>(seen: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    let list = seen.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Podman says which are left, Docker which were dropped.
fn has_no_capabilities(engine: EngineName, seen: &Value) -> bool {
    let adds_none = list(seen, "/HostConfig/CapAdd").next().is_none();
    adds_none
        && match engine {
            EngineName::Podman => {
                seen.get("EffectiveCaps").is_some()
                    && list(seen, "/EffectiveCaps").next().is_none()
                    && list(seen, "/BoundingCaps").next().is_none()
            }
            EngineName::Docker => {
                list(seen, "/HostConfig/CapDrop").any(|one| one.eq_ignore_ascii_case("all"))
            }
        }
}

fn forbids_privileges(seen: &Value) -> bool {
    list(seen, "/HostConfig/SecurityOpt").any(|one| {
        let (name, value) = one.split_once(['=', ':']).unwrap_or((one, "true"));
        name == "no-new-privileges" && value == "true"
    }) && !list(seen, "/HostConfig/SecurityOpt").any(|one| one.contains("unconfined"))
}

fn mounts_lack(seen: &Value, wanted: &ContainerRequest<'_>) -> Vec<(Guarantee, String)> {
    let mounts = seen.get("Mounts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_there = |source: &str, target: &str, writable: bool| {
        mounts.iter().any(|mount| {
            mount.get("Destination").and_then(Value::as_str) == Some(target)
                && mount.get("Source").and_then(Value::as_str) == Some(source)
                && mount.get("RW").and_then(Value::as_bool) == Some(writable)
        })
    };
    let lacking = wanted.binds.iter().filter(|bind| {
        let (source, target) = (bind.source.to_string_lossy(), bind.target.to_string_lossy());
        !is_there(&source, &target, bind.access == Access::Writable)
    });
    let about = |target: &str| {
        [Guarantee::Writes, Guarantee::Reads, Guarantee::Protected]
            .map(|guarantee| (guarantee, format!("{target:?} is not mounted as asked")))
    };
    let extra = mounts.iter().filter_map(|mount| mount.get("Destination").and_then(Value::as_str));
    let extra = extra
        .filter(|target| !wanted.binds.iter().any(|bind| bind.target.to_string_lossy() == *target));
    let unasked = extra.map(|target| {
        (Guarantee::Writes, format!("the image or the engine adds a volume at {target:?}"))
    });
    lacking.flat_map(|bind| about(&bind.target.to_string_lossy())).chain(unasked).collect()
}

/// What it has besides what was listed, which can only be the image's or the engine's.
fn variables_lack(
    seen: &Value,
    wanted: &ContainerRequest<'_>,
    setup: &ContainerSetup,
) -> Option<(Guarantee, String)> {
    wanted.variables.as_ref()?;
    let listed = || setup.common.environment.iter().flat_map(|planned| &planned.variables);
    let is_known = |name: &str| {
        OWN_VARIABLES.contains(&name)
            || name == "TMPDIR"
            || GitSettings::is_variable(name)
            || listed().any(|(known, _)| known == name)
    };
    let name = |pair: &str| {
        pair.split_once('=').map_or_else(|| pair.to_owned(), |(name, _)| name.to_owned())
    };
    let more: Vec<String> =
        list(seen, "/Config/Env").map(name).filter(|name| !is_known(name)).collect();
    (!more.is_empty()).then(|| {
        (Guarantee::Environment, format!("it adds {}, which the image sets", more.join(", ")))
    })
}

fn user_lacks(seen: &Value, wanted: &ContainerRequest<'_>) -> Option<(Guarantee, String)> {
    let (uid, gid) = wanted.user?;
    let seen = seen.pointer("/Config/User").and_then(Value::as_str).unwrap_or_default();
    (seen != format!("{uid}:{gid}"))
        .then(|| (Guarantee::Privileges, format!("it runs as {seen:?}, not as {uid}:{gid}")))
}
