import { parseResource } from '@svc/shared/resources/registry.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { ChangeApplier, type EvaluationEffects } from './apply-changes.ts';
import type { ConfigurationChange } from './configuration.ts';
import { MonitorsInMemory } from './live-monitors.ts';
import { StoredConfiguration } from './transactions.ts';

let parts: ConfiguredStore;
let monitors: MonitorsInMemory;
let applier: ChangeApplier;
/** What the evaluation was told. */
let told: string[];
let failure: Error | null;

/** Another process begins, with what the database holds. */
async function begin(): Promise<void> {
  const effects: EvaluationEffects = {
    monitorChanged(_tx, before, after) {
      if (failure !== null) throw failure;
      told.push(`${before?.name ?? '-'} → ${after?.name ?? '-'}`);
    },
    linked(_tx, monitorId, notificationId) {
      told.push(`${notificationId} hears of ${monitorId}`);
    },
  };
  monitors = await MonitorsInMemory.load(parts.store, parts.secrets);
  applier = new ChangeApplier({ ...parts, monitors, effects, log: silentLog });
}

beforeEach(async () => {
  parts = await configuredStore();
  [told, failure] = [[], null];
  await begin();
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
  expect(told).toEqual(['- → a', '1 hears of 1', '- → b']);
  expect(await logged()).toEqual([]);
  expect([...monitors.values()].map(({ name }) => name)).toEqual(['a', 'b']);
});

test('a link that has ended since is not welcomed', async () => {
  await change(async (open) => {
    const id = await open.create('svc_tcp_monitor', monitor('a'));
    const notification = await open.create('svc_notification', channel(id));
    await open.remove('svc_notification', notification);
  });
  expect(told).toEqual(['- → a']);
  expect(await logged()).toEqual([]);
});

test('a write whose effects fail is answered, and they are applied with the next one', async () => {
  failure = new Error('not now');
  const id = await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  expect(monitors.size).toBe(0);
  expect(await logged()).toHaveLength(1);
  failure = null;
  await change((open) => open.update('svc_tcp_monitor', id, monitor('b')));
  expect(told).toEqual(['- → b']);
  expect(await logged()).toEqual([]);
});

test('what a process has left, the next one applies to the monitors that it has loaded', async () => {
  failure = new Error('killed');
  const gone = await change((open) => open.create('svc_tcp_monitor', monitor('gone')));
  await change((open) => open.create('svc_tcp_monitor', monitor('a')));
  await change((open) => open.remove('svc_tcp_monitor', gone));
  failure = null;
  await begin();
  await applier.resume();
  expect(told).toEqual(['a → a']);
  expect(await logged()).toEqual([]);
  await applier.resume();
  expect(told).toHaveLength(1);
});
