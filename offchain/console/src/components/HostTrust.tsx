/** What is known for and against a host: its score and the parts of it, proven GPUs, challenges, penalties, ratings. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { useResource, type Loaded } from "../api/hooks.ts";
import type { Challenge, Reputation, ScoreChange } from "../api/matter_types.ts";
import type { Device, Event, Host, Page, ResourceAnswer } from "../api/types.ts";
import { percent } from "../lib/matters.ts";
import { formatDuration } from "../lib/time.ts";
import { isTrustEvent, outcomeCounts, TRUST_EVENTS, trustEvidence, type TrustEvidence } from "../lib/trust.ts";
import { ChallengeTable } from "./ChallengeTable.tsx";
import { DataTable } from "./DataTable.tsx";
import { PPM, ScoreChanges, ScoreParts } from "./HostScore.tsx";
import { ProblemNotice } from "./loading.tsx";
import { Amount, Facts, Time } from "./parts.tsx";

const MOST = 100;

interface HostTrustProps {
  host: Host;
  devices: readonly Device[] | undefined;
  challenges: Loaded<Page<Challenge>>;
  /** The newest events about the host; evidence is read again when one of them is evidence. */
  latest: readonly Event[];
}

export function HostTrust(props: HostTrustProps) {
  const { host } = props;
  const name = encodeURIComponent(host.host);
  const pages = TRUST_EVENTS.map(([pallet, event]) => useEvents(host.host, pallet, event));
  const reputation = useResource<ResourceAnswer<Reputation>>(`/v1/reputation/${name}`);
  const changes = useResource<Page<ScoreChange>>(`/v1/reputation/${name}/changes?limit=20`);
  const newest = props.latest.find(isTrustEvent)?.id;
  const read = useRef(newest);
  useEffect(() => {
    if (read.current === newest) return;
    read.current = newest;
    for (const one of [...pages, reputation, changes]) one.reload();
  }, [newest]);
  const problem = pages.find((one) => one.problem !== null)?.problem ?? null;
  const events = pages.flatMap((one) => one.data?.data ?? []);
  const found = useMemo(() => trustEvidence(events), [events.map((one) => one.id).join()]);
  const isComplete = pages.every((one) => one.data !== null && one.data.next === null);
  return (
    <section class="stack" aria-label="Trust">
      <h2>Trust</h2>
      {problem !== null && <ProblemNotice problem={problem} />}
      <div class="card">
        <TrustFacts host={host} devices={props.devices} found={found} reputation={reputation.data?.data ?? null} />
      </div>
      {!isComplete && problem === null && (
        <p class="muted small">
          Challenges, penalties and ratings are counted in the newest {MOST} events of each kind.
        </p>
      )}
      <ScoreParts of={reputation} />
      <div class="row row-end">
        <h3>Challenges</h3>
        <a href={`/challenges?host=${name}`}>All its challenges</a>
      </div>
      <ChallengeTable of={props.challenges} empty="It was not challenged yet." isOfHost />
      {found.penalties.length > 0 && <Penalties rows={found.penalties} />}
      <ScoreChanges of={changes} />
    </section>
  );
}

function TrustFacts(props: {
  host: Host;
  devices: readonly Device[] | undefined;
  found: TrustEvidence;
  reputation: Reputation | null;
}) {
  const { host, devices, found } = props;
  const score = props.reputation?.host ?? null;
  const faults = props.reputation?.provider ?? null;
  return (
    <Facts
      facts={[
        ["Score", host.score_ppm === null ? "no evidence yet" : percent(host.score_ppm)],
        ["Last change of it", score === null ? undefined : <Time ms={score.updated_ms} />],
        [
          "GPUs proven by a challenge",
          devices && `${devices.filter((one) => one.attested).length} of ${devices.length}`,
        ],
        ["Outcomes of challenges", outcomeCounts(found.outcomes)],
        ["Leases settled", score?.settled_leases],
        [
          "There during its leases",
          score === null
            ? undefined
            : score.promised_ms === 0
              ? "none has ended yet"
              : `${formatDuration(score.met_ms)} of ${formatDuration(score.promised_ms)}`,
        ],
        [
          "Ratings",
          found.meanStars === null ? "none yet" : `${found.meanStars.toFixed(1)} of 5 stars from ${found.ratings}`,
        ],
        ["Penalties", found.penalties.length === 0 ? "none" : undefined],
        ["Slashed", <Amount value={host.slashed} />],
        [
          "Faults of its provider",
          faults === null ? undefined : `${(faults.weight_ppm / PPM).toFixed(2)} of a grave one`,
        ],
      ]}
    />
  );
}

function Penalties(props: { rows: TrustEvidence["penalties"] }) {
  return (
    <>
      <h3>Penalties</h3>
      <DataTable
        label="Penalties"
        rows={props.rows}
        keyOf={(row) => row.id}
        columns={[
          { title: "Reason", cell: (row) => row.reason },
          { title: "Lost of its bond", right: true, cell: (row) => <Amount value={row.amount} /> },
          { title: "Time", cell: (row) => <Time ms={row.timeMs} /> },
        ]}
      />
    </>
  );
}

function useEvents(host: string, pallet: string, name: string): Loaded<Page<Event>> {
  const query = new URLSearchParams({ subject: host, pallet, name, limit: String(MOST) });
  return useResource<Page<Event>>(`/v1/events?${query}`);
}
