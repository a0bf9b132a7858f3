import { type IconName, shapeOf } from "../lib/icons.ts";

/** An icon, which repeats what its text or label says. */
export function Icon(props: { name: IconName }) {
  const shape = shapeOf(props.name);
  return (
    <svg class={shape.filled === true ? "icon icon-filled" : "icon"} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shape.path} />
    </svg>
  );
}
