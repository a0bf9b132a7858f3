"""A real host on loopback whose pods are in memory, for commands that go to a pod."""

import asyncio
import contextlib
import json
import threading

import cli_world

from node_agent.attestation.sealing_key import SealingKey
from node_agent.handlers.attestation_requests import AttestationRequests
from node_agent.handlers.pod_requests import PodRequests
from node_agent.handlers.resumable import send_from
from offchain.adapters.keys import ss58
from offchain.adapters.keys.sealed_box import seal
from offchain.adapters.keys.signer import from_uri, verify
from offchain.adapters.transport.host_server import HostServer
from offchain.adapters.transport.multi_transport import MultiTransport
from offchain.adapters.transport.port import refused
from offchain.adapters.transport.session import WINDOW
from offchain.clock import unix_ms
from offchain.schema.protocol.evidence import pack
from offchain.schema.protocol.messages import Code, Control, Op
from offchain.schema.protocol.snapshots import RentalSnapshot, SnapshotAction, Snapshots
from tests.support.fake_access import FakeAccess, FakePod

HOST = from_uri("//Host", "ed25519")
CHARLIE = ("--account", "//Charlie")


async def cat(_argv, io_):
    while data := await io_.read():
        await io_.write(data)
    return 0


async def sh(argv, io_):
    await io_.write(b"out " + argv[-1].encode(), 1)
    await io_.write(b"err\n", 2)
    return 3


async def shell(_argv, io_):
    """Says what it is told, and its size, until exit."""
    await io_.write(b"%d x %d\r\n" % io_.size)
    while (typed := await io_.read()) and b"exit" not in typed:
        await io_.write(b"<" + typed + b">")
    return 5


async def upper(reader, send):
    while data := await reader.read(1 << 16):
        send(data.upper())


class RealHost:
    """A host's server in a thread of its own, for commands that bring their own loop."""

    def __init__(self, folder, chain_genesis):
        self.pod = FakePod({"cat": cat, "sh": sh, "top": shell}, {80: upper})
        self.delivered, self.asked = {}, []
        self.ended = False
        self.sealing = SealingKey()
        self.machine = None
        """The source of attestation documents; None: an ordinary machine."""
        self.evidence = {"lease.json": b"{}", "log": b"one line\n", "output": cli_world.RESULT}
        self.evidence_files = None
        self.said = None
        self.there = Snapshots((), None)
        self._folder, self._genesis = folder, chain_genesis
        self._ready, self._thread = threading.Event(), threading.Thread(target=lambda: asyncio.run(self._main()))
        self.addresses = ()

    async def _main(self):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        transport = await self._listen()
        access = PodRequests(FakeAccess({cli_world.LEASE: self.pod}), self._folder, HOST, self._deliver, self.sealing)
        server = HostServer(
            transport,
            genesis_hash=self._genesis,
            authorise=self._authorise,
            handlers={
                **access.handlers(),
                Op.LOGS: self._logs,
                Op.SNAPSHOT: self._snapshot,
                Op.IMAGE: self._image,
                Op.EVIDENCE: self._evidence,
                Op.EVIDENCE_FILES: self._evidence_files,
                Op.ATTEST: self._attest,
            },
            verify=lambda account, crypto, payload, signature: verify(ss58.decode(account), crypto, payload, signature),
            now_ms=unix_ms,
            recheck_s=0.05,
        )
        serving = asyncio.create_task(server.serve())
        self.addresses = transport.addresses
        self._ready.set()
        await self._stop.wait()
        await server.close()
        await serving
        await access.close()

    async def _listen(self):
        return await MultiTransport.bind(HOST.seed(), "127.0.0.1:0")

    async def _authorise(self, request):
        self.asked.append(request)
        if request.account != cli_world.CHARLIE:
            raise refused(Code.NOT_YOUR_LEASE, "Not your lease.", "Sign as its tenant.")
        if self.ended:
            raise refused(Code.LEASE_ENDED, "The lease has ended.", "Its log is still there.")

    async def _logs(self, request, session):
        if self.said is not None:
            await self.said(request, session)
            return
        session.accept()
        args = request.args
        await session.write(json.dumps([args.tail, args.since_ms, args.follow, args.service]).encode())

    async def _evidence(self, request, session):
        session.accept()
        await session.write(seal(bytes.fromhex(request.args.seal_to), pack(self.evidence)))

    async def _evidence_files(self, request, session):
        """Keeps what is sent, and shows it."""
        if request.args.size is None:
            if self.evidence_files is None:
                raise refused(Code.GONE, "No files are here.", "None may exist.")
            session.accept()
            await session.write(seal(bytes.fromhex(request.args.seal_to), self.evidence_files))
            return
        session.accept(window=WINDOW)
        found = bytearray()
        while (piece := await session.read_main()) is not None:
            found += piece
        self.evidence_files = bytes(found)
        await session.say(Control(done=True))

    async def _attest(self, request, session):
        if self.machine is None:
            raise refused(Code.UNSUPPORTED, "This host does not offer attest.", "Use another host.")
        await AttestationRequests(self.machine, HOST.public_key, self.sealing.public).attest(request, session)

    async def _snapshot(self, request, session):
        """A host that does what it is asked, without a machine behind it."""
        args, now = request.args, {one.name: one for one in self.there.snapshots}
        match args.act:
            case SnapshotAction.TAKE:
                now[args.name] = RentalSnapshot(
                    args.name, 1_700_000_000_000 + len(now), 2_500_000, f"sha256:{'ab' * 32}"
                )
            case SnapshotAction.REMOVE:
                now.pop(args.name)
        current = args.name if args.act is SnapshotAction.RESTORE else self.there.current
        self.there = Snapshots(tuple(now.values()), current)
        session.accept()
        await session.write(self.there.encode())

    async def _image(self, request, session):
        async def archive():
            yield f"archive of {request.args.name}".encode()

        await send_from(session, archive(), request.args.offset, request.args.digest, "it")

    async def _deliver(self, _lease, name, data):
        self.delivered[name] = data

    @contextlib.contextmanager
    def running(self):
        self._thread.start()
        assert self._ready.wait(30)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
