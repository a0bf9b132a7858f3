/** Measurements of the operator's Prometheus over a time that is chosen, asked for again each minute. */

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { useResource } from "../api/hooks.ts";
import type { ResourceAnswer } from "../api/types.ts";
import { Empty, Load } from "./loading.tsx";
import { TimeSpan } from "./TimeSpan.tsx";

const REFRESH_MS = 60_000;
const SPANS = [
  [1, "1 hour"],
  [24, "24 hours"],
  [168, "7 days"],
] as const;

interface MeasurementsProps<T> {
  title: string;
  /** The path of the resource, to which the hours are added. */
  path: string;
  children: (measured: T) => ComponentChildren;
}

export function Measurements<T>(props: MeasurementsProps<T>) {
  const [hours, setHours] = useState(24);
  const found = useResource<ResourceAnswer<T>>(`${props.path}?hours=${hours}`);
  const { reload } = found;
  const isOff = found.problem?.code === "monitoring_off";
  useEffect(() => {
    if (isOff) return undefined;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload, isOff]);
  return (
    <section class="stack" aria-label={props.title}>
      <h2>{props.title}</h2>
      {isOff ? (
        <Empty>This gateway reads no Prometheus, so it has no measurements.</Empty>
      ) : (
        <>
          <TimeSpan spans={SPANS} value={hours} onChange={setHours} />
          <Load of={found} what="measurements">
            {({ data }) => props.children(data)}
          </Load>
        </>
      )}
    </section>
  );
}
