import type { Clock } from '@svc/shared/clock.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { ProbeOutcome } from '../probes/probe.ts';
import { hostOfCheck } from './host-of-check.ts';
import { isLoopbackHost } from './own-addresses.ts';
import type { References } from './references.ts';

/** Most hosts that are told apart. */
const MAX_HOSTS = 20_000;
/** Part of the hosts. When more of them answer, it is not true that nearly all fail. */
const ANSWERING_PART = 0.2;
/** The agent reports a down network for this long after the last sign of it, ms. */
const SICK_MS = 10_000;
/** A host without a probe for this long is forgotten, ms, because it may not be checked any more. */
const CUT_OFF_MS = 3_600_000;

export type WatchParts = {
  readonly references: Pick<References, 'ask' | 'areKnown' | 'goneSince' | 'backAt' | 'forget'>;
  readonly clock: Pick<Clock, 'monotonic'>;
};

/**
 * A host that fails at connection level: the start of its first such attempt, and its last failure, monotonic
 * ms.
 */
type Failing = { readonly since: number; lastAt: number };

/** A host that is not probed because of the agent's own network: since when, and when last, monotonic ms. */
type CutOff = { readonly since: number; lastAt: number };

/**
 * Tells the failures of targets from a failure of the agent's own network.
 *
 *     a host fails at connection level ── no reference counts ─────────────▶ the target's
 *         │
 *         └─ the references are asked ── one answers ──────────────────────▶ the target's (*)
 *                │
 *                └─ none answers any more ─┬─ the host has answered without them ─────────▶ the target's
 *                                          ├─ it has failed before, and other hosts have
 *                                          │  answered since: they were wrong ───────────▶ the target's
 *                                          └─ otherwise ─────────────────────────────────▶ the network's
 *
 * (*) The network's when the attempt began before the network was back, because its packets were lost.
 *
 * A failure waits for the references' answer, some milliseconds while the network works. It cannot be
 * compared with other hosts at once: the first host that begins to fail is up to a period ahead of them.
 * Attempts against this machine say nothing about the network and are ignored. The watch costs nothing while
 * nothing fails.
 */
export class NetworkWatch {
  readonly #parts: WatchParts;
  readonly #failing = new Map<string, Failing>();
  /**
   * Begin of the last attempt that each host answered. It is noted only while other hosts fail or no
   * reference answers.
   */
  readonly #answeredAt = new Map<string, number>();
  /** Hosts that are cut off, until they answer. */
  readonly #cutOff = new Map<string, CutOff>();
  #cutOffAt = Number.NEGATIVE_INFINITY;
  /** When any host answered last, monotonic ms; noted at the same times as {@link #answeredAt}. */
  #anyAnsweredAt = Number.NEGATIVE_INFINITY;

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /**
   * Takes notice of the outcome of an attempt.
   *
   * @param startedAt start of the attempt, monotonic ms
   * @returns for a failure that may be the network's: whether it is; otherwise null
   */
  seen(check: Check, found: ProbeOutcome, startedAt: number): Promise<boolean> | null {
    if (found.outcome === 'not_run') {
      if (found.reason === 'network-down') this.#noteCutOff(hostOfCheck(check));
      return null;
    }
    const isCut = found.outcome === 'failed' && (found.timedOut === true || found.notConnected === true);
    if (!isCut && this.#isCalm) return null;
    const host = hostOfCheck(check);
    if (isLoopbackHost(host)) return null;
    if (!isCut) {
      this.#answered(host, check, startedAt);
      return null;
    }
    const failing = this.#failed(host, startedAt);
    return this.#parts.references.areKnown ? this.#ask(host, failing, startedAt) : null;
  }

  /**
   * Whether the agent's network is down. While the references are gone, one host is enough that was cut off
   * since another one answered. Otherwise several hosts must have been cut off, the last one within ten
   * seconds. Hosts that never have a route from here, while others answer, do not count.
   */
  get isDown(): boolean {
    const { references, clock } = this.#parts;
    const telling = this.#countTellingCutOff();
    if (telling === 0) return false;
    if (references.goneSince !== null) return true;
    return telling > 1 && clock.monotonic() - this.#cutOffAt < SICK_MS;
  }

  /**
   * Number of hosts that were cut off since a host answered last. Hosts that were cut off before count only
   * when nearly all hosts are. It forgets hosts that are not checked any more.
   */
  #countTellingCutOff(): number {
    const oldest = this.#parts.clock.monotonic() - CUT_OFF_MS;
    let fresh = 0;
    let again = 0;
    for (const [host, { since, lastAt }] of this.#cutOff) {
      if (lastAt < oldest) {
        this.#cutOff.delete(host);
        continue;
      }
      if (since > this.#anyAnsweredAt) fresh += 1;
      if (lastAt > this.#anyAnsweredAt) again += 1;
    }
    const answering = this.#answeredAt.size;
    return answering > ANSWERING_PART * (answering + this.#cutOff.size) ? fresh : again;
  }

  /** Whether nothing fails and no reference is missing. */
  get #isCalm(): boolean {
    return this.#failing.size === 0 && this.#cutOff.size === 0 && this.#parts.references.goneSince === null;
  }

  async #ask(host: string, failing: Failing, startedAt: number): Promise<boolean> {
    const { references } = this.#parts;
    // Another attempt may have failed in the meantime. That does not matter: the connection of this attempt
    // was begun while the network was gone.
    if ((await references.ask()) !== 'gone') return startedAt < references.backAt;
    const { goneSince } = references;
    if (goneSince !== null) {
      if ((this.#answeredAt.get(host) ?? Number.NEGATIVE_INFINITY) > goneSince) return false;
      // The other hosts are checked within one period of this host, so its first failure says nothing yet.
      if (this.#haveAnsweredSince(Math.max(goneSince, failing.since))) {
        references.forget();
        this.#cutOff.clear();
        return false;
      }
    }
    this.#noteCutOff(host);
    return true;
  }

  /** Whether so many hosts have answered since then that it is not true that nearly all fail. */
  #haveAnsweredSince(since: number): boolean {
    let answering = 0;
    let failing = 0;
    for (const at of this.#answeredAt.values()) if (at > since) answering += 1;
    for (const { lastAt } of this.#failing.values()) if (lastAt >= since) failing += 1;
    return answering > ANSWERING_PART * (answering + failing);
  }

  #failed(host: string, startedAt: number): Failing {
    const lastAt = this.#parts.clock.monotonic();
    const failing = this.#failing.get(host) ?? { since: startedAt, lastAt };
    failing.lastAt = lastAt;
    if (this.#failing.size < MAX_HOSTS) this.#failing.set(host, failing);
    return failing;
  }

  #answered(host: string, { type }: Check, startedAt: number): void {
    this.#failing.delete(host);
    this.#cutOff.delete(host);
    // A DNS answer speaks only for itself: a name server on this machine answers from its memory.
    if (type === 'dns') return;
    this.#anyAnsweredAt = this.#parts.clock.monotonic();
    if (this.#isCalm) this.#answeredAt.clear();
    else if (this.#answeredAt.size < MAX_HOSTS) this.#answeredAt.set(host, startedAt);
  }

  #noteCutOff(host: string): void {
    const now = this.#parts.clock.monotonic();
    this.#cutOffAt = now;
    // Its earlier answer is out of date.
    this.#answeredAt.delete(host);
    const cutOff = this.#cutOff.get(host);
    if (cutOff !== undefined) cutOff.lastAt = now;
    else if (this.#cutOff.size < MAX_HOSTS) this.#cutOff.set(host, { since: now, lastAt: now });
  }
}
