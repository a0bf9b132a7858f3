"""A number that a pod tells: what is asked, and what counts as an answer."""

import pytest

from offchain.core.pod_metric import MetricReadError, MetricSample, load_milli, question, read
from offchain.schema.manifest.types import PodMetric

METRIC = PodMetric(9090, "/metrics?all=1", "jobs_waiting", 5_000)
HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"


def told(page):
    return read(METRIC, HEAD + page.encode())


def test_the_question_names_the_page():
    assert question(METRIC) == b"GET /metrics?all=1 HTTP/1.0\r\nHost: 127.0.0.1:9090\r\nAccept: text/plain\r\n\r\n"


@pytest.mark.parametrize(
    ("page", "milli"),
    [
        ("jobs_waiting 7\n", 7_000),
        ("# HELP jobs_waiting 99\n# TYPE jobs_waiting gauge\njobs_waiting 0.25 1700000000000\r\n", 250),
        ('jobs_waiting{queue="a"} 1\njobs_waiting{queue="b } 5",x="\\"}"} 2.5\n', 3_500),
        ("jobs_waiting_total 9\nother 1\njobs_waiting 1e3", 1_000_000),
        ("jobs_waiting 0\n", 0),
    ],
)
def test_samples_of_the_name_are_added_up(page, milli):
    assert told(page) == MetricSample(milli, counter=False)


def test_a_counter_counts_by_what_it_grows_in_a_second():
    older, newer = (told(f"# TYPE jobs_waiting counter\njobs_waiting {count}\n") for count in (10, 40))
    assert (older.counter, older.milli) == (True, 10_000)
    assert load_milli(1_000, older, 16_000, newer) == 2_000
    assert load_milli(1_000, newer, 16_000, older) is None
    assert load_milli(1_000, older, 1_000, older) is None
    gauge = MetricSample(4_000, counter=False)
    assert load_milli(1_000, gauge, 1_000, gauge) == 4_000


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "not HTTP 200"),
        (b"HTTP/1.1 404 Not Found\r\n\r\njobs_waiting 1\n", "not HTTP 200"),
        (b"HTTP/1.1 200 OK\r\njobs_waiting 1\n", "not HTTP 200"),
        (b"SSH-2.0-x\r\n\r\njobs_waiting 1\n", "not HTTP 200"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf\r\njobs_waiting 1\n\r\n0\r\n\r\n", "in chunks"),
        (HEAD, "no jobs_waiting"),
        (HEAD + b"jobs_waiting_now 1\n# jobs_waiting 1\njobs_waiting\n", "no jobs_waiting"),
        (HEAD + b"jobs_waiting NaN\n", "'NaN', not a number"),
        (HEAD + b"jobs_waiting +Inf\n", "'+Inf', not a number"),
        (HEAD + b"jobs_waiting -1\n", "'-1', not a number"),
        (HEAD + b'jobs_waiting 1\njobs_waiting{a="b"} x\n', "'x', not a number"),
    ],
)
def test_what_is_no_answer_says_why(answer, why):
    with pytest.raises(MetricReadError, match=why.replace("+", r"\+")):
        read(METRIC, answer)


def test_much_is_cut_to_what_can_be_counted():
    page = "".join(f'jobs_waiting{{n="{n}"}} 1e12\n' for n in range(3))
    assert told(page).milli == 10**15
