/** Filters of a list of challenges or disputes: phase and outcome. */

import { filterText } from "../lib/matters.ts";

export function MatterFilters(props: {
  kind: "challenge" | "dispute";
  phases: readonly string[];
  ends: readonly string[];
  state: string;
  outcome: string;
  onChange: (change: { state?: string; outcome?: string }) => void;
}) {
  const { kind, phases, ends, state, outcome, onChange } = props;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        Phase
        <select value={state} onChange={(event) => onChange({ state: event.currentTarget.value })}>
          <option value="">all</option>
          {phases.map((one) => (
            <option key={one} value={one}>
              {filterText(kind, one)}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        Outcome
        <select value={outcome} onChange={(event) => onChange({ outcome: event.currentTarget.value })}>
          <option value="">all</option>
          {ends.map((one) => (
            <option key={one} value={one}>
              {filterText(kind, one)}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}
