/**
 * A channel with many deliveries that wait, and a database on disk: what the deliverer's memory costs, how fast all
 * of them are queued again by hand, and how long other writes wait while they go with their channel.
 *
 *   node test/bench/delivery-backlog.ts [deliveries] [monitors]
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Deliverer } from '@svc/coordinator/notify/deliverer.ts';
import { createManualDeliveries } from '@svc/coordinator/notify/manual-deliveries.ts';
import { BelievedClock } from '@svc/coordinator/retention/believed-clock.ts';
import { Retention } from '@svc/coordinator/retention/retention.ts';
import { insertDeliveries } from '@svc/coordinator/store/delivery-queue.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { Secrets } from '@svc/coordinator/store/secrets.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';

const [deliveries = 100_000, monitors = 100_000] = process.argv.slice(2).map(Number);
const CHUNK = 1_000;

const folder = await mkdtemp(join(tmpdir(), 'svc-bench-backlog-'));
const log = createLogger('bench', 'silent');
const clock = systemClock;
const store = await openStore({ path: join(folder, 'svc.db'), log });
const secrets = new Secrets(Buffer.alloc(32, 1));
await store.transaction(async (tx) => {
  await tx.query("INSERT INTO workspaces (id, name, created_at) VALUES (1, 'b', 0) ON CONFLICT DO NOTHING");
  await tx.query(`INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
    VALUES (1, 1, 'webhook', x'00', 0, 0)`);
});
for (let from = 0; from < deliveries; from += CHUNK) {
  const some = Array.from({ length: Math.min(CHUNK, deliveries - from) }, (_, index) => from + index);
  await store.commit([insertDeliveries(some.map((nth) => rowOf((nth % monitors) + 1)))]);
}

const settled = () => {
  globalThis.gc?.();
  return process.memoryUsage().rss / 2 ** 20;
};
const beforeMiB = settled();
const deliverer = new Deliverer({
  store,
  secrets,
  clock,
  log,
  send: async () => ({ outcome: 'retry', error: 'down', statusCode: 503, retryAfterMs: 3_600_000 }),
  source: {
    find: async () => ({
      workspaceId: 1,
      kind: 'webhook',
      stoppedFor: null,
      groupsAlerts: false,
      kept: null,
      open: () => ({
        kind: 'webhook',
        settings: new Secret({ endpoint: 'http://a.example/', headers: null }),
      }),
    }),
  },
  publicUrl: 'http://svc.example',
});
const loading = performance.now();
await deliverer.start();
const loadedMs = performance.now() - loading;
await delay(500);
console.log(
  `${deliveries} pending in ${deliverer.gauges.lanes} lanes: loaded in ${loadedMs.toFixed(0)} ms, memory ${beforeMiB.toFixed(0)} -> ${settled().toFixed(0)} MiB`,
);

await store.transaction((tx) => tx.query("UPDATE deliveries SET state = 'dead', finished_at = 1"));
const manual = createManualDeliveries({ store, clock, deliverer, publicUrl: 'http://svc.example' });
const replay = await watched(() => manual.replayAll(1));
console.log(`all of them sent again by hand: ${replay}`);

await store.transaction((tx) => tx.query('DELETE FROM notifications'));
deliverer.channelRemoved(1);
const believed = await BelievedClock.load({ store, clock, log }, null);
const retention = new Retention({ store, clock, believed, log, resultRetentionDays: 14 });
const removal = await watched(async () => {
  retention.channelRemoved();
  while ((await left()) > 0) await delay(50);
});
console.log(`gone with their channel: ${removal}`);
await retention.stop();
await deliverer.stop();
await store.close();
await rm(folder, { recursive: true });

async function left(): Promise<number> {
  const rows = await store.read.selectFrom('deliveries').select('id').limit(1).execute();
  return rows.length;
}

/** How long the work takes, and how long small urgent writes wait meanwhile. */
async function watched(work: () => Promise<unknown>): Promise<string> {
  const began = performance.now();
  const waits: number[] = [];
  let isOver = false;
  const done = work().finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const asked = performance.now();
    await store.commit([{ sql: 'UPDATE workspaces SET created_at = 1 WHERE id = ?', rows: [[1]] }]);
    waits.push(performance.now() - asked);
    await delay(5);
  }
  await done;
  const seconds = (performance.now() - began) / 1_000;
  waits.sort((one, other) => one - other);
  const at = (share: number) => (waits[Math.ceil(share * waits.length) - 1] ?? 0).toFixed(0);
  return `${seconds.toFixed(1)} s, other writes wait p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms`;
}

function rowOf(monitorId: number) {
  const alert = {
    monitor: { id: monitorId, name: `bench ${monitorId}`, url: 'http://shop.example/', type: 'http' },
    status: 'error' as const,
    cronTimestamp: 1,
    at: 1,
    reason: 'bench',
    incident: `incident of ${monitorId}`,
    regions: [],
  };
  const { incident, status } = alert;
  const text = JSON.stringify(alert);
  return {
    uid: randomUUID(),
    notificationId: 1,
    monitorId,
    alert: text,
    incident,
    status,
    createdAt: Date.now(),
  };
}
