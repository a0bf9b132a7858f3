/** Events as sentences, each with its name, fields and documentation. */

import type { Event } from "../api/types.ts";
import { eventText } from "../lib/event_text.ts";
import { Empty } from "./loading.tsx";
import { EventValue, Facts, Time } from "./parts.tsx";

export function EventList(props: {
  events: readonly Event[];
  isComplete: boolean;
  showsExtrinsic?: boolean;
  showsTime?: boolean;
}) {
  if (props.events.length === 0) return <Empty>There are no events in the index.</Empty>;
  return (
    <>
      <ol class="timeline">
        {props.events.map((event) => (
          <li key={event.id}>
            <div class="small muted">
              {props.showsTime === true ? (
                <Time ms={event.time_ms} />
              ) : props.showsExtrinsic === true ? (
                event.extrinsic === null ? (
                  "by the block"
                ) : (
                  `by extrinsic ${event.extrinsic}`
                )
              ) : (
                `event ${event.id}`
              )}
              {props.showsTime === true && (
                <>
                  {" "}
                  · <a href={`/blocks/${event.block}`}>block {event.block}</a>
                </>
              )}
            </div>
            <details>
              <summary>
                {eventText(event)}{" "}
                <code class="muted small">
                  {event.pallet}.{event.name}
                </code>
              </summary>
              <div class="stack">
                {event.documentation && <p class="muted">{event.documentation}</p>}
                <Facts
                  facts={Object.entries(event.fields).map(([name, value]) => [name, <EventValue value={value} />])}
                />
              </div>
            </details>
          </li>
        ))}
      </ol>
      {!props.isComplete && <p class="notice">There are more events than this page shows. The API has all of them.</p>}
    </>
  );
}
