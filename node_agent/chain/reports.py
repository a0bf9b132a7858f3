"""Reports about the pods of this host's leases."""

from __future__ import annotations

import logging
from collections.abc import Callable

from node_agent.chain.call_sender import CallSender
from node_agent.chain.clock import ChainSilence
from node_agent.chain.duplicates import DuplicateWatch
from node_agent.chain.replica_results import ReplicaResults
from node_agent.core import commands as cmd
from node_agent.core import events as ev
from node_agent.core.states import Phase, Pod
from node_agent.core.values import HostLease, LeaseReport, ReportStatus
from offchain.adapters.background_tasks import BackgroundTasks
from offchain.schema.chain_types._generated_chain import PodResult, ReportDataLost, ReportPurged, calls
from offchain.schema.chain_types.reasons import code
from offchain.schema.chain_types.values import Call

log = logging.getLogger(__name__)


class ReportSender:
    """Sends reports once it is certain that this agent serves the leases. `emit` takes their outcomes.

    The result of a replica or an audited job is committed instead of reported; `replicas` reveals it later. `say`
    writes to the log of a lease's pod.
    """

    def __init__(
        self,
        sender: CallSender,
        duplicates: DuplicateWatch,
        silence: ChainSilence,
        replicas: ReplicaResults,
        *,
        emit: Callable[[ev.PodEvent], None],
        pod_of: Callable[[int], Pod | None],
        say: Callable[[int, str], None],
    ) -> None:
        self._sender = sender
        self._duplicates = duplicates
        self._silence = silence
        self._replicas = replicas
        self._emit = emit
        self._pod_of = pod_of
        self._say = say
        self._tasks = BackgroundTasks()

    async def close(self) -> None:
        """Stop waiting; reports without an outcome are sent again after the next start."""
        await self._tasks.close()

    def submit(self, command: cmd.Command) -> None:
        """Send the report of a command; returns at once."""
        match command:
            case cmd.SubmitStarted(number):
                self._send(number, LeaseReport.STARTED, calls.tasks_report_started(lease=number))
            case cmd.SubmitResult(number, digest, exit_code, usage):
                self._send_result(number, PodResult(digest=digest, exit_code=exit_code, usage=usage))
            case cmd.SubmitFailed(number, reason, message):
                log.warning("lease %d: given back with %s: %s", number, reason.value, message)
                self._say(number, f"the host gave this pod back ({code(reason.value)}): {message}")
                self._send(number, LeaseReport.FAILED, calls.tasks_report_failed(lease=number, reason=reason))
            case cmd.SubmitPurged(number, receipt, attempt):
                call = calls.tasks_report(lease=number, report=ReportPurged(receipt=receipt))
                self._send(number, LeaseReport.PURGED, call, attempt)
            case cmd.SubmitDataLost(number):
                self._send(number, LeaseReport.DATA_LOST, calls.tasks_report(lease=number, report=ReportDataLost()))
            case _:
                raise AssertionError(command)

    def take_back(self, lease: HostLease) -> None:
        """Cancel the reports about an ended lease that are not on the chain yet."""
        for report in (LeaseReport.STARTED, LeaseReport.RESULT, LeaseReport.FAILED):
            self._tasks.run(self._sender.take_back(_key(lease, report)))

    def _send(self, number: int, report: LeaseReport, call: Call, attempt: int = 0) -> None:
        pod = self._pod_of(number)
        if pod is not None:
            key = _key(pod.lease, report) + (f"/{attempt}" if attempt else "")
            self._tasks.run(self._sent(pod.lease, report, key, call))

    def _send_result(self, number: int, result: PodResult) -> None:
        pod = self._pod_of(number)
        if pod is not None and pod.lease.redundant:
            self._tasks.run(self._commit(pod.lease, result))
        else:
            self._send(number, LeaseReport.RESULT, calls.tasks_report_result(lease=number, result=result))

    async def _commit(self, lease: HostLease, result: PodResult) -> None:
        commitment = await self._replicas.commitment(lease, result)
        call = calls.verification_commit_result(lease=lease.number, commitment=commitment)
        await self._sent(lease, LeaseReport.RESULT, _key(lease, LeaseReport.RESULT), call)

    async def _sent(self, lease: HostLease, report: LeaseReport, key: str, call: Call) -> None:
        number = lease.number
        await self._until_certain(report)
        pod = self._pod_of(number)
        if pod is None or pod.phase is Phase.ENDING or not pod.lease.is_same_as(lease):
            log.warning("lease %d: its report %s is not sent, since the lease is over", number, report.value)
            return
        try:
            outcome, why = await self._sender.send(key, call)
        except LookupError:
            log.warning("lease %d: its report %s is taken back, since the lease is over", number, report.value)
            return
        level = logging.INFO if outcome is ReportStatus.INCLUDED else logging.ERROR
        log.log(level, "lease %d: report %s %s %s", number, report.value, outcome.value, why)
        self._emit(ev.ReportOutcome(number, report, outcome, why))

    async def _until_certain(self, report: LeaseReport) -> None:
        """Wait until this report may be sent: not while another agent may serve the leases of this host."""
        if report is LeaseReport.DATA_LOST:
            await self._duplicates.until_heartbeat()
        elif report is not LeaseReport.STARTED:  # this report ends nothing
            await self._duplicates.until_no_suspicion()
        await self._silence.wait_until_over()


def _key(lease: HostLease, report: LeaseReport) -> str:
    """Return the key of a report. A lease number is reused when a block is reverted; its creation time is not."""
    return f"lease/{lease.number}/{lease.created_at_ms}/{report.value}"
