import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Announcement, Told } from '../told.ts';
import { isQuorum, type Rule } from './rule.ts';

type Outcome = 'passed' | 'degraded' | 'failed';

/** The known facts with which an alert is compared. */
export type Known = {
  /** The last statuses, each with its beginning, epoch ms; null: the beginnings are not known. */
  readonly begins: readonly Began[] | null;
  /**
   * Returns when the incident with this key began, epoch ms; undefined:
   * there was no such incident; null: a start may not know the beginning.
   */
  readonly beginOf: (key: string) => number | undefined | null;
  /**
   * The rules by which the evaluation judged votes, and the rule at its end.
   * A status may be announced together with a later change of the declaration.
   */
  readonly rules: readonly Rule[];
};

/**
 * A status, and when it began, epoch ms. `isNew`: it began in the
 * evaluation that made the alert, as the only change of status.
 */
export type Began = { readonly status: MonitorStatus; readonly at: number; readonly isNew: boolean };

/**
 * Checks the facts in alerts. "Payload facts come from the newest vote that supports the
 * verdict." An alert says when its status and its incident began, and what each region reported.
 */
export class AlertFacts {
  /** The first outcome of each region, by slot. */
  readonly #reported = new Map<number, Map<Region, Outcome>>();
  /** The incident of each channel's last alert, until it recovers. */
  readonly #incidents = new Map<number, string>();

  reported({ region, result: { slot, outcome } }: Told & { is: 'reported' }): void {
    if (outcome === 'not_run') return;
    const ofSlot = this.#reported.get(slot) ?? new Map<Region, Outcome>();
    if (!ofSlot.has(region)) ofSlot.set(region, outcome);
    this.#reported.set(slot, ofSlot);
  }

  /** Returns the first fault in an alert; null: there is no fault. */
  fault({ channel, alert, isClosure }: Announcement, known: Known): string | null {
    if (alert === undefined) return null;
    const incident = this.#incidents.get(channel);
    if (alert.status === 'recovered') this.#incidents.delete(channel);
    else this.#incidents.set(channel, alert.incident);
    const fault =
      this.#incidentFault(alert, incident, known) ??
      this.#regionsFault(alert) ??
      (isClosure ? null : (beginFault(alert) ?? statusFault(alert, known)));
    return fault === null ? null : `channel ${channel} was told ${alert.status}: ${fault}`;
  }

  /** Forgets the incident of a channel that was unlinked, or whose incident was ended. */
  forget(channel: number): void {
    this.#incidents.delete(channel);
  }

  /** "Keeps one key for all its alerts." */
  #incidentFault(
    { incident, since, status }: Alert,
    before: string | undefined,
    { beginOf }: Known,
  ): string | null {
    if (before !== undefined && before !== incident) return `incident ${incident}, and ${before} before`;
    if (before === undefined && status === 'recovered') return 'it was not told of an incident';
    const begunAt = beginOf(incident);
    return begunAt === null || since === begunAt
      ? null
      : `the incident since ${since}, it began at ${begunAt}`;
  }

  #regionsFault({ regions }: Alert): string | null {
    const named = new Set(regions.map(({ region }) => region));
    if (named.size < regions.length) return 'a region is named twice';
    for (const { region, outcome, slot } of regions) {
      const reported = this.#reported.get(slot ?? 0)?.get(region);
      if (reported !== outcome) return `${region} ${outcome} in slot ${slot}, it reported ${reported}`;
    }
    return null;
  }
}

/** An incident begins no later than the status of the alert, even if a clock was set. */
function beginFault({ since, at }: Alert): string | null {
  return (since ?? 0) > at ? `the incident since ${since}, dated ${at}` : null;
}

function statusFault({ status, at, regions, cronTimestamp }: Alert, { begins, rules }: Known): string | null {
  const told = status === 'recovered' ? 'active' : status;
  const began = (begins ?? []).filter((each) => each.status === told);
  const begin = began.find((each) => each.at === at);
  if (begins !== null && begin === undefined)
    return `dated ${at}, it was so since ${began.map((each) => each.at).join(' and ') || 'never'}`;
  const count = (outcome: Outcome) => regions.filter((each) => each.outcome === outcome).length;
  const [failed, troubled] = [count('failed'), count('failed') + count('degraded')];
  const isMadeBy = (rule: Rule) => {
    if (status === 'degraded' && rule.hasRows) return true;
    const isEnough = isQuorum(status === 'error' ? failed : troubled, regions.length, rule);
    return status === 'recovered' ? !isEnough : isEnough;
  };
  // An alert that is sent later may have fewer votes, because some of them have aged.
  if (begin?.isNew === true && !rules.some(isMadeBy))
    return `by ${failed} failed and ${troubled - failed} degraded of ${regions.length}`;
  const supports = status === 'recovered' ? 'passed' : status === 'error' ? 'failed' : 'degraded';
  const slots = regions.filter(({ outcome }) => outcome === supports).map(({ slot }) => slot ?? 0);
  if (slots.length === 0 || cronTimestamp === Math.max(...slots)) return null;
  return `with the facts of slot ${cronTimestamp}, the newest vote that supports it is about ${Math.max(...slots)}`;
}
