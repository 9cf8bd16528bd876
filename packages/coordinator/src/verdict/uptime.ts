import type { MonitorStatus } from './monitor.ts';

/** The monitor has this status from `at` (epoch ms) on. */
export type StatusSince = { readonly at: number; readonly status: MonitorStatus };

/**
 * How long a monitor had each status, ms. Inactive time is `unknown`. Time in a maintenance window counts as
 * `maintenance` only, whatever the status was.
 */
export type StatusTimes = Readonly<Record<MonitorStatus | 'maintenance', number>>;

export const NO_TIMES: StatusTimes = { active: 0, degraded: 0, error: 0, unknown: 0, maintenance: 0 };

/**
 * How long a monitor had each status between each pair of neighbouring edges.
 *
 * @param changes ascending by `at`. Among several changes of one instant, the last counts. Before the first
 *   change, the status is `unknown`
 * @param edges   epoch ms, ascending; n edges give n - 1 results
 */
export function timesBetween(changes: readonly StatusSince[], edges: readonly number[]): StatusTimes[] {
  const found: StatusTimes[] = [];
  let next = 0;
  let status: MonitorStatus = 'unknown';
  for (let index = 0; index + 1 < edges.length; index += 1) {
    let from = edges[index] ?? 0;
    const until = edges[index + 1] ?? 0;
    const times = { ...NO_TIMES };
    for (let change = changes[next]; change !== undefined && change.at < until; change = changes[next]) {
      if (change.at > from) {
        times[status] += change.at - from;
        from = change.at;
      }
      status = change.status;
      next += 1;
    }
    times[status] += until - from;
    found.push(times);
  }
  return found;
}

export function addTimes(one: StatusTimes, other: StatusTimes): StatusTimes {
  return {
    active: one.active + other.active,
    degraded: one.degraded + other.degraded,
    error: one.error + other.error,
    unknown: one.unknown + other.unknown,
    maintenance: one.maintenance + other.maintenance,
  };
}

/**
 * Moves the time in maintenance windows from each status to `maintenance`.
 *
 * @param inWindows how long the monitor had each status in maintenance windows, within the same span of time
 */
export function withMaintenance(times: StatusTimes, inWindows: StatusTimes): StatusTimes {
  const { active, degraded, error, unknown } = inWindows;
  // Stored times are rounded to whole milliseconds, so the whole time may be 1 ms shorter than the part in
  // windows.
  const left = (whole: number, part: number) => Math.max(0, whole - part);
  return {
    active: left(times.active, active),
    degraded: left(times.degraded, degraded),
    error: left(times.error, error),
    unknown: left(times.unknown, unknown),
    maintenance: times.maintenance + active + degraded + error + unknown,
  };
}

/**
 * Part of the known time in which the monitor was up, in percent with two decimals, rounded down. Degraded
 * counts as up. Time in maintenance windows does not count. Null: no time is known.
 */
export function uptimePercent({ active, degraded, error }: StatusTimes): number | null {
  return flooredPercent(active + degraded, active + degraded + error);
}

/**
 * The worst status of a time span outside maintenance, however short it was; `unknown` only if the span
 * contains no other status.
 */
export function worstStatus({ active, degraded, error }: StatusTimes): MonitorStatus {
  if (error > 0) return 'error';
  if (degraded > 0) return 'degraded';
  return active > 0 ? 'active' : 'unknown';
}

/**
 * `part` of `whole` in percent with two decimals. It is rounded down, so that 100 means all of it. Null when
 * `whole` is 0.
 */
export function flooredPercent(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.floor((part * 10_000) / whole) / 100;
}
