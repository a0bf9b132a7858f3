"""Image policy: a search ends, images in use stay, and no more are evicted than necessary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from node_agent.images.policy import (
    KEEP_MS,
    PAUSES_S,
    PulledImage,
    PullFailed,
    PullFault,
    PullFrom,
    PullPause,
    PullSearch,
    fault_of,
    images_to_evict,
    images_to_prefetch,
    next_round,
    next_step,
    parse_mirror,
    record_refusal,
)
from offchain.schema.manifest.types import ImageRef

untimed = settings(deadline=None)
faults = st.sampled_from(list(PullFault))
images = st.lists(
    st.builds(
        PulledImage,
        reference=st.text("abcdef", min_size=1, max_size=3),
        id=st.sampled_from([f"id{number}" for number in range(6)]),
        size_bytes=st.integers(0, 100),
        last_used_ms=st.integers(0, 4 * KEEP_MS),
    ),
    max_size=8,
    unique_by=lambda held: held.reference,
)


@untimed
@given(st.lists(st.sampled_from(["mirror", "origin", "third"]), min_size=1, max_size=3, unique=True), st.data())
def test_a_search_ends_and_never_retries_a_permanent_refusal(open_places: list[str], data: st.DataObject) -> None:
    search = PullSearch(tuple(open_places))
    said_no: set[str] = set()
    pulls, pauses = 0, []
    while not isinstance(step := next_step(search), PullFailed):
        if isinstance(step, PullPause):
            pauses.append(step.seconds)
            search = next_round(search)
            continue
        assert isinstance(step, PullFrom)
        assert step.reference not in said_no
        pulls += 1
        fault = data.draw(faults)
        if fault is not PullFault.PASSING:
            said_no.add(step.reference)
        search = record_refusal(search, step.reference, fault, str(fault))
    assert pulls <= len(open_places) * (len(PAUSES_S) + 1)
    assert tuple(pauses) == PAUSES_S[: len(pauses)]
    assert {reference for reference, _, _ in step.refusals} <= set(open_places)
    assert step.fault in {fault for _, fault, _ in step.refusals}
    if step.fault is PullFault.PASSING:
        assert len(pauses) == len(PAUSES_S)


@untimed
@given(
    images, st.frozensets(st.sampled_from([f"id{number}" for number in range(6)])), st.integers(0, 500), st.booleans()
)
def test_evicted_images_are_idle_and_oldest_and_no_more_than_needed(
    held: list[PulledImage],
    in_use: frozenset[str],
    most_bytes: int,
    all_idle: bool,  # noqa: FBT001
) -> None:
    now_ms = 4 * KEEP_MS
    going = images_to_evict(held, in_use, now_ms, most_bytes, all_idle=all_idle)
    staying = [image for image in held if image not in going]
    idle = [image for image in held if image.id not in in_use and now_ms - image.last_used_ms >= KEEP_MS]
    assert set(going) <= set(idle)
    assert list(going) == sorted(going, key=lambda image: (image.last_used_ms, image.reference))
    if all_idle:
        assert set(going) == set(idle)
        return
    over = sum(image.size_bytes for image in staying) > most_bytes
    assert not over or set(going) == set(idle), "too much stays, though more could go"
    if going:
        # Without the last of them it would still be too much.
        assert sum(image.size_bytes for image in [*staying, going[-1]]) > most_bytes
        oldest = max((image.last_used_ms, image.reference) for image in going)
        assert all((image.last_used_ms, image.reference) > oldest for image in idle if image in staying)


@untimed
@given(st.text(max_size=200), st.text(max_size=20))
def test_every_message_is_classified(message: str, reference: str) -> None:
    assert fault_of(message, reference) in PullFault


@untimed
@given(st.text(max_size=60) | st.text(":/@?#[].abc0", max_size=30).map("https://".__add__))
def test_any_text_is_a_mirror_or_refused_with_a_sentence(text: str) -> None:
    try:
        mirror = parse_mirror(text)
    except ValueError as error:
        assert len(str(error)) > 20
    else:
        assert mirror.host
        assert "@" not in mirror.host
        assert not mirror.prefix.endswith("/")


@untimed
@given(st.lists(st.sampled_from("abcdef"), max_size=10), st.frozensets(st.sampled_from("abcdef")), st.integers(0, 5))
def test_prefetching_starts_no_image_twice_and_respects_the_limit(
    wanted: list[str], pulling: frozenset[str], most: int
) -> None:
    digest = "sha256:" + "0" * 64
    busy = {f"{name}@{digest}" for name in pulling}
    found = [image.reference for image in images_to_prefetch([ImageRef(name, digest) for name in wanted], busy, most)]
    assert len(found) == len(set(found))
    assert not busy & set(found)
    assert len(found) <= max(0, most - len(busy))
