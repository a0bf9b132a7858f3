/** Connects an account: of a wallet extension, or a development account on development networks. */

import { useEffect, useState } from "preact/hooks";
import { asProblem, type Problem } from "../api/client.ts";
import { useResource } from "../api/hooks.ts";
import type { Network, ResourceAnswer } from "../api/types.ts";
import { shortAddress } from "../lib/address.ts";
import { connect } from "../wallet/session.ts";
import { accountsOf, type AccountChoice, extensions } from "../wallet/signers.ts";
import { Empty, ProblemNotice } from "./loading.tsx";
import { Heading } from "./parts.tsx";

const DEVELOPMENT_PATHS = ["//Alice", "//Bob", "//Charlie", "//Dave", "//Eve", "//Ferdie"] as const;

const LOOK_AT_MS = [300, 1_000, 3_000] as const;

interface Offered {
  extension: string;
  accounts: { address: string; name?: string }[];
}

export function Connect() {
  const network = useResource<ResourceAnswer<Network>>("/v1/network");
  const [offered, setOffered] = useState<Offered | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  const attempt = (work: () => Promise<void>): void => {
    setProblem(null);
    setIsBusy(true);
    work()
      .catch((error: unknown) => setProblem(asProblem(error)))
      .finally(() => setIsBusy(false));
  };
  const open = (extension: string): void =>
    attempt(async () => setOffered({ extension, accounts: await accountsOf(extension) }));
  const choose = (choice: AccountChoice): void => attempt(() => connect(choice));
  const [found, setFound] = useState(extensions);
  useEffect(() => {
    // Extensions add themselves some time after the page has begun to load.
    const timers = LOOK_AT_MS.map((ms) => setTimeout(() => setFound(extensions()), ms));
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <>
      <Heading title="Connect an account">
        Your wallet signs a text that proves that the account is yours. This costs nothing and sends nothing to the
        chain.
      </Heading>
      {problem !== null && <ProblemNotice problem={problem} />}
      <section class="stack">
        <h2>Wallets in this browser</h2>
        {found.length === 0 ? (
          <Empty>
            No wallet extension was found. Install one for Substrate chains (polkadot.js, Talisman, SubWallet), then
            load this page again.
          </Empty>
        ) : (
          <div class="row">
            {found.map((name) => (
              <button key={name} type="button" disabled={isBusy} onClick={() => open(name)}>
                {name}
              </button>
            ))}
          </div>
        )}
        {offered !== null && offered.accounts.length === 0 && <Empty>The wallet offers no account to this page.</Empty>}
        {offered !== null && offered.accounts.length > 0 && (
          <ul class="tiles" aria-label={`Accounts of ${offered.extension}`}>
            {offered.accounts.map((account) => (
              <li class="tile stack" key={account.address}>
                <div>{account.name ?? "without a name"}</div>
                <code>{shortAddress(account.address)}</code>
                <button
                  type="button"
                  disabled={isBusy}
                  aria-label={`Connect ${account.name ?? ""} ${shortAddress(account.address)}`}
                  onClick={() => choose({ kind: "extension", extension: offered.extension, address: account.address })}
                >
                  Connect
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {network.data?.data.development === true && (
        <section class="stack">
          <h2>Development accounts</h2>
          <p class="muted">
            This is a development network. The keys of these accounts are public and made in your browser; coins on them
            are worth nothing.
          </p>
          <div class="row">
            {DEVELOPMENT_PATHS.map((path) => (
              <button key={path} type="button" disabled={isBusy} onClick={() => choose({ kind: "development", path })}>
                {path.slice(2)}
              </button>
            ))}
          </div>
        </section>
      )}
    </>
  );
}
