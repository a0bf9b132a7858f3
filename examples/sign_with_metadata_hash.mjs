// Signs a remark as a hardware wallet does: over the hash of the metadata by which the call was read.
//
//   node examples/sign_with_metadata_hash.mjs ws://127.0.0.1:9944 HASH [//Ferdie]
//
// The hash of the released runtime is `metadata_hash` in chain/release/MANIFEST.json. A signature over another one is
// refused as a bad signature.

import { ApiPromise, Keyring, WsProvider } from '@polkadot/api';

const [url, metadataHash, account = '//Ferdie'] = process.argv.slice(2);
const provider = new WsProvider(url, false);
provider.on('error', () => {});
await provider.connect();
const api = await ApiPromise.create({ provider, noInitWarn: true });
const signer = new Keyring({ type: 'sr25519' }).addFromUri(account);
const options = metadataHash ? { mode: 1, metadataHash: `0x${metadataHash}` } : {};
try {
  await new Promise((resolve, reject) => {
    api.tx.system
      .remark('0x00')
      .signAndSend(signer, options, ({ status, dispatchError }) => {
        if (dispatchError) reject(new Error(dispatchError.toString()));
        else if (status.isInBlock) resolve();
      })
      .catch(reject);
  });
  console.log('included');
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
await api.disconnect();
