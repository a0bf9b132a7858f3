/** Challenges of hosts: the list, and one with its committees, votes and timeline. */

import { useLocation, useRoute } from "preact-iso";
import { useFollowed } from "../api/followed.ts";
import { useResource } from "../api/hooks.ts";
import type { Challenge, ChallengeDetail } from "../api/matter_types.ts";
import type { Page } from "../api/types.ts";
import { ChallengeTable } from "../components/ChallengeTable.tsx";
import { Committees } from "../components/Committees.tsx";
import { Live } from "../components/Live.tsx";
import { Load } from "../components/loading.tsx";
import { MatterFilters } from "../components/MatterFilters.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { Timeline } from "../components/Timeline.tsx";
import { matterPhrase } from "../lib/matters.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { state: "", outcome: "", host: "", after: "" };

export function Challenges() {
  const { query, route } = useLocation();
  const state = stateOf(query, DEFAULTS);
  const challenges = useResource<Page<Challenge>>(`/v1/challenges${apiQuery(state)}`);
  const to = (change: Partial<typeof DEFAULTS>): string => urlWith("/challenges", { ...state, after: "", ...change });
  return (
    <>
      <Heading title="Challenges">
        {state.host === "" ? (
          "A host that is challenged proves that a GPU is what its provider says."
        ) : (
          <>
            of <Address account={state.host} kind="host" /> · <a href={to({ host: "" })}>all hosts</a>
          </>
        )}
      </Heading>
      <MatterFilters
        kind="challenge"
        state={state.state}
        outcome={state.outcome}
        onChange={(change) => route(to(change))}
      />
      <ChallengeTable
        of={challenges}
        empty="No challenge fits."
        pageHref={(after) => to({ after })}
        isFirst={state.after === ""}
      />
    </>
  );
}

export function ChallengePage() {
  const { params } = useRoute();
  const number = params["challenge"] ?? "";
  const { record, events, stream } = useFollowed<ChallengeDetail>(
    `/v1/challenges/${encodeURIComponent(number)}`,
    `challenge:${number}`,
  );
  return (
    <>
      <Heading title={`Challenge ${number}`} aside={record.data !== null && <Live state={stream} />}>
        {record.data !== null && (
          <Status phrase={matterPhrase("challenge", record.data.data.state, record.data.data.outcome)} />
        )}
      </Heading>
      <Load of={record} what="the challenge">
        {({ data }) => (
          <>
            <section class="card" aria-label="Facts">
              <ChallengeFacts challenge={data} />
            </section>
            <section class="stack">
              <h2>Committees</h2>
              <Committees kind="challenge" committees={data.committees} />
            </section>
            <Timeline of={events} />
          </>
        )}
      </Load>
    </>
  );
}

function ChallengeFacts(props: { challenge: Challenge }) {
  const { challenge } = props;
  const { claim } = challenge;
  return (
    <Facts
      facts={[
        ["Host", <Address account={challenge.host} kind="host" whole />],
        ["Device", challenge.device],
        [
          "Its provider says",
          claim === null
            ? undefined
            : `${claim.model}, ${claim.vram_mib} MiB${claim.simulated ? ", simulated" : ""} (${claim.vendor})`,
        ],
        ["Opened by", challenge.opener === null ? "the council" : <Address account={challenge.opener} whole />],
        ["Opened", <Time ms={challenge.opened_ms} />],
        ["In block", <a href={`/blocks/${challenge.opened_block}`}>{challenge.opened_block}</a>],
        ["This phase ends", challenge.until_ms === null ? undefined : <Time ms={challenge.until_ms} />],
        ["Fee held for the committees", <Amount value={challenge.fee} />],
        ["Of it returned", challenge.returned === null ? undefined : <Amount value={challenge.returned} />],
        ["Answered", challenge.answered_ms === null ? undefined : <Time ms={challenge.answered_ms} />],
        [
          "Digest of the proof",
          challenge.answer_digest === null ? undefined : <Hash hash={challenge.answer_digest} whole what="digest" />,
        ],
        ["Last change", <Time ms={challenge.changed_ms} />],
      ]}
    />
  );
}
