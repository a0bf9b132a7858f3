/** Launch a task: choose a template, edit the manifest, see price and start, sign, and follow it live. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { asProblem, type Problem, request } from "../api/client.ts";
import { useDebounced, useResource } from "../api/hooks.ts";
import type { Extrinsic, ManifestCheck, Template } from "../api/types.ts";
import { CallDialog } from "../components/CallDialog.tsx";
import { Empty, Load, Loading, ProblemNotice } from "../components/loading.tsx";
import { ManifestEditor } from "../components/ManifestEditor.tsx";
import { Icon } from "../components/Icon.tsx";
import { Amount, Facts, Heading, Status } from "../components/parts.tsx";
import { variableNames } from "../lib/manifest_lines.ts";
import { formatTime, relativeTime } from "../lib/time.ts";
import { submittedTask } from "../wallet/calls.ts";
import { useWallet } from "../wallet/session.ts";

const CHECK_AFTER_MS = 400;
const RETRY_MS = 1_500;
type Values = Record<string, string>;

/** Checks a manifest after it has not changed for a moment. An older answer never replaces a newer one. */
function useCheck(manifest: string, account: string | null, variables: Values) {
  const settled = useDebounced(JSON.stringify({ manifest, account, variables }), CHECK_AFTER_MS);
  const [found, setFound] = useState<{ of: string; check: ManifestCheck } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    const asked = JSON.parse(settled) as { manifest: string; account: string | null; variables: Values };
    if (asked.manifest.trim() === "") return undefined;
    const controller = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    const body = {
      manifest: asked.manifest,
      variables: asked.variables,
      ...(asked.account === null ? {} : { account: asked.account }),
    };
    const ask = (): void =>
      void request<ManifestCheck>("/v1/manifests/check", { method: "POST", body, signal: controller.signal }).then(
        (check) => {
          setFound({ of: settled, check });
          setProblem(null);
        },
        (error: unknown) => {
          if (controller.signal.aborted) return;
          const found = asProblem(error);
          // Fast typing asks more often than the gateway allows, and a planner may be busy: ask again a little later.
          if (found.status === 429 || found.status === 503) retry = setTimeout(ask, RETRY_MS);
          else setProblem(found);
        },
      );
    ask();
    return () => {
      controller.abort();
      clearTimeout(retry);
    };
  }, [settled]);
  const current = JSON.stringify({ manifest, account, variables });
  return { check: found?.check ?? null, isCurrent: found?.of === current, problem };
}

export function Launch() {
  const { route } = useLocation();
  const { signer } = useWallet();
  const templates = useResource<{ data: Template[] }>("/v1/templates");
  const [text, setText] = useState("");
  const [values, setValues] = useState<Values>({});
  const [target, setTarget] = useState<{ line: number } | null>(null);
  const [isSigning, setIsSigning] = useState(false);
  const editor = useRef<HTMLElement>(null);
  const names = variableNames(text);
  const variables = Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]] as const] : [])));
  const { check, isCurrent, problem } = useCheck(text, signer?.address ?? null, variables);
  const canLaunch = signer !== null && check !== null && isCurrent && check.valid;
  const choose = (template: Template): void => {
    setText(template.manifest);
    setValues(Object.fromEntries(template.variables.map(({ name, value }) => [name, value ?? ""])));
    editor.current?.scrollIntoView();
  };
  const follow = async (extrinsic: Extrinsic): Promise<void> => {
    if (!extrinsic.success) return;
    const task = await submittedTask(extrinsic).catch(() => null);
    if (task !== null) route(`/tasks/${task}`);
  };
  return (
    <>
      <Heading title="Launch a task">
        A job, a service or a rental, described by a Docker Compose file. You see price and start before you sign.
      </Heading>
      <section class="stack">
        <h2>1. Begin with a template</h2>
        <Load of={templates} what="templates">
          {(answer) => (
            <ul class="tiles tiles-wide">
              {answer.data.map((template) => (
                <li class="tile stack" key={template.name}>
                  <h3>{template.name}</h3>
                  <p class="small">{template.title}</p>
                  {template.description !== "" && (
                    <details class="small">
                      <summary>
                        More<span class="hidden-visually"> about {template.name}</span>
                      </summary>
                      {template.description}
                    </details>
                  )}
                  <button type="button" onClick={() => choose(template)} aria-label={`Use this: ${template.name}`}>
                    Use this
                  </button>
                </li>
              ))}
            </ul>
          )}
        </Load>
      </section>
      <section class="stack" ref={editor}>
        <h2>2. Edit the manifest</h2>
        <p class="muted small">
          A manifest is public and stays in the history of the chain: write no passwords or keys into it.
        </p>
        <ManifestEditor
          text={text}
          errors={isCurrent && check !== null ? check.errors : []}
          target={target}
          onInput={setText}
        />
        {names.length > 0 && <Variables names={names} values={values} onChange={setValues} />}
        {problem !== null && <ProblemNotice problem={problem} />}
        <Errors
          check={text.trim() === "" ? null : check}
          isCurrent={isCurrent}
          onLine={(line) => setTarget({ line })}
        />
      </section>
      <section class="stack">
        <h2>3. Price and start</h2>
        <Forecast check={text.trim() === "" ? null : check} isCurrent={isCurrent} />
        {signer === null ? (
          <p class="notice">
            <a href="/account">Connect an account</a> to launch the task. Your coins stay in it until a pod is placed.
          </p>
        ) : (
          <button type="button" class="button-main" disabled={!canLaunch} onClick={() => setIsSigning(true)}>
            Review and sign
          </button>
        )}
      </section>
      {isSigning && (
        <CallDialog
          title="Launch the task"
          call={{ action: "task.submit", manifest: text, variables }}
          onClose={() => setIsSigning(false)}
          onFinal={(extrinsic) => void follow(extrinsic)}
        />
      )}
    </>
  );
}

function Variables(props: { names: readonly string[]; values: Values; onChange: (values: Values) => void }) {
  return (
    <fieldset class="card filters">
      <legend>Variables of the manifest (public)</legend>
      {props.names.map((name) => (
        <label class="field" key={name}>
          <code>{name}</code>
          <input
            value={props.values[name] ?? ""}
            maxLength={1024}
            onInput={(event) => props.onChange({ ...props.values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
    </fieldset>
  );
}

function Errors(props: { check: ManifestCheck | null; isCurrent: boolean; onLine: (line: number) => void }) {
  const { check } = props;
  return (
    <div id="manifest-errors" aria-live="polite" class="stack">
      {check !== null && !props.isCurrent && <p class="muted">Checking …</p>}
      {check !== null && props.isCurrent && check.valid && (
        <Status phrase={{ icon: "done", text: "the manifest is valid", tone: "good" }} />
      )}
      {check !== null && props.isCurrent && check.errors.length > 0 && (
        <ul>
          {check.errors.map((error) => (
            <li key={`${error.line} ${error.key} ${error.message}`}>
              <button type="button" onClick={() => props.onLine(error.line)}>
                Line {error.line}
              </button>{" "}
              {error.key !== "" && <code>{error.key}</code>} {error.message} <span class="muted">{error.hint}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Forecast(props: { check: ManifestCheck | null; isCurrent: boolean }) {
  const { check } = props;
  if (check === null)
    return <Empty>The price and the expected start appear here as soon as the manifest is valid.</Empty>;
  if (!props.isCurrent) return <Loading what="price and start" />;
  if (!check.valid) return <Empty>Correct the manifest first.</Empty>;
  const price = check.price;
  return (
    <div class="card stack" aria-live="polite">
      <Facts
        facts={[
          [
            "Price per pod and hour",
            price === null || price.lowest_per_hour === null || price.highest_per_hour === null ? (
              "no host can run it now"
            ) : price.lowest_per_hour === price.highest_per_hour ? (
              <Amount value={price.lowest_per_hour} digits={6} />
            ) : (
              <>
                <Amount value={price.lowest_per_hour} digits={6} /> to{" "}
                <Amount value={price.highest_per_hour} digits={6} />
              </>
            ),
          ],
          ["Deposit, at most", price && <Amount value={price.deposit} />],
          [
            "Expected start",
            check.expected_start_ms === null ? (
              check.start
            ) : (
              <>
                {relativeTime(check.expected_start_ms, check.as_of.time_ms)} ({formatTime(check.expected_start_ms)}):{" "}
                {check.start}
              </>
            ),
          ],
          ["Hosts", check.placement],
        ]}
      />
      {check.refusals.map((refusal) => (
        <p class="notice notice-warn" key={refusal.code}>
          <Icon name="flag" /> {refusal.message} <span class="muted">{refusal.hint}</span>
        </p>
      ))}
      <p class="muted small">What your task does not use of the deposit is returned when it is settled.</p>
    </div>
  );
}
