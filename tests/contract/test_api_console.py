"""Files of the web console, and what pages of other origins may do."""

import asyncio
import gzip

import pytest

from offchain.errors import OurError
from offchain.gateway.api import console
from offchain.gateway.api.console import ConsoleFiles
from offchain.gateway.api.cors import checked_origin
from tests.support.api_rig import node_api

HTML = {"Accept": "text/html,application/xhtml+xml"}
SCRIPT = b"console.log('gantry');" * 100
SECRET = b"7731 words"


@pytest.fixture
def folder(tmp_path):
    """A built console, with what must not be served beside it and in it."""
    made = tmp_path / "console"
    (made / "assets").mkdir(parents=True)
    (made / "index.html").write_bytes(b"<!doctype html><title>Gantry</title>")
    (made / "assets" / "index-DkG3h2_x.js").write_bytes(SCRIPT)
    (made / "assets" / "logo-background.svg").write_bytes(b"<svg/>")
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (made / "link.txt").symlink_to(tmp_path / "secret.txt")
    (made / "linked").symlink_to(tmp_path)
    return made


@pytest.fixture
async def api(tmp_path, monkeypatch, folder):
    async with node_api(tmp_path, monkeypatch, console=folder) as client:
        yield client


async def fetch(api, path, **headers):
    async with api.session.get(api.url + path, headers=headers, auto_decompress=False) as answer:
        return answer.status, answer.headers, await answer.read()


async def raw(api, target):
    """Send a request line as it is; return the status and everything after it."""
    host, port = api.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1]), answer


async def test_the_console_is_served_with_its_policy(api):
    status, headers, body = await fetch(api, "/", **HTML)
    assert (status, body) == (200, b"<!doctype html><title>Gantry</title>")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-cache"
    again = await fetch(api, "/", **{"If-None-Match": headers["ETag"]})
    assert again[0] == 304


async def test_files_with_hashed_names_are_immutable_and_compressed(api):
    _, headers, body = await fetch(api, "/assets/index-DkG3h2_x.js", **{"Accept-Encoding": "gzip"})
    assert "immutable" in headers["Cache-Control"]
    assert headers["Content-Type"].startswith("text/javascript")
    assert gzip.decompress(body) == SCRIPT
    assert (await fetch(api, "/assets/index-DkG3h2_x.js", **{"Accept-Encoding": "identity"}))[2] == SCRIPT
    _, headers, _ = await fetch(api, "/assets/logo-background.svg")
    assert headers["Cache-Control"] == "no-cache"


async def test_pages_of_the_console_begin_with_index_html(api):
    for path in ("/tasks", "/tasks/7", "/sign-in?next=1"):
        status, _, body = await fetch(api, path, **HTML)
        assert (status, b"Gantry" in body) == (200, True), path
    for path, accept in (("/tasks", "application/json"), ("/missing.js", "text/html"), ("/v1/nothing", "text/html")):
        status, headers, _ = await fetch(api, path, Accept=accept)
        assert (status, headers["Content-Type"].partition(";")[0]) == (404, "application/problem+json"), path
    async with api.session.post(f"{api.url}/tasks", headers=HTML) as answer:
        assert answer.status == 404


@pytest.mark.parametrize(
    "target",
    [
        b"/../secret.txt",
        b"/assets/../../secret.txt",
        b"/%2e%2e/secret.txt",
        b"/%2e%2e%2fsecret.txt",
        b"/..%5csecret.txt",
        b"/..\\secret.txt",
        b"/assets%00/secret",
        b"/secret.txt%00",
        b"/link.txt",
        b"/linked/secret.txt",
        b"//etc/passwd.txt",
        b"/%252e%252e/secret.txt",
        b"/../etc/passwd",
        b"/..%2f..%2fetc%2fpasswd",
        b"/a%5c..%5cb",
    ],
)
async def test_no_path_leads_out_of_the_folder(api, target):
    status, answer = await raw(api, target)
    assert status in (400, 404), answer
    assert SECRET not in answer
    assert b"root:" not in answer


async def test_without_a_console_the_root_leads_to_the_reference(tmp_path, monkeypatch):
    async with node_api(tmp_path, monkeypatch) as client:
        async with client.session.get(client.url + "/", allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, "/reference")
        async with client.session.get(client.url + "/") as answer:
            assert "Gantry API" in await answer.text()
        assert (await fetch(client, "/tasks", **HTML))[0] == 404


def test_a_console_that_is_too_large_is_refused(folder, monkeypatch):
    monkeypatch.setattr(console, "MOST_BYTES", 100)
    with pytest.raises(OurError, match="larger than"):
        ConsoleFiles(folder)


async def test_pages_of_other_origins_read_nothing_unless_they_are_named(tmp_path, monkeypatch):
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    async with node_api(tmp_path, monkeypatch, origins=frozenset(["https://console.example.org"])) as client:
        for origin, allowed in (("https://console.example.org", True), ("https://evil.example.net", False)):
            headers = {"Origin": origin}
            async with client.session.get(f"{client.url}/v1/network", headers=headers) as answer:
                assert answer.headers.get("Access-Control-Allow-Origin") == (origin if allowed else None)
                assert answer.headers["Vary"] == "Origin"
                assert "Access-Control-Allow-Credentials" not in answer.headers
            url = f"{client.url}/v1/extrinsics/build"
            async with client.session.options(url, headers=headers | asks) as answer:
                assert (answer.status == 204) is allowed
                assert ("Access-Control-Allow-Methods" in answer.headers) is allowed


async def test_no_request_of_another_origin_acts_for_a_user(api):
    """A browser adds nothing to a request by which the API would know a user: it sets no cookie and reads none."""
    headers = {"Origin": "https://evil.example.net", "Cookie": "session=gts_stolen", "Authorization": "Basic dXNlcjp4"}
    async with api.session.get(f"{api.url}/v1/network", headers=headers) as answer:
        assert answer.status == 200
        assert "Set-Cookie" not in answer.headers
        assert "Access-Control-Allow-Origin" not in answer.headers
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        options = {"data": b"{}", "headers": headers | {"Content-Type": content_type}}
        for path in ("/v1/extrinsics", "/v1/extrinsics/build", "/v1/sign-in", "/v1/api-keys"):
            async with api.session.post(api.url + path, **options) as answer:
                assert answer.status == 415, path


@pytest.mark.parametrize(
    "text", ["*", "null", "example.org", "https://example.org/", "https://a@b", "ftp://x", "https://X.org"]
)
def test_what_is_no_origin_is_refused(text):
    with pytest.raises(OurError, match="is not an origin"):
        checked_origin(text)
