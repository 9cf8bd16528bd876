import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { COUNTED_OUTCOMES } from '../store/export-totals.ts';
import { ERROR_TYPES } from './error-type.ts';
import { ATTRIBUTE, EXPORTED_METRICS } from './exported-metrics.ts';
import { EXPLICIT_BOUNDS } from './histograms.ts';
import { MOST_DURATION_SERIES, PHASE_NAMES } from './totals.ts';

const PAGE = readFileSync(new URL('../../../../docs/metrics.md', import.meta.url), 'utf8');
const KINDS = { sum: 'sum, monotonic', gauge: 'gauge', histogram: 'histogram' };

test('docs/metrics.md has every metric with its kind and unit, and no other', () => {
  const table = PAGE.slice(PAGE.indexOf('## What is exported')).split('\n\n')[1] ?? '';
  const rows = table.split('\n').slice(2);
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  expect(cells.map(([, name, kind, unit]) => [name, kind, unit])).toEqual(
    Object.values(EXPORTED_METRICS).map(({ name, kind, unit }) => [name, KINDS[kind], unit]),
  );
});

test('docs/metrics.md has every attribute, and the values of those that have a closed set', () => {
  for (const name of [...Object.values(ATTRIBUTE), ...ERROR_TYPES, ...COUNTED_OUTCOMES, ...PHASE_NAMES]) {
    expect(PAGE).toContain(`\`${name}\``);
  }
});

test('docs/metrics.md has the bounds', () => {
  expect(PAGE).toContain(`${EXPLICIT_BOUNDS.slice(0, -1).join(', ')} and ${EXPLICIT_BOUNDS.at(-1)} s`);
  expect(PAGE).toContain(`at most ${MOST_DURATION_SERIES}, and one more`);
});
