import { closesIncidents } from '@svc/coordinator/alerts/registry.ts';
import { type Comparison, compare, type WhatIf } from '@svc/coordinator/history/what-if/compare.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DatabaseWorldStore } from './database-store.ts';
import { generateWorld } from './generate.ts';
import { monitorOf } from './moves.ts';
import { simulate } from './simulation.ts';
import { CALM, QUIET, type World } from './world.ts';

let store: DatabaseWorldStore;

beforeAll(async () => {
  store = await DatabaseWorldStore.open();
});

afterAll(() => store.close());

const BEGAN = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

/** Runs the world in a database, and compares it with other settings. */
async function compared(world: World, other: Partial<WhatIf> = {}): Promise<Comparison> {
  await store.clear();
  await simulate(world, store, { isTold: false });
  const present: LiveMonitor = monitorOf(world);
  const comparison = await compare(store.reading, {
    present,
    createdAt: BEGAN,
    timeoutMs: world.timeoutMs,
    settings: {},
    closing: CHANNEL_KINDS.filter((kind) => closesIncidents(kind)),
    from: BEGAN,
    until: BEGAN + world.lengthMs,
    ...other,
  });
  if (comparison === null) throw new Error('nothing was compared');
  return comparison;
}

/**
 * A world of two hours and three regions. The target refuses
 * connections from 40 to 50 min, and is slow from 80 to 90 min.
 */
const TROUBLED: World = {
  ...QUIET,
  lengthMs: 2 * HOUR,
  periodMs: 60_000,
  regions: ['hosta-fra', 'hosta-iad', 'hosta-syd'],
  agents: ['hosta-fra', 'hosta-iad', 'hosta-syd'],
  channels: ['webhook', 'incident_a'],
  timeoutMs: 5_000,
  troubles: [
    { from: 2_400_000, until: 3_000_000, regions: null, sees: 'refused', flapMs: 0 },
    { from: 4_800_000, until: 5_400_000, regions: ['hosta-fra', 'hosta-iad'], sees: 'refused', flapMs: 0 },
  ],
};

describe('a what-if over the database', () => {
  test('with unchanged settings says an ordinary world again', async () => {
    const { actual, replayed } = await compared(TROUBLED);
    expect(actual.changes.map(({ to }) => to)).toEqual(['active', 'error', 'active', 'error', 'active']);
    expectSame(replayed, actual);
  });

  test('of a world with restarts, late reports and changes is an estimate', async () => {
    const { actual, replayed } = await compared(generateWorld(3));
    expect(replayed.changes.length).toBeGreaterThan(actual.changes.length / 2);
    expect(replayed.changes.length).toBeLessThan(actual.changes.length * 2);
  });

  test('an old monitor warms up, and then says the same', async () => {
    const from = BEGAN + HOUR / 2;
    const { actual, replayed, ...span } = await compared(TROUBLED, { createdAt: 0, from });
    expect(span).toEqual({ from, until: BEGAN + 2 * HOUR });
    expect(actual.changes).toHaveLength(4);
    expect(replayed).toEqual(actual);
  });

  test('a replay that begins in an incident goes on with it', async () => {
    const from = BEGAN + 2_700_000;
    const { actual, replayed } = await compared(TROUBLED, { createdAt: 0, from });
    expect(alertsOf(actual)[0]).toMatch(/recovered/);
    expect(replayed).toEqual(actual);
  });

  test('without the regions that saw the trouble, nobody is alerted', async () => {
    const { actual, replayed } = await compared(TROUBLED, { settings: { regions: ['hosta-syd'] } });
    expect(actual.changes.map(({ to }) => to)).toEqual(['active', 'error', 'active', 'error', 'active']);
    expect(replayed.changes.map(({ to }) => to)).toEqual(['active', 'error', 'active']);
    expect([actual.alerts.length, replayed.alerts.length]).toEqual([8, 4]);
  });

  test('with a lower degraded_at, slow checks degrade the monitor', async () => {
    const { actual, replayed } = await compared(
      { ...TROUBLED, troubles: [], mishaps: CALM },
      { settings: { degradedAtMs: 1 } },
    );
    expect(actual.changes.map(({ to }) => to)).toEqual(['active']);
    expect(replayed.changes.map(({ to }) => to)).toEqual(['degraded']);
    expect(replayed.alerts.map(({ status }) => status)).toEqual(['degraded', 'degraded']);
  });

  test('without the retry that helped, the flapping target is an error', async () => {
    const sees = { regions: null, sees: 'refused', flapMs: 400 } as const;
    const flapping: World = { ...TROUBLED, retry: 2, troubles: [{ from: 0, until: 2 * HOUR, ...sees }] };
    const { actual, replayed } = await compared(flapping, { settings: { retry: 0 } });
    expect(actual.times.error).toBe(0);
    expect(replayed.times.error).toBeGreaterThan(0);
    const unchanged = await compared(flapping, { settings: { retry: 2 } });
    expectSame(unchanged.replayed, unchanged.actual);
  });

  test('the replay says when it can begin only later than asked', async () => {
    const { from } = await compared(TROUBLED, { createdAt: 0, from: BEGAN - HOUR });
    expect(from).toBeGreaterThan(BEGAN);
    expect(from).toBeLessThan(BEGAN + HOUR / 2);
  });
});

/**
 * Expects the same changes and alerts. A first slot may be decided some ms
 * earlier or later, because one region's report may come earlier or later.
 */
function expectSame(replayed: Comparison['replayed'], actual: Comparison['actual']): void {
  const named = ({ changes }: Comparison['actual']) => changes.map(({ to, reason }) => `${to} (${reason})`);
  expect([named(replayed), alertsOf(replayed)]).toEqual([named(actual), alertsOf(actual)]);
  expect(Math.abs(replayed.times.error - actual.times.error)).toBeLessThan(1_000);
}

function alertsOf({ alerts }: Comparison['actual']): string[] {
  return alerts.map(({ notificationId, status }) => `${notificationId} ${status}`);
}
