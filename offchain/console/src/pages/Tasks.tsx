import { useLocation } from "preact-iso";
import { useResource } from "../api/hooks.ts";
import { useBlockTicks } from "../api/ticks.ts";
import type { Page, Task } from "../api/types.ts";
import { Live } from "../components/Live.tsx";
import { Heading } from "../components/parts.tsx";
import { TaskTable } from "../components/TaskTable.tsx";
import { isAddress } from "../lib/address.ts";
import { TASK_STATES, taskPhrase } from "../lib/states.ts";
import { apiQuery, stateOf, urlWith } from "../lib/url_state.ts";

const DEFAULTS = { state: "", tenant: "", after: "" };

/** Tasks, newest first, with filters in the URL. */
export function Tasks() {
  const { query, route } = useLocation();
  const state = stateOf(query, DEFAULTS);
  const tasks = useResource<Page<Task>>(`/v1/tasks${apiQuery(state)}`);
  const stream = useBlockTicks(tasks.reload);
  const to = (change: Partial<typeof DEFAULTS>): string => urlWith("/tasks", { ...state, after: "", ...change });
  return (
    <>
      <Heading title="Tasks" aside={<Live state={stream} />} />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label class="field">
          State
          <select value={state.state} onChange={(event) => route(to({ state: event.currentTarget.value }))}>
            <option value="">all</option>
            {TASK_STATES.map((one) => (
              <option key={one} value={one}>
                {taskPhrase(one).text}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Tenant (address)
          <input
            value={state.tenant}
            maxLength={64}
            onChange={(event) => {
              const tenant = event.currentTarget.value.trim();
              if (tenant === "" || isAddress(tenant)) route(to({ tenant }));
              else event.currentTarget.setCustomValidity("This is no address.");
            }}
            onInput={(event) => event.currentTarget.setCustomValidity("")}
          />
        </label>
      </form>
      <TaskTable of={tasks} pageHref={(after) => to({ after })} isFirst={state.after === ""} showsTenant />
    </>
  );
}
