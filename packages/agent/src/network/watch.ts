import type { Clock } from '@svc/shared/clock.ts';
import type { Check } from '@svc/shared/messages/check.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { ProbeOutcome } from '../probes/probe.ts';
import { type Families, familiesOf, isBy, NO_FAMILY, ONLY_IPV4, ONLY_IPV6 } from './families.ts';
import { hostOfCheck } from './host-of-check.ts';
import { noLocalRoute } from './local-route.ts';
import { isLoopbackHost } from './own-addresses.ts';
import type { References } from './references.ts';

/** Maximum number of hosts that each map remembers. */
const MAX_HOSTS = 20_000;
/** "Nearly all hosts fail" is true while at most this part of the hosts answers. */
const ANSWERING_PART = 0.2;
/**
 * While the references answer, the network counts as down for this long
 * after a host was last cut off, ms, if at least two hosts were.
 */
const SICK_MS = 10_000;
/** A host that was last cut off this long ago is forgotten, ms, because it may not be checked any more. */
const CUT_OFF_MS = 3_600_000;

export type WatchParts = {
  readonly references: Pick<
    References,
    'askReferences' | 'areKnown' | 'areSomeGone' | 'goneSince' | 'backAt' | 'forgetAnswers'
  >;
  readonly clock: Pick<Clock, 'monotonic'>;
};

/**
 * A host that fails at connection level: the start of its first failed attempt and the end
 * of its last failed attempt (monotonic ms), and the families that the last attempt tried.
 */
type Failing = { readonly since: number; readonly lastAt: number; readonly families: Families };

/**
 * A host that the agent's own network cuts off: the instants at which this was first
 * and last found (monotonic ms), and the families that the last attempt tried.
 */
type CutOff = Failing;

/** A host that answered: start of the attempt (monotonic ms), and the attempt's families. */
type Answered = { readonly at: number; readonly families: Families };

/**
 * Distinguishes failures of targets from a failure of the agent's own network.
 * When a host fails at connection level, this decides whose failure it is:
 *
 *     a time-out, and the machine has no route any more ──────────▶ the network's
 *     no reference counts ────────────────────────────────────────▶ the target's
 *     a reference answers ────────────────────────────────────────▶ the target's (*)
 *     no reference answers any more
 *       ├─ the host has answered since the references are gone ───▶ the target's
 *       ├─ more than a fifth of the hosts have answered since
 *       │  then and since the host began to fail ─────────────────▶ the target's (**)
 *       └─ otherwise ─────────────────────────────────────────────▶ the network's
 *
 * (*) If the attempt began before the references answered
 * again, the failure is the network's: the packets were lost.
 *
 * (**) The references were wrong about the network, so none of them counts until it answers again.
 *
 * IPv4 and IPv6 fail independently. A target that was tried over one family
 * is compared with the references and hosts that answer over the same family.
 *
 * A failure waits for the references' answer, some milliseconds while the network works. A
 * failure cannot be compared with other hosts at once, because the first host that fails
 * may be checked a whole period before the others. Attempts against loopback hosts say nothing
 * about the network and are ignored. The watch costs almost nothing while nothing fails.
 */
export class NetworkWatch {
  readonly #parts: WatchParts;
  readonly #failing = new Map<string, Failing>();
  /**
   * The last answer of each host to an HTTP or TCP check. It is recorded only
   * while some host fails or is cut off, or references are gone.
   */
  readonly #answered = new Map<string, Answered>();
  /** Hosts that the agent's own network cuts off, until they answer. */
  readonly #cutOff = new Map<string, CutOff>();
  #cutOffAt = Number.NEGATIVE_INFINITY;
  /**
   * When any host last answered over any family, and over each family, monotonic ms. DNS answers do not
   * count. These instants are recorded only while some host fails or is cut off, or references are gone.
   */
  readonly #lastAnswerAt = {
    all: Number.NEGATIVE_INFINITY,
    4: Number.NEGATIVE_INFINITY,
    6: Number.NEGATIVE_INFINITY,
  };

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /**
   * Records the outcome of an attempt, and finds out who caused a failure.
   *
   * @param startedAt start of the attempt, monotonic ms
   * @returns why the attempt says nothing about its target, or null if the failure is the target's. Null
   *   without a promise: the attempt did not fail at connection level, or its host is a loopback host
   */
  seen(check: Check, found: ProbeOutcome, startedAt: number): Promise<NotRunReason | null> | null {
    const families = familiesOf(found.addresses ?? []);
    if (found.outcome === 'not_run') {
      if (found.reason === 'network-down') this.#noteCutOff(hostOfCheck(check), families);
      return null;
    }
    const isCut = found.outcome === 'failed' && (found.timedOut === true || found.notConnected === true);
    if (!isCut && this.#isCalm) return null;
    const host = hostOfCheck(check);
    if (isLoopbackHost(host)) return null;
    if (!isCut) {
      this.#noteAnswer(host, check, { at: startedAt, families });
      return null;
    }
    return this.#whyNotRun(host, found, this.#failed(host, startedAt, families), startedAt);
  }

  async #whyNotRun(
    host: string,
    { timedOut, addresses = [], proxyAddresses = [] }: ProbeOutcome,
    failing: Failing,
    startedAt: number,
  ): Promise<NotRunReason | null> {
    // A route that goes away during an attempt causes no error on its socket, only silence. References
    // that are on the agent's own link still answer.
    const sentTo = [...addresses, ...proxyAddresses];
    if (timedOut === true && sentTo.length > 0) {
      const noRoute = await noLocalRoute(sentTo.map((address) => ({ address, code: 'ETIMEDOUT' })));
      // `no-ipv6` would say that the target, not the proxy, has IPv6 addresses only.
      const reason = proxyAddresses.length > 0 && noRoute !== null ? 'network-down' : noRoute?.reason;
      if (reason === 'network-down') this.#noteCutOff(host, failing.families);
      if (reason !== undefined) return reason;
    }
    if (!this.#parts.references.areKnown) return null;
    return (await this.#askReferences(host, failing, startedAt)) ? 'network-down' : null;
  }

  /**
   * Whether the agent's network is down, for one address family or both. While the references, or
   * those of one family, are gone, one host (of that family) that was cut off after the last answer
   * of any host is enough. Otherwise at least two such hosts are needed, and the last host must have
   * been cut off within the last ten seconds.
   * A host to which this machine never has a route does not count while other hosts answer.
   */
  get isDown(): boolean {
    const { references, clock } = this.#parts;
    const conclusive = this.#countConclusiveCutOffs(NO_FAMILY);
    if (conclusive > 0 && references.goneSince(NO_FAMILY) !== null) return true;
    if (conclusive > 1 && clock.monotonic() - this.#cutOffAt < SICK_MS) return true;
    return [ONLY_IPV4, ONLY_IPV6].some(
      (family) => references.goneSince(family) !== null && this.#countConclusiveCutOffs(family) > 0,
    );
  }

  /**
   * Number of hosts that were first cut off after the last answer of any host. If nearly
   * all hosts are cut off, a host that was first cut off before that answer counts too,
   * when it was cut off again after it. Hosts that are not checked any more are forgotten.
   *
   * @param by only hosts that were tried over this family count; empty: all hosts count
   */
  #countConclusiveCutOffs(by: Families): number {
    const oldest = this.#parts.clock.monotonic() - CUT_OFF_MS;
    const answeredAt = this.#lastAnswerAt[by[0] ?? 'all'];
    let all = 0;
    let fresh = 0;
    let again = 0;
    for (const [host, { since, lastAt, families }] of this.#cutOff) {
      if (lastAt < oldest) {
        this.#cutOff.delete(host);
        continue;
      }
      if (!isBy(families, by)) continue;
      all += 1;
      if (since > answeredAt) fresh += 1;
      if (lastAt > answeredAt) again += 1;
    }
    if (all === 0) return 0;
    let answering = 0;
    for (const { families } of this.#answered.values()) if (isBy(families, by)) answering += 1;
    return answering > ANSWERING_PART * (answering + all) ? fresh : again;
  }

  /** Whether no host fails or is cut off, and no references are gone. */
  get #isCalm(): boolean {
    return this.#failing.size === 0 && this.#cutOff.size === 0 && !this.#parts.references.areSomeGone;
  }

  async #askReferences(host: string, failing: Failing, startedAt: number): Promise<boolean> {
    const { references } = this.#parts;
    const { families } = failing;
    // If the references answer again, this attempt may still have begun while the network was gone.
    if ((await references.askReferences(families)) !== 'gone') return startedAt < references.backAt(families);
    const goneSince = references.goneSince(families);
    if (goneSince !== null) {
      const answered = this.#answered.get(host);
      if (answered !== undefined && answered.at > goneSince && isBy(answered.families, families))
        return false;
      // Other hosts are checked within one period after this host. So usually, only when
      // this host fails again can enough of them have answered since it began to fail.
      if (this.#haveAnsweredSince(Math.max(goneSince, failing.since), families)) {
        references.forgetAnswers(families);
        for (const [each, cutOff] of this.#cutOff)
          if (isBy(cutOff.families, families)) this.#cutOff.delete(each);
        return false;
      }
    }
    this.#noteCutOff(host, families);
    return true;
  }

  /**
   * Whether so many hosts of these families have answered, in attempts that
   * began after `since`, that "nearly all hosts fail" is not true.
   */
  #haveAnsweredSince(since: number, by: Families): boolean {
    let answering = 0;
    let failing = 0;
    for (const { at, families } of this.#answered.values())
      if (at > since && isBy(families, by)) answering += 1;
    for (const { lastAt, families } of this.#failing.values()) {
      if (lastAt >= since && (families.length === 0 || isBy(families, by))) failing += 1;
    }
    return answering > ANSWERING_PART * (answering + failing);
  }

  #failed(host: string, startedAt: number, families: Families): Failing {
    const lastAt = this.#parts.clock.monotonic();
    const { since } = this.#failing.get(host) ?? { since: startedAt };
    const failing = { since, lastAt, families };
    remember(this.#failing, host, failing);
    return failing;
  }

  #noteAnswer(host: string, { type }: Check, answered: Answered): void {
    this.#failing.delete(host);
    this.#cutOff.delete(host);
    // An answer to a DNS check says nothing about other hosts:
    // a name server on this machine may answer from its cache.
    if (type === 'dns') return;
    const now = this.#parts.clock.monotonic();
    this.#lastAnswerAt.all = now;
    for (const family of answered.families) this.#lastAnswerAt[family] = now;
    if (this.#isCalm) this.#answered.clear();
    else remember(this.#answered, host, answered);
  }

  #noteCutOff(host: string, families: Families): void {
    const now = this.#parts.clock.monotonic();
    this.#cutOffAt = now;
    // The host's earlier answer is out of date.
    this.#answered.delete(host);
    const since = this.#cutOff.get(host)?.since ?? now;
    remember(this.#cutOff, host, { since, lastAt: now, families });
  }
}

/** Sets what is known of the host. A full map takes no further host. */
function remember<T>(hosts: Map<string, T>, host: string, known: T): void {
  if (hosts.size < MAX_HOSTS || hosts.has(host)) hosts.set(host, known);
}
