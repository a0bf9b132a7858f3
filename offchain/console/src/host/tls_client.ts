/**
 * The client's side of TLS 1.3 (RFC 8446) to a host whose ed25519 key is known, over a stream that a gateway relays.
 *
 * It offers what hosts have and nothing else: TLS_AES_128_GCM_SHA256, X25519, ed25519. No resumption, no early data, no
 * client certificate, no second ClientHello, no change of keys. All cryptography is the browser's (docs/adr/0106).
 */

import { bigEndian, type Bytes, bytesOf, concat, digitsOf, isEqual, numberAt, utf8 } from "../lib/bytes.ts";
import { isCertificateOf } from "./certificate.ts";
import { ConnectionLost, HostUnreachable } from "./errors.ts";
import { isSigned, randomBytes, sha256 } from "./keys.ts";
import type { ByteStream } from "./stream.ts";
import {
  type Content,
  deriveSecret,
  finished,
  type HandshakeSecrets,
  handshakeSecrets,
  MAX_CIPHERTEXT,
  MAX_PLAINTEXT,
  RecordProtection,
  RecordType,
} from "./tls_keys.ts";

const Message = {
  CLIENT_HELLO: 1,
  SERVER_HELLO: 2,
  NEW_SESSION_TICKET: 4,
  ENCRYPTED_EXTENSIONS: 8,
  CERTIFICATE: 11,
  CERTIFICATE_VERIFY: 15,
  FINISHED: 20,
} as const;
const Extension = { SUPPORTED_GROUPS: 10, SIGNATURE_ALGORITHMS: 13, SUPPORTED_VERSIONS: 43, KEY_SHARE: 51 } as const;
const SUITE = 0x1301;
const X25519 = 0x001d;
const ED25519 = 0x0807;
const TLS_1_3 = 0x0304;
const RETRY = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c";
const HEADER_BYTES = 5;
const MAX_MESSAGE = 2 ** 14;
const VERIFIED = concat(utf8(" ".repeat(64)), utf8("TLS 1.3, server CertificateVerify"), Uint8Array.of(0));

/** What a connection begins with; both parts are new for each. Tests give their own. */
export interface Beginning {
  random: Bytes;
  pair: CryptoKeyPair;
}

async function newBeginning(): Promise<Beginning> {
  const pair = (await crypto.subtle.generateKey("X25519", false, ["deriveBits"])) as CryptoKeyPair;
  return { random: randomBytes(32), pair };
}

/** Returns the connection to the host with this key, inside of a stream. Throws HostUnreachable. */
export async function secured(stream: ByteStream, hostKey: Bytes, beginning?: Beginning): Promise<TlsStream> {
  try {
    return await new Handshake(stream, hostKey).run(beginning ?? (await newBeginning()));
  } catch (error) {
    stream.close();
    if (error instanceof HostUnreachable) throw error;
    // A message that ends too early, and keys that are none, are faults of the other side as well.
    const reason = error instanceof Error ? error.message : String(error);
    throw new HostUnreachable(`No encrypted connection to the host was made (${reason}).`);
  }
}

/** Splits a stream into records. */
class RecordReader {
  #held: Bytes = new Uint8Array(0);

  constructor(readonly stream: ByteStream) {}

  async next(): Promise<{ header: Bytes; body: Bytes }> {
    for (;;) {
      if (this.#held.length >= HEADER_BYTES) {
        const length = numberAt(this.#held, 3, 2);
        if (length > MAX_CIPHERTEXT) throw new ConnectionLost(`a record of ${length} bytes`);
        if (numberAt(this.#held, 1, 2) !== 0x0303) throw new ConnectionLost("a record of another protocol");
        if (this.#held.length >= HEADER_BYTES + length) {
          const header = this.#held.slice(0, HEADER_BYTES);
          const body = this.#held.slice(HEADER_BYTES, HEADER_BYTES + length);
          this.#held = this.#held.slice(HEADER_BYTES + length);
          return { header, body };
        }
      }
      this.#held = concat(this.#held, await this.stream.read());
    }
  }
}

function expect(isRight: boolean, message: string): asserts isRight {
  if (!isRight) throw new ConnectionLost(message);
}

function vector(lengthBytes: 1 | 2 | 3, ...parts: readonly Uint8Array[]): Bytes {
  const content = concat(...parts);
  return concat(bigEndian(content.length, lengthBytes), content);
}

/** Reads the fields of a message. Reading beyond its end throws. */
class Fields {
  #at = 0;

  constructor(readonly data: Bytes) {}

  number(size: 1 | 2 | 3): number {
    const value = numberAt(this.data, this.#at, size);
    this.#at += size;
    return value;
  }

  bytes(size: number): Bytes {
    expect(this.#at + size <= this.data.length, "a message that is too short");
    this.#at += size;
    return this.data.slice(this.#at - size, this.#at);
  }

  vector(lengthBytes: 1 | 2 | 3): Bytes {
    return this.bytes(this.number(lengthBytes));
  }

  get isAtEnd(): boolean {
    return this.#at === this.data.length;
  }

  end(): void {
    expect(this.isAtEnd, "a message that is too long");
  }
}

export function clientHello(random: Bytes, share: Bytes): Bytes {
  const extension = (number: number, content: Bytes): Bytes => concat(bigEndian(number, 2), vector(2, content));
  const extensions = vector(
    2,
    extension(Extension.SUPPORTED_VERSIONS, vector(1, bigEndian(TLS_1_3, 2))),
    extension(Extension.SUPPORTED_GROUPS, vector(2, bigEndian(X25519, 2))),
    extension(Extension.SIGNATURE_ALGORITHMS, vector(2, bigEndian(ED25519, 2))),
    extension(Extension.KEY_SHARE, vector(2, bigEndian(X25519, 2), vector(2, share))),
  );
  const suites = vector(2, bigEndian(SUITE, 2));
  const body = concat(bytesOf("0303"), random, vector(1), suites, vector(1, Uint8Array.of(0)), extensions);
  return message(Message.CLIENT_HELLO, body);
}

function message(type: number, body: Bytes): Bytes {
  return concat(Uint8Array.of(type), vector(3, body));
}

/** Returns the server's share of the key exchange. */
function serverShare(body: Bytes): Bytes {
  const fields = new Fields(body);
  expect(fields.number(2) === 0x0303, "another version of TLS");
  expect(digitsOf(fields.bytes(32)) !== RETRY, "the host does not take X25519");
  expect(fields.vector(1).length === 0, "a session that was not asked for");
  expect(fields.number(2) === SUITE, "another cipher suite than was offered");
  expect(fields.number(1) === 0, "compression");
  const extensions = new Fields(fields.vector(2));
  fields.end();
  let share: Bytes | null = null;
  let version = 0;
  while (!extensions.isAtEnd) {
    const number = extensions.number(2);
    const content = new Fields(extensions.vector(2));
    if (number === Extension.SUPPORTED_VERSIONS && version === 0) {
      version = content.number(2);
    } else if (number === Extension.KEY_SHARE && share === null) {
      expect(content.number(2) === X25519, "another key exchange than was offered");
      share = content.vector(2);
    } else {
      throw new ConnectionLost(`the extension ${number}, which was not asked for`);
    }
    content.end();
  }
  expect(version === TLS_1_3 && share !== null, "another version of TLS");
  return share;
}

/** Checks the extensions that the server answers under encryption: those that were offered. */
function checkExtensions(body: Bytes): void {
  const fields = new Fields(body);
  const extensions = new Fields(fields.vector(2));
  fields.end();
  while (!extensions.isAtEnd) {
    const number = extensions.number(2);
    expect(number === Extension.SUPPORTED_GROUPS, `the extension ${number}, which was not asked for`);
    extensions.vector(2);
  }
}

/** Returns the only certificate of a list. */
function onlyCertificate(body: Bytes): Bytes {
  const fields = new Fields(body);
  expect(fields.vector(1).length === 0, "a certificate for another handshake");
  const list = new Fields(fields.vector(3));
  fields.end();
  const certificate = list.vector(3);
  expect(list.vector(2).length === 0, "a certificate with extensions that were not asked for");
  list.end();
  return certificate;
}

class Handshake {
  #records: RecordReader;
  #reading: RecordProtection | null = null;
  #messages: Bytes = new Uint8Array(0);
  #transcript: Bytes = new Uint8Array(0);

  constructor(
    readonly stream: ByteStream,
    readonly hostKey: Bytes,
  ) {
    this.#records = new RecordReader(stream);
  }

  async run(beginning: Beginning): Promise<TlsStream> {
    const share = new Uint8Array(await crypto.subtle.exportKey("raw", beginning.pair.publicKey));
    const hello = clientHello(beginning.random, share);
    this.#transcript = hello;
    await this.stream.write(concat(Uint8Array.of(RecordType.HANDSHAKE, 3, 1), vector(2, hello)));
    const theirs = serverShare(await this.#next(Message.SERVER_HELLO));
    this.#checkNothingHeld();
    const shared = await sharedSecret(beginning.pair.privateKey, theirs);
    const secrets = await handshakeSecrets(shared, await sha256(this.#transcript));
    this.#reading = await RecordProtection.of(secrets.server);
    await this.#authenticate(secrets);
    return this.#finish(secrets);
  }

  async #authenticate(secrets: HandshakeSecrets): Promise<void> {
    checkExtensions(await this.#next(Message.ENCRYPTED_EXTENSIONS));
    const certificate = onlyCertificate(await this.#next(Message.CERTIFICATE));
    if (!(await isCertificateOf(this.hostKey, certificate))) {
      throw new HostUnreachable(
        "The other end does not have the host's key, so nothing was sent to it.",
        "Use another gateway, or the command line: it reaches the host directly.",
      );
    }
    const signed = concat(VERIFIED, await sha256(this.#transcript));
    const verify = new Fields(await this.#next(Message.CERTIFICATE_VERIFY));
    expect(verify.number(2) === ED25519, "a signature of another kind");
    const signature = verify.vector(2);
    verify.end();
    expect(await isSigned(this.hostKey, signed, signature), "the host's signature is wrong");
    const wanted = await finished(secrets.server, await sha256(this.#transcript));
    expect(isEqual(await this.#next(Message.FINISHED), wanted), "the handshake was changed on its way");
    this.#checkNothingHeld();
  }

  async #finish(secrets: HandshakeSecrets): Promise<TlsStream> {
    const transcript = await sha256(this.#transcript);
    const own = message(Message.FINISHED, await finished(secrets.client, transcript));
    const sealed = await (await RecordProtection.of(secrets.client)).seal(RecordType.HANDSHAKE, own);
    await this.stream.write(sealed);
    const reading = await RecordProtection.of(await deriveSecret(secrets.master, "s ap traffic", transcript));
    const writing = await RecordProtection.of(await deriveSecret(secrets.master, "c ap traffic", transcript));
    return new TlsStream(this.stream, this.#records, reading, writing);
  }

  /** Returns the body of the next message, which must be of this type. */
  async #next(type: number): Promise<Bytes> {
    for (;;) {
      if (this.#messages.length >= 4) {
        const length = numberAt(this.#messages, 1, 3);
        expect(this.#messages[0] === type, `a message of type ${this.#messages[0]} in place of ${type}`);
        expect(length <= MAX_MESSAGE, `a message of ${length} bytes`);
        if (this.#messages.length >= 4 + length) {
          const body = this.#messages.slice(4, 4 + length);
          this.#transcript = concat(this.#transcript, this.#messages.subarray(0, 4 + length));
          this.#messages = this.#messages.slice(4 + length);
          return body;
        }
      }
      const content = await this.#content();
      checkAlert(content);
      expect(content.type === RecordType.HANDSHAKE && content.data.length > 0, "no message of a handshake");
      this.#messages = concat(this.#messages, content.data);
    }
  }

  async #content(): Promise<Content> {
    for (;;) {
      const { header, body } = await this.#records.next();
      const type = header[0] ?? 0;
      // Servers may send this record for the sake of old middleboxes; it means nothing.
      if (type === RecordType.CHANGE_CIPHER_SPEC && digitsOf(body) === "01") continue;
      if (this.#reading === null) {
        expect(body.length <= MAX_PLAINTEXT, `a record of ${body.length} bytes`);
        return { type, data: body };
      }
      expect(type === RecordType.APPLICATION, "a record that is not encrypted");
      return this.#reading.open(header, body);
    }
  }

  /** Checks that no message lies on both sides of a change of keys. */
  #checkNothingHeld(): void {
    expect(this.#messages.length === 0, "a message across a change of keys");
  }
}

async function sharedSecret(privateKey: CryptoKey, share: Bytes): Promise<Bytes> {
  const theirs = await crypto.subtle.importKey("raw", share, "X25519", false, []);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, privateKey, 256));
}

function checkAlert(content: Content): void {
  if (content.type !== RecordType.ALERT) return;
  const number = content.data[1] ?? 0;
  throw new ConnectionLost(number === 0 ? "the other side ended the connection" : `TLS alert ${number}`);
}

/** An encrypted connection to a host. */
export class TlsStream implements ByteStream {
  #writing: Promise<void> = Promise.resolve();

  constructor(
    readonly stream: ByteStream,
    readonly records: RecordReader,
    readonly reader: RecordProtection,
    readonly writer: RecordProtection,
  ) {}

  /** Returns the bytes of the next record with any. Throws ConnectionLost. */
  async read(): Promise<Bytes> {
    for (;;) {
      const { header, body } = await this.records.next();
      expect(header[0] === RecordType.APPLICATION, "a record that is not encrypted");
      const content = await this.reader.open(header, body);
      checkAlert(content);
      if (content.type === RecordType.APPLICATION) {
        if (content.data.length > 0) return content.data;
      } else {
        // Tickets would resume a session, which is not done here.
        const isTicket = content.type === RecordType.HANDSHAKE && content.data[0] === Message.NEW_SESSION_TICKET;
        expect(isTicket, "a message after the handshake that was not asked for");
      }
    }
  }

  /** Sends bytes. Records are sent in the order of their encryption, whoever writes meanwhile. */
  write(data: Bytes): Promise<void> {
    const written = this.#writing.then(async () => {
      const records: Bytes[] = [];
      for (let at = 0; at < data.length; at += MAX_PLAINTEXT) {
        records.push(await this.writer.seal(RecordType.APPLICATION, data.subarray(at, at + MAX_PLAINTEXT)));
      }
      await this.stream.write(concat(...records));
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  close(): void {
    this.stream.close();
  }
}
