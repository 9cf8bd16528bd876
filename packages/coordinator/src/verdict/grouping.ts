import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { urlSecrets } from '@svc/shared/url-secrets.ts';

/*
 * The functions of this file decide when alerts of many monitors are sent as one
 * message, and what that message contains.
 */

/**
 * Number of monitors of a workspace whose alerts are sent one by one although the monitors changed together.
 * Alerts of further monitors are sent as a group.
 */
export const TOLD_ALONE = 20;
/** Two changes belong together if less than this time lies between them, ms. */
export const GROUP_WINDOW_MS = 30_000;
/** Time for which an alert that is no reminder waits for other alerts of its group after it was queued, ms. */
export const COLLECT_MS = 3_000;
/**
 * Maximum number of monitors that the message of a group lists: the worst statuses
 * first, and notices last. The remaining monitors are only counted.
 */
const MOST_LISTED = 100;

/** Whether two changes belong together. Instants are epoch ms. */
export function isTogether(one: number, other: number): boolean {
  return Math.abs(one - other) < GROUP_WINDOW_MS;
}

type Change = { readonly at: number; readonly rank: number };

/** The monitors of one workspace that changed recently. The caller counts reminders in an object of their own. */
export class RecentChanges {
  /** Changes by monitor id; the change that was noted last is at the end. */
  readonly #changes = new Map<number, Change>();

  /**
   * Notes a change. The caller notes it for every channel of the monitor, so the
   * same change may be noted several times.
   *
   * @param at when the alert about the change was queued, epoch ms
   * @returns the position of the monitor among the monitors that changed together, counted from 1
   */
  note(monitorId: number, at: number): number {
    const known = this.#changes.get(monitorId);
    if (known?.at === at) return known.rank;
    this.#changes.delete(monitorId);
    for (const [id, change] of this.#changes) {
      if (isTogether(change.at, at)) break;
      this.#changes.delete(id);
    }
    const rank = this.#changes.size + 1;
    this.#changes.set(monitorId, { at, rank });
    return rank;
  }

  /** The ids of the monitors that changed together with a change at this instant. */
  together(at: number): Set<number> {
    const ids = new Set<number>();
    for (const [id, change] of this.#changes) if (isTogether(change.at, at)) ids.add(id);
    return ids;
  }

  /** Whether no noted change belongs together with a change at this instant. */
  isOver(at: number): boolean {
    return this.together(at).size === 0;
  }
}

const WORST_FIRST = ['error', 'degraded', 'recovered'] as const satisfies AlertStatus[];

/**
 * Returns one alert for the alerts of many monitors: the newest alert with the worst status, with the
 * group added. A notice is taken only if all of the alerts are notices.
 *
 * @param alerts at least one, of different monitors, in the order of their changes. Either all are reminders, or none is
 */
export function groupAlert(alerts: readonly Alert[]): Alert {
  const notices = alerts.filter(({ notice }) => notice !== undefined);
  const changes = alerts.filter(({ notice }) => notice === undefined);
  const counts = { error: 0, degraded: 0, recovered: 0 };
  for (const { status } of changes) counts[status] += 1;
  const shown = newestOfWorst(changes) ?? newestOfWorst(notices);
  if (shown === undefined) throw new TypeError('a group of no alert');
  const listed = WORST_FIRST.flatMap((each) => changes.filter(({ status }) => status === each));
  const monitors = [...listed, ...notices]
    .slice(0, MOST_LISTED)
    .map(({ monitor: { id, name }, status, errorMessage, notice, reminder }) => ({
      id,
      name,
      status,
      ...(errorMessage === undefined ? {} : { errorMessage }),
      ...(notice === undefined ? {} : { notice: notice.title }),
      ...(reminder === undefined ? {} : { lastsMs: reminder.lastsMs }),
    }));
  const counted = notices.length === 0 ? counts : { ...counts, notices: notices.length };
  return { ...shown, group: { counts: counted, monitors, shared: sharedFacts(alerts) } };
}

function newestOfWorst(alerts: readonly Alert[]): Alert | undefined {
  const worst = WORST_FIRST.find((each) => alerts.some(({ status }) => status === each));
  return alerts.findLast(({ status }) => status === worst);
}

type Shared = NonNullable<Alert['group']>['shared'];

/**
 * What all alerts have in common: the address, without secrets, or at least the host; and the error message. If the
 * address is the same, the host is left out.
 */
export function sharedFacts(alerts: readonly Alert[]): Shared {
  const address = same(alerts, ({ monitor }) => urlSecrets.replaced(monitor.url, '…'));
  const host = address === undefined ? same(alerts, ({ monitor }) => hostOf(monitor.url)) : undefined;
  const errorMessage = same(alerts, (alert) => alert.errorMessage);
  return {
    ...(host === undefined ? {} : { host }),
    ...(address === undefined ? {} : { address }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
  };
}

/** The text that is the same in all alerts; undefined: the texts differ, or an alert has no text. */
function same(alerts: readonly Alert[], textOf: (alert: Alert) => string | undefined): string | undefined {
  const [first] = alerts;
  const text = first === undefined ? undefined : textOf(first);
  if (text === undefined || text === '') return undefined;
  return alerts.every((alert) => textOf(alert) === text) ? text : undefined;
}

/** The host of a target, which is a URL, `host:port` or a name; undefined: no host is found. */
function hostOf(target: string): string | undefined {
  return URL.parse(target)?.hostname || URL.parse(`tcp://${target}`)?.hostname;
}
