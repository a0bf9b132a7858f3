"""The file that defines queues, and the tree that it yields."""

import pytest

from offchain.core.scheduler.pod_request import ResourceAmount
from offchain.core.scheduler.queue_definitions import (
    AgeingPolicy,
    QueueDefinition,
    QueueFileError,
    QueueLeaf,
    QueueTree,
    parse_queues,
)
from offchain.devnet.paths import ROOT

NETWORK = ResourceAmount(cpu_milli=1_200_000, memory_mib=12_000_000, gpu_milli=120_000)


def test_the_example_means_what_its_comments_say():
    found = parse_queues((ROOT / "examples/queues.yaml").read_text(encoding="utf-8"))
    assert set(found.queues) == {"", "research", "research/vision", "research/speech", "product", "default"}
    assert found.nominal_share("research/vision") == pytest.approx(3 / 6 * 2 / 3)
    assert found.limit_of("research", NETWORK).gpu_milli == 96_000
    assert found.limit_of("product", NETWORK).gpu_milli == 40_000
    assert found.limit_of("research/vision", NETWORK) is None
    assert found.queues["research"].account_limit.of(NETWORK).gpu_milli == 40_000
    assert found.queues["default"].account_limit.of(NETWORK) == (256_000, 1024 * 1024, 16_000)
    assert (found.ageing("product"), found.ageing("default")) == (AgeingPolicy(per_hour=0), AgeingPolicy(20, 200))
    assert found.ageing("research/speech") == AgeingPolicy()
    assert found.leaf_of("research/vision", "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY").account == ""
    assert found.leaf_of("research/vision", "somebody") == QueueLeaf("default", "somebody")


def test_child_queues_inherit_ageing():
    found = parse_queues("queues: {a: {ageing: {per_hour: 1}}, a/b/c: }")
    assert (found.ageing("a/b/c").per_hour, list(found.children["a"])) == (1, ["a/b"])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "q.yaml:1: the file is empty. Start from examples/queues.yaml."),
        ("a: [", "q.yaml:1: this is not YAML"),
        ("{}", "q.yaml:1: queues is missing"),
        ("queus: {}", 'q.yaml:1: queus: unknown key "queus". Did you mean "queues"?'),
        ("queues:\n  Lab: {}", 'q.yaml:2: queues.Lab: "Lab" is not the name of a queue. Use small letters'),
        ("queues:\n  lab/: {}", 'q.yaml:2: queues.lab/: "lab/" is not the name of a queue'),
        (f"queues:\n  {'a' * 33}: {{}}", "33 bytes long. Keep it to 32."),
        ("queues:\n  default/x: {}", "its parts are the accounts"),
        ("queues:\n  default: {accounts: [a]}", 'queues.default.accounts: "default" is for everybody. Remove it.'),
        ("queues:\n  a:\n    weigth: 2", 'q.yaml:3: queues.a.weigth: unknown key "weigth". Did you mean "weight"?'),
        ("queues:\n  a:\n    weight: 0", "q.yaml:3: queues.a.weight: a weight of 0 would never be served"),
        ("queues:\n  a:\n    weight: -1", 'q.yaml:3: queues.a.weight: "-1" is not a number of 0 or more'),
        ("queues:\n  a:\n    weight: 9999999999", "is not a number"),
        ("queues:\n  a:\n    borrow: maybe", "q.yaml:3: queues.a.borrow: expected true or false, found maybe"),
        ("queues:\n  a:\n    most: 40", 'q.yaml:3: queues.a.most: "40" is not a part of the network. Write a part'),
        ("queues:\n  a:\n    most: 140%", "140% is more than the whole network"),
        ("queues:\n  a:\n    most: {}", "queues.a.most: it limits nothing"),
        ("queues:\n  a:\n    account_most: {gpu: 4}", 'unknown key "gpu". Did you mean "gpus"?'),
        ("queues:\n  a:\n    most: {memory: lots}", "queues.a.most.memory: "),
        ("queues:\n  a:\n    ageing: {up_to: 256}", "queues.a.ageing.up_to: 256 is out of range"),
        ("queues:\n  a:\n    ageing: {per_hour: 2000000}", "2000000 is more than 1e+06"),
        ("queues:\n  a:\n    accounts: []", "queues.a.accounts: nobody may use the queue"),
        ("queues:\n  a: {}\n  a: {}", '"a" is written twice, first on line 2'),
    ],
)
def test_a_problem_is_reported_with_its_line_and_a_hint(text, told):
    with pytest.raises(QueueFileError) as caught:
        parse_queues(text, source="q.yaml")
    assert told in caught.value.lines()[0]


def test_all_problems_are_reported_at_once():
    with pytest.raises(QueueFileError) as caught:
        parse_queues("queues:\n  a: {weight: x, most: y}\n  b: {borrow: z}")
    assert [problem.line for problem in caught.value.problems] == [2, 2, 3]


def test_a_tree_with_a_gap_is_refused():
    with pytest.raises(ValueError, match='"a/b" has no place'):
        QueueTree({"": QueueDefinition(""), "default": QueueDefinition("default"), "a/b": QueueDefinition("a/b")})
    with pytest.raises(ValueError, match='there must be a queue "default"'):
        QueueTree({"": QueueDefinition("")})


def test_the_file_in_the_docs_is_one():
    text = (ROOT / "docs/scheduling.md").read_text(encoding="utf-8")
    found = parse_queues(text.partition("```yaml\n")[2].partition("```")[0])
    assert found.children["research"] == ("research/vision", "research/speech")
    assert not found.queues["product"].borrow


def test_the_digest_depends_on_the_definitions_alone():
    first = parse_queues("queues: {a: {weight: 2, accounts: [X, Y]}, b: {}}")
    same = parse_queues("# a comment\nqueues: {b: {}, a: {accounts: [Y, X], weight: 2}}", source="other.yaml")
    assert first.digest() == same.digest()
    others = ["queues: {}", "queues: {a: {weight: 3, accounts: [X, Y]}, b: {}}", "queues: {a: {weight: 2}, b: {}}"]
    digests = {first.digest(), *(parse_queues(text).digest() for text in others)}
    assert len(digests) == 1 + len(others)
