import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { attributes } from '../../../../../test/support/attributes.ts';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import type { Actor, ConfigurationChange } from '../../declaration/configuration.ts';
import { StoredConfiguration } from '../../declaration/stored-configuration.ts';
import { type Change, changesAfter, removeChanges } from './changes.ts';

let parts: ConfiguredStore;
/** The id of the last entry of each commit whose effects were requested. */
let applied: number[];
let configuration: StoredConfiguration;

beforeEach(async () => {
  parts = await configuredStore();
  applied = [];
  // No coordinator leads, so logged entries stay.
  const effects = {
    async applyUntil(lastChangeId: number) {
      applied.push(lastChangeId);
    },
  };
  configuration = new StoredConfiguration({ ...parts, effects });
});
afterEach(() => parts.dispose());

function change<T>(work: (change: ConfigurationChange) => Promise<T>, actor: Actor = 'api'): Promise<T> {
  return configuration.transaction({ workspaceId: parts.workspaceId, actor }, work);
}

const create = <K extends ResourceKind>(kind: K, members: Record<string, unknown> = {}) =>
  change((open) => open.create(kind, attributes(kind, members)));

const webhook = (...monitors: number[]) => ({
  provider_type: 'webhook',
  email: null,
  webhook: { endpoint: 'https://example.com/hook' },
  monitor_ids: monitors.map(String),
});

const log = () => changesAfter(parts.store, 0, 100);
/** Returns the entries of the log without their ids, and empties the log. */
async function logged(): Promise<Omit<Change, 'id'>[]> {
  const changes = await log();
  const { sql, rows } = removeChanges(changes.at(-1)?.id ?? 0);
  await parts.store.transaction((tx) => tx.runEach(sql, rows));
  return changes.map(({ id: _id, ...change }) => change);
}

/** Stores an announcement, as the evaluation does during an incident. */
async function announced(monitorId: number, incident: string): Promise<void> {
  await parts.store.transaction(async (tx) => {
    await tx.query("UPDATE links SET announced = 'error', incident = ? WHERE monitor_id = ?", [
      incident,
      monitorId,
    ]);
    await tx.query(
      "INSERT INTO monitor_states (monitor_id, status, since, incident) VALUES (?, 'error', 1, ?)",
      [monitorId, incident],
    );
    await tx.query('INSERT INTO incidents (key, monitor_id, opened_at) VALUES (?, ?, 7)', [
      incident,
      monitorId,
    ]);
  });
}

describe('a change of the declaration is logged', () => {
  test('a monitor: created, updated, and removed, with the data that ends its incident', async () => {
    const id = await create('svc_http_monitor');
    await change((open) =>
      open.update('svc_http_monitor', id, attributes('svc_http_monitor', { name: 'b' })),
    );
    const updated = { kind: 'monitor', monitorId: id, removed: null };
    expect(await logged()).toEqual([updated, updated]);

    const channel = await create('svc_notification', webhook(id));
    await announced(id, 'key');
    await logged();
    await change((open) => open.remove('svc_http_monitor', id));
    const told = { version: 1, announced: 'error', incident: 'key', incidentSince: 7 };
    const link = { notificationId: channel, providerType: 'webhook', ...told };
    expect(await logged()).toEqual([
      {
        kind: 'monitor',
        monitorId: id,
        removed: {
          workspaceId: parts.workspaceId,
          type: 'http',
          name: 'b',
          target: 'https://example.com',
          incident: 'key',
          links: [link],
        },
      },
    ]);
  });

  test('a link with the kind of its channel, and its removal with the announced status', async () => {
    const [a, b] = [await create('svc_http_monitor'), await create('svc_tcp_monitor')];
    await logged();
    const notificationId = await create('svc_notification', webhook(a));
    expect(await logged()).toEqual([
      { kind: 'linked', monitorId: a, notificationId, providerType: 'webhook', version: 1 },
    ]);

    await announced(a, 'key');
    const relinked = attributes('svc_notification', webhook(b));
    await change((open) => open.update('svc_notification', notificationId, relinked));
    expect(await logged()).toEqual([
      {
        kind: 'unlinked',
        monitorId: a,
        notificationId,
        link: { providerType: 'webhook', version: 1, announced: 'error', incident: 'key', incidentSince: 7 },
      },
      { kind: 'linked', monitorId: b, notificationId, providerType: 'webhook', version: 2 },
    ]);
    const scope = { workspaceId: parts.workspaceId };
    expect(await parts.reading.findStored('notifications', scope, notificationId, 'masked')).toMatchObject({
      attributes: { monitor_ids: [String(b)] },
    });
  });

  test('a removed channel; earlier entries about its links then have no kind of channel', async () => {
    const monitorId = await create('svc_http_monitor');
    await logged();
    const notificationId = await create('svc_notification', webhook(monitorId));
    await change((open) => open.remove('svc_notification', notificationId));
    expect(await logged()).toEqual([
      { kind: 'linked', monitorId, notificationId, providerType: null, version: 1 },
      { kind: 'channel-removed', notificationId },
    ]);
  });

  test('a change without effect outside its row is not logged', async () => {
    const id = await create('svc_http_monitor');
    await logged();
    await change((open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor')));
    const declared = { localName: 'api' };
    await change(
      (open) => open.update('svc_http_monitor', id, attributes('svc_http_monitor'), { declared }),
      'file',
    );
    await create('svc_status_page');
    expect(await log()).toEqual([]);
  });

  test('a change that failed is not logged', async () => {
    const failing = change(async (open) => {
      await open.create('svc_http_monitor', attributes('svc_http_monitor'));
      await open.remove('svc_http_monitor', 99);
    });
    await expect(failing).rejects.toThrow('there is no monitor 99');
    expect(await log()).toEqual([]);
    expect(applied).toEqual([]);
  });
});

test('effects are requested once per commit, up to its last entry, and the caller waits for them', async () => {
  const id = await create('svc_http_monitor');
  await create('svc_status_page');
  await create('svc_notification', webhook(id));
  const changes = await log();
  expect(applied).toEqual(changes.map((entry) => entry.id));

  const asked = Promise.withResolvers<void>();
  const effectsDone = Promise.withResolvers<void>();
  const effects = {
    applyUntil: () => {
      asked.resolve();
      return effectsDone.promise;
    },
  };
  const leading = new StoredConfiguration({ ...parts, effects });
  let isAnswered = false;
  const context = { workspaceId: parts.workspaceId, actor: 'api' } as const;
  const answer = leading
    .transaction(context, (open) => open.remove('svc_http_monitor', id))
    .then(() => {
      isAnswered = true;
    });
  await asked.promise;
  expect((await log()).length).toBeGreaterThan(changes.length);
  expect(isAnswered).toBe(false);
  effectsDone.resolve();
  await answer;
});

test('ids continue to grow after the log is emptied', async () => {
  await create('svc_http_monitor');
  await logged();
  await create('svc_http_monitor');
  expect((await log()).map(({ id }) => id)).toEqual([2]);
  expect(await changesAfter(parts.store, 2, 100)).toEqual([]);
});
