import type { System } from '../support/system.ts';

/** Counters of checks that did not run, whatever this version calls them. */
const NOT_RUN = /skip|miss|shed|abstain|without|not_run|lost|overload|drop/;

/** The coordinator's counters of what was not checked: `name{labels}` with its value. */
export async function notRunCounters({ url }: System): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  if (!response.ok) throw new Error(`GET /metrics answered ${response.status}`);
  const samples = (await response.text())
    .split('\n')
    .filter((line) => /^svc_\w+_total/.test(line) && NOT_RUN.test(line))
    .map((line): [string, number] => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    });
  return new Map(samples);
}

/** What grew from `before` to `after`, the most first. */
export function grown(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string[] {
  return [...after]
    .map(([name, value]): [string, number] => [name, value - (before.get(name) ?? 0)])
    .filter(([, value]) => value > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, value]) => `${name} ${value.toLocaleString('en')}`);
}
