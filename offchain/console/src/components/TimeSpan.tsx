/** The choice of the time that charts show. */

interface TimeSpanProps {
  /** Lengths, in the unit of the caller, with their names. */
  spans: readonly (readonly [length: number, name: string])[];
  value: number;
  onChange: (length: number) => void;
}

export function TimeSpan(props: TimeSpanProps) {
  return (
    <label class="field no-print">
      Time
      <select value={props.value} onChange={(event) => props.onChange(Number(event.currentTarget.value))}>
        {props.spans.map(([length, name]) => (
          <option key={length} value={length}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
