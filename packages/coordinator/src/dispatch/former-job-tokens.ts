import { hash } from 'node:crypto';
import type { Region } from '@svc/shared/regions.ts';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const TOKEN_LENGTH = 22;
const MAX_MESSAGE_BYTES = 96;

/**
 * The tokens of jobs that svc gave out until 2026-11-23: HMAC-SHA256 of (monitor, region, slot). They are checked
 * still, because agents report such jobs after an update of the coordinator.
 */
export class FormerJobTokens {
  /** Key xor ipad (RFC 2104, section 2), then the message. */
  readonly #inner = Buffer.alloc(BLOCK_BYTES + MAX_MESSAGE_BYTES);
  /** Key xor opad, then the inner digest. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);

  constructor(key: Uint8Array) {
    for (let index = 0; index < BLOCK_BYTES; index += 1) {
      const byte = key[index] ?? 0;
      this.#inner[index] = byte ^ 0x36;
      this.#outer[index] = byte ^ 0x5c;
    }
  }

  tokenOf(monitor: number, region: Region, slot: number): string {
    const length = this.#inner.write(`${monitor} ${region} ${slot}`, BLOCK_BYTES, 'latin1');
    this.#outer.write(
      hash('sha256', this.#inner.subarray(0, BLOCK_BYTES + length), 'hex'),
      BLOCK_BYTES,
      'hex',
    );
    return hash('sha256', this.#outer, 'base64url').slice(0, TOKEN_LENGTH);
  }
}
