"""The comparison of the firewall's rules: any single change is found, and a repair undoes it and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node_agent.drivers.firewall_rules import DOCKER, POD, RULES_6, THROUGH, TO_HOST, faults, removal, repair, rules

WANTED = {4: rules(("10.1.2.3",)), 6: RULES_6}
FOREIGN = (
    "-j ACCEPT",
    f"-i {POD} -j ACCEPT",
    "-p tcp -m tcp --dport 22 -j ACCEPT",
    '-m comment --comment "a \\\\"b" -j DROP',
)
families = st.sampled_from(sorted(WANTED))


def table(wanted, *, docker):
    """The chains of a machine on which the rules are in force, as `iptables-save` prints the rules."""
    through = DOCKER if docker else "FORWARD"
    chains = {
        "INPUT": [f"-i {POD} -j {TO_HOST}", *FOREIGN],
        "FORWARD": [f"-j {DOCKER}", *FOREIGN] if docker else [],
        "OUTPUT": [],
        "OTHERS": [f"-i {POD} -j ACCEPT"],
    }
    if docker:
        chains[DOCKER] = ["-j RETURN"]
    chains[through].insert(0, f"-i {POD} -j {THROUGH}")
    for name, lines in wanted.items():
        chains[name] = [as_saved(line) for line in lines]
    return chains


def as_saved(rule):
    rule = rule.replace("ESTABLISHED,RELATED", "RELATED,ESTABLISHED")
    return rule.replace("-p udp", "-p udp -m udp").replace("-p tcp", "-p tcp -m tcp")


def text(chains):
    builtin = ("INPUT", "FORWARD", "OUTPUT")
    heads = [f":{name} {'ACCEPT' if name in builtin else '-'} [0:0]" for name in chains]
    lines = [f"-A {name} {rule}" for name, rules in chains.items() for rule in rules]
    other = ["*nat", ":PREROUTING ACCEPT [0:0]", f"-A PREROUTING -i {POD} -j ACCEPT", "COMMIT"]
    return "\n".join(["# Generated", *other, "*filter", *heads, *lines, "COMMIT", "# Completed", ""])


def applied(chains, restore):
    """What `iptables-restore --noflush` makes of a table: a model of it for the lines that a repair has."""
    chains = {name: list(rules) for name, rules in chains.items()}
    for line in restore.splitlines():
        words = line.split(maxsplit=2)
        match words[0][:2]:
            case "*f" | "CO":
                continue
            case "-D":
                chains[words[1]].remove(words[2])
            case "-I":
                number, _, rule = words[2].partition(" ")
                assert number == "1"
                chains.setdefault(words[1], []).insert(0, rule)
            case "-A":
                chains[words[1]].append(as_saved(words[2]))
            case "-X":
                assert chains.pop(words[1]) == []
            case _:
                assert words[0][0] == ":"
                chains[words[0][1:]] = []
    return chains


def swap(rules, at, draw):
    other = draw(st.integers(0, len(rules) - 1))
    if rules[at] == rules[other]:
        rules.insert(at, "-j ACCEPT")
    rules[at], rules[other] = rules[other], rules[at]


def accept(rules, at, _):
    rules[at] = f"{rules[at].rpartition(' -j ')[0]} -j ACCEPT".strip()


def narrow(rules, at, _):
    rules[at] = f"-s 192.0.2.1/32 {rules[at]}"


CHANGES = {
    "delete": lambda rules, at, _: rules.pop(at),
    "insert": lambda rules, at, draw: rules.insert(at, draw(st.sampled_from(FOREIGN))),
    "accept": accept,
    "narrow": narrow,
    "flush": lambda rules, *_: rules.clear(),
    "swap": swap,
}


@st.composite
def a_change(draw, docker, family):
    """One change of a table: of a rule of ours, or of a rule that leads to ours."""
    chains = table(WANTED[family], docker=docker)
    name = draw(st.sampled_from([TO_HOST, THROUGH, "INPUT", "FORWARD", *([DOCKER] if docker else [])]))
    rules = chains[name]
    own = name in (TO_HOST, THROUGH)
    kind = draw(st.sampled_from([*CHANGES, *(("chain", "append") if own else ())]))
    match kind:
        case "chain":
            del chains[name]
        case "append":
            rules.append("-j ACCEPT")
        case _:
            CHANGES[kind](rules, draw(st.integers(0, len(rules) - 1 if own else 0)), draw)
    return chains


@given(st.data(), families, st.booleans())
def test_any_single_change_is_found_and_repaired(data, family, docker):
    wanted = WANTED[family]
    changed = data.draw(a_change(docker, family))
    assert faults(text(changed), wanted)
    after = applied(changed, repair(text(changed), wanted))
    assert faults(text(after), wanted) == ()
    assert repair(text(after), wanted).count("-D") == 0
    assert after["OTHERS"] == [f"-i {POD} -j ACCEPT"]
    for name in ("INPUT", "FORWARD"):  # what others have there stays, in its order
        ours = TO_HOST if name == "INPUT" else THROUGH
        kept = [[rule for rule in chains[name] if not rule.endswith(ours)] for chains in (after, changed)]
        assert kept[0] == kept[1]


@pytest.mark.parametrize("docker", [False, True])
@pytest.mark.parametrize("family", sorted(WANTED))
def test_whole_rules_are_in_force(family, docker):
    chains = table(WANTED[family], docker=docker)
    assert faults(text(chains), WANTED[family]) == ()
    # Rules of others behind ours, and policies, are the machine's.
    chains["INPUT"].append("-j DROP")
    assert faults(text(chains).replace(":FORWARD ACCEPT", ":FORWARD DROP"), WANTED[family]) == ()
    assert faults(text(chains).replace("*filter", "*mangle"), WANTED[family])


@given(families, st.booleans())
def test_rules_of_other_name_servers_are_not_in_force(family, docker):
    other = rules(("10.9.9.9",))
    assert faults(text(table(other, docker=docker)), WANTED[family])


@pytest.mark.parametrize("docker", [False, True])
def test_a_removal_deletes_only_our_rules(docker):
    chains = table(WANTED[4], docker=docker)
    chains["INPUT"].insert(2, f"-s 192.0.2.1/32 -g {TO_HOST}")
    after = applied(chains, removal(text(chains)))
    gone = {TO_HOST, THROUGH}
    expected = {
        name: [rule for rule in lines if rule.split()[-1] not in gone]
        for name, lines in chains.items()
        if name not in gone
    }
    assert after == expected
    assert removal(text(after)) == ""


def test_an_empty_table_is_not_in_force():
    assert faults("", WANTED[4])
    assert faults("*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", WANTED[4])
