"""What is kept of a result whose tenant wants it sealed."""

from nacl.public import PrivateKey, SealedBox

from node_agent.drivers.port import CollectedResult
from node_agent.runtime.runner import seal_result
from offchain.schema.manifest.types import ResultSpec


def test_a_result_is_sealed_to_the_tenants_key_and_else_kept_as_it_is():
    key = PrivateKey.generate()
    collected = CollectedResult(b"result", "a note")
    kept = seal_result(collected, ResultSpec("stdout", None, bytes(key.public_key)))
    assert b"result" not in kept.data
    assert (SealedBox(key).decrypt(kept.data), kept.note) == (b"result", "a note")
    assert seal_result(collected, ResultSpec("stdout", None)) == collected


def test_a_key_that_is_none_keeps_nothing_in_the_clear():
    kept = seal_result(CollectedResult(b"result"), ResultSpec("stdout", None, bytes(32)))
    assert kept.data == b""
    assert "cannot be sealed" in kept.note
