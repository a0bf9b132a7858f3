"""The seccomp profile of tenants' containers: system calls that are not listed here fail with EPERM.

The list is the default profile of Docker for a container without capabilities, and newer variants of its calls,
without:

- io_uring (a large part of the kernel's recent vulnerabilities), memfd_secret, fanotify_mark, modify_ldt,
  name_to_handle_at, process_mrelease;
- sockets of other families than UNIX, IPv4, IPv6 and netlink: among them AF_VSOCK, which belongs to no network
  namespace, and AF_ALG (CVE-2026-31431);
- 32-bit programs and the x32 ABI: their socketcall takes the family from memory, where no filter sees it. The kernel
  kills a thread that makes such a call (SIGSYS, exit code 159).

The engine's own profile depends on its version; this one is the same on each. What Docker allows only with a capability
(mbind and set_mempolicy with CAP_SYS_NICE, for example) is refused, because tenants' containers have none.

A program that probes for a new system call interprets ENOSYS as "not in this kernel" and EPERM as a failure. runc
returns ENOSYS for calls with higher numbers than any that the profile names; `UNKNOWN` are those between.
"""

import json
from typing import Any, Final

ENOSYS: Final = 38
EPERM: Final = 1
NAMESPACE_FLAGS: Final = 0x7E02_0000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET in the first argument of clone."""
FAMILIES: Final = (1, 2, 10, 16)
"""Address families of sockets: UNIX, INET, INET6, NETLINK."""
PERSONALITIES: Final = (0, 0x0008, 0x2_0000, 0x2_0008, 0xFFFF_FFFF)
"""Linux and Linux32, each with and without UNAME26, and the query of the current one."""
INT: Final = 0xFFFF_FFFF
"""Mask of an argument that the kernel takes as an int. A filter compares 64 bits, whose upper half is arbitrary."""

ALLOWED: Final[dict[str, str]] = {
    "files": """access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
        fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync flock fstat fstatfs fsync
        ftruncate futimesat getcwd getdents getdents64 ioctl lchown link linkat lseek lstat mkdir mkdirat mknod mknodat
        newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink
        readlinkat readv rename renameat renameat2 rmdir sendfile splice stat statfs statx symlink symlinkat sync
        sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev""",
    "file attributes": """fgetxattr flistxattr fremovexattr fsetxattr getxattr getxattrat lgetxattr listxattr
        listxattrat llistxattr lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat""",
    "events": """epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2
        inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents
        io_setup io_submit pipe pipe2 poll ppoll pselect6 select signalfd signalfd4""",
    "memory": """brk cachestat madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap
        mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages""",
    "processes": """arch_prctl capget capset execve execveat exit exit_group fork getcpu getpgid getpgrp getpid getppid
        getpriority getrlimit getrusage getsid gettid ioprio_get ioprio_set kill pidfd_open pidfd_send_signal prctl
        prlimit64 rseq seccomp set_tid_address setpgid setpriority setrlimit setsid sysinfo tgkill times tkill uname
        vfork wait4 waitid""",
    "users": """getegid geteuid getgid getgroups getresgid getresuid getuid setfsgid setfsuid setgid setgroups setregid
        setresgid setresuid setreuid setuid""",
    "scheduling": """sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
        sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
        sched_yield""",
    "signals": """pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
        rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sigaltstack""",
    "locks": "futex futex_requeue futex_wait futex_waitv futex_wake get_robust_list set_robust_list",
    "sockets": """accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg
        sendmmsg sendmsg sendto setsockopt shutdown""",
    "communication": """mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv
        msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget""",
    "time": """adjtimex alarm clock_adjtime clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep
        setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
        timerfd_gettime timerfd_settime""",
    "random numbers": "getrandom",
    "giving up rights": "landlock_add_rule landlock_create_ruleset landlock_restrict_self",
}
"""Names of the allowed system calls by subject. An engine ignores names that its libseccomp does not know."""
DEBUGGING: Final = "process_vm_readv process_vm_writev ptrace"
"""Within a pod only: MPI and UCX copy between processes by it. On older kernels ptrace bypasses the filter."""
DEBUGGING_KERNEL: Final = "4.8"
UNKNOWN: Final = """clone3 file_getattr file_setattr listmount listns lsm_get_self_attr lsm_list_modules
    lsm_set_self_attr open_tree_attr statmount"""
"""System calls that fail with ENOSYS, so that programs use older ones. The flags of clone3 are in memory, where no
filter sees them."""


def _rule(names: str, action: str = "SCMP_ACT_ALLOW", **more: Any) -> dict[str, Any]:
    return {"names": names.split(), "action": action, **more}


def _equal(names: str, value: int, mask: int = INT) -> dict[str, Any]:
    """Allow calls whose first argument, under the mask, is this value."""
    condition = {"index": 0, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
    return _rule(names, args=[condition])


def profile() -> dict[str, Any]:
    """Return the profile in the format of Docker engines."""
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": EPERM,
        # Without sub-architectures: the filter of a machine holds its own 64-bit ABI alone.
        "archMap": [{"architecture": f"SCMP_ARCH_{name}", "subArchitectures": []} for name in ("X86_64", "AARCH64")],
        "syscalls": [
            _rule(" ".join(ALLOWED.values())),
            _rule(DEBUGGING, includes={"minKernel": DEBUGGING_KERNEL}),
            _rule(UNKNOWN, "SCMP_ACT_ERRNO", errnoRet=ENOSYS),
            _equal("clone", 0, NAMESPACE_FLAGS),
            *(_equal("socket socketpair", family) for family in FAMILIES),
            *(_equal("personality", one) for one in PERSONALITIES),
        ],
    }


SECURITY_OPTION: Final = f"seccomp={json.dumps(profile(), separators=(',', ':'))}"
"""The entry for a container's SecurityOpt."""
