import type { Clock } from '@svc/shared/clock.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { ProbeOutcome } from '../probes/probe.ts';
import { hostOfCheck } from './host-of-check.ts';
import { isLoopbackHost } from './own-addresses.ts';
import type { References } from './references.ts';

/** Hosts beyond so many are not told apart any more. */
const MAX_HOSTS = 20_000;
/** With more than this part of the hosts answering, nearly all do not fail. */
const ANSWERING_PART = 0.2;
/** Of the last so many ms the agent says whether its network is down. */
const SICK_MS = 10_000;
/** A host that was not probed is forgotten after so long, ms: it may not be checked any more. */
const CUT_OFF_MS = 3_600_000;

export type WatchOptions = {
  readonly references: Pick<References, 'ask' | 'areKnown' | 'goneSince' | 'backAt' | 'forget'>;
  readonly clock: Pick<Clock, 'monotonic'>;
};

/** Hosts that fail at connection level: since the start of the first such attempt, and until when, monotonic ms. */
type Failing = { readonly since: number; lastAt: number };

/** Hosts that are not probed because of our network: since when, and when last, monotonic ms. */
type CutOff = { readonly since: number; lastAt: number };

/**
 * Tells the failures of targets from the failure of our own network.
 *
 *     a host fails at connection level ── no reference counts ─────────────▶ the target's
 *         │
 *         └─ the references are asked ── one answers ──────────────────────▶ the target's (*)
 *                │
 *                └─ none answers any more ─┬─ the host has answered without them ─────────▶ the target's
 *                                          ├─ it has failed before, and other hosts have
 *                                          │  answered since: they were wrong ───────────▶ the target's
 *                                          └─ else ──────────────────────────────────────▶ our network's
 *
 * (*) Our network's where the attempt began before the network was back: what it sent was lost.
 *
 * A failure waits for the answer, some milliseconds while the network is there: the first host that
 * begins to fail cannot be compared with the others yet, which follow within a period. Attempts against
 * this machine say nothing about the network and are not looked at. Costs nothing while nothing fails.
 */
export class NetworkWatch {
  readonly #options: WatchOptions;
  readonly #failing = new Map<string, Failing>();
  /** Begin of the last attempt that each host answered, of those that did while others failed or no reference was there. */
  readonly #answeredAt = new Map<string, number>();
  /** Until they answer. */
  readonly #cutOff = new Map<string, CutOff>();
  #cutOffAt = Number.NEGATIVE_INFINITY;
  /** When some host answered last, of those times that {@link #answeredAt} is about. */
  #anyAnsweredAt = Number.NEGATIVE_INFINITY;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /**
   * Takes notice of what an attempt found.
   *
   * @param startedAt of the attempt, monotonic ms
   * @returns for a failure that may be our network's: whether it is; else null
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
    return this.#options.references.areKnown ? this.#ask(host, failing, startedAt) : null;
  }

  /**
   * Within the last ten seconds several hosts were not probed because of our network, and none answered since. Hosts
   * that have no route while others answer (they never have one from here) tell nothing.
   */
  get isDown(): boolean {
    const { references, clock } = this.#options;
    const telling = this.#countTellingCutOff();
    if (telling === 0) return false;
    if (references.goneSince !== null) return true;
    return telling > 1 && clock.monotonic() - this.#cutOffAt < SICK_MS;
  }

  /**
   * Hosts cut off since one answered last; only those that were not so before, unless nearly all are. Forgets those that
   * are not checked any more.
   */
  #countTellingCutOff(): number {
    const oldest = this.#options.clock.monotonic() - CUT_OFF_MS;
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

  /** Nothing fails, and no reference is missed. */
  get #isCalm(): boolean {
    return this.#failing.size === 0 && this.#cutOff.size === 0 && this.#options.references.goneSince === null;
  }

  async #ask(host: string, failing: Failing, startedAt: number): Promise<boolean> {
    const { references } = this.#options;
    // Whether another attempt has failed meanwhile says nothing: its connection was begun in vain all the same.
    if ((await references.ask()) !== 'gone') return startedAt < references.backAt;
    const { goneSince } = references;
    if (goneSince !== null) {
      if ((this.#answeredAt.get(host) ?? Number.NEGATIVE_INFINITY) > goneSince) return false;
      // Within a period of this host the others were checked too, so that its first failure tells nothing yet.
      if (this.#haveAnsweredSince(Math.max(goneSince, failing.since))) {
        references.forget();
        this.#cutOff.clear();
        return false;
      }
    }
    this.#noteCutOff(host);
    return true;
  }

  /** So many hosts have answered since that not nearly all fail. */
  #haveAnsweredSince(since: number): boolean {
    let answering = 0;
    let failing = 0;
    for (const at of this.#answeredAt.values()) if (at > since) answering += 1;
    for (const { lastAt } of this.#failing.values()) if (lastAt >= since) failing += 1;
    return answering > ANSWERING_PART * (answering + failing);
  }

  #failed(host: string, startedAt: number): Failing {
    const lastAt = this.#options.clock.monotonic();
    const failing = this.#failing.get(host) ?? { since: startedAt, lastAt };
    failing.lastAt = lastAt;
    if (this.#failing.size < MAX_HOSTS) this.#failing.set(host, failing);
    return failing;
  }

  #answered(host: string, { type }: Check, startedAt: number): void {
    this.#failing.delete(host);
    this.#cutOff.delete(host);
    // It speaks for itself only: a name server on this machine answers from its memory.
    if (type === 'dns') return;
    this.#anyAnsweredAt = this.#options.clock.monotonic();
    if (this.#isCalm) this.#answeredAt.clear();
    else if (this.#answeredAt.size < MAX_HOSTS) this.#answeredAt.set(host, startedAt);
  }

  #noteCutOff(host: string): void {
    const now = this.#options.clock.monotonic();
    this.#cutOffAt = now;
    // What it answered before is not its last word any more.
    this.#answeredAt.delete(host);
    const cutOff = this.#cutOff.get(host);
    if (cutOff !== undefined) cutOff.lastAt = now;
    else if (this.#cutOff.size < MAX_HOSTS) this.#cutOff.set(host, { since: now, lastAt: now });
  }
}
