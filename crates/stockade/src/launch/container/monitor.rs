//! A running container, looked at from outside: what its cgroup counts, and what the kernel says of
//! its first process. Where the engine is on another machine there is nothing to see.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stockade_sandbox::CgroupUsage;

use crate::guarantee::Guarantee;
use crate::limits::{LimitHit, Limits};
use crate::plan::describe::cpu_seconds;

/// Above its limit a tree has this long, which the processes of a jail have too.
const GRACE: Duration = Duration::from_secs(1);

/// How long a container goes unchecked.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// Observes one container.
#[derive(Debug)]
pub(super) struct Monitor {
    /// Where the engine writes the id of the first process.
    pidfile: PathBuf,
    processes_max: Option<u32>,
    cpu_max: Option<Duration>,
    /// What it had used before the call, and how many processes it has without one.
    before: Option<Before>,
    found: Option<Cgroup>,
    usage: CgroupUsage,
    /// Whether the first process must show the locks of a container.
    is_examined: bool,
    lost: Vec<(Guarantee, String)>,
}

/// What a container that runs already has used.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    cpu: Duration,
    processes: u32,
    oom_kills: u64,
    refused: u64,
}

/// The folders of its controllers.
#[derive(Debug)]
struct Cgroup {
    pids: Option<PathBuf>,
    memory: Option<PathBuf>,
    cpu: Option<PathBuf>,
}

impl Monitor {
    /// For a container that is about to start.
    pub(super) fn new(pidfile: PathBuf, limits: &Limits, has_own_kernel: bool) -> Self {
        let cpu = limits.cpu.map(|cpu| Duration::from_secs(cpu_seconds(cpu)).saturating_add(GRACE));
        Self {
            pidfile,
            processes_max: limits.processes,
            cpu_max: cpu,
            before: None,
            found: None,
            usage: CgroupUsage::default(),
            is_examined: !has_own_kernel,
            lost: Vec::new(),
        }
    }

    /// For a call in a container that runs already, whose past is not the call's.
    pub(super) fn on_running(mut self, idle: u32) -> Self {
        self.find();
        if let Some(found) = &self.found {
            let usage = found.usage();
            self.before = Some(Before {
                cpu: usage.cpu.unwrap_or_default(),
                processes: idle,
                oom_kills: usage.oom_kills.unwrap_or_default(),
                refused: usage.forks_refused.unwrap_or_default(),
            });
        }
        self
    }

    /// Checks once; says which limit the container has passed.
    pub(super) fn check(&mut self) -> Option<LimitHit> {
        self.find();
        let found = self.found.as_ref()?;
        let before = self.before.unwrap_or_default();
        let now = found.usage();
        let processes = found.processes().map(|all| all.saturating_sub(before.processes));
        self.usage = CgroupUsage {
            cpu: now.cpu.map(|cpu| cpu.saturating_sub(before.cpu)),
            tasks_peak: processes.map(u64::from).max(self.usage.tasks_peak),
            ..now
        };
        let refused = now.forks_refused.is_some_and(|times| times > before.refused);
        let many = processes.zip(self.processes_max).is_some_and(|(all, most)| all > most);
        if refused || many {
            return Some(LimitHit::Processes);
        }
        if now.oom_kills.is_some_and(|kills| kills > before.oom_kills) {
            return Some(LimitHit::Memory);
        }
        let spent = self.usage.cpu.zip(self.cpu_max).is_some_and(|(cpu, most)| cpu >= most);
        spent.then_some(LimitHit::Cpu)
    }

    /// What was counted until the last check.
    pub(super) fn usage(&self) -> Option<CgroupUsage> {
        self.found.as_ref().map(|_| self.usage)
    }

    /// The guarantees that the kernel does not confirm.
    pub(super) fn lost(&self) -> &[(Guarantee, String)] {
        &self.lost
    }

    fn find(&mut self) {
        if self.found.is_some() {
            return;
        }
        let Some(pid) = first_of(&self.pidfile) else { return };
        let Ok(cgroups) = fs::read_to_string(format!("/proc/{pid}/cgroup")) else { return };
        if self.is_examined
            && let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status"))
        {
            self.lost = unlocked(&status);
        }
        self.found = Cgroup::of(&cgroups);
    }
}

/// How many processes the container has, by the file with the id of its first one.
pub(super) fn processes(pidfile: &Path) -> Option<u32> {
    Cgroup::of(&fs::read_to_string(format!("/proc/{}/cgroup", first_of(pidfile)?)).ok()?)?
        .processes()
}

/// Whether it has no more than these in a moment. What cannot be seen is taken to be there.
pub(super) fn comes_to_rest(pidfile: &Path, idle: u32) -> bool {
    const PAUSE: Duration = Duration::from_millis(5);
    const TRIES: usize = 20;
    let is_clear = || processes(pidfile).is_some_and(|now| now <= idle);
    (0..TRIES).any(|_| {
        let clear = is_clear();
        if !clear {
            std::thread::sleep(PAUSE);
        }
        clear
    })
}

fn first_of(pidfile: &Path) -> Option<u32> {
    fs::read_to_string(pidfile).ok()?.trim().parse().ok()
}

/// The locks that a process of a container does not show. Until it has become the program it has
/// few of them, which is known by its name.
fn unlocked(status: &str) -> Vec<(Guarantee, String)> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().to_owned())
    };
    let is_runtime = field("Name")
        .is_some_and(|name| name.starts_with("runc") || name.starts_with("crun") || name == "exe");
    if is_runtime {
        return Vec::new();
    }
    let is_root = |ids: &String| ids.split_whitespace().any(|id| id == "0");
    [
        (field("NoNewPrivs").as_deref() == Some("1"), "new privileges are not forbidden"),
        (field("CapBnd").is_some_and(|set| set.bytes().all(|b| b == b'0')), "it has capabilities"),
        (field("Seccomp").as_deref() == Some("2"), "its system calls are not filtered"),
        (!field("Uid").as_ref().is_none_or(is_root), "it runs as root"),
    ]
    .into_iter()
    .filter(|(holds, _)| !holds)
    .map(|(_, why)| (Guarantee::Privileges, why.to_owned()))
    .collect()
}

impl Cgroup {
    /// From `/proc/PID/cgroup`, with the usual places of the hierarchies. A process that is not yet
    /// in a cgroup of its own shows ours, and one that has ended the root: neither is a container's,
    /// and what they count is not the call's.
    fn of(text: &str) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::apart_from(&own, text)
    }

    fn apart_from(own: &str, text: &str) -> Option<Self> {
        let is_apart =
            |line: &&str| !line.ends_with(":/") && !own.lines().any(|ours| ours == *line);
        let lines: Vec<(&str, &str)> = text
            .lines()
            .filter(is_apart)
            .filter_map(|line| line.split_once(':').and_then(|(_, rest)| rest.split_once(':')))
            .collect();
        let folder = |controller: &str| {
            let one =
                lines.iter().find(|(names, _)| names.split(',').any(|name| name == controller));
            let one = one
                .map(|(_, path)| Path::new("/sys/fs/cgroup").join(controller).join(relative(path)));
            let two = lines.iter().find(|(names, _)| names.is_empty());
            let two = two.map(|(_, path)| Path::new("/sys/fs/cgroup").join(relative(path)));
            one.or(two).filter(|folder| folder.is_dir())
        };
        let (pids, memory) = (folder("pids"), folder("memory"));
        let cpu = folder("cpuacct").or(folder("cpu"));
        let is_there = pids.is_some() || memory.is_some() || cpu.is_some();
        is_there.then_some(Self { pids, memory, cpu })
    }

    fn processes(&self) -> Option<u32> {
        let text = fs::read_to_string(self.pids.as_ref()?.join("cgroup.procs")).ok()?;
        u32::try_from(text.lines().count()).ok()
    }

    fn usage(&self) -> CgroupUsage {
        let read = |folder: &Option<PathBuf>, name: &str| {
            fs::read_to_string(folder.as_ref()?.join(name)).ok()
        };
        let number = |folder, name: &str| read(folder, name)?.trim().parse::<u64>().ok();
        let entry = |folder, name: &str, key: &str| {
            let text = read(folder, name)?;
            let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
            value.trim().parse::<u64>().ok()
        };
        let (pids, memory, cpu) = (&self.pids, &self.memory, &self.cpu);
        let nanos = number(cpu, "cpuacct.usage").map(Duration::from_nanos);
        let micros = || entry(cpu, "cpu.stat", "usage_usec").map(Duration::from_micros);
        CgroupUsage {
            memory_peak_bytes: number(memory, "memory.max_usage_in_bytes")
                .or_else(|| number(memory, "memory.peak")),
            oom_kills: entry(memory, "memory.oom_control", "oom_kill")
                .or_else(|| entry(memory, "memory.events", "oom_kill")),
            forks_refused: entry(pids, "pids.events", "max"),
            cpu: nanos.or_else(micros),
            ..CgroupUsage::default()
        }
    }
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_or_its_supervisor_uses_is_never_taken_for_a_containers() {
        // The root by another name, so that there is a folder on every machine.
        let other = "3:pids:/.\n2:memory:/.\n0::/.\n";
        assert!(Cgroup::apart_from("", other).is_some());
        assert!(Cgroup::apart_from(other, other).is_none(), "it is the supervisor's");
        assert!(Cgroup::apart_from("", "3:pids:/\n2:memory:/\n0::/\n").is_none(), "it has ended");
    }

    #[test]
    fn a_process_without_its_locks_is_seen() {
        let locked = "Name:\tsh\nUid:\t1000\t1000\t1000\t1000\nCapBnd:\t0000000000000000\n\
                      NoNewPrivs:\t1\nSeccomp:\t2\n";
        assert_eq!(unlocked(locked), []);
        for (with, without) in [
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("Uid:\t1000", "Uid:\t0"),
            ("CapBnd:\t0000", "CapBnd:\t0001"),
        ] {
            assert_eq!(unlocked(&locked.replace(with, without)).len(), 1, "{without}");
        }
        // The runtime's own process, before it becomes the program.
        assert_eq!(unlocked("Name:\trunc:[2:INIT]\nUid:\t0\t0\t0\t0\n"), []);
    }
}
