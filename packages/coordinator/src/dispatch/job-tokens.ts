import { hash, timingSafeEqual } from 'node:crypto';
import { SvcError } from '@svc/shared/errors.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { FormerJobTokens } from './former-job-tokens.ts';
import { regionIndex } from './job.ts';

const KEY_BYTES = 32;
/** base64url characters of a token: 132 bits. */
const TOKEN_LENGTH = 22;
/** Regions whose tokens are parts of one output. */
const REGIONS_PER_OUTPUT = 8;
/** One block of SHAKE256 (FIPS 202), bytes: eight tokens of 16.5 bytes fit, and more would cost a second round. */
const OUTPUT_BYTES = 136;
/** Ends the key, so that no other use of it hashes the same. */
const PURPOSE = 'svc-job ';
const MAX_MESSAGE_BYTES = 64;
const AS_TEXT = { outputEncoding: 'base64url', outputLength: OUTPUT_BYTES } as const;

/**
 * Proof that a job was given to a region: a part of SHAKE256 of (key, monitor, slot, group of regions), another one for
 * each region of the group. It is the same for every offer of the job, and can be checked without memory of it: after a
 * restart, tokens of jobs come back that this process does not know.
 *
 * A hash costs a microsecond, so the regions of a slot share it. The output is as long as all their tokens together:
 * knowing one part of it tells nothing about the others. A key in front of the message is a sound MAC with a sponge,
 * whose output does not tell its state.
 */
export class JobTokens {
  /** The key and the purpose, then the message. */
  readonly #input = Buffer.alloc(KEY_BYTES + PURPOSE.length + MAX_MESSAGE_BYTES);
  /** The beginning of it that a message of this length fills: a view of a buffer costs as much as a hash. */
  readonly #filled = Array.from({ length: MAX_MESSAGE_BYTES + 1 }, (_, length) =>
    this.#input.subarray(0, KEY_BYTES + PURPOSE.length + length),
  );
  readonly #former: FormerJobTokens;
  /** The last output and what it is of: jobs of one slot are opened one after the other. */
  #output = '';
  #monitor = 0;
  #slot = -1;
  #group = -1;

  /** @param secret 32 bytes */
  constructor(secret: Secret<Uint8Array>) {
    const key = secret.reveal();
    if (key.length !== KEY_BYTES) {
      throw new SvcError('job-key', `the job key must have ${KEY_BYTES} bytes, not ${key.length}`);
    }
    this.#input.set(key);
    this.#input.write(PURPOSE, KEY_BYTES, 'latin1');
    this.#former = new FormerJobTokens(key);
  }

  tokenOf(monitor: number, region: Region, slot: number): string {
    const index = regionIndex(region);
    const place = index % REGIONS_PER_OUTPUT;
    const group = (index - place) / REGIONS_PER_OUTPUT;
    if (monitor !== this.#monitor || slot !== this.#slot || group !== this.#group) {
      this.#make(monitor, slot, group);
    }
    return this.#output.slice(place * TOKEN_LENGTH, (place + 1) * TOKEN_LENGTH);
  }

  /** Compared in constant time. Agents may hold jobs that an earlier version of svc gave them. */
  isValid(token: string, monitor: number, region: Region, slot: number): boolean {
    if (token.length !== TOKEN_LENGTH) return false;
    return (
      isSameInBytes(token, this.tokenOf(monitor, region, slot)) ||
      isSameInBytes(token, this.#former.tokenOf(monitor, region, slot))
    );
  }

  #make(monitor: number, slot: number, group: number): void {
    const at = KEY_BYTES + PURPOSE.length;
    const length = this.#input.write(`${monitor} ${slot} ${group}`, at, 'latin1');
    this.#output = hash('shake256', this.#filled[length] as Buffer, AS_TEXT);
    this.#monitor = monitor;
    this.#slot = slot;
    this.#group = group;
  }
}

const given = Buffer.alloc(TOKEN_LENGTH);
const expected = Buffer.alloc(TOKEN_LENGTH);

/** Both have the length of a token. */
function isSameInBytes(token: string, valid: string): boolean {
  given.write(token, 'latin1');
  expected.write(valid, 'latin1');
  return timingSafeEqual(given, expected);
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
