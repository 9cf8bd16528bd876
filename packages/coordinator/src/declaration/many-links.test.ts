import { serialize } from 'node:v8';
import { afterEach, expect, test } from 'vitest';
import { attributes } from '../../../../test/support/attributes.ts';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { STORE_IN_PROCESS } from '../../../../test/support/store-in-process.ts';
import type { StoreWorker, StoreWorkers } from '../store/sqlite/store-thread.ts';
import type { ConfigurationChange } from './configuration.ts';

const MONITORS = 10_000;
/**
 * Maximum size of a message, bytes. Reading a message of this size
 * takes about 1 ms. It has 1,800 links, or 1,000 log entries.
 */
const MOST_BYTES = 150_000;

let parts: ConfiguredStore;
/** Size of the largest message between the threads, bytes. */
let largest = 0;

afterEach(() => parts.dispose());

/** Threads that record the sizes of all messages that they get and send. */
const WORKERS: StoreWorkers = {
  writer: (data) => weighed(STORE_IN_PROCESS.writer(data)),
  reader: (data) => weighed(STORE_IN_PROCESS.reader(data)),
};

function weighed(worker: StoreWorker): StoreWorker {
  const weigh = (message: unknown) => {
    largest = Math.max(largest, serialize(message).length);
  };
  const post = worker.postMessage.bind(worker);
  worker.on('message', weigh);
  worker.postMessage = (message: unknown) => {
    weigh(message);
    post(message);
  };
  return worker;
}

function change<T>(work: (change: ConfigurationChange) => Promise<T>): Promise<T> {
  return parts.configuration.transaction({ workspaceId: parts.workspaceId, actor: 'api' }, work);
}

test('no message between threads is large when a channel that names all monitors is changed or removed', async () => {
  parts = await configuredStore(WORKERS);
  const { store, reading, workspaceId } = parts;
  const sql = `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
    VALUES (?, ${workspaceId}, 'http', 'a', 0, '{}', 0, 0, 0)`;
  await store.commit([{ sql, rows: Array.from({ length: MONITORS }, (_, index) => [index + 1]) }]);
  largest = 0;
  const all = Array.from({ length: MONITORS }, (_, index) => String(index + 1));
  const channel = (monitor_ids: readonly string[], name: string) =>
    attributes('svc_notification', { name, monitor_ids });
  const id = await change((open) => open.create('svc_notification', channel(all, 'a')));
  const linked = async () => {
    const found = await reading.findStored('notifications', { workspaceId }, id, 'open');
    return found?.attributes.monitor_ids;
  };
  expect(await linked()).toEqual(all);
  for (const some of [['7'], all.slice(0, 2_000), []])
    await change((open) => open.create('svc_notification', channel(some, 'b')));
  const { data } = await reading.listStored(
    'notifications',
    { workspaceId },
    { limit: 10, offset: 0 },
    'open',
  );
  expect(data.map(({ attributes }) => attributes.monitor_ids.length)).toEqual([MONITORS, 1, 2_000, 0]);
  const half = all.filter((_, index) => index % 2 === 0);
  for (const [wanted, name] of [
    [all, 'b'],
    [half, 'c'],
    [all, 'd'],
    [[], 'e'],
  ] as const) {
    await change((open) => open.update('svc_notification', id, channel(wanted, name)));
    expect(await linked()).toEqual(wanted);
  }
  expect(largest).toBeGreaterThan(10_000);
  expect(largest).toBeLessThanOrEqual(MOST_BYTES);
});
