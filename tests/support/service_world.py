"""A chain in memory with services of one tenant, whose pods start and are well as a test says."""

from dataclasses import replace

from offchain.adapters.chain.typed import GantryChain
from offchain.adapters.keys.signer import from_uri
from offchain.schema.chain_types import _generated_chain as gen
from offchain.schema.manifest.parse import parse_manifest
from offchain.schema.manifest.task_spec import manifest_digest, to_task_spec
from offchain.services.submitter import CallOutcome
from tests.support.chain_records import Tasks, host_record, lease
from tests.support.fake_chain import FakeChain

TENANT, PROVIDER, HOST = from_uri("//Charlie").address, from_uri("//Bob").address, from_uri("//Host").address
MANIFEST = b"""\
name: hello
services:
  web:
    image: demo/web@sha256:%s
    command: [serve, v1]
    healthcheck: {test: [CMD, wget, "http://127.0.0.1:8080/"], timeout: 2s}
    deploy: {resources: {limits: {cpus: "0.5", memory: 64M}}}
x-gantry:
  kind: service
  price: {max_per_hour: 1 GTY}
  duration: 1h
  pods: {min: 1, max: 4}
""" % (b"1" * 64)
NEXT = MANIFEST.replace(b"v1", b"v2")
BLOCK_MS = 2_000


class ServiceWorld:
    """`well`: by manifest text's command; `refusals`: verdicts of the next calls."""

    def __init__(self):
        self.chain = FakeChain()
        self.typed = GantryChain(self.chain)
        self.tasks = Tasks(self.chain)
        self.chain.storage["Hosts", "Hosts"][HOST,] = host_record(PROVIDER).encode()
        self.now_ms = 1_000_000
        self.calls, self.told, self.forgotten, self.refusals = [], [], [], []
        self.sick, self.mute, self.stuck = set(), set(), set()
        self.pass_time(0)

    def pass_time(self, ms=BLOCK_MS):
        self.now_ms += ms
        self.chain.storage["Timestamp", "Now"][()] = self.now_ms

    def submit(self, text=MANIFEST, pods=None, *, tenant=TENANT, running=True):
        spec = to_task_spec(parse_manifest(text, source="test"), manifest_digest(text))
        number = self.tasks.submit(tenant, spec, manifest=text, now=self.now_ms)
        if pods is not None:
            self.tasks.change(number, pods_wanted=pods)
        if running:
            self.start(number)
        return number

    def start(self, number):
        """Every pod that is wanted runs."""
        record = self.tasks.get(number)
        if record.state.tag not in ("Queued", "Assigned", "Running") or number in self.stuck:
            return
        there = {one.pod: one for one in record.leases}
        leases = tuple(
            there.get(pod) or lease(HOST, pod=pod, state=gen.LeaseStateActive(), started_at=self.now_ms)
            for pod in range(record.pods_wanted)
        )
        self.tasks.change(number, state=gen.TaskStateRunning(), leases=leases)

    def block(self):
        """Time passes, and pods start."""
        self.pass_time()
        for number in range(int(self.chain.storage["Tasks", "NextTaskId"].get((), 0))):
            if (number.to_bytes(8, "big"),) in self.chain.storage["Tasks", "Tasks"]:
                self.start(number)

    async def well(self, found, manifest):
        del manifest
        if found.task.id in self.mute:
            return None
        return (found.task.id, found.record.pod) not in self.sick and found.task.id not in self.sick

    # --- the performer ------------------------------------------------------------------------------------------

    async def forget(self, name):
        self.forgotten.append(name)

    async def __call__(self, name, call):
        assert name not in [one for one, _ in self.calls] or name in self.forgotten
        self.calls.append((name, call))
        if self.refusals:
            return CallOutcome(self.refusals.pop(0))
        return self.apply(call)

    def apply(self, call):
        if call.function == "submit":
            self.tasks.submit(TENANT, gen.TaskSpec.decode(call.args["spec"]), manifest=call.args["manifest"])
            return CallOutcome()
        number = call.args["task"]
        record = self.tasks.get(number)
        if call.function == "scale":
            kept = tuple(one for one in record.leases if one.pod < call.args["pods"])
            self.tasks.change(number, pods_wanted=call.args["pods"], leases=kept)
        elif call.function == "end":
            assert record.state == gen.TaskStateRunning()
            ended = tuple(replace(one, state=gen.LeaseStateEnded(gen.EndReasonTenantEnded())) for one in record.leases)
            self.tasks.change(number, state=gen.TaskStateReported(), leases=ended)
        else:
            assert call.function == "cancel"
            self.tasks.change(number, state=gen.TaskStateCancelled())
        return CallOutcome()

    @property
    def done(self):
        """What was called, in short."""
        return [
            (call.function, call.args.get("task"), *([call.args["pods"]] if "pods" in call.args else []))
            for _, call in self.calls
        ]
