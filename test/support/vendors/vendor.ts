import type { ReceivedRequest } from '../receiver.ts';

/** What a vendor answers to one request. */
export type VendorAnswer = {
  readonly status: number;
  /** Body of the answer. An object is sent as JSON, a text unchanged. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * The fake of a vendor. It enforces the vendor's rules, and keeps what the vendor would show to people. It
 * answers a request that breaks a rule as the vendor does, and such a request changes nothing.
 */
export interface Vendor {
  answer(request: ReceivedRequest): VendorAnswer;
}

/** A limit on the count within any window of `windowMs`, on a clock that the test moves. */
export class WindowLimit {
  readonly #most: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  #taken: number[] = [];

  constructor(most: number, windowMs: number, now: () => number) {
    this.#most = most;
    this.#windowMs = windowMs;
    this.#now = now;
  }

  /** Takes one more if it fits into the window. Returns whether it fits. */
  take(): boolean {
    const now = this.#now();
    this.#taken = this.#taken.filter((at) => now - at < this.#windowMs);
    if (this.#taken.length >= this.#most) return false;
    this.#taken.push(now);
    return true;
  }
}

/**
 * Number of UTF-16 code units. Vendors do not say what they count as a character. Some count code points, of
 * which there are never more.
 */
export function characters(text: string): number {
  return text.length;
}
