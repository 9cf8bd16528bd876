import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { attributesOf, decodeOtlp, metricsOf } from '../../../../test/support/otlp-receiver.ts';
import { regionSet } from '../domain/region-set.ts';
import { Attributes } from './attributes.ts';
import { ExportedMonitors } from './exported-monitors.ts';
import { JsonEncoder } from './json-encoder.ts';
import { MOST_DURATION_SERIES } from './metrics.ts';
import { encodeNote } from './note.ts';
import type { ExportEntry, SavedTotals } from './protocol.ts';

const HOUR_MS = 3_600_000;
const MONITOR: ExportEntry['monitor'] = {
  id: 5,
  name: 'Web',
  kind: 'http',
  target: 'https://example.com/',
  isActive: true,
  regions: regionSet(['hosta-fra']),
  freshForMs: 90_000,
};
const TARGET: ExportEntry['target'] = {
  key: 'k',
  url: 'https://otlp.example.com/v1/metrics',
  headers: [],
  workspaceId: 1,
  encoding: 'json',
  isEncodingOpen: true,
  isCompressed: true,
};

function entry(more: Partial<ExportEntry> = {}): ExportEntry {
  return { monitor: MONITOR, target: TARGET, history: [], totals: null, ...more };
}

function noteOf(...results: Partial<CheckResult>[]): Uint8Array {
  const noted = results.map((more): { result: CheckResult; region: 'hosta-fra' } => ({
    result: {
      monitor: 5,
      version: 1,
      slot: 1,
      token: '',
      outcome: 'passed',
      started_at: 1,
      latency: 20,
      attempts: [],
      ...more,
    },
    region: 'hosta-fra',
  }));
  return encodeNote(noted) ?? new Uint8Array();
}

/** What would be exported, as `name{attributes}: value` without what all have in common. */
function exported(monitors: ExportedMonitors, at: number): Record<string, number> {
  const frame = {
    resource: new Attributes([]),
    scope: { name: 's', version: '1' },
    histograms: 'exponential',
    at,
  } as const;
  const encoder = new JsonEncoder(frame);
  monitors.get(5)?.encode(encoder, at);
  const found: Record<string, number> = {};
  for (const { name, ...metric } of metricsOf(decodeOtlp(encoder.finish(), 'application/json'))) {
    const { dataPoints } = metric.sum ?? metric.gauge ?? metric.exponentialHistogram ?? { dataPoints: [] };
    for (const point of dataPoints) {
      const own = Object.entries(attributesOf(point)).filter(
        ([key]) => !/^svc\.(monitor\.(id|name|kind|target)|region)$/.test(key),
      );
      const key = `${name}{${own.map(([, value]) => value).join()}}`;
      found[key] = Number(point.asInt ?? point.asDouble ?? point.count);
    }
  }
  return found;
}

function saved(monitors: ExportedMonitors): SavedTotals[] {
  return [...monitors.unsaved()];
}

const rowIn = (parts: readonly SavedTotals[]) => parts.flatMap(({ rows }) => rows)[0] ?? null;

test('results are counted by outcome, status code and error type', () => {
  const clock = new FakeClock();
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
  monitors.put(entry({ history: [{ at: clock.wall() - HOUR_MS, status: 'active' }] }), 0);
  monitors.note(
    1,
    noteOf(
      { status_code: 200, phases: { dns: 1, connect: 2 } },
      { status_code: 200, outcome: 'degraded', certificate_expires_at: clock.wall() + HOUR_MS },
      { status_code: 503, outcome: 'failed', error_message: 'expected 200, saw 503' },
      { outcome: 'failed', error_message: 'x', timed_out: true, latency: 30_000 },
      { status_code: 200, certificate_expires_at: clock.wall() + HOUR_MS },
    ),
  );
  expect(exported(monitors, clock.wall())).toEqual({
    'svc.checks{passed}': 2,
    'svc.checks{degraded}': 1,
    'svc.checks{failed}': 2,
    'svc.check.duration{passed,200}': 2,
    'svc.check.duration{degraded,200}': 1,
    'svc.check.duration{failed,503,assertion}': 1,
    'svc.check.duration{failed,timeout}': 1,
    'svc.check.phase.duration{dns}': 1,
    'svc.check.phase.duration{connect}': 1,
    'svc.monitor.certificate.remaining{}': 3_600,
    'svc.monitor.status{active}': 1,
    'svc.monitor.status{degraded}': 0,
    'svc.monitor.status{error}': 0,
    'svc.monitor.status{unknown}': 0,
    'svc.monitor.uptime{}': 1,
  });
});

test('totals go on from what was stored, and a note counts once', () => {
  const clock = new FakeClock();
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
  monitors.put(entry(), 0);
  const startedAt = monitors.get(5)?.startedAt;
  monitors.note(1, noteOf({}, {}));
  const row = rowIn(saved(monitors));
  monitors.note(2, noteOf({}));
  const before = exported(monitors, clock.wall());

  clock.advance(HOUR_MS);
  const again = new ExportedMonitors({ histograms: 'exponential', clock });
  again.put(entry({ totals: row }), 2);
  again.note(1, noteOf({}, {}));
  again.note(2, noteOf({}));
  again.note(2, noteOf({}));
  expect(again.get(5)?.startedAt).toBe(startedAt);
  expect(exported(again, clock.wall())).toEqual(before);
  expect(before['svc.checks{passed}']).toBe(3);
});

test('a monitor with another name begins anew, with the same history', () => {
  const clock = new FakeClock();
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
  const history = [{ at: clock.wall(), status: 'error' }] as const;
  monitors.put(entry({ history }), 0);
  monitors.note(1, noteOf({}));
  const row = rowIn(saved(monitors));
  clock.advance(HOUR_MS);

  monitors.put(entry(), 0);
  expect(exported(monitors, clock.wall())['svc.checks{passed}']).toBe(1);
  monitors.put(entry({ monitor: { ...MONITOR, name: 'Other' } }), 0);
  expect(exported(monitors, clock.wall())).toEqual({
    'svc.monitor.status{active}': 0,
    'svc.monitor.status{degraded}': 0,
    'svc.monitor.status{error}': 1,
    'svc.monitor.status{unknown}': 0,
    'svc.monitor.uptime{}': 0,
  });
  expect(monitors.get(5)?.startedAt).toBe(clock.wall());

  // Renamed while the process was down: what was noted of it had the former name.
  const again = new ExportedMonitors({ histograms: 'exponential', clock });
  again.put(entry({ monitor: { ...MONITOR, name: 'Third' }, totals: row }), 2);
  again.note(2, noteOf({}));
  again.note(3, noteOf({}));
  expect(exported(again, clock.wall())['svc.checks{passed}']).toBe(1);
});

describe('what a region saw of the certificate is exported', () => {
  const clock = new FakeClock();
  const expiresAt = clock.wall() + HOUR_MS;
  const seen = { status_code: 200, certificate_expires_at: expiresAt };

  function sawOnce(monitor: Partial<ExportEntry['monitor']> = {}): ExportedMonitors {
    const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
    monitors.put(entry({ monitor: { ...MONITOR, ...monitor } }), 0);
    monitors.note(1, noteOf(seen));
    return monitors;
  }

  const remaining = (monitors: ExportedMonitors, at = clock.wall()) =>
    exported(monitors, at)['svc.monitor.certificate.remaining{}'];

  test('while it reports, also where it comes to none because the check fails', () => {
    const monitors = sawOnce({ regions: null });
    monitors.note(2, noteOf({ outcome: 'failed', error_message: 'timed out', timed_out: true }));
    expect(remaining(monitors)).toBe(3_600);
    expect(remaining(monitors, clock.wall() + 90_000)).toBe(3_510);
    expect(remaining(monitors, clock.wall() + 90_001)).toBeUndefined();
  });

  test.each([
    ['the monitor is paused', { isActive: false }],
    ['the region is not declared any more', { regions: regionSet(['hostb-par']) }],
  ] as const)('not when %s, and its counts stay', (_, change) => {
    const monitors = sawOnce();
    monitors.put(entry({ monitor: { ...MONITOR, ...change } }), 1);
    expect(exported(monitors, clock.wall())).toMatchObject({ 'svc.checks{passed}': 1 });
    expect(remaining(monitors)).toBeUndefined();
    monitors.put(entry(), 1);
    expect(remaining(monitors)).toBe(3_600);
  });

  test('not when a check passes without any', () => {
    const monitors = sawOnce();
    monitors.note(2, noteOf({ status_code: 200 }));
    expect(remaining(monitors)).toBeUndefined();
  });

  test('after a restart as before it', () => {
    const row = rowIn(saved(sawOnce()));
    const again = new ExportedMonitors({ histograms: 'exponential', clock });
    again.put(entry({ totals: row }), 1);
    expect(remaining(again, clock.wall() + 90_000)).toBe(3_510);
    expect(remaining(again, clock.wall() + 90_001)).toBeUndefined();
  });
});

test('totals that cannot be read begin anew', () => {
  const clock = new FakeClock();
  for (const text of ['', '{"v":1', 'null', '{"v":2}']) {
    const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
    monitors.put(entry({ totals: { until: 1, text } }), 1);
    monitors.note(2, noteOf({}));
    expect(exported(monitors, clock.wall())['svc.checks{passed}'], text).toBe(1);
  }
});

test('what is not stored is stored with the next, and notes go only then', () => {
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock: new FakeClock() });
  monitors.put(entry(), 0);
  monitors.note(4, noteOf({}));
  for (const _notStored of monitors.unsaved()) break;
  expect(monitors.hasNew).toBe(true);
  const parts = saved(monitors);
  expect(monitors.hasNew).toBe(false);
  expect(rowIn(parts)).toMatchObject({ monitorId: 5, until: 4 });
  expect(parts.at(-1)).toEqual({ rows: [], forgotten: [], notesUntil: 4 });
  expect(rowIn(saved(monitors))).toBeNull();

  monitors.remove(5);
  for (const _notStored of monitors.unsaved()) break;
  expect(monitors.hasNew).toBe(true);
  expect(saved(monitors)).toEqual([{ rows: [], forgotten: [5], notesUntil: 4 }]);
});

test('durations have a bounded number of series; what is beyond is counted in one more', () => {
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock: new FakeClock() });
  monitors.put(entry(), 0);
  const codes = Array.from({ length: MOST_DURATION_SERIES + 30 }, (_, place) => 200 + place);
  monitors.note(1, noteOf(...codes.map((status_code) => ({ status_code }))));
  const durations = Object.entries(exported(monitors, 0)).filter(([name]) =>
    name.startsWith('svc.check.duration'),
  );
  expect(durations).toHaveLength(MOST_DURATION_SERIES + 1);
  expect(durations.at(-1)).toEqual(['svc.check.duration{true}', 30]);
});

test('a change that is dated back takes away what it overtakes', () => {
  const clock = new FakeClock();
  const monitors = new ExportedMonitors({ histograms: 'exponential', clock });
  monitors.put(entry({ history: [{ at: clock.wall() - 4 * HOUR_MS, status: 'active' }] }), 0);
  monitors.changed(5, { at: clock.wall() - HOUR_MS, status: 'degraded' });
  monitors.changed(5, { at: clock.wall() - 2 * HOUR_MS, status: 'error' });
  const { 'svc.monitor.uptime{}': uptime, 'svc.monitor.status{error}': error } = exported(
    monitors,
    clock.wall(),
  );
  expect([uptime, error]).toEqual([0.5, 1]);
});
