"""The seccomp profile names each call once, and no forbidden one. Real engines: tests/contract."""

import json
from collections import Counter

from node_agent.drivers.docker.seccomp_profile import SECURITY_OPTION, profile

FORBIDDEN = """add_key bpf chroot clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick
init_module io_uring_enter io_uring_register io_uring_setup iopl ioperm kcmp kexec_file_load kexec_load keyctl mbind
memfd_secret mount mount_setattr move_mount move_pages open_by_handle_at open_tree perf_event_open pidfd_getfd
pivot_root process_madvise quotactl reboot request_key set_mempolicy setdomainname sethostname setns settimeofday
socketcall swapoff swapon syslog umount umount2 unshare userfaultfd vhangup"""
COMPARED = {"clone": 1, "socket": 4, "socketpair": 4, "personality": 5}
"""Calls that are allowed by their first argument, and with how many rules."""


def rules():
    return profile()["syscalls"]


def test_no_call_is_named_twice_except_by_its_argument():
    named = Counter(name for rule in rules() for name in rule["names"])
    assert {name: count for name, count in named.items() if count > 1 or name in COMPARED} == COMPARED


def test_calls_that_a_tenant_must_not_have_are_in_no_rule():
    assert profile()["defaultAction"] == "SCMP_ACT_ERRNO"
    assert not {name for rule in rules() for name in rule["names"]} & set(FORBIDDEN.split())


def test_the_rules_of_calls_with_arguments_compare_what_the_kernel_reads():
    compared = {}
    for rule in rules():
        for name in rule["names"] if "args" in rule else ():
            (one,) = rule["args"]
            assert (rule["action"], one["index"], one["op"]) == ("SCMP_ACT_ALLOW", 0, "SCMP_CMP_MASKED_EQ")
            compared.setdefault((name, one["value"]), set()).add(one["valueTwo"])
    families = {1, 2, 10, 16}
    int_mask = 0xFFFF_FFFF
    assert compared == {
        ("clone", 0x7E02_0000): {0},
        ("socket", int_mask): families,
        ("socketpair", int_mask): families,
        ("personality", int_mask): {0, 8, 0x2_0000, 0x2_0008, int_mask},
    }


def test_a_call_without_a_rule_of_its_own_is_refused_with_eperm_and_clone3_with_enosys():
    assert profile()["defaultErrnoRet"] == 1
    (rule,) = [rule for rule in rules() if "clone3" in rule["names"]]
    assert (rule["action"], rule["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)


def test_32_bit_programs_have_no_filter_of_their_own():
    assert profile()["archMap"] == [
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
    ]


def test_the_option_of_a_container_is_the_profile():
    name, _, text = SECURITY_OPTION.partition("=")
    assert (name, json.loads(text)) == ("seccomp", profile())
