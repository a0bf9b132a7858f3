/** Filters of a list of challenges or disputes: phase and outcome. */

import { filterText, outcomesOf, phasesOf, type Matter } from "../lib/matters.ts";

export function MatterFilters(props: {
  kind: Matter;
  state: string;
  outcome: string;
  onChange: (change: { state?: string; outcome?: string }) => void;
}) {
  const { kind, state, outcome, onChange } = props;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <label class="field">
        Phase
        <select value={state} onChange={(event) => onChange({ state: event.currentTarget.value })}>
          <option value="">all</option>
          {phasesOf(kind).map((one) => (
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
          {outcomesOf(kind).map((one) => (
            <option key={one} value={one}>
              {filterText(kind, one)}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}
