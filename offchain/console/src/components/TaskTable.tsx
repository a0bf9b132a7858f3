import type { Loaded } from "../api/hooks.ts";
import type { Page, Task } from "../api/types.ts";
import { taskPhrase } from "../lib/states.ts";
import { type Column, PageTable } from "./DataTable.tsx";
import { Address, Amount, Status, Time } from "./parts.tsx";

export function TaskTable(props: {
  of: Loaded<Page<Task>>;
  pageHref: (after: string) => string;
  isFirst: boolean;
  showsTenant?: boolean;
}) {
  const tenant: Column<Task> = { title: "Tenant", minor: true, cell: (row) => <Address account={row.tenant} /> };
  return (
    <PageTable<Task>
      label="Tasks"
      what="tasks"
      of={props.of}
      empty={
        <>
          No task fits. <a href="/launch">Launch one</a>.
        </>
      }
      keyOf={(row) => row.task}
      pageHref={props.pageHref}
      isFirst={props.isFirst}
      columns={[
        { title: "Task", cell: (row) => <a href={`/tasks/${row.task}`}>{row.task}</a> },
        { title: "Kind", minor: true, cell: (row) => row.kind.toLowerCase() },
        { title: "State", cell: (row) => <Status phrase={taskPhrase(row.state)} /> },
        ...(props.showsTenant === true ? [tenant] : []),
        { title: "Submitted", minor: true, cell: (row) => <Time ms={row.submitted_ms} /> },
        { title: "Changed", cell: (row) => <Time ms={row.changed_ms} /> },
        { title: "Paid", right: true, cell: (row) => <Amount value={row.paid} digits={4} /> },
      ]}
    />
  );
}
