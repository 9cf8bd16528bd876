import { describe, expect, test } from 'vitest';
import { parsePrometheus } from '../../../../test/support/prometheus-text.ts';
import { counter, gauge, histogram } from './instrument.ts';
import { prometheusText } from './prometheus.ts';
import { createTotals, Distribution, measurementsOf } from './values.ts';

const COUNTERS = {
  attempts: counter('svc_attempts_total', 'Attempts.'),
  results: counter('svc_results_total', 'Results, "as" they\\came\nin.', {
    label: { name: 'outcome', values: { passed: 'Up.', failed: 'Down.' } },
  }),
  duration: histogram('svc_duration_seconds', 'How long it took.', { unit: 'seconds', bounds: [0.1, 0.5] }),
};
const GAUGES = { age: gauge('svc_age_seconds', 'Age.', { unit: 'seconds' }) };

describe('totals', () => {
  test('begin at nothing and are counted in place', () => {
    const totals = createTotals(COUNTERS);
    expect(totals).toMatchObject({ attempts: 0, results: { passed: 0, failed: 0 }, duration: { count: 0 } });
    totals.attempts += 1;
    totals.results.failed += 2;
    expect(totals).toMatchObject({ attempts: 1, results: { passed: 0, failed: 2 } });
  });

  test('of two owners are apart', () => {
    const [one, other] = [createTotals(COUNTERS), createTotals(COUNTERS)];
    one.results.passed += 1;
    one.duration.record(1);
    expect(other).toMatchObject({ results: { passed: 0 }, duration: { count: 0 } });
  });
});

test.each([
  ['nothing is below the first bound', [0.2], [0, 1, 0]],
  ['a value on a bound belongs to it', [0.1, 0.5], [1, 1, 0]],
  ['what is above all bounds is counted', [0.51, 1e9, Number.POSITIVE_INFINITY], [0, 0, 3]],
  ['a negative value belongs to the first bucket', [-1], [1, 0, 0]],
])('a distribution: %s', (_, values, counts) => {
  const distribution = new Distribution([0.1, 0.5]);
  for (const value of values) distribution.record(value);
  expect(distribution.counts).toEqual(counts);
  expect(distribution.count).toBe(values.length);
  expect(distribution.sum).toBe(values.reduce((sum, value) => sum + value, 0));
});

describe('measurements', () => {
  test('have every instrument with its label, value and start, in the order of the declaration', () => {
    const totals = createTotals(COUNTERS);
    totals.results = { failed: 3, passed: 1 };
    expect(measurementsOf(COUNTERS, totals, 1_000)).toEqual([
      { instrument: COUNTERS.attempts, points: [{ labels: {}, value: 0, startedAt: 1_000 }] },
      {
        instrument: COUNTERS.results,
        points: [
          { labels: { outcome: 'passed' }, value: 1, startedAt: 1_000 },
          { labels: { outcome: 'failed' }, value: 3, startedAt: 1_000 },
        ],
      },
      {
        instrument: COUNTERS.duration,
        points: [
          {
            labels: {},
            value: { bounds: [0.1, 0.5], counts: [0, 0, 0], sum: 0, count: 0 },
            startedAt: 1_000,
          },
        ],
      },
    ]);
  });

  test('do not change with what is counted later', () => {
    const totals = createTotals(COUNTERS);
    const before = measurementsOf(COUNTERS, totals, 0);
    const text = JSON.stringify(before);
    totals.attempts += 1;
    totals.results.passed += 1;
    totals.duration.record(0.2);
    expect(JSON.stringify(before)).toBe(text);
  });
});

describe('the text for Prometheus', () => {
  test('has a head, and a line for each series', () => {
    const totals = createTotals(COUNTERS);
    totals.results.failed = 2;
    for (const value of [0.05, 0.1, 0.2, 7]) totals.duration.record(value);
    expect(prometheusText(measurementsOf(COUNTERS, totals, 0))).toBe(
      [
        '# HELP svc_attempts_total Attempts.',
        '# TYPE svc_attempts_total counter',
        'svc_attempts_total 0',
        '# HELP svc_results_total Results, "as" they\\\\came\\nin.',
        '# TYPE svc_results_total counter',
        'svc_results_total{outcome="passed"} 0',
        'svc_results_total{outcome="failed"} 2',
        '# HELP svc_duration_seconds How long it took.',
        '# TYPE svc_duration_seconds histogram',
        'svc_duration_seconds_bucket{le="0.1"} 2',
        'svc_duration_seconds_bucket{le="0.5"} 3',
        'svc_duration_seconds_bucket{le="+Inf"} 4',
        'svc_duration_seconds_sum 7.35',
        'svc_duration_seconds_count 4',
        '',
      ].join('\n'),
    );
  });

  test('of nothing is empty', () => {
    expect(prometheusText([])).toBe('');
  });

  test.each([
    [0.1 + 0.2, '0.30000000000000004'],
    [1e21, '1e+21'],
    [-0, '0'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ])('writes %d as Go reads it', (value, written) => {
    expect(prometheusText(measurementsOf(GAUGES, { age: value }, 0))).toContain(
      `\nsvc_age_seconds ${written}\n`,
    );
  });

  test('has no sample of a value that is not known', () => {
    const text = prometheusText(measurementsOf(GAUGES, { age: Number.NaN }, 0));
    expect(parsePrometheus(text).get('svc_age_seconds')).toMatchObject({ type: 'gauge', samples: [] });
  });

  test('escapes the value of a label, and is read back as it was', () => {
    const strange = 'a"b\\c\nd{e="f",} 1';
    const values = { [strange]: 'Strange.' };
    const instruments = { odd: gauge('svc_odd', 'Odd.', { label: { name: 'reason', values } }) };
    const text = prometheusText(measurementsOf(instruments, { odd: { [strange]: 4 } }, 0));
    expect(text).toContain('svc_odd{reason="a\\"b\\\\c\\nd{e=\\"f\\",} 1"} 4\n');
    expect(parsePrometheus(text).get('svc_odd')?.samples).toMatchObject([
      { labels: { reason: strange }, value: 4 },
    ]);
  });
});
