import { REGIONS, type Region } from '@svc/shared/regions.ts';

/** Period of every monitor that a benchmark declares, s. */
export const PERIOD_S = 30;
/** The regions that every monitor is checked from. */
export const CHECKED_FROM: readonly Region[] = REGIONS.slice(0, 3);
/** New monitors get their first slot at this rate at most. */
const FIRST_SLOTS_PER_SECOND = 500;

/** Number of monitors that make `rate` checks a second. */
export function monitorsFor(rate: number): number {
  return Math.round((rate * PERIOD_S) / CHECKED_FROM.length);
}

/**
 * Time from the declaration of `count` monitors of any period until each of them has had its first check, ms.
 */
export function untilAllHaveBegunMs(monitors: number): number {
  return (monitors / FIRST_SLOTS_PER_SECOND) * 1_000 + 5_000;
}

/** Time from the declaration of `count` monitors until each of them is checked on its grid, ms. */
export function untilAllAreCheckedMs(monitors: number): number {
  // If a monitor's turn comes after its next slot on the grid, it begins with that slot.
  const mostMs = PERIOD_S * 1_000 + 5_000;
  return Math.min(untilAllHaveBegunMs(monitors), mostMs) + (PERIOD_S / 2) * 1_000;
}

/**
 * HTTP monitors of a target on this machine, named `m0`, `m1`, …, in the form of the declared file.
 *
 * @param more attributes of the monitor with this number, which are added to the usual ones or replace them
 */
export function declaredMonitors(
  count: number,
  port: number,
  more: (number: number) => object = () => ({}),
): Record<string, object> {
  const monitor = (number: number) => ({
    name: `Monitor ${number}`,
    url: `http://127.0.0.1:${port}/`,
    periodicity: `${PERIOD_S}s`,
    timeout: 10_000,
    active: true,
    regions: CHECKED_FROM,
    ...more(number),
  });
  return Object.fromEntries(Array.from({ length: count }, (_, number) => [`m${number}`, monitor(number)]));
}

/** A webhook that gets the alerts of all these monitors, in the form of the declared file. */
export function webhook(endpoint: string, monitors: Readonly<Record<string, object>>): object {
  return {
    name: 'Hook',
    provider_type: 'webhook',
    webhook: { endpoint },
    monitor_ids: Object.keys(monitors).map((name) => `\${svc_http_monitor.${name}.id}`),
  };
}
