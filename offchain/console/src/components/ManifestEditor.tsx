/** A text field with line numbers, which marks the lines that have errors. */

import { useEffect, useRef } from "preact/hooks";
import { errorsByLine, lineCount, lineRange, type ManifestError } from "../lib/manifest_lines.ts";

export function ManifestEditor(props: {
  text: string;
  errors: readonly ManifestError[];
  /** The line to go to; a new object each time. */
  target: { line: number } | null;
  onInput: (text: string) => void;
}) {
  const field = useRef<HTMLTextAreaElement>(null);
  const byLine = errorsByLine(props.errors, props.text);
  const lines = lineCount(props.text);
  useEffect(() => {
    if (props.target === null || field.current === null) return;
    const [start, end] = lineRange(field.current.value, props.target.line);
    field.current.focus();
    field.current.setSelectionRange(start, end);
  }, [props.target]);
  return (
    <div class="editor">
      <div class="editor-lines" aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => (
          <div key={index} class={byLine.has(index + 1) ? "editor-line-bad" : undefined}>
            {byLine.has(index + 1) ? "× " : ""}
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        ref={field}
        aria-label="Manifest"
        aria-invalid={props.errors.length > 0}
        aria-describedby="manifest-errors"
        rows={Math.max(lines, 12)}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        maxLength={16_384}
        value={props.text}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </div>
  );
}
