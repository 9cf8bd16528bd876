import { hash } from 'node:crypto';
import { SvcError } from '@svc/shared/errors.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { FIXED_NUMBERS, type RegionNumbers } from '../store/results/region-numbers.ts';

const KEY_BYTES = 32;
/** Length of a token in base64url characters: 132 bits. */
const TOKEN_LENGTH = 22;
/** Number of regions in a group. One output of the hash has the tokens of all regions of a group. */
const REGIONS_PER_OUTPUT = 8;
/**
 * Length of one block of SHAKE256 (FIPS 202), bytes. Eight tokens of 16.5 bytes fit, and a longer output
 * would cost a second round of the hash.
 */
const OUTPUT_BYTES = 136;
/** Length of all tokens of an output together, characters. */
const OUTPUT_LENGTH = REGIONS_PER_OUTPUT * TOKEN_LENGTH;
/**
 * Number of outputs of the hash that are kept (1.4 MiB). It is several times the number of jobs in progress
 * at 2,000 checks a second.
 */
const MOST_KEPT = 8_192;
/**
 * Distance between the places of the outputs for two neighbouring groups of regions, for the same monitor.
 */
const GROUP_PLACES = MOST_KEPT / 4;
/**
 * Text that follows the key in the input of the hash, so that no other use of the key hashes the same input.
 */
const PURPOSE = 'svc-job ';
const MAX_MESSAGE_BYTES = 64;
const AS_TEXT = { outputEncoding: 'base64url', outputLength: OUTPUT_BYTES } as const;

/**
 * Makes and checks tokens, which prove that a job was given to a region. A token is a part of SHAKE256 of
 * (key, monitor, slot, group of regions); each region of the group has its own part. Every offer of a job has
 * the same token. A token can be checked without memory of the job. This is needed because results of jobs
 * from before a restart still arrive afterwards.
 *
 * A hash costs a microsecond, so the regions of a group share it. One part of the output reveals nothing
 * about the other parts. A key before the message makes a sound MAC with a sponge function, because the
 * output of a sponge does not reveal its state.
 *
 * An output is kept until another output needs its place: each token is needed again when the result comes,
 * about a second after the job was sent. Outputs lie in one buffer, because strings that live for a second
 * would fill the old generation of the heap.
 */
export class JobTokens {
  /** The input of the hash: the key and the purpose, then the message. */
  readonly #input = Buffer.alloc(KEY_BYTES + PURPOSE.length + MAX_MESSAGE_BYTES);
  /**
   * Views of the input, by the length of its message. They are made once, because
   * making a view costs as much as a hash.
   */
  readonly #filled = Array.from({ length: MAX_MESSAGE_BYTES + 1 }, (_, length) =>
    this.#input.subarray(0, KEY_BYTES + PURPOSE.length + length),
  );
  /**
   * Outputs by place, with their monitor, slot and group. The slot of an empty place is NaN, which equals no
   * slot.
   */
  readonly #outputs = Buffer.alloc(MOST_KEPT * OUTPUT_LENGTH);
  readonly #monitors = new Float64Array(MOST_KEPT);
  readonly #slots = new Float64Array(MOST_KEPT).fill(Number.NaN);
  readonly #groups = new Uint16Array(MOST_KEPT);

  readonly #numbers: RegionNumbers;

  /**
   * @param secret 32 bytes
   * @param numbers the regions that may get tokens
   * @throws SvcError when the secret has another length
   */
  constructor(secret: Secret<Uint8Array>, numbers: RegionNumbers = FIXED_NUMBERS) {
    this.#numbers = numbers;
    const key = secret.reveal();
    if (key.length !== KEY_BYTES) {
      throw new SvcError('job-key', `the job key must have ${KEY_BYTES} bytes, not ${key.length}`);
    }
    this.#input.set(key);
    this.#input.write(PURPOSE, KEY_BYTES, 'latin1');
  }

  /**
   * The token of the job: 22 characters of base64url.
   *
   * @param slot epoch ms
   * @throws StoreError when the region has no number
   */
  tokenOf(monitor: number, region: Region, slot: number): string {
    const from = this.#startOf(monitor, region, slot);
    return this.#outputs.toString('latin1', from, from + TOKEN_LENGTH);
  }

  /**
   * Whether the token is the token of this job. The comparison takes constant time.
   *
   * @throws StoreError when the token has the length of a token, and the region has no number
   */
  isValid(token: string, monitor: number, region: Region, slot: number): boolean {
    if (token.length !== TOKEN_LENGTH) return false;
    return isSameToken(token, this.#outputs, this.#startOf(monitor, region, slot));
  }

  /** Index of the token's first byte in the buffer of outputs. */
  #startOf(monitor: number, region: Region, slot: number): number {
    const number = this.#numbers.numberOf(region);
    const part = number % REGIONS_PER_OUTPUT;
    const group = (number - part) / REGIONS_PER_OUTPUT;
    return this.#placeOf(monitor, slot, group) * OUTPUT_LENGTH + part * TOKEN_LENGTH;
  }

  /**
   * The place of the output in the buffer. If the place does not contain this output, the output is computed.
   */
  #placeOf(monitor: number, slot: number, group: number): number {
    const place = (monitor + group * GROUP_PLACES) % MOST_KEPT;
    if (this.#monitors[place] !== monitor || this.#slots[place] !== slot || this.#groups[place] !== group) {
      this.#make(place, monitor, slot, group);
    }
    return place;
  }

  #make(place: number, monitor: number, slot: number, group: number): void {
    const at = KEY_BYTES + PURPOSE.length;
    const length = this.#input.write(`${monitor} ${slot} ${group}`, at, 'latin1');
    const output = hash('shake256', this.#filled[length] as Buffer, AS_TEXT);
    this.#outputs.write(output, place * OUTPUT_LENGTH, OUTPUT_LENGTH, 'latin1');
    this.#monitors[place] = monitor;
    this.#slots[place] = slot;
    this.#groups[place] = group;
  }
}

/** Whether the token equals the characters from `start` on. The time does not depend on where they differ. */
function isSameToken(token: string, characters: Uint8Array, start: number): boolean {
  let difference = 0;
  for (let index = 0; index < TOKEN_LENGTH; index += 1) {
    difference |= token.charCodeAt(index) ^ (characters[start + index] as number);
  }
  return difference === 0;
}
