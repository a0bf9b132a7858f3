"""Proof that the tests of attacks can fail: each defence is removed from a copy of the code, and its tests must fail.

    scripts/removed-defences [FINDING…]

The defences are those against the findings of the attack test (docs/security.md), but for the host link (B1, B6), whose
tests fail on the commit that was examined. All that are proven by one suite are removed from one clone of HEAD, because
each has tests of its own. The exit status is 0 if every named test failed: one that is skipped or not found did not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offchain.devnet.paths import ROOT


@dataclass(frozen=True, slots=True)
class Defence:
    """One defence: the text in `file` that implements it, what replaces the text, and the tests of `suite` that must
    fail then."""

    finding: str
    about: str
    file: str
    text: str
    replacement: str
    suite: str
    tests: tuple[str, ...]


REGISTRIES: Final = (
    "test_a_registry_at_a_loopback_address_receives_nothing",
    "test_a_registry_leads_to_no_internal_service",
)
DEFENCES: Final = (
    Defence(
        "B2",
        "images come from registries with a public name and with TLS, or from those that the operator allowed",
        "node_agent/images/registries.py",
        "        if self.allows(endpoint):\n            return\n        literal",
        "        if endpoint.port:\n            return\n        literal",
        "attacks",
        REGISTRIES,
    ),
    Defence(
        "B2",
        "a registry's name is resolved to public addresses only, none of them this machine's",
        "offchain/adapters/public_addresses.py",
        "        return is_public(ip_address(address)) and address not in _own_addresses()\n",
        "        return bool(address)\n",
        "attacks",
        REGISTRIES,
    ),
    Defence(
        "B3",
        "a pod that its tenant keeps from starting is given back before the start timeout",
        "node_agent/core/states.py",
        "        return None if self.started_sent or self.started_known else self.lease.start_by_ms\n",
        "        return None\n",
        "attacks",
        ("test_a_secret_that_is_never_delivered_costs_the_tenant_and_not_the_host",),
    ),
    Defence(
        "B4",
        "no image and no manifest has a mount or program at a protected path",
        "offchain/schema/manifest/protected_paths.py",
        "    plain = plain_path(path)\n    if plain == SHARED_MEMORY:\n",
        "    plain = plain_path(path)\n    if plain:\n",
        "attacks",
        ("test_of_an_image_with_a_protected_path_no_container_is_made",),
    ),
    Defence(
        "B5",
        "the file system of a lease is as large as the lease's disk",
        "node_agent/drivers/lease_disks.py",
        "        made = geometry(limit_mib)\n",
        "        made = geometry(16 * limit_mib)\n",
        "attacks",
        ("test_no_way_of_writing_takes_more_disk_than_the_lease_has",),
    ),
    Defence(
        "B5",
        "blocks beyond the lease's disk are reserved",
        "node_agent/drivers/lease_disks.py",
        "            self._set_reserve(point)\n            return point\n",
        "            return point\n",
        "attacks",
        ("test_no_way_of_writing_takes_more_disk_than_the_lease_has",),
    ),
    Defence(
        "B7",
        "an account fills its own share of the nonces only",
        "offchain/adapters/transport/request_admission.py",
        "        return len(self._kept) < most and of_account < self._per_account\n",
        "        return len(self._kept) < most\n",
        "contract",
        ("test_an_account_that_fills_its_part_of_the_nonce_cache_keeps_no_other_out",),
    ),
    Defence(
        "B8",
        "the agent answers at the address of --bind only",
        "offchain/adapters/transport/iroh_quic.py",
        "            transport._close_other_sockets()\n",
        "",
        "contract",
        ("test_iroh_answers_at_the_address_of_bind_only",),
    ),
    Defence(
        "B9",
        "changed firewall rules are put right",
        "node_agent/drivers/firewall_rules.py",
        "    chains = _parse(saved)\n    lines = [",
        '    chains = _parse(saved)\n    if chains:\n        return ""\n    lines = [',
        "contract",
        ("test_whatever_is_changed_is_restored",),
    ),
    Defence(
        "B9",
        "system calls of io_uring are refused",
        "node_agent/drivers/docker/seccomp_profile.py",
        '    "locks": "futex ',
        '    "rings": "io_uring_setup io_uring_enter io_uring_register",\n    "locks": "futex ',
        "contract",
        ("test_a_tenant_gets_nowhere_with",),
    ),
    Defence(
        "B9",
        "manifests are bounded in depth",
        "offchain/schema/manifest/yaml_reader.py",
        "        if self.flow_level + len(self.indents) + more > MAX_DEPTH:\n",
        "        if self.flow_level + len(self.indents) + more > 1000 * MAX_DEPTH:\n",
        "unit",
        ("test_brackets_within_each_other_are_bounded",),
    ),
    Defence(
        "unknown fields",
        "a request with unsigned fields that are not known is refused",
        "offchain/schema/protocol/messages.py",
        '        unknown = sorted(fields.keys() - {*request.unsigned(), "signature"})\n',
        "        unknown: list[str] = []\n",
        "unit",
        ("test_a_bad_field_is_named",),
    ),
    Defence(
        "two agents",
        "extrinsics of the host that this process did not sign prove another agent",
        "node_agent/core/identity.py",
        "        if not self._sent_heartbeat:\n            self._came_later",
        "        return\n        if not self._sent_heartbeat:\n            self._came_later",
        "attacks",
        ("test_both_agents_report_the_other_and_the_second_one_stops",),
    ),
    Defence(
        "results",
        "a result is a plain file, not the target of a link",
        "node_agent/drivers/docker/container_files.py",
        '        if int(stat.get("mode", 0)) & _SPECIAL:\n',
        "        if not stat:\n",
        "attacks",
        ("test_what_is_no_plain_file_gives_an_empty_result_and_a_note",),
    ),
    Defence(
        "results",
        "the archive of a result holds one plain file",
        "node_agent/drivers/docker/container_files.py",
        "    if member.kind is not MemberKind.FILE:\n",
        "    if member is None:\n",
        "attacks",
        ("test_what_is_no_plain_file_gives_an_empty_result_and_a_note",),
    ),
    Defence(
        "terminal",
        "control sequences of others do not reach the terminal",
        "offchain/schema/terminal_escaping.py",
        "    return _IN_LINE.sub(_written_out, value)\n",
        "    return value\n",
        "attacks",
        ("test_a_hosts_region_and_endpoint_do_nothing_to_a_terminal",),
    ),
    Defence(
        "logs",
        "the end of a long log is taken from the ring",
        "node_agent/logs/store.py",
        "    if written <= MAX_LOG_BYTES:\n",
        "    if written:\n",
        "attacks",
        ("test_a_flood_of_logs_keeps_nobody_else_waiting",),
    ),
    Defence(
        "logs",
        "the log of a container is bounded",
        "node_agent/logs/store.py",
        "place = written % MAX_LOG_BYTES\n                    now = rest[: MAX_LOG_BYTES - place]\n",
        "place = written\n                    now = rest[:]\n",
        "attacks",
        ("test_a_flood_of_logs_keeps_nobody_else_waiting",),
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Remove the defences of these findings (none named: all) and run their tests. Return the exit status."""
    known = sorted({defence.finding for defence in DEFENCES})
    unknown = sorted(set(arguments) - set(known))
    if unknown or {"-h", "--help"} & set(arguments):
        _say(f"{__doc__}\nFindings: {', '.join(known)}")
        return 0 if {"-h", "--help"} & set(arguments) else 2
    by_suite: dict[str, list[Defence]] = defaultdict(list)
    for defence in DEFENCES:
        if not arguments or defence.finding in arguments:
            by_suite[defence.suite].append(defence)
    proven = missing = 0
    for suite, defences in by_suite.items():
        failed = _failed_without(suite, defences)
        for defence in defences:
            for test in defence.tests:
                found = test in failed
                proven, missing = proven + found, missing + (not found)
                _say(f"{'fails ' if found else 'PASSES'}  {defence.finding}: {test} without: {defence.about}")
    _say(f"{proven} tests fail without their defence, {missing} do not")
    return 1 if missing else 0


def _failed_without(suite: str, defences: Sequence[Defence]) -> frozenset[str]:
    """Return the names of the tests that fail in a clone without these defences."""
    with tempfile.TemporaryDirectory(prefix="gantry-removed-") as folder:
        clone = Path(folder) / "gantry"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        for defence in defences:
            _remove(clone / defence.file, defence)
        names = " or ".join(sorted({test for defence in defences for test in defence.tests}))
        command = [str(clone / "scripts" / "test"), suite, "--", "-k", names, "--tb=short"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    found = frozenset(re.findall(r"^(?:FAILED|ERROR) \S+::(\w+)", done.stdout, re.MULTILINE))
    if not found:
        _say(done.stdout[-4_000:] + done.stderr[-2_000:])
    return found


def _remove(file: Path, defence: Defence) -> None:
    text = file.read_text(encoding="utf-8")
    if text.count(defence.text) != 1:
        raise SystemExit(
            f"error: {defence.file} does not contain the defence once: {defence.about}\n  Correct {__name__}."
        )
    file.write_text(text.replace(defence.text, defence.replacement), encoding="utf-8")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
