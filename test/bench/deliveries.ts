/**
 * Sends alerts to many webhooks at once, through the deliverer and a real database on disk. One webhook in ten
 * never answers, and one in ten takes one alert a second. The receivers run in a process of their own.
 *
 *   node test/bench/deliveries.ts [alerts] [channels] [alerts per second]
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Deliverer } from '@svc/coordinator/notify/deliverer.ts';
import { createSender } from '@svc/coordinator/notify/sender.ts';
import { createHttpPost } from '@svc/coordinator/outgoing/http-post.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { Secrets } from '@svc/coordinator/store/secrets.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { loopbackParts } from '../support/channel-sending.ts';
import { queueAlerts } from '../support/coordinator/queue-alerts.ts';
import { Children } from './children.ts';
import { percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

const RECEIVERS = fileURLToPath(new URL('./delivery-receivers-process.ts', import.meta.url));
const [alerts = 10_000, channels = 500, perSecond = 250] = process.argv.slice(2).map(Number);
const perChannel = Math.ceil(alerts / channels);
/** Time between two transactions that queue alerts, ms. */
const BATCH_MS = 200;
const PER_BATCH = Math.max(1, Math.round((perSecond * BATCH_MS) / 1_000));

type Kind = 'quick' | 'slow' | 'hanging';
const kindOf = (channel: number): Kind =>
  channel % 10 === 0 ? 'hanging' : channel % 10 === 1 ? 'slow' : 'quick';

const children = new Children();
const { line: port } = await children.node(RECEIVERS);
const folder = await mkdtemp(join(tmpdir(), 'svc-bench-deliveries-'));
const log = createLogger('bench', 'silent');
const store = await openStore({ path: join(folder, 'svc.db'), log });
const ids = Array.from({ length: channels }, (_, index) => index + 1);
await store.transaction(async (tx) => {
  await tx.runEach(
    "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'b', 0) ON CONFLICT DO NOTHING",
    [[]],
  );
  await tx.runEach(
    `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
     VALUES (?, 1, 'webhook', x'00', 0, 0)`,
    ids.map((id) => [id]),
  );
});

const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] });
const post = createHttpPost({ clock: systemClock, guard });
const deliverer = new Deliverer({
  store,
  secrets: new Secrets(Buffer.alloc(32, 1)),
  clock: systemClock,
  log,
  send: createSender(loopbackParts({ post })),
  source: {
    find: async (id) => ({
      workspaceId: 1,
      kind: 'webhook',
      stoppedFor: null,
      groupsAlerts: false,
      kept: null,
      open: () => ({
        kind: 'webhook',
        settings: new Secret({ endpoint: `http://127.0.0.1:${port}/${kindOf(id)}/${id}`, headers: null }),
      }),
    }),
  },
  publicUrl: 'http://svc.example',
});

/** Time from the beginning of the commit to the start of the attempt that succeeded, ms. */
const waits: Record<Kind, number[]> = { quick: [], slow: [], hanging: [] };
/** Instants at which each channel took its first and last alert, monotonic ms. */
const taken = new Map<number, { first: number; last: number; count: number }>();
const newest = new Map<string, number>();
const sizes = { overtaken: 0, attempts: 0, peakMiB: 0 };
deliverer.onRecorded(({ delivery, at, result }) => {
  sizes.attempts += 1;
  if (result.outcome !== 'delivered') return;
  const { notificationId, monitorId, createdAt, id } = delivery;
  waits[kindOf(notificationId)].push(Math.max(0, at - createdAt));
  const now = performance.now();
  const { first, count } = taken.get(notificationId) ?? { first: now, count: 0 };
  taken.set(notificationId, { first, last: now, count: count + 1 });
  const lane = `${notificationId}:${monitorId}`;
  if ((newest.get(lane) ?? 0) > id) sizes.overtaken += 1;
  newest.set(lane, id);
});
await deliverer.start();

const watch = setInterval(() => {
  sizes.peakMiB = Math.max(sizes.peakMiB, process.memoryUsage().rss / 2 ** 20);
}, 100);
const beforeMiB = process.memoryUsage().rss / 2 ** 20;
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
// The alerts of an outage: one monitor of each channel in turn.
for (let sent = 0; sent < perChannel * channels; sent += PER_BATCH) {
  const next = performance.now() + BATCH_MS;
  await queueAlerts(
    store,
    systemClock,
    deliverer,
    Array.from({ length: Math.min(PER_BATCH, perChannel * channels - sent) }, (_, index) => {
      const nth = sent + index;
      return alertOf((nth % channels) + 1, Math.floor(nth / channels / 2) + 1);
    }),
  );
  await delay(Math.max(0, next - performance.now()));
}
const queuedS = (performance.now() - startedAt) / 1_000;
const expected = (kind: Kind) => perChannel * ids.filter((id) => kindOf(id) === kind).length;
const until = performance.now() + (perChannel * 2 + 60) * 1_000;
while (
  (waits.quick.length < expected('quick') || waits.slow.length < expected('slow')) &&
  performance.now() < until
) {
  await delay(100);
}
clearInterval(watch);
const { user, system } = process.cpuUsage(cpuBefore);
const cpuMs = (user + system) / 1_000 / (perChannel * channels);

const slow = [...taken].filter(([id]) => kindOf(id) === 'slow').map(([, times]) => times);
const spans = slow
  .filter(({ count }) => count === perChannel)
  .map(({ first, last }) => (last - first) / 1_000);
console.log(
  formatTable(
    ['receivers', 'alerts', 'delivered', 'to sent p50 ms', 'p99 ms', 'most ms'],
    (['quick', 'slow', 'hanging'] as const).map((kind) => [
      kind,
      String(expected(kind)),
      String(waits[kind].length),
      ...[0.5, 0.99, 1].map((share) =>
        waits[kind].length === 0 ? '-' : percentile(waits[kind], share).toFixed(0),
      ),
    ]),
  ),
);
console.log(
  `slow receivers: all ${perChannel} within ${Math.max(0, ...spans).toFixed(1)} s (median ${spans.length === 0 ? '-' : percentile(spans, 0.5).toFixed(1)}) of ${perChannel - 1} s least, ${spans.length} of ${slow.length} complete`,
);
console.log(
  `queued in ${queuedS.toFixed(1)} s, CPU ${cpuMs.toFixed(2)} ms an alert, attempts ${sizes.attempts}, overtaken ${sizes.overtaken}, memory ${beforeMiB.toFixed(0)} -> ${sizes.peakMiB.toFixed(0)} MiB at most`,
);
await deliverer.stop();
await store.close();
await children.endAll();
await rm(folder, { recursive: true });

function alertOf(notificationId: number, monitorId: number) {
  return {
    notificationId,
    monitorId,
    opens: true,
    alert: {
      monitor: {
        id: monitorId,
        name: `bench ${monitorId}`,
        url: 'http://shop.example/',
        type: 'http' as const,
      },
      status: 'error' as const,
      cronTimestamp: Date.now(),
      at: Date.now(),
      reason: 'bench',
      incident: randomUUID(),
      regions: [],
    },
  };
}
