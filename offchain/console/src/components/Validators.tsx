/** The validators of the present session, from a node of the gateway. */

import { useResource } from "../api/hooks.ts";
import type { ValidatorList } from "../api/monitoring_types.ts";
import type { ResourceAnswer } from "../api/types.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty, Load } from "./loading.tsx";
import { Address, Status } from "./parts.tsx";

export function Validators() {
  const found = useResource<ResourceAnswer<ValidatorList>>("/v1/validators");
  return (
    <section class="stack">
      <h2>Validators</h2>
      {found.problem?.code === "no_node" ? (
        <Empty>This gateway has no node, which knows the validators.</Empty>
      ) : (
        <Load of={found} what="validators">
          {({ data }) => (
            <>
              <p class="muted">
                {data.validators.length} in session {data.session}. Finality needs more than two thirds of them.
              </p>
              <DataTable
                label="Validators"
                rows={data.validators}
                keyOf={(row) => row.account}
                columns={[
                  { title: "Account", cell: (row) => <Address account={row.account} /> },
                  {
                    title: "State",
                    cell: (row) => (
                      <Status
                        phrase={
                          row.disabled
                            ? { icon: "failed", text: "disabled for a fault", tone: "bad" }
                            : { icon: "online", text: "active", tone: "good" }
                        }
                      />
                    ),
                  },
                ]}
              />
            </>
          )}
        </Load>
      )}
    </section>
  );
}
