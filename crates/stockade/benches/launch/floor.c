// The least that a box can cost: the system calls of one and nothing else, in C, without libraries that
// would have to be loaded. Nothing is judged, recorded, limited as a whole, read through pipes or looked
// at from outside; nobody would want to run a program with it.
//
//   floor NET PROJECT             one box, and the program in it: what a command costs
//   floor NET PROJECT once        the same, and how many nanoseconds it took: what a library costs
//   floor NET PROJECT WIDTH MS    as many as can be in this time, so many at once: how many there were
//
// NET is "host" for the host's network, "own" for an empty one of its own, "one" for an empty one that
// all boxes share.

#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(what) do { if ((long)(what) < 0) fail(#what); } while (0)
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void fail(const char *what) {
    perror(what);
    _exit(99);
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    MUST(file);
    MUST(write(file, text, strlen(text)));
    close(file);
}

struct attributes { unsigned long set, clear, propagation, owners; };
enum { READ_ONLY = 1, NO_SETUID = 2, NO_DEVICES = 4, EMPTY_PATH = 0x1000, FROM_EMPTY = 4 };

static void show(const char *from, const char *to, unsigned long attributes, int is_file) {
    int tree = syscall(SYS_open_tree, AT_FDCWD, from, 1 | O_CLOEXEC);
    MUST(tree);
    struct attributes wanted = { .set = attributes };
    MUST(syscall(SYS_mount_setattr, tree, "", EMPTY_PATH, &wanted, sizeof wanted));
    if (is_file) {
        int file = open(to, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
        MUST(file);
        close(file);
    } else {
        MUST(mkdir(to, 0755));
    }
    MUST(syscall(SYS_move_mount, tree, "", AT_FDCWD, to, FROM_EMPTY));
    close(tree);
}

static void memory(const char *to) {
    MUST(mkdir(to, 01777));
    MUST(mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m"));
}

// A folder of the system, or the link that stands for it.
static void system_folder(const char *path) {
    char to[64] = { 0 };
    if (readlink(path, to, sizeof to - 1) > 0) MUST(symlink(to, path + 1));
    else if (access(path, F_OK) == 0) show(path, path + 1, READ_ONLY | NO_SETUID | NO_DEVICES, 0);
}

static void make_root(const char *project) {
    static const char *const folders[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt" };
    static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };
    MUST(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755"));
    int source = syscall(SYS_open_tree, AT_FDCWD, project, 1 | O_CLOEXEC);
    MUST(source);
    MUST(chdir("/tmp"));
    for (size_t at = 0; at < COUNT(folders); at++) system_folder(folders[at]);
    MUST(mkdir("dev", 0755));
    for (size_t at = 0; at < COUNT(devices); at++) show(devices[at], devices[at] + 1, NO_SETUID, 1);
    memory("dev/shm");
    memory("tmp");
    MUST(mkdir("proc", 0755));
    MUST(mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, ""));
    MUST(mkdir("work", 0755));
    MUST(syscall(SYS_move_mount, source, "", AT_FDCWD, "work", FROM_EMPTY));
    struct attributes sealed = { .set = READ_ONLY };
    MUST(syscall(SYS_mount_setattr, AT_FDCWD, "/tmp", 0, &sealed, sizeof sealed));
    MUST(syscall(SYS_pivot_root, ".", "."));
    MUST(umount2(".", MNT_DETACH));
    MUST(chdir("/work"));
}

static void allow(int ruleset, const char *path, unsigned long rights) {
    struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC) };
    MUST(rule.parent_fd);
    MUST(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
    close(rule.parent_fd);
}

static void lock(void) {
    enum { ALL = 0x1fff, READ = 0xd, REFUSED = 30 };
    for (int capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; capability++);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    struct landlock_ruleset_attr handled = { .handled_access_fs = ALL };
    int ruleset = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0);
    if (ruleset >= 0) {
        static const char *const read[] = { "/usr", "/etc", "/proc" };
        static const char *const written[] = { "/dev", "/tmp", "/work" };
        for (size_t at = 0; at < COUNT(read); at++) allow(ruleset, read[at], READ);
        for (size_t at = 0; at < COUNT(written); at++) allow(ruleset, written[at], ALL);
        MUST(syscall(SYS_landlock_restrict_self, ruleset, 0));
    }
    struct sock_filter filter[REFUSED + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
    for (int at = 0; at < REFUSED; at++)
        filter[at + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ, 400 + at, REFUSED - at, 0);
    filter[REFUSED + 1] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
    filter[REFUSED + 2] = (struct sock_filter)BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | 1);
    struct sock_fprog program = { COUNT(filter), filter };
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static _Noreturn void be_first(const char *project, const char *users, const char *groups) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", groups);
    write_file("/proc/self/uid_map", users);
    make_root(project);
    pid_t program = vfork();
    MUST(program);
    if (program == 0) {
        setsid();
        lock();
        char *const argv[] = { "/bin/true", NULL }, *const envp[] = { NULL };
        execve(argv[0], argv, envp);
        fail("execve");
    }
    int status;
    MUST(waitpid(program, &status, 0));
    _exit(status == 0 ? 0 : 99);
}

static pid_t begin(const char *network, const char *project) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "1000 %u 1", geteuid());
    snprintf(groups, sizeof groups, "1000 %u 1", getegid());
    unsigned long namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
    if (strcmp(network, "own") == 0) namespaces |= CLONE_NEWNET;
    pid_t first = syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
    MUST(first);
    if (first == 0) be_first(project, users, groups);
    return first;
}

static void end(void) {
    int status;
    MUST(wait(&status));
    if (status != 0) fail("a box");
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

// An empty network for all: that of an ordinary user comes with a namespace of users.
static void share_network(void) {
    unsigned uid = geteuid(), gid = getegid();
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", uid, uid);
    snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    if (uid == 0) {
        MUST(unshare(CLONE_NEWNET));
        return;
    }
    MUST(unshare(CLONE_NEWUSER | CLONE_NEWNET));
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/gid_map", groups);
    write_file("/proc/self/uid_map", users);
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) return fprintf(stderr, "floor NET PROJECT [once | WIDTH MS]\n"), 2;
    if (strcmp(argv[1], "one") == 0) share_network();
    long long begun = now();
    if (argc < 5) {
        begin(argv[1], argv[2]);
        end();
        if (argc == 4) printf("%lld\n", now() - begun);
        return 0;
    }
    long long until = begun + atoll(argv[4]) * 1000000;
    int width = atoi(argv[3]), running = 0, done = 0;
    while (now() < until) {
        if (running == width) { end(); done++; running--; }
        begin(argv[1], argv[2]);
        running++;
    }
    for (; running > 0; running--, done++) end();
    printf("%d\n", done);
    return 0;
}
