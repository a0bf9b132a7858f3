"""Numbers of waiting tasks by queue, as the metrics of a scheduler show them."""

from offchain.core.scheduler.fair_share import FairShareQueue
from offchain.core.scheduler.queue_definitions import parse_queues
from tests.support.queue_samples import CORES, TOTALS, queued


def test_tasks_are_counted_by_queue_and_accounts_of_default_together():
    queue = FairShareQueue(parse_queues("queues: {lab: , team/vision: , team/audio: }"), TOTALS)
    assert queue.waiting_counts().by_queue == {"default": 0, "lab": 0, "team/vision": 0, "team/audio": 0}
    for number, (name, account) in enumerate(
        [("default", "a"), ("default", "b"), ("unknown queue", "c"), ("lab", "a"), ("team/vision", "a"), ("team", "a")]
    ):
        queue.add(queued(number, account, queue=name))
    assert queue.waiting_counts().by_queue == {"default": 4, "lab": 1, "team/vision": 1, "team/audio": 0}
    queue.remove(0)
    queue.remove(4)
    assert queue.waiting_counts().by_queue == {"default": 3, "lab": 1, "team/vision": 0, "team/audio": 0}


def test_tasks_of_classes_that_fit_nowhere_are_counted():
    queue = FairShareQueue(parse_queues("queues: {lab: }"), TOTALS)
    for number in range(5):
        queue.add(queued(number, "a" if number % 2 else "b", amount=CORES if number < 2 else queued(0).amount))
    assert queue.waiting_counts().unschedulable == 0
    queue.begin_cycle(10)
    queue.mark_unschedulable(3)
    assert queue.waiting_counts().unschedulable == 3
    queue.remove(3)
    assert queue.waiting_counts().unschedulable == 2
