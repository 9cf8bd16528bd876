import { parseResource } from '@svc/shared/resources/registry.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { HeldReads } from '../../../../test/support/held-reads.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { changeRow, rowsOf } from '../../../../test/support/store-rows.ts';
import { removeChanges } from '../store/declaration/changes.ts';
import { StoreError } from '../store/errors.ts';
import { MAX_WAITING_READS } from '../store/serial-store.ts';
import type { DeclaredChange } from '../verdict/declared-effects.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import { ChangeApplier } from './change-applier.ts';
import type { ConfigurationChange } from './configuration.ts';
import { StoredConfiguration } from './stored-configuration.ts';

let reads: HeldReads;
let parts: ConfiguredStore;
let applier: ChangeApplier;
/** Descriptions of the changes that were passed to the evaluation. */
let told: string[];
/**
 * Error that the sink throws for every change; null: none.
 * `refused`: error that the sink throws for one monitor.
 */
let failure: Error | null;
let refused: { monitorId: number; error: Error } | null;

/** Simulates the start of another process with the same database. */
function begin(): void {
  applier = new ChangeApplier({
    shard: ONLY_SHARD,
    store: parts.store,
    secrets: parts.secrets,
    log: silentLog,
    clock: parts.clock,
    sink: {
      async declare(changes, until) {
        if (failure !== null) throw failure;
        const isRefused = changes.some(
          (change) => 'monitorId' in change && change.monitorId === refused?.monitorId,
        );
        if (refused !== null && isRefused) throw refused.error;
        await parts.store.commit([removeChanges(until)]);
        told.push(...changes.map(said));
      },
    },
  });
}

function said(change: DeclaredChange): string {
  switch (change.kind) {
    case 'monitor': {
      const { monitorId, monitor, removed } = change;
      if (monitor !== null) return `${monitorId}: ${monitor.name}`;
      const incidents = removed?.links.map(
        ({ notificationId, incident }) => ` ${incident} on ${notificationId}`,
      );
      return `${monitorId}: gone, was ${removed?.name ?? 'unknown'}${incidents?.join() ?? ''}`;
    }
    case 'linked':
      return `${change.notificationId} (${change.providerType}) hears of ${change.monitorId}`;
    case 'unlinked':
      return `${change.notificationId} hears no more of ${change.monitorId}`;
    case 'channel':
      return `${change.notificationId} (${change.providerType}): changed`;
    case 'channel-removed':
      return `${change.notificationId} is gone`;
    case 'maintenance':
      return `window ${change.windowId}: ${change.window === null ? 'gone' : change.window.monitorIds}`;
  }
}

beforeEach(async () => {
  reads = new HeldReads();
  parts = await configuredStore(reads.workers);
  [told, failure, refused] = [[], null, null];
  begin();
});
afterEach(async () => {
  reads.release();
  await parts.dispose();
});

function change<T>(work: (change: ConfigurationChange) => Promise<T>): Promise<T> {
  const configuration = new StoredConfiguration({ ...parts, effects: applier });
  return configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, work);
}

function monitor(name: string) {
  const parsed = parseResource('svc_tcp_monitor', { ...VALID.svc_tcp_monitor, name }, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return parsed.value;
}

function channel(...monitorIds: number[]) {
  return {
    name: null,
    provider_type: 'webhook' as const,
    monitor_ids: monitorIds.map(String),
    group_alerts: true,
    notify_unknown: true,
    remind_every: null,
    settings: { endpoint: 'https://example.com/hook', headers: [] },
  };
}

const busy = () => new StoreError('store-busy', 'another program holds the database');

const logged = () => rowsOf(parts.store, 'changes');

test('effects are applied in the order of the log, monitors before their links, and the log is empty afterwards', async () => {
  await change(async (open) => {
    const id = await open.create('svc_tcp_monitor', monitor('a'));
    await open.create('svc_notification', channel(id));
    await open.create('svc_tcp_monitor', monitor('b'));
  });
  expect(told).toEqual(['1: a', '1 (webhook) hears of 1', '2: b']);
  expect(await logged()).toEqual([]);
});

test('a link to a channel that was removed later has no effect', async () => {
  await change(async (open) => {
    const id = await open.create('svc_tcp_monitor', monitor('a'));
    const notification = await open.create('svc_notification', channel(id));
    await open.remove('svc_notification', notification);
  });
  expect(told).toEqual(['1: a', '1 is gone']);
  expect(await logged()).toEqual([]);
});

test('effects do not wait behind reads of pages and of the API', async () => {
  reads.holdFirst();
  const waiting = Promise.allSettled(Array.from({ length: MAX_WAITING_READS }, logged));
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  expect(told).toEqual(['1: a']);
  reads.release();
  await waiting;
});

test('a write whose effects fail is answered, and its effects are applied with the next write', async () => {
  failure = busy();
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  expect(told).toEqual([]);
  expect(await logged()).toHaveLength(1);
  failure = null;
  await change((open) => open.update('svc_tcp_monitor', id, monitor('b')));
  expect(told).toEqual([`${id}: b`]);
  expect(await logged()).toEqual([]);
});

test('the next process applies changes that were left, with the present row of each monitor', async () => {
  failure = busy();
  const gone = await change((open) => open.create('svc_tcp_monitor', monitor('gone')));
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  await change((open) => open.remove('svc_tcp_monitor', gone));
  failure = null;
  begin();
  await applier.applyRemaining();
  expect(told).toEqual([`${gone}: gone, was gone`, '2: a']);
  expect(await logged()).toEqual([]);
  await applier.applyRemaining();
  expect(told).toHaveLength(2);
});

test('a step that the database cannot do now is repeated after growing waits', async () => {
  failure = busy();
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  parts.clock.advance(1_000);
  await applier.applyUntil(0);
  expect(told).toEqual([]);
  failure = null;
  parts.clock.advance(2_000);
  await applier.applyUntil(0);
  expect(told).toEqual(['1: a']);
  expect(parts.clock.pendingTimers).toBe(0);
});

test('while a step waits for its next try, further calls schedule and log nothing', async () => {
  const lines: unknown[] = [];
  const declare = () => Promise.reject(busy());
  applier = new ChangeApplier({
    shard: ONLY_SHARD,
    ...parts,
    log: pino({}, { write: (line: string) => lines.push(line) }),
    sink: { declare },
  });
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  for (let look = 0; look < 5; look += 1) await applier.applyRemaining();
  expect([lines.length, parts.clock.pendingTimers]).toEqual([1, 1]);
  parts.clock.advance(1_000);
  await applier.applyUntil(0);
  expect([lines.length, parts.clock.pendingTimers]).toEqual([2, 1]);
  applier.stop();
});

test('a hundred searches for changes while the database does not answer cause only a few reads', async () => {
  const before = reads.count;
  reads.hold();
  const looks = Array.from({ length: 100 }, () => applier.applyRemaining());
  reads.release();
  await Promise.all(looks);
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  expect(told).toEqual([`${id}: a`]);
  expect(reads.count - before).toBeLessThan(20);
});

describe('a change that itself causes an error is skipped, and stops no other change', () => {
  test('a change that the evaluation refuses', async () => {
    failure = busy();
    for (const name of ['a', 'b', 'c']) {
      await change((open) => open.create('svc_tcp_monitor', monitor(name)));
    }
    failure = null;
    refused = { monitorId: 2, error: new TypeError('a defect') };
    await applier.applyRemaining();
    expect(told).toEqual(['1: a', '3: c']);
    expect(await logged()).toEqual([]);
    refused = null;
    await change((open) => open.update('svc_tcp_monitor', 2, monitor('mended')));
    expect(told).toEqual(['1: a', '3: c', '2: mended']);
  });

  test('a monitor whose secrets do not open', async () => {
    failure = busy();
    const sealed = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
    await change((open) => open.create('svc_tcp_monitor', monitor('b')));
    await changeRow(parts.store, 'monitors', sealed, { secrets_sealed: new Uint8Array(40) });
    failure = null;
    await applier.applyRemaining();
    expect(told).toEqual(['2: b']);
    expect(await logged()).toEqual([]);
  });

  test('an unreadable detail of a change is left out, and the change is applied', async () => {
    const gone = await change((open) => open.create('svc_tcp_monitor', monitor('gone')));
    const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
    const notification = await change((open) => open.create('svc_notification', channel(id)));
    told = [];
    failure = busy();
    await change((open) => open.remove('svc_tcp_monitor', gone));
    await change((open) => open.update('svc_notification', notification, channel()));
    await change((open) => open.create('svc_tcp_monitor', monitor('b')));
    await parts.store.transaction((tx) =>
      tx.query(
        `UPDATE changes SET detail = CASE kind WHEN 'monitor' THEN '{"name"' ELSE '{}' END WHERE detail IS NOT NULL`,
      ),
    );
    failure = null;
    await applier.applyRemaining();
    expect(told).toEqual([`${gone}: gone, was unknown`, `${notification} hears no more of ${id}`, '3: b']);
    expect(await logged()).toEqual([]);
  });
});

test('a stop answers callers that wait for effects, and later calls at once', async () => {
  const entered = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const declare = () => {
    entered.resolve();
    return end.promise;
  };
  applier = new ChangeApplier({ shard: ONLY_SHARD, ...parts, log: silentLog, sink: { declare } });
  const answer = change((open) => open.create('svc_tcp_monitor', monitor('a')));
  await entered.promise;
  applier.stop();
  await answer;
  await change((open) => open.create('svc_tcp_monitor', monitor('b')));
  expect(await logged()).toHaveLength(2);
  end.resolve();
});

test('a monitor that is removed after its entries were read has one effect, which ends its incident', async () => {
  failure = busy();
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  await change(async (open) => {
    // These entries make the log longer than one step.
    const others = Array.from({ length: 250 }, () => ({ attributes: monitor('other') }));
    await open.createAll('svc_tcp_monitor', others);
  });
  await change((open) => open.remove('svc_tcp_monitor', id));
  failure = null;
  await applier.applyRemaining();
  expect(told.filter((line) => line.startsWith(`${id}:`))).toEqual([`${id}: gone, was a`]);
  expect(await logged()).toEqual([]);
});

test('a monitor that is unlinked and removed without a leader ends its incident on that channel too', async () => {
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  const notification = await change((open) => open.create('svc_notification', channel(id)));
  await parts.store.transaction((tx) => tx.query(`UPDATE links SET announced = 'error', incident = 'key'`));
  told = [];
  failure = busy();
  await change((open) => open.update('svc_notification', notification, channel()));
  await change((open) => open.remove('svc_tcp_monitor', id));
  failure = null;
  begin();
  await applier.applyRemaining();
  expect(told).toEqual([
    `${notification} hears no more of ${id}`,
    `${id}: gone, was a key on ${notification}`,
  ]);
});

test('5,000 changes are applied in their order, in steps', async () => {
  failure = busy();
  const ids = await change((open) =>
    open.createAll(
      'svc_tcp_monitor',
      Array.from({ length: 5_000 }, (_, index) => ({ attributes: monitor(`m${index}`) })),
    ),
  );
  failure = null;
  await applier.applyRemaining();
  expect(told).toEqual(ids.map((id, index) => `${id}: m${index}`));
  expect(await logged()).toEqual([]);
});
