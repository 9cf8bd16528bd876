import { hash, timingSafeEqual } from 'node:crypto';
import { SvcError } from '@svc/shared/errors.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** base64url characters kept of the digest: 132 bits. */
const TOKEN_LENGTH = 22;
const MAX_MESSAGE_BYTES = 96;

/**
 * Proof that a job was given to a region: HMAC-SHA256 of (monitor, region, slot). It is the same for every
 * offer of the job, and can be checked without memory of it.
 *
 * The HMAC is built from two one-shot hashes (RFC 2104, section 2): node's `createHmac` costs ten times as
 * much, for every job and again for every result.
 */
export class JobTokens {
  /** Key xor ipad, then the message. */
  readonly #inner = Buffer.alloc(BLOCK_BYTES + MAX_MESSAGE_BYTES);
  /** The beginning of it that a message of this length fills: a view of a buffer costs as much as a hash. */
  readonly #filled = Array.from({ length: MAX_MESSAGE_BYTES + 1 }, (_, length) =>
    this.#inner.subarray(0, BLOCK_BYTES + length),
  );
  /** Key xor opad, then the inner digest. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  readonly #expected = Buffer.alloc(TOKEN_LENGTH);
  readonly #given = Buffer.alloc(TOKEN_LENGTH);

  /** @param secret 32 bytes */
  constructor(secret: Secret<Uint8Array>) {
    const key = secret.reveal();
    if (key.length !== DIGEST_BYTES) {
      throw new SvcError('job-key', `the job key must have ${DIGEST_BYTES} bytes, not ${key.length}`);
    }
    for (let index = 0; index < BLOCK_BYTES; index += 1) {
      const byte = key[index] ?? 0;
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  tokenOf(monitor: number, region: Region, slot: number): string {
    const length = this.#inner.write(`${monitor} ${region} ${slot}`, BLOCK_BYTES, 'latin1');
    // As text, because making a Buffer takes longer than hashing.
    const inner = hash('sha256', this.#filled[length] as Buffer, 'binary');
    this.#outer.write(inner, BLOCK_BYTES, 'latin1');
    return hash('sha256', this.#outer, 'base64url').slice(0, TOKEN_LENGTH);
  }

  /** Compared in constant time. */
  isValid(token: string, monitor: number, region: Region, slot: number): boolean {
    if (token.length !== TOKEN_LENGTH) return false;
    this.#expected.write(this.tokenOf(monitor, region, slot), 'latin1');
    this.#given.write(token, 'latin1');
    return timingSafeEqual(this.#expected, this.#given);
  }
}

/** Compares in a time that does not depend on where the tokens differ. */
export function isSameToken(token: string, other: string): boolean {
  if (token.length !== other.length) return false;
  let difference = 0;
  for (let index = 0; index < token.length; index += 1) {
    difference |= token.charCodeAt(index) ^ other.charCodeAt(index);
  }
  return difference === 0;
}
