// Submits examples/primes.yaml from polkadot.js, with nothing but the chain's metadata, and waits until it is settled.
//
//   npm ci --prefix examples
//   GANTRY_DEMO_IMAGE=$(scripts/demo-image) node examples/submit.mjs [ws://127.0.0.1:9944] [//Ferdie]

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ApiPromise, Keyring, WsProvider } from '@polkadot/api';

const url = process.argv[2] ?? process.env.GANTRY_URL ?? 'ws://127.0.0.1:9944';
const account = process.argv[3] ?? '//Ferdie';
const patience = 180_000;

function fail(message, hint) {
  console.error(`error: ${message}\n  ${hint}`);
  process.exit(1);
}

// What goes on the chain is the text with its variables put in; its sha256 is part of the task.
function manifest() {
  const image = process.env.GANTRY_DEMO_IMAGE;
  if (!image) fail('GANTRY_DEMO_IMAGE is not set.', 'Run: export GANTRY_DEMO_IMAGE=$(scripts/demo-image)');
  return readFileSync(new URL('primes.yaml', import.meta.url), 'utf8')
    .replace(/\$\{GANTRY_DEMO_IMAGE:\?[^}]*\}/, image)
    .replace(/\$\{LIMIT:-(\d+)\}/, (_, limit) => process.env.LIMIT ?? limit);
}

const text = manifest();
const spec = {
  kind: 'Job',
  manifestDigest: `0x${createHash('sha256').update(text).digest('hex')}`,
  resources: { cpuMilli: 1000, memoryMib: 64, diskGib: 1, gpus: { count: 1, milli: 1000, minVramMib: 0, models: [] } },
  podsMin: 1,
  podsMax: 1,
  maxRatePerHour: 2_500_000_000_000n,
  unit: 'Second',
  maxDurationMs: 600_000,
  deadline: null,
  priority: 100,
  queue: 'default',
  verification: 'Acceptance',
  // What is left out is none, false or 0: any region, host, provider and tier will do.
  placement: { allowSimulated: true, capabilities: { docker: true } },
};

const provider = new WsProvider(url, false);
provider.on('error', () => {});
await provider.connect();
const timer = setTimeout(() => fail(`nothing was settled at ${url} within 3 minutes.`, 'Is a network running there? scripts/up starts one.'), patience);
const api = await ApiPromise.create({ provider, noInitWarn: true });
const signer = new Keyring({ type: 'sr25519' }).addFromUri(account);

// Sends the call and gives its events once they are final.
const events = await new Promise((resolve, reject) => {
  api.tx.tasks
    .submit(spec, `0x${Buffer.from(text).toString('hex')}`)
    .signAndSend(signer, ({ status, events: found, dispatchError }) => {
      if (dispatchError) {
        const { section, name, docs } = dispatchError.isModule
          ? api.registry.findMetaError(dispatchError.asModule)
          : { section: 'system', name: dispatchError.toString(), docs: [] };
        reject(new Error(`the chain refused the task: ${section}.${name}. ${docs.join(' ')}`));
      } else if (status.isFinalized) {
        resolve(found);
      }
    })
    .catch(reject);
}).catch((error) => fail(error.message, 'Mend it and try again.'));

const task = events.find(({ event }) => api.events.tasks.Submitted.is(event)).event.data.first;
console.log(`task ${task}`);

// Tasks are kept under their number, big-endian, so that neighbours stay neighbours in storage.
const key = `0x${task.toBigInt().toString(16).padStart(16, '0')}`;

// Follows the task in finalized blocks until nothing can change any more.
const state = await new Promise((resolve) => {
  let last = '';
  api.rpc.chain.subscribeFinalizedHeads(async (header) => {
    const record = (await (await api.at(header.hash)).query.tasks.tasks(key)).unwrap();
    if (record.state.type !== last) console.log(`state ${(last = record.state.type)}`);
    if (['Settled', 'Expired', 'Cancelled', 'Failed'].includes(last)) resolve(last);
  });
});

const record = (await api.query.tasks.tasks(key)).unwrap();
for (const lease of record.leases) {
  if (lease.result.isSome) console.log(`result sha256 ${lease.result.unwrap().digest.toHex().slice(2)}`);
  console.log(`paid ${lease.escrow.paid.toString()}`);
}
clearTimeout(timer);
await api.disconnect();
process.exit(state === 'Settled' ? 0 : 1);
