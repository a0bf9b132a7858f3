import pytest

from offchain.adapters.outbox.retry import GiveUp, Retry, decide
from offchain.errors import SubmitRefusal


@pytest.mark.parametrize("refusal", SubmitRefusal)
def test_every_refusal_ends(refusal):
    verdicts = [decide(refusal, attempts) for attempts in range(1, 400)]
    first_give_up = next(n for n, verdict in enumerate(verdicts) if isinstance(verdict, GiveUp))
    assert first_give_up >= 1, "nothing is given up after one try"
    assert all(isinstance(verdict, Retry) for verdict in verdicts[:first_give_up])
    assert all(isinstance(verdict, GiveUp) and verdict.reason for verdict in verdicts[first_give_up:])
    pauses = [verdict.after_blocks for verdict in verdicts[:first_give_up]]
    assert pauses == sorted(pauses)


def test_no_coins_is_tried_over_some_blocks_and_then_given_up():
    assert [decide(SubmitRefusal.CANNOT_PAY, n) for n in (1, 2, 3)] == [Retry(1), Retry(2), Retry(4)]
    assert isinstance(decide(SubmitRefusal.CANNOT_PAY, 4), GiveUp)
