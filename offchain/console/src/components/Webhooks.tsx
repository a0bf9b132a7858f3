/** Webhooks of the signed-in account: list, add, test, remove. The secret of a new one is shown once. */

import { useEffect, useState } from "preact/hooks";
import type { ListedWebhook, NewWebhook, WebhookList } from "../api/account_types.ts";
import { asProblem, type Problem, request } from "../api/client.ts";
import { type Loaded, useResource } from "../api/hooks.ts";
import type { ResourceAnswer, Session } from "../api/types.ts";
import { TOPICS, topicText, waitingText } from "../lib/notification_topics.ts";
import { DataTable } from "./DataTable.tsx";
import { Empty, Load, ProblemNotice } from "./loading.tsx";
import { Copy, Status, Time } from "./parts.tsx";

const LOOK_AGAIN_MS = 2_000;
/** A webhook is tested within seconds; slower ones are seen with the next visit. */
const MOST_LOOKS = 60;
/** Topics that are chosen at first; the others are for providers. */
const OF_TENANTS = /^(lease|pod|data)_/;

export function Webhooks(props: { session: Session | null }) {
  if (props.session === null) {
    return <Empty>Sign in to have webhooks. The gateway's operator turns sign-in on (--http-domain).</Empty>;
  }
  return <WebhookSection />;
}

function WebhookSection() {
  const hooks = useResource<ResourceAnswer<WebhookList>>("/v1/notifications");
  const [made, setMade] = useState<NewWebhook | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [tested, setTested] = useState<string | null>(null);
  useWaitingTest(hooks, tested);
  const attempt = (work: Promise<unknown>): Promise<boolean> => {
    setProblem(null);
    return work.then(
      () => {
        hooks.reload();
        return true;
      },
      (error: unknown) => {
        setProblem(asProblem(error));
        return false;
      },
    );
  };
  const add = async (body: { url: string; topics: string[] }): Promise<boolean> =>
    attempt(
      request<ResourceAnswer<NewWebhook>>("/v1/notifications", { method: "POST", body }).then(({ data }) =>
        setMade(data),
      ),
    );
  const test = (id: string): void => {
    setTested(null);
    void attempt(request("/v1/notifications/test", { method: "POST", body: { id } })).then((sent) => {
      if (sent) setTested(id);
    });
  };
  const remove = (id: string): void => {
    if (tested === id) setTested(null);
    if (made?.id === id) setMade(null);
    void attempt(request(`/v1/notifications/${id}`, { method: "DELETE" }));
  };
  return (
    <section class="stack">
      <h2>Webhooks</h2>
      <p class="muted">
        The network's notifier posts a signed notice to each URL when something happens to your leases and hosts.
      </p>
      {problem !== null && <ProblemNotice problem={problem} />}
      {made !== null && (
        <div class="notice notice-good" role="status">
          <p>The secret of the webhook is shown only now. With it your receiver checks the signature of notices:</p>
          <p>
            <code>{made.secret}</code>
            <Copy text={made.secret} what="secret" />
          </p>
        </div>
      )}
      <Load of={hooks} what="webhooks">
        {({ data }) => (
          <>
            {tested !== null && <TestResult hook={data.webhooks.find((one) => one.id === tested)} />}
            {data.webhooks.length === 0 ? (
              <Empty>This account has no webhook.</Empty>
            ) : (
              <WebhookTable rows={data.webhooks} test={test} remove={remove} />
            )}
          </>
        )}
      </Load>
      <NewWebhookForm add={add} />
    </section>
  );
}

/** Reads the list again while the test notice of a webhook waits. */
function useWaitingTest(hooks: Loaded<ResourceAnswer<WebhookList>>, tested: string | null): void {
  const { data, reload } = hooks;
  const [looks, setLooks] = useState(0);
  useEffect(() => setLooks(0), [tested]);
  const waits = tested !== null && data?.data.webhooks.some((one) => one.id === tested && one.test) === true;
  useEffect(() => {
    if (!waits || looks >= MOST_LOOKS) return undefined;
    const timer = setTimeout(() => {
      setLooks(looks + 1);
      reload();
    }, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [waits, looks, reload]);
}

function TestResult(props: { hook: ListedWebhook | undefined }) {
  const { hook } = props;
  if (hook === undefined) return null;
  if (!hook.test) {
    return (
      <p role="status">
        <Status phrase={{ icon: "done", text: "The test notice was delivered.", tone: "good" }} />
      </p>
    );
  }
  if (hook.failure !== null) {
    return (
      <p role="status">
        <Status phrase={{ icon: "failed", text: `The test notice was not delivered: ${hook.failure}.`, tone: "bad" }} />{" "}
        Next attempt <Time ms={hook.next_attempt_ms} />. <em>Test</em> makes one now.
      </p>
    );
  }
  const text = "The test notice waits for the notifier, which sends it within seconds where one runs.";
  return (
    <p role="status">
      <Status phrase={{ icon: "waiting", text, tone: "busy" }} />
    </p>
  );
}

function WebhookTable(props: {
  rows: readonly ListedWebhook[];
  test: (id: string) => void;
  remove: (id: string) => void;
}) {
  return (
    <DataTable
      label="Webhooks"
      rows={props.rows}
      keyOf={(row) => row.id}
      columns={[
        { title: "URL", cell: (row) => <code>{row.url}</code> },
        { title: "Notices", minor: true, cell: (row) => row.topics.map(topicText).join("; ") },
        {
          title: "Delivery",
          cell: (row) => (
            <Status
              phrase={{
                icon: row.failed_attempts > 0 ? "failed" : row.waiting > 0 ? "waiting" : "done",
                text: waitingText(row),
                tone: row.failed_attempts > 0 ? "bad" : "idle",
              }}
            />
          ),
        },
        { title: "Added", minor: true, cell: (row) => <Time ms={row.created_ms} /> },
        {
          title: "Action",
          cell: (row) => (
            <span class="row">
              <button type="button" aria-label={`Test ${row.url}`} onClick={() => props.test(row.id)}>
                Test
              </button>
              <button type="button" aria-label={`Remove ${row.url}`} onClick={() => props.remove(row.id)}>
                Remove
              </button>
            </span>
          ),
        },
      ]}
    />
  );
}

function NewWebhookForm(props: { add: (body: { url: string; topics: string[] }) => Promise<boolean> }) {
  const submit = (event: Event & { currentTarget: HTMLFormElement }): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const body = { url: String(fields.get("url")).trim(), topics: fields.getAll("topics").map(String) };
    void props.add(body).then((added) => {
      if (added) form.reset();
    });
  };
  return (
    <form class="card stack" onSubmit={submit}>
      <label class="field">
        URL (HTTPS, at a public address)
        <input name="url" type="url" required maxLength={500} pattern="https://.*" placeholder="https://" />
      </label>
      <fieldset>
        <legend>Notify of</legend>
        {Object.entries(TOPICS).map(([topic, text]) => (
          <label class="field-inline" key={topic}>
            <input type="checkbox" name="topics" value={topic} defaultChecked={OF_TENANTS.test(topic)} /> {text}
          </label>
        ))}
      </fieldset>
      <div>
        <button type="submit">Add a webhook</button>
      </div>
    </form>
  );
}
