/** Challenges of hosts: the list, and one with its committees, votes and timeline. */

import { useLocation, useRoute } from "preact-iso";
import { useAllPages, useResource, useThrottled } from "../api/hooks.ts";
import type { Challenge, ChallengeDetail } from "../api/matter_types.ts";
import { useEventStream } from "../api/stream.ts";
import type { Event, Page, ResourceAnswer } from "../api/types.ts";
import { ChallengeTable } from "../components/ChallengeTable.tsx";
import { Committees } from "../components/Committees.tsx";
import { EventList } from "../components/EventList.tsx";
import { Live } from "../components/Live.tsx";
import { Load } from "../components/loading.tsx";
import { MatterFilters } from "../components/MatterFilters.tsx";
import { Address, Amount, Facts, Hash, Heading, Status, Time } from "../components/parts.tsx";
import { CHALLENGE_ENDS, CHALLENGE_PHASES, challengePhrase } from "../lib/matters.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { state: "", outcome: "", host: "", after: "" };
const REFRESH_MS = 500;

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
        phases={CHALLENGE_PHASES}
        ends={CHALLENGE_ENDS}
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
  const challenge = useResource<ResourceAnswer<ChallengeDetail>>(`/v1/challenges/${encodeURIComponent(number)}`);
  const isKnown = challenge.data !== null;
  const subject = `challenge:${number}`;
  const events = useAllPages<Event>(
    isKnown ? `/v1/events?subject=${subject}&order=oldest&limit=500&documented=true` : null,
    2,
  );
  const reload = useThrottled(() => {
    challenge.reload();
    events.reload();
  }, REFRESH_MS);
  const stream = useEventStream(isKnown ? { subject } : null, reload);
  return (
    <>
      <Heading title={`Challenge ${number}`} aside={isKnown && <Live state={stream} />}>
        {challenge.data !== null && (
          <Status phrase={challengePhrase(challenge.data.data.state, challenge.data.data.outcome)} />
        )}
      </Heading>
      <Load of={challenge} what="the challenge">
        {({ data }) => (
          <>
            <section class="card" aria-label="Facts">
              <ChallengeFacts challenge={data} />
            </section>
            <section class="stack">
              <h2>Committees</h2>
              <Committees kind="challenge" committees={data.committees} />
            </section>
            <section class="stack">
              <h2>Timeline</h2>
              <Load of={events} what="events">
                {(rows) => <EventList events={rows} isComplete={events.isComplete} showsTime />}
              </Load>
            </section>
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
