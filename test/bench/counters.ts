import { scrape } from '../support/prometheus-text.ts';
import type { System } from '../support/system.ts';

/** Counters of checks that did not run. */
const NOT_RUN = /^svc_\w+_total.*(skip|miss|abstain|no-agent|not_run|lost|overload|drop)/;

/** The coordinator's counters of skipped checks: `name{labels}` with its value. */
export async function notRunCounters({ url }: System): Promise<ReadonlyMap<string, number>> {
  return new Map([...(await scrape(url))].filter(([series]) => NOT_RUN.test(series)));
}

/** The counters that grew from `before` to `after`, largest growth first. */
export function grown(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[] {
  return [...after]
    .map(([name, value]): [string, number] => [name, value - (before.get(name) ?? 0)])
    .filter(([, value]) => value > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, value]) => `${name} ${value.toLocaleString('en')}`);
}
