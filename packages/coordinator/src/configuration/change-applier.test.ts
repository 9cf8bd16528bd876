import { parseResource } from '@svc/shared/resources/registry.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import type { DeclaredChange } from '../evaluation/declared-change.ts';
import { removeChanges } from '../store/changes.ts';
import { ChangeApplier } from './change-applier.ts';
import type { ConfigurationChange } from './configuration.ts';
import { StoredConfiguration } from './transactions.ts';

let parts: ConfiguredStore;
let applier: ChangeApplier;
/** What the evaluation was told. */
let told: string[];
let failure: Error | null;

/** Another process begins, with what the database holds. */
function begin(): void {
  applier = new ChangeApplier({
    store: parts.store,
    secrets: parts.secrets,
    log: silentLog,
    sink: {
      async declare(changes, until) {
        if (failure !== null) throw failure;
        await parts.store.commit([removeChanges(until)]);
        told.push(...changes.map(said));
      },
    },
  });
}

function said(change: DeclaredChange): string {
  switch (change.kind) {
    case 'monitor':
      return `${change.monitorId}: ${change.monitor?.name ?? `gone, was ${change.removed?.name ?? 'unknown'}`}`;
    case 'linked':
      return `${change.notificationId} (${change.providerType}) hears of ${change.monitorId}`;
    case 'unlinked':
      return `${change.notificationId} hears no more of ${change.monitorId}`;
    case 'channel-removed':
      return `${change.notificationId} is gone`;
  }
}

beforeEach(async () => {
  parts = await configuredStore();
  [told, failure] = [[], null];
  begin();
});
afterEach(() => parts.dispose());

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
  const settings = { endpoint: 'https://example.com/hook', headers: [] };
  return {
    name: null,
    provider_type: 'webhook' as const,
    monitor_ids: monitorIds.map(String),
    settings: { ...settings, method: 'POST' as const },
  };
}

const logged = () => rowsOf(parts.store, 'changes');

test('effects come in the order of the log, monitors before their links, and empty it', async () => {
  await change(async (open) => {
    const id = await open.create('svc_tcp_monitor', monitor('a'));
    await open.create('svc_notification', channel(id));
    await open.create('svc_tcp_monitor', monitor('b'));
  });
  expect(told).toEqual(['1: a', '1 (webhook) hears of 1', '2: b']);
  expect(await logged()).toEqual([]);
});

test('a link to a channel that is gone since is not told of', async () => {
  await change(async (open) => {
    const id = await open.create('svc_tcp_monitor', monitor('a'));
    const notification = await open.create('svc_notification', channel(id));
    await open.remove('svc_notification', notification);
  });
  expect(told).toEqual(['1: a', '1 is gone']);
  expect(await logged()).toEqual([]);
});

test('a write whose effects fail is answered, and they are applied with the next one', async () => {
  failure = new Error('not now');
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  expect(told).toEqual([]);
  expect(await logged()).toHaveLength(1);
  failure = null;
  await change((open) => open.update('svc_tcp_monitor', id, monitor('b')));
  expect(told).toEqual([`${id}: b`]);
  expect(await logged()).toEqual([]);
});

test('what a process has left, the next one applies, each monitor as it is now', async () => {
  failure = new Error('killed');
  const gone = await change((open) => open.create('svc_tcp_monitor', monitor('gone')));
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  await change((open) => open.remove('svc_tcp_monitor', gone));
  failure = null;
  begin();
  await applier.resume();
  expect(told).toEqual([`${gone}: gone, was gone`, '2: a']);
  expect(await logged()).toEqual([]);
  await applier.resume();
  expect(told).toHaveLength(2);
});
