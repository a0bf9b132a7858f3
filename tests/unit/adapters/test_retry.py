import pytest

from offchain.adapters.outbox.retry import give_up_reason, retry_after
from offchain.errors import SubmitRefusal


@pytest.mark.parametrize("refusal", SubmitRefusal)
def test_every_refusal_is_given_up_in_the_end(refusal):
    pauses = [retry_after(refusal, attempts) for attempts in range(1, 400)]
    first_give_up = pauses.index(None)
    assert first_give_up >= 1, "nothing is given up after one attempt"
    assert set(pauses[first_give_up:]) == {None}
    assert pauses[:first_give_up] == sorted(pauses[:first_give_up])
    assert give_up_reason(refusal)


def test_a_call_without_coins_is_tried_over_some_blocks_and_then_given_up():
    assert [retry_after(SubmitRefusal.CANNOT_PAY, n) for n in (1, 2, 3, 4)] == [1, 2, 4, None]
