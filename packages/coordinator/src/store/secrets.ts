import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { StoreError } from './errors.ts';
import { factOrNew } from './facts.ts';
import type { Store } from './store.ts';

/** Layout of a sealed value: version (1), nonce (12), cipher text, tag (16). */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const PROBE = 'svc';

/**
 * What a sealed value is for, by table and kind of row: `monitors.http`. It is bound into the seal, so
 * that a value copied to where another kind is expected does not open.
 */
export type SealPurpose = `${string}.${string}`;

/** Seals secrets at rest with AES-256-GCM under the installation's key. */
export class Secrets {
  /** An object and not the bytes: Node makes one of them at every call, which takes four times as long as opening. */
  readonly #key: KeyObject;

  /** @param key 32 bytes, see {@link parseSecretKey} */
  constructor(key: Uint8Array) {
    if (key.length !== KEY_BYTES)
      throw new RangeError(`a secret key has ${KEY_BYTES} bytes, not ${key.length}`);
    this.#key = createSecretKey(key);
  }

  seal(purpose: SealPurpose, text: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(associatedData(purpose));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, body, cipher.getAuthTag()]);
  }

  /** @throws StoreError `store-key`: another key, another purpose, or changed bytes */
  open(purpose: SealPurpose, sealed: Uint8Array): string {
    try {
      if (sealed[0] !== VERSION) throw new RangeError(`sealed value of unknown version ${sealed[0]}`);
      const bodyEnd = sealed.length - TAG_BYTES;
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(associatedData(purpose));
      decipher.setAuthTag(sealed.subarray(bodyEnd));
      return (
        decipher.update(sealed.subarray(1 + NONCE_BYTES, bodyEnd), undefined, 'utf8') + decipher.final('utf8')
      );
    } catch (error) {
      throw new StoreError('store-key', `a secret sealed for ${purpose} does not open`, { cause: error });
    }
  }

  /** Tells equal texts by equal fingerprints; nobody without the key can try out what the text was. */
  fingerprint(purpose: SealPurpose, text: string): string {
    return createHmac('sha256', this.#key)
      .update(associatedData(purpose))
      .update('\n')
      .update(text)
      .digest('hex');
  }
}

function associatedData(purpose: SealPurpose): Uint8Array {
  return Buffer.from(`svc:${VERSION}:${purpose}`);
}

/** @throws StoreError `store-key` when it is not 32 bytes in base64 */
export function parseSecretKey(text: string): Uint8Array {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== KEY_BYTES) {
    throw new StoreError(
      'store-key',
      `SVC_SECRET_KEY must be ${KEY_BYTES} bytes in base64, as \`openssl rand -base64 32\` prints`,
    );
  }
  return key;
}

export function generateSecretKey(): string {
  return randomBytes(KEY_BYTES).toString('base64');
}

/**
 * Makes sure at the start that the key is the one the database was begun with: a value sealed at the
 * first start must open.
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
      'SVC_SECRET_KEY is not the key this database was begun with: set the former key, or begin with an empty database',
      { cause: error },
    );
  }
}
