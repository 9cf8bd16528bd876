import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  type CheckedDomain,
  checkedDomain,
  type DeclaredDomain,
  declaredDomains,
  isHeldElsewhere,
  writeCheckedDomain,
} from '../../store/pages/page-domains.ts';
import type { Store } from '../../store/store.ts';
import { PageRounds } from '../page-rounds.ts';
import { type AskDomain, askedDomain } from './domain-lookup.ts';
import { type Pointing, pointingOf, type ServicePlace } from './pointing.ts';

/** Time between two checks of a verified domain, ms. */
const VERIFIED_EVERY_MS = 3_600_000;
/**
 * Number of consecutive checks that must find a verified domain elsewhere before svc stops
 * serving the domain. A single check may have got a wrong answer from a name server.
 */
const FAILURES = 3;
/** Time between checks of a verified domain whose last check found that the domain points elsewhere, ms. */
const FAILED_EVERY_MS = 600_000;
/**
 * Time between the first checks of a pending domain, ms. With every ten failed checks, the time between
 * two checks grows by this time, up to half an hour, because people wait for a result only at first.
 */
const PENDING_EVERY_MS = 60_000;
const DOMAINS_PER_READ = 100;

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ask: AskDomain;
  readonly service: () => Promise<ServicePlace>;
};

/**
 * Checks where the custom domains of status pages point.
 *
 *     declared ── check ──▶ pending ◀── elsewhere, 3 times ── verified
 *                              └────────── points here ─────────▲
 *
 * A check without an answer from name servers keeps the state. If a
 * page declares another domain, the new domain starts as pending.
 *
 * Pages of several workspaces may declare one domain. The DNS does not show who owns it, so the page that
 * was verified first gets the domain. The other pages stay pending, and their checks name the reason. One of
 * them gets the domain when the first page declares another domain, is removed, or is no longer verified.
 */
export class DomainChecks {
  readonly #parts: Parts;
  /** Running checks by page id. Concurrent calls for one page share one check. */
  readonly #running = new Map<number, Promise<CheckedDomain>>();
  readonly #rounds: PageRounds<DeclaredDomain>;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { store, clock, log } = parts;
    this.#rounds = new PageRounds({
      clock,
      log,
      work: 'checking custom domains',
      readAfter: (pageId) => declaredDomains(store, pageId, DOMAINS_PER_READ),
      workOn: async (domain) => {
        if (isDue(domain, clock.wall())) await this.checkDomain(domain.pageId, domain.declared);
      },
    });
  }

  /** Checks the domains that are due, now and every minute. */
  start(): void {
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
  }

  /** Resolves when the running checks have ended. */
  async roundEnded(): Promise<void> {
    await this.#rounds.roundEnded();
  }

  /**
   * Checks the domain of a page now, and stores the result.
   *
   * @param declared the domain as the page declares it
   * @throws StoreError
   */
  checkDomain(pageId: number, declared: string): Promise<CheckedDomain> {
    const running = this.#running.get(pageId);
    if (running !== undefined) return running;
    const started = this.#runCheck(pageId, declared).finally(() => this.#running.delete(pageId));
    this.#running.set(pageId, started);
    return started;
  }

  async #runCheck(pageId: number, declared: string): Promise<CheckedDomain> {
    const { store, clock, ask, service, log } = this.#parts;
    const domain = askedDomain(declared) ?? declared;
    const [answers, place] = await Promise.all([ask(domain), service()]);
    const before = await checkedDomain(store, pageId);
    const known = before?.declared === declared ? before : null;
    const pointing = pointingOf(domain, answers, place);
    const checked = await store.transaction(async (tx) => {
      const isHeld = known?.state !== 'verified' && (await isHeldElsewhere(tx, domain, pageId));
      const found = isHeld && pointing.is === 'here' ? heldElsewhere(domain) : pointing;
      const checked = { pageId, declared, domain, ...after(known, found, clock.wall()) };
      await writeCheckedDomain(tx, checked);
      return checked;
    });
    if (checked.state !== (known?.state ?? 'pending')) {
      log.info(
        { page: pageId, domain, state: checked.state, problem: checked.problem },
        'custom domain checked',
      );
    }
    return checked;
  }
}

function heldElsewhere(domain: string): Pointing {
  const problem = `${domain} points here, but another status page holds it, because that page was verified first: this page gets the domain when the other one gives it up`;
  return { is: 'elsewhere', problem };
}

type Standing = Pick<CheckedDomain, 'state' | 'problem' | 'failures' | 'checkedAt' | 'verifiedAt'>;

/**
 * Returns the state of a domain that is stored after a check.
 *
 * @param now epoch ms
 */
function after(before: Standing | null, pointing: Pointing, now: number): Standing {
  const checkedAt = Math.floor(now);
  const verifiedAt = before?.verifiedAt ?? null;
  const state = before?.state ?? 'pending';
  const failures = before?.failures ?? 0;
  switch (pointing.is) {
    case 'here':
      return { state: 'verified', problem: null, failures: 0, checkedAt, verifiedAt: checkedAt };
    case 'not-known':
      return { state, problem: pointing.problem, failures, checkedAt, verifiedAt };
    case 'elsewhere': {
      const isGone = failures + 1 >= FAILURES;
      return {
        state: isGone ? 'pending' : state,
        problem: pointing.problem,
        failures: failures + 1,
        checkedAt,
        verifiedAt,
      };
    }
    default:
      return pointing satisfies never;
  }
}

/**
 * Whether a domain must be checked.
 *
 * @param now epoch ms
 */
function isDue({ checked }: Pick<DeclaredDomain, 'checked'>, now: number): boolean {
  if (checked === null) return true;
  // The age is absolute, because a clock that is set back must not stop the checks.
  const ageMs = Math.abs(now - checked.checkedAt);
  if (checked.state === 'pending')
    return ageMs >= PENDING_EVERY_MS * Math.min(30, 1 + Math.floor(checked.failures / 10));
  return ageMs >= (checked.failures > 0 ? FAILED_EVERY_MS : VERIFIED_EVERY_MS);
}
