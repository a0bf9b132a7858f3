/**
 * The TLS certificate of a host: made from the host's own key, so that a client compares bytes and needs no authority
 * and no parser (offchain/adapters/transport/certificate.py).
 */

import { bigEndian, type Bytes, bytesOf, concat, isEqual, utf8 } from "../lib/bytes.ts";
import { isSigned } from "./keys.ts";

const ED25519 = bytesOf("300506032b6570");
const NAME = concat(bytesOf("3011310f300d06035504030c06"), utf8("gantry"));
const SIGNATURE_BYTES = 64;

function der(tag: number, ...parts: readonly Uint8Array[]): Bytes {
  const content = concat(...parts);
  const size = content.length;
  const length =
    size < 128
      ? bigEndian(size, 1)
      : size < 256
        ? concat(Uint8Array.of(0x81), bigEndian(size, 1))
        : concat(Uint8Array.of(0x82), bigEndian(size, 2));
  return concat(Uint8Array.of(tag), length, content);
}

/** X.509 TBSCertificate, version 3: serial 1, issued by and for "gantry", valid from 2026 without end. */
function signedPart(key: Bytes): Bytes {
  const validity = der(0x30, der(0x17, utf8("260101000000Z")), der(0x18, utf8("99991231235959Z")));
  const publicKey = der(0x30, ED25519, der(0x03, Uint8Array.of(0), key));
  const version = der(0xa0, bytesOf("020102"));
  return der(0x30, version, bytesOf("020101"), ED25519, NAME, validity, NAME, publicKey);
}

/** Returns whether the certificate that a server presented is that of this key. */
export async function isCertificateOf(key: Bytes, presented: Bytes): Promise<boolean> {
  const signed = signedPart(key);
  const signature = presented.slice(-SIGNATURE_BYTES);
  const whole = der(0x30, signed, ED25519, der(0x03, Uint8Array.of(0), signature));
  return isEqual(presented, whole) && (await isSigned(key, signed, signature));
}
