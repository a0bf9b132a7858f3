"""What a connection, an address and an account may cause, decided by counts and an injected time."""

import pytest

from offchain.adapters.transport.limits import (
    ADDRESS_HANDSHAKES,
    FORGET_S,
    HANDSHAKE_COST_US,
    KNOWN_S,
    REQUEST_COST_US,
    STRANGER,
    STRANGER_REFUSALS,
    SUSPECT_REFUSALS,
    Admission,
    CpuShare,
    ServerLimits,
    TokenBucket,
    network_of,
)

STRANGERS = [f"198.51.100.{number}" for number in range(250)]


def requests_for(seconds, connections, *, account=None, limits=None):
    """How many requests connections get through in this time, each waiting as it is told."""
    limits = limits or ServerLimits()
    made = [limits.connect(address) for address in connections]
    if account is not None:
        for one in made:
            one.prove(account)
    next_s, done = [0.0] * len(made), 0
    while min(next_s) < seconds:
        which = next_s.index(min(next_s))
        now_s = next_s[which]
        next_s[which] = now_s + max(made[which].spend(2, 1, 400, now_s), 0.001)
        done += 1
    return done


def test_a_bucket_is_overdrawn_once_and_then_waited_for():
    bucket = TokenBucket(CpuShare(1000, 500))
    assert bucket.spend(500, 0) == 0
    assert bucket.spend(1000, 0) == pytest.approx(1.0)
    assert bucket.spend(0, 1.0) == pytest.approx(0.0)
    assert bucket.spend(0, 100.0) == 0
    assert bucket.spend(501, 100.0) == pytest.approx(0.001)


def test_an_unproven_connection_may_send_forty_requests_a_second():
    done = requests_for(60, ["192.0.2.1"])
    assert done == pytest.approx(60 * STRANGER.us_per_s / (REQUEST_COST_US + 20), rel=0.1)


def test_many_connections_of_one_address_get_no_more_than_its_part():
    one, many = requests_for(60, ["192.0.2.1"]), requests_for(60, ["192.0.2.1"] * 64)
    assert many < 3 * one


def test_many_addresses_get_no_more_than_all_strangers_may():
    assert requests_for(60, [f"192.0.2.{number}" for number in range(200)]) < 60 * 330


def test_one_account_gets_no_more_by_many_connections():
    one = requests_for(60, ["192.0.2.1"], account="a")
    assert one > 60 * 400
    assert requests_for(60, ["192.0.2.1"] * 20, account="a") < 1.3 * one


def test_a_suspect_waits_for_suspects_and_nobody_else_waits_for_them():
    limits = ServerLimits()
    bad, good = limits.connect("192.0.2.1"), limits.connect("192.0.2.2")
    for _ in range(SUSPECT_REFUSALS):
        bad.refuse(0.0)
    assert bad.is_suspect(0.0)
    assert not bad.is_suspect(FORGET_S)
    assert bad.spend(0, 2000, 0, 0.0) > 10
    assert good.spend(2, 1, 400, 0.0) == 0


def test_a_new_connection_of_a_suspect_is_a_suspects():
    limits = ServerLimits()
    for _ in range(SUSPECT_REFUSALS):
        one = limits.connect("2001:db8::1")
        one.refuse(0.0)
        one.close(0.0)
    assert limits.connect("2001:db8::ffff").is_suspect(0.0)
    assert not limits.connect("2001:db8:0:1::1").is_suspect(0.0)


def test_a_stranger_who_is_refused_too_often_is_closed_and_a_tenant_is_not():
    limits = ServerLimits()
    stranger, tenant = limits.connect("192.0.2.1"), limits.connect("192.0.2.1")
    tenant.prove("a")
    assert [stranger.refuse(0.0) for _ in range(STRANGER_REFUSALS)][-2:] == [False, True]
    assert not any(tenant.refuse(0.0) for _ in range(10 * STRANGER_REFUSALS))


def test_the_memory_for_addresses_and_accounts_is_bounded():
    limits = ServerLimits(most_addresses=10)
    kept = limits.connect("192.0.2.255")
    for number in range(200):
        one = limits.connect(f"192.0.2.{number % 250}")
        one.prove(f"account {number}")
        one.close(1000.0 * number)
    assert len(limits._addresses) <= 11
    assert len(limits._accounts) <= 11
    assert kept.network in limits._addresses


def admitted(limits, addresses, seconds, *, begin_s=0.0, every_s=0.001):
    """How many of the connections that these addresses try in turn are admitted."""
    number = done = 0
    while (now_s := begin_s + number * every_s) < begin_s + seconds:
        done += limits.admit(addresses[number % len(addresses)], now_s) is Admission.ACCEPT
        number += 1
    return done


def refused_now(limits, now_s):
    """Whether a stranger is refused at this moment, after as many strangers as are admitted."""
    return any(limits.admit(address, now_s) is Admission.REFUSE for address in STRANGERS)


def known(limits, address, now_s=0.0):
    one = limits.connect(address)
    one.prove("tenant")
    one.close(now_s)


def test_one_address_gets_ten_connections_a_second_after_a_burst():
    limits = ServerLimits()
    known(limits, "192.0.2.1")
    burst = ADDRESS_HANDSHAKES.burst_us / HANDSHAKE_COST_US
    assert admitted(limits, ["192.0.2.1"], 20) == pytest.approx(burst + 200, abs=5)


def test_many_unknown_addresses_take_no_connection_from_a_known_one():
    limits = ServerLimits()
    known(limits, "192.0.2.1")
    assert admitted(limits, STRANGERS, 20) < 500
    assert admitted(limits, ["192.0.2.1"], 0.03, begin_s=20.0) == 30
    assert limits.admit("203.0.113.1", 20.0) is Admission.REFUSE


def test_what_strangers_overdraw_delays_no_new_connection_of_a_known_address():
    limits = ServerLimits()
    known(limits, "192.0.2.1")
    for number in range(20):
        limits.connect(f"198.51.100.{number}").spend(2, 100, 0, 0.0)
    assert limits.connect("203.0.113.1").spend(2, 1, 400, 0.0) > 4
    assert limits.connect("192.0.2.1").spend(2, 1, 400, 0.0) == 0


def test_addresses_that_never_prove_an_account_leave_a_share_to_others():
    limits = ServerLimits()
    for number in range(250):
        for _ in range(2 * SUSPECT_REFUSALS):
            limits.connect(f"198.51.100.{number}").close(0.0)
    assert admitted(limits, STRANGERS, 10) < 100
    assert limits.admit("203.0.113.1", 10.0) is Admission.ACCEPT


def test_an_address_is_known_while_a_proven_connection_lasts_and_ten_minutes_longer():
    limits = ServerLimits()
    one = limits.connect("192.0.2.1")
    one.prove("a")
    one.prove("b")
    last_s = 5000.0 + KNOWN_S
    admitted(limits, STRANGERS, 1, begin_s=4999.0)
    assert refused_now(limits, 5000.0)
    assert limits.admit("192.0.2.1", 5000.0) is Admission.ACCEPT
    one.close(5000.0)
    assert refused_now(limits, last_s - 1)
    assert limits.admit("192.0.2.1", last_s - 1) is Admission.ACCEPT
    assert refused_now(limits, last_s)
    assert limits.admit("192.0.2.1", last_s) is Admission.REFUSE


def test_a_forged_address_cannot_spend_the_share_of_its_owner():
    limits = ServerLimits()
    known(limits, "192.0.2.1")
    decisions = {limits.admit("192.0.2.1", 0.0, validated=False) for _ in range(1000)}
    assert decisions == {Admission.ACCEPT, Admission.VALIDATE}
    assert limits.admit("192.0.2.1", 0.0) is Admission.ACCEPT


def test_known_addresses_are_forgotten_last():
    limits = ServerLimits(most_addresses=4)
    known(limits, "192.0.2.1")
    for number in range(20):
        limits.connect(f"198.51.100.{number}").close(0.0)
    assert limits._addresses["192.0.2.1"].is_known(0.0)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("[fe80::1%eth0]", "fe80::"),
        ("gateway", "gateway"),
        ("", ""),
    ],
)
def test_an_address_counts_for_its_network(address, network):
    assert network_of(address) == network
