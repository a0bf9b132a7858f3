// Reads everything a Gantry chain keeps, and everything it may answer, from polkadot.js and the chain's metadata alone.
//
//   npm ci --prefix examples
//   node examples/read_chain.mjs [ws://127.0.0.1:9944] [--json]
//
// One line for each storage item (how many entries, the newest as an example) and for each error with its meaning.
// Ends with 1 where something cannot be decoded, or an error of ours carries no explanation.

import { ApiPromise, WsProvider } from '@polkadot/api';

const json = process.argv.includes('--json');
const url = process.argv.slice(2).find((word) => !word.startsWith('--')) ?? process.env.GANTRY_URL ?? 'ws://127.0.0.1:9944';
const OURS = ['hosts', 'tasks', 'leases', 'billing', 'reputation', 'verification', 'validators', 'governance'];

const provider = new WsProvider(url, false);
provider.on('error', () => {});
await provider.connect();
const timer = setTimeout(() => {
  console.error(`error: nothing answers at ${url} within a minute.\n  Is a network running there? scripts/up starts one.`);
  process.exit(1);
}, 60_000);
const api = await ApiPromise.create({ provider, noInitWarn: true });

const storage = [];
const wrong = [];
// 'substrate' is polkadot.js's name for the well-known keys, of which one is the whole runtime.
for (const pallet of Object.keys(api.query).filter((name) => name !== 'substrate').sort()) {
  for (const [item, entry] of Object.entries(api.query[pallet])) {
    if (!entry.creator || item === 'palletVersion') continue;
    const name = `${pallet}.${item}`;
    try {
      if (entry.creator.meta.type.isPlain) {
        storage.push({ name, entries: 1, example: (await entry()).toHuman() });
      } else {
        const entries = await entry.entries();
        // A key that cannot be turned back into its parts would be no key for a user.
        const example = entries.length ? [entries.at(-1)[0].toHuman(), entries.at(-1)[1].toHuman()] : null;
        storage.push({ name, entries: entries.length, example });
      }
    } catch (error) {
      wrong.push(`${name} cannot be read: ${error.message}`);
    }
  }
}

const errors = [];
for (const pallet of OURS.filter((name) => api.errors[name])) {
  for (const [name, entry] of Object.entries(api.errors[pallet])) {
    const { index, docs } = entry.meta;
    // As it arrives in an event: the pallet's number, and four bytes of which the first is the error's.
    const arrived = { index: palletIndex(pallet), error: new Uint8Array([index.toNumber(), 0, 0, 0]) };
    const found = api.registry.findMetaError(api.createType('DispatchErrorModule', arrived));
    const meaning = docs.map(String).join(' ').trim();
    errors.push({ pallet, name, meaning });
    if (found.name !== name) wrong.push(`error ${index} of ${pallet} decodes as ${found.name}, not ${name}`);
    if (!meaning) wrong.push(`${pallet}.${name} carries no explanation`);
  }
}

function palletIndex(pallet) {
  const found = api.runtimeMetadata.asLatest.pallets.find(({ name }) => name.toString().toLowerCase() === pallet.toLowerCase());
  return found.index.toNumber();
}

clearTimeout(timer);
await api.disconnect();
if (json) {
  console.log(JSON.stringify({ storage, errors, wrong }));
} else {
  for (const { name, entries, example } of storage) console.log(`${name}: ${entries}${entries ? `, ${JSON.stringify(example)}` : ''}`);
  for (const { pallet, name, meaning } of errors) console.log(`${pallet}.${name}: ${meaning}`);
  for (const line of wrong) console.error(`error: ${line}`);
}
process.exit(wrong.length ? 1 : 0);
