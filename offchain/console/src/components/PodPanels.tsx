/** Access of this page to the pods of the connected account: the session key, the choice of a pod, its panels. */

import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import { useResource } from "../api/hooks.ts";
import type { Lease, Network, ResourceAnswer, Task } from "../api/types.ts";
import { missingCryptography } from "../host/keys.ts";
import { delegateTo, forgetSessionKey, type SessionKey, useSessionKey } from "../host/session_key.ts";
import { leasePhrase } from "../lib/states.ts";
import { useWallet } from "../wallet/session.ts";
import { Load, ProblemNotice } from "./loading.tsx";
import { LogPanel } from "./LogPanel.tsx";
import { Address, Hash, Status, Time } from "./parts.tsx";
import { ResultPanel } from "./ResultPanel.tsx";
import { TerminalPanel } from "./TerminalPanel.tsx";

const HOURS = [1, 4, 12] as const;

export function PodPanels(props: { task: Task; leases: readonly Lease[] }) {
  const network = useResource<ResourceAnswer<Network>>("/v1/network");
  return (
    <Load of={network} what="the network">
      {({ data }) =>
        data.relay === null ? (
          <p class="notice muted">
            This gateway has no relay for pages. Use the command line: <code>gantry logs {props.task.task}</code>.
          </p>
        ) : (
          <WithKey {...props} network={data} />
        )
      }
    </Load>
  );
}

function WithKey(props: { task: Task; leases: readonly Lease[]; network: Network }) {
  const { key, hasExpired } = useSessionKey();
  const { signer } = useWallet();
  if (key === null || key.account !== signer?.address) {
    return <Delegate genesisHash={props.network.genesis_hash} hasExpired={hasExpired} />;
  }
  return (
    <>
      <KeyState sessionKey={key} />
      <PodChoice {...props} key={key.address} />
    </>
  );
}

/** Asks the wallet to delegate to a key of this page. */
function Delegate(props: { genesisHash: string; hasExpired: boolean }) {
  const { signer } = useWallet();
  const [hours, setHours] = useState<number>(HOURS[1]);
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [missing, setMissing] = useState("");
  useEffect(() => void missingCryptography().then(setMissing), []);
  if (signer === null) return null;
  const ask = (event: Event): void => {
    event.preventDefault();
    setProblem(null);
    setIsBusy(true);
    delegateTo(signer, hours, props.genesisHash)
      .catch((error: unknown) => setProblem(asProblem(error)))
      .finally(() => setIsBusy(false));
  };
  return (
    <>
      {props.hasExpired && (
        <p class="notice notice-warn" role="status">
          The session key of this page has expired. Sign for a new one.
        </p>
      )}
      {missing !== "" && <p class="notice notice-bad">{missing}</p>}
      {problem !== null && <ProblemNotice problem={problem} />}
      <p>
        Your wallet signs a text by which a key of this page may read logs and results and run programs in your pods,
        and nothing else: it moves no coins. What passes between this page and a host is encrypted for the host; the
        gateway cannot read it. The key is in the memory of this page only.
      </p>
      <form class="row" onSubmit={ask}>
        <label class="field-inline">
          For
          <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
            {HOURS.map((choice) => (
              <option key={choice} value={choice}>
                {choice === 1 ? "1 hour" : `${choice} hours`}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="button-main" disabled={isBusy || missing !== ""}>
          {isBusy ? "Waiting for the wallet …" : "Allow access to my pods"}
        </button>
      </form>
    </>
  );
}

function KeyState(props: { sessionKey: SessionKey }) {
  return (
    <div class="row">
      <span>
        This page may access your pods until <Time ms={props.sessionKey.expiresMs} /> with the session key{" "}
        <Hash hash={props.sessionKey.address} what="session key" />
      </span>
      <button type="button" onClick={forgetSessionKey}>
        Forget the key
      </button>
    </div>
  );
}

const PANELS = ["Logs", "Terminal", "Result"] as const;
type PanelName = (typeof PANELS)[number];

function PodChoice(props: { task: Task; leases: readonly Lease[]; network: Network }) {
  // The newest run of the first pod comes first.
  const leases = [...props.leases].sort((one, other) => one.pod - other.pod || other.generation - one.generation);
  const [chosen, setChosen] = useState(leases[0]?.lease ?? "");
  const [open, setOpen] = useState<readonly PanelName[]>([]);
  const buttons = useRef<HTMLDivElement>(null);
  const lease = leases.find((one) => one.lease === chosen) ?? leases[0];
  if (lease === undefined) return null;
  const toggle = (name: PanelName): void =>
    setOpen(open.includes(name) ? open.filter((one) => one !== name) : [...open, name]);
  const shared = { lease, network: props.network };
  return (
    <>
      <div class="row" ref={buttons}>
        {leases.length > 1 && (
          <label class="field-inline">
            Pod
            <select value={lease.lease} onChange={(event) => setChosen(event.currentTarget.value)}>
              {leases.map((one) => (
                <option key={one.lease} value={one.lease}>
                  pod {one.pod}, attempt {one.generation + 1}
                </option>
              ))}
            </select>
          </label>
        )}
        {PANELS.map((name) => (
          <button key={name} type="button" aria-expanded={open.includes(name)} onClick={() => toggle(name)}>
            {name}
          </button>
        ))}
        <span class="muted">
          on host <Address account={lease.host} kind="host" />,{" "}
          <Status phrase={leasePhrase(lease.state, lease.reason)} />
        </span>
      </div>
      {open.includes("Logs") && <LogPanel key={`log ${lease.lease}`} {...shared} />}
      {open.includes("Terminal") && <TerminalPanel key={`terminal ${lease.lease}`} {...shared} />}
      {open.includes("Result") && <ResultPanel key={`result ${lease.lease}`} {...shared} />}
    </>
  );
}
