"""Reservation windows: the file that defines them, and their effect."""

import pytest

from offchain.core.scheduler.config import ReservationWindow, WindowFileError, parse_windows
from offchain.core.scheduler.state import SchedulerState
from offchain.devnet.paths import ROOT
from tests.support.scheduler_world import MINUTE, World, gpu_host, job

FINE = "reservations:\n  a:\n    from: 2026-12-01T08:00:00Z\n    until: 2026-12-01T09:00:00Z\n"
HOUR = 60 * MINUTE


def window(*accounts, begin=60, end=120, **changes):
    where = changes or {"hosts": frozenset({"h1"})}
    return ReservationWindow("w", begin * MINUTE, end * MINUTE, frozenset(accounts), **where)


def world(*windows, hosts=None):
    made = World(SchedulerState(b"seed", windows=windows))
    made.put_hosts(hosts or [gpu_host("h1", 2)])
    return made


def test_the_example_means_what_its_comments_say():
    day, weekend = parse_windows((ROOT / "examples/reservations.yaml").read_text(encoding="utf-8"))
    assert (day.until_ms - day.from_ms, weekend.until_ms - weekend.from_ms) == (12 * HOUR, 48 * HOUR)
    assert (day.regions, day.models, len(day.accounts)) == ({b"eu-central"}, {b"H100"}, 2)
    assert (day.from_ms, len(weekend.hosts)) == (1_796_112_000_000, 2)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "r.yaml:1: the file is empty. Start from examples/reservations.yaml."),
        ("a: [", "r.yaml:1: this is not YAML"),
        ("queues: {}", 'r.yaml:1: queues: unknown key "queues"'),
        ("reservations:\n  a: {}", 'r.yaml:2: reservations.a: "from" is missing. Write a time of day with its zone'),
        (f"{FINE}    regions: [eu]", 'r.yaml:2: reservations.a: "accounts" is missing. Name who may use it'),
        (f"{FINE}    accounts: [x]", "r.yaml:2: reservations.a: it does not say which hosts. Name hosts, regions"),
        (f"{FINE}    accounts: []\n    regions: [eu]", "r.yaml:5: reservations.a.accounts: the list is empty"),
        (f"{FINE}    gpus: 4", 'r.yaml:5: reservations.a.gpus: Gantry does not support "gpus" here. A window reserves'),
        (f"{FINE}    account: [x]", 'unknown key "account". Did you mean "accounts"?'),
        ("reservations:\n  a:\n    from: tomorrow", 'r.yaml:3: reservations.a.from: "tomorrow" is not a time. Write'),
        ("reservations:\n  a:\n    from: 2026-12-01T08:00:00", '"2026-12-01T08:00:00" does not say in which zone'),
        (
            FINE.replace("09:00", "07:00") + "    accounts: [x]\n    regions: [eu]",
            "r.yaml:4: reservations.a.until: it ends before it begins. Write a later time",
        ),
    ],
)
def test_a_problem_is_reported_with_its_line_and_a_hint(text, told):
    with pytest.raises(WindowFileError) as caught:
        parse_windows(text, source="r.yaml")
    assert any(told in line for line in caught.value.lines()), caught.value.lines()


def test_all_problems_are_reported_at_once():
    with pytest.raises(WindowFileError) as caught:
        parse_windows(f"{FINE}    accounts: x\n    regions: eu\n  b: {{}}")
    assert [problem.line for problem in caught.value.problems] == [5, 6, 7]


def test_other_accounts_may_run_tasks_that_end_before_the_window():
    made = world(window("ours"))
    made.submit(job(1, minutes=50, tenant="other"), job(2, minutes=60, tenant="other"))
    assert made.round(0) == [1]
    made.submit(job(3, minutes=600, tenant="ours"))
    assert made.round(MINUTE) == [3]


def test_others_start_when_the_window_is_over():
    made = world(window("ours"))
    made.submit(job(1, minutes=90, tenant="other"))
    assert made.round(MINUTE) == []
    assert made.state.reserved[1].start_ms == 120 * MINUTE
    assert made.round(119 * MINUTE) == []
    assert made.next_ms(119 * MINUTE) == 120 * MINUTE
    assert made.round(120 * MINUTE) == [1]


def test_older_equal_tasks_of_other_accounts_do_not_block_an_account_of_the_window():
    made = world(window("ours"))
    made.submit(job(1, minutes=90, tenant="other"), job(2, minutes=90, tenant="ours"))
    assert made.round(70 * MINUTE) == [2]


def test_a_reservation_of_one_of_the_accounts_may_be_within_the_window():
    made = world(window("ours"))
    made.submit(job(1, 2, minutes=50, tenant="other"))
    made.round(0)
    made.submit(job(2, 2, minutes=30, tenant="ours"))
    made.round(MINUTE)
    assert made.state.reserved[2].start_ms == 50 * MINUTE
    assert made.round(50 * MINUTE) == [2]


def test_overlapping_windows_admit_only_accounts_of_both():
    made = world(window("ours", "both"), window("theirs", "both", begin=90, end=150))
    made.submit(*(job(number, minutes=60, tenant=who) for number, who in enumerate(("ours", "theirs", "both"))))
    assert made.round(61 * MINUTE) == [2]


@pytest.mark.parametrize(
    ("where", "open_host"),
    [
        ({"hosts": frozenset({"h1"})}, "h2"),
        ({"regions": frozenset({b"us"})}, "h1"),
        ({"models": frozenset({b"H100"})}, "h1"),
        ({"regions": frozenset({b"eu"}), "models": frozenset({b"A100"})}, "h2"),
    ],
)
def test_a_window_covers_hosts_that_meet_all_of_its_conditions(where, open_host):
    made = world(window("ours", **where), hosts=[gpu_host("h1", 1), gpu_host("h2", 1, model=b"H100", region=b"us")])
    made.submit(*(job(number, minutes=600, tenant="other") for number in range(2)))
    assert [pod.host for number in made.round(0) for pod in made.at[number]] == [open_host]


def test_a_window_covers_hosts_that_register_later():
    made = world(window("ours", regions=frozenset({b"eu"})))
    made.submit(job(1, minutes=600, tenant="other"))
    assert made.round(0) == []
    made.put_hosts([gpu_host("h2", 1), gpu_host("h3", 1, region=b"us")])
    made.round(MINUTE)
    assert [pod.host for pod in made.at[1]] == ["h3"]


def test_a_window_that_is_over_costs_nothing():
    made = world(window("ours"))
    made.submit(job(1, minutes=600, tenant="other"))
    assert made.round(121 * MINUTE) == [1]
    assert made.state.next_ms(121 * MINUTE) is None
