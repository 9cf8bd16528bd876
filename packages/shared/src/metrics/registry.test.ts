import { describe, expect, test } from 'vitest';
import { INSTRUMENT_GROUPS } from './registry.ts';

const INSTRUMENTS = INSTRUMENT_GROUPS.flatMap(({ instruments }) => instruments);

test('no two instruments have the same name, also without _total', () => {
  // OpenMetrics and OTLP name a counter without `_total`.
  const names = INSTRUMENTS.map(({ name }) => name.replace(/_total$/, ''));
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

/** Checks the conventions of Prometheus (prometheus.io/docs/practices/naming, read on 2026-11-22). */
describe.each(INSTRUMENTS.map((instrument) => [instrument.name, instrument] as const))(
  '%s',
  (name, instrument) => {
    const { kind, unit, label, openLabels, description, advice, bounds } = instrument;

    test('is named for what it counts', () => {
      expect(name).toMatch(/^(svc|process)(_[a-z0-9]+)+$/);
      expect(name.endsWith('_total')).toBe(kind === 'counter');
      const stem = name.replace(/_total$/, '');
      expect(/_(seconds|bytes)$/.exec(stem)?.[1] ?? null).toBe(unit);
      expect(name).not.toMatch(/_(bucket|sum|count|ms|milliseconds|mib|percent)(_|$)/);
    });

    test('has a label with a closed set of values, each explained', () => {
      if (label === null) return;
      expectLabelName(label.name);
      const values = Object.entries<string>(label.values);
      expect(values.length).toBeGreaterThan(1);
      for (const [value, meaning] of values) {
        expect(value).toMatch(/^[a-z0-9]+([-_][a-z0-9]+)*$/);
        expect(meaning).toMatch(SENTENCES);
      }
    });

    test('has no label with a closed set of values beside open labels, and explains each open label', () => {
      if (openLabels === null) return;
      expect(label).toBeNull();
      for (const [open, meaning] of Object.entries<string>(openLabels)) {
        expectLabelName(open);
        expect(meaning).toMatch(SENTENCES);
      }
    });

    test('is described in sentences', () => {
      expect(description).toMatch(SENTENCES);
      if (advice !== null) expect(advice).toMatch(SENTENCES);
    });

    test('has buckets exactly where it is a histogram', () => {
      expect(bounds.length > 0).toBe(kind === 'histogram');
      expect(bounds.toSorted((one, other) => one - other)).toEqual(bounds);
    });
  },
);

function expectLabelName(text: string): void {
  expect(text).toMatch(/^[a-z]+(_[a-z]+)*$/);
  expect(['le', 'quantile', 'job', 'instance']).not.toContain(text);
}

const SENTENCES = /^[A-Z0-9`].*\.$/s;
