import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import { StoreError } from '../errors.ts';
import { factOrNew } from '../facts.ts';
import type { Store } from '../store.ts';

/** A sealed value consists of the version (1 byte), nonce (12 bytes), cipher text and tag (16 bytes). */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PROBE = 'svc';

/**
 * The purpose of a sealed value: a table, and a kind of row, a column or a key of the table, such as
 * `monitors.http` or `facts.job_key`. The purpose is authenticated with the value, so a value that is copied
 * to a place with another purpose does not open.
 */
export type SealPurpose = `${string}.${string}`;

/** Seals secrets at rest with AES-256-GCM under the installation's key. */
export class Secrets {
  /**
   * The key is a KeyObject, not bytes. Given bytes, Node would make a KeyObject at every call, which takes
   * four times as long as opening a value.
   */
  readonly #key: KeyObject;
  /** The previous key, while values are sealed again with a new key. It opens values and seals none. */
  readonly #previous: KeyObject | null;

  /**
   * @param key 32 bytes, see {@link parseSecretKey}
   * @param previous the key with which some values may still be sealed; null: there is no such key
   */
  constructor(key: Uint8Array, previous: Uint8Array | null = null) {
    for (const one of [key, previous ?? key]) {
      if (one.length !== KEY_BYTES)
        throw new RangeError(`a secret key must have ${KEY_BYTES} bytes, not ${one.length}`);
    }
    this.#key = createSecretKey(key);
    this.#previous = previous === null ? null : createSecretKey(previous);
  }

  /** A name that tells keys apart. The key cannot be derived from it. */
  get keyName(): string {
    return createHmac('sha256', this.#key).update('svc:name of the key').digest('hex').slice(0, 16);
  }

  seal(purpose: SealPurpose, text: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(associatedData(purpose));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, body, cipher.getAuthTag()]);
  }

  /**
   * @throws StoreError `store-key` when the value was sealed with another key or for another purpose, or was
   *   changed
   */
  open(purpose: SealPurpose, sealed: Uint8Array): Secret {
    try {
      return new Secret(opened(this.#key, purpose, sealed));
    } catch (error) {
      const previous = this.#previous === null ? null : openedOrNull(this.#previous, purpose, sealed);
      if (previous !== null) return new Secret(previous);
      throw new StoreError(
        'store-key',
        `cannot open the secret sealed for ${purpose}: it was sealed with another key, or changed`,
        { cause: error },
      );
    }
  }

  /**
   * Returns a keyed hash of the text: under the same key and for the same purpose, equal texts have equal
   * fingerprints. Without the key, a guess of the text cannot be tested.
   */
  fingerprint(purpose: SealPurpose, text: string): string {
    return fingerprintOf(this.#key, purpose, text);
  }

  /** Whether `fingerprint` is the fingerprint of the text, under the key or the previous key. */
  isFingerprint(fingerprint: string, purpose: SealPurpose, text: string): boolean {
    const keys = [this.#key, ...(this.#previous === null ? [] : [this.#previous])];
    return keys.some((key) => fingerprintOf(key, purpose, text) === fingerprint);
  }
}

function fingerprintOf(key: KeyObject, purpose: SealPurpose, text: string): string {
  return createHmac('sha256', key).update(associatedData(purpose)).update('\n').update(text).digest('hex');
}

function opened(key: KeyObject, purpose: SealPurpose, sealed: Uint8Array): string {
  if (sealed[0] !== VERSION) throw new RangeError(`sealed value of unknown version ${sealed[0]}`);
  const bodyEnd = sealed.length - TAG_BYTES;
  const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(associatedData(purpose));
  decipher.setAuthTag(sealed.subarray(bodyEnd));
  return (
    decipher.update(sealed.subarray(1 + NONCE_BYTES, bodyEnd), undefined, 'utf8') + decipher.final('utf8')
  );
}

/** Returns the opened value; null: it does not open with this key. */
function openedOrNull(key: KeyObject, purpose: SealPurpose, sealed: Uint8Array): string | null {
  try {
    return opened(key, purpose, sealed);
  } catch {
    return null;
  }
}

function associatedData(purpose: SealPurpose): Uint8Array {
  return Buffer.from(`svc:${VERSION}:${purpose}`);
}

/** @throws StoreError `store-key` when the text, decoded from base64, does not have 32 bytes */
export function parseSecretKey(text: Secret): Secret<Uint8Array> {
  const key = Buffer.from(text.reveal().trim(), 'base64');
  if (key.length !== KEY_BYTES) {
    throw new StoreError(
      'store-key',
      `SVC_SECRET_KEY must be ${KEY_BYTES} bytes in base64, as \`openssl rand -base64 32\` prints`,
    );
  }
  return new Secret(key);
}

export function generateSecretKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/**
 * Checks at the start that the keys belong to the database: a value that was sealed at the first start must
 * open with the key or the previous key.
 *
 * @throws StoreError `store-key`
 */
export async function checkSecretKey(store: Store, secrets: Secrets): Promise<void> {
  const sealed = await store.transaction(({ db }) =>
    factOrNew(db, 'secret_probe', () =>
      Buffer.from(secrets.seal('facts.secret_probe', PROBE)).toString('base64'),
    ),
  );
  try {
    secrets.open('facts.secret_probe', Buffer.from(sealed, 'base64'));
  } catch (error) {
    throw new StoreError(
      'store-key',
      'SVC_SECRET_KEY is not the key of this database: set it to the former key (coordinators of one database need the same, which is secret-key in the data folder of the first one), or set SVC_SECRET_KEY_PREVIOUS to the former key to change keys, or start with an empty database',
      { cause: error },
    );
  }
}
