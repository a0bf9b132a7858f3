/** The section of the events about a task, challenge or dispute. */

import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/hooks.ts";
import type { Event } from "../api/types.ts";
import { EventList } from "./EventList.tsx";
import { Load } from "./loading.tsx";

export function Timeline(props: { of: Loaded<Event[]> & { isComplete: boolean }; children?: ComponentChildren }) {
  return (
    <section class="stack">
      <h2>Timeline</h2>
      {props.children}
      <Load of={props.of} what="events">
        {(rows) => <EventList events={rows} isComplete={props.of.isComplete} showsTime />}
      </Load>
    </section>
  );
}
