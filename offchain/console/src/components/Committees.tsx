/** Committees of a challenge or juries of a dispute, each with the votes of its members. */

import type { Committee } from "../api/matter_types.ts";
import { voteText, type Matter } from "../lib/matters.ts";
import { spaced } from "../lib/states.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty } from "./loading.tsx";
import { Address, Amount, Facts, Hash, Time } from "./parts.tsx";

export function Committees(props: { kind: Matter; committees: readonly Committee[] }) {
  if (props.committees.length === 0) return <Empty>None was drawn yet.</Empty>;
  return (
    <>
      {props.committees.map((one) => (
        <OneCommittee key={one.round} kind={props.kind} committee={one} />
      ))}
    </>
  );
}

function titleOf(kind: Matter, committee: Committee): string {
  if (kind === "challenge")
    return `Committee ${committee.round + 1}${committee.confirming ? ", which confirms the verdict" : ""}`;
  return `Jury ${committee.round + 1}${committee.level > 0 ? `, on appeal ${committee.level}` : ""}`;
}

function OneCommittee(props: { kind: Matter; committee: Committee }) {
  const { kind, committee } = props;
  const title = titleOf(kind, committee);
  return (
    <section class="card stack">
      <h3>{title}</h3>
      <Facts
        facts={[
          [
            "Drawn",
            committee.drawn ? <Time ms={committee.drawn_ms} /> : "could not be drawn: there were too few verifiers",
          ],
          ["In block", <a href={`/blocks/${committee.drawn_block}`}>{committee.drawn_block}</a>],
          ["By the seed", committee.seed === null ? undefined : <Hash hash={committee.seed} what="seed" />],
          ["Randomness of block", committee.seed_block ?? undefined],
          [
            "Verdict",
            committee.closed_ms === null
              ? "not yet"
              : committee.verdict === null
                ? "none: no vote had more than half of the seats"
                : voteText(kind, committee.verdict),
          ],
          ["Closed", committee.closed_ms === null ? undefined : <Time ms={committee.closed_ms} />],
        ]}
      />
      {committee.votes.length > 0 && (
        <DataTable
          label={`Votes of ${title.toLowerCase()}`}
          rows={committee.votes}
          keyOf={(row) => row.account}
          columns={[
            { title: "Member", cell: (row) => <Address account={row.account} /> },
            {
              title: "Vote",
              cell: (row) =>
                row.vote !== null
                  ? voteText(kind, row.vote)
                  : row.committed_ms === null
                    ? "not committed"
                    : "committed, not revealed",
            },
            { title: "Committed", minor: true, cell: (row) => <Time ms={row.committed_ms} /> },
            { title: "Revealed", minor: true, cell: (row) => <Time ms={row.revealed_ms} /> },
            { title: "Paid", right: true, cell: (row) => <Amount value={row.rewarded} digits={4} /> },
            {
              title: "Lost",
              right: true,
              cell: (row) => (
                <>
                  <Amount value={row.penalised} digits={4} />
                  {row.reason !== null && ` (${spaced(row.reason)})`}
                </>
              ),
            },
          ]}
        />
      )}
    </section>
  );
}
