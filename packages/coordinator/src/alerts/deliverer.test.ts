import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { createLogger } from '@svc/shared/log.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackParts } from '../../../../test/support/channel-sending.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import { type TestDatabase, testDatabase } from '../../../../test/support/database.ts';
import { FakeClock, settle } from '../../../../test/support/fake-clock.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../../../test/support/receiver.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import { createHttpPost } from '../outgoing/http-post.ts';
import { Secrets } from '../store/declaration/secrets.ts';
import { STORE_THREADS } from '../store/sqlite/store-threads.ts';
import type { Store } from '../store/store.ts';
import { Deliverer, type FinishedAttempt } from './deliverer.ts';
import { createManualDeliveries } from './manual-deliveries.ts';
import { createSender, type FoundChannel, type StoredChannel } from './sender.ts';

const HOUR = 3_600_000;
const log = createLogger('test', 'silent');
const post = (clock: FakeClock) =>
  createHttpPost({ clock, guard: createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.0/8'] }) });

let database: TestDatabase;
let store: Store;
let clock: FakeClock;
let receiver: Receiver;
let bench: Bench;

beforeEach(async () => {
  database = await testDatabase();
  store = await database.open();
  clock = new FakeClock();
  receiver = await startReceiver();
  bench = new Bench();
});

afterEach(async () => {
  await bench.stop();
  await receiver.close();
  await store.close();
  await database.remove();
});

/**
 * Opens the store with threads. Without them, SQLite would block the thread of
 * the test while another program holds the database.
 */
async function withThreads(): Promise<void> {
  await store.close();
  store = await database.open(STORE_THREADS);
  bench.use(store);
}

/** A deliverer over the real store. Its channels are in a map, but the store has their states. */
class Bench {
  readonly channels = new Map<number, StoredChannel>();
  readonly attempts: FinishedAttempt[] = [];
  #waiting: { count: number; resolve: () => void }[] = [];
  deliverer = this.#create(store);

  /** Replaces the deliverer by a new one over this store. The new deliverer is not started. */
  use(other: Store): void {
    this.deliverer = this.#create(other);
  }

  #create(over: Store): Deliverer {
    const deliverer = new Deliverer({
      store: over,
      secrets: new Secrets(Buffer.alloc(32, 1)),
      ids: TEST_IDS,
      clock,
      log,
      send: createSender(loopbackParts({ post: post(clock) })),
      source: { findChannel: (id) => this.#found(id, over) },
      publicUrl: 'http://svc.example',
      random: () => 0.5,
    });
    deliverer.onRecorded((attempt) => {
      this.attempts.push(attempt);
      this.#waiting = this.#waiting.filter(({ count, resolve }) => {
        if (this.attempts.length < count) return true;
        resolve();
        return false;
      });
    });
    return deliverer;
  }

  async #found(id: number, { work }: Store): Promise<FoundChannel | null> {
    const channel = this.channels.get(id);
    if (channel === undefined) return null;
    const row = await work
      .selectFrom('notifications')
      .select(['stopped_at', 'state_reason'])
      .where('id', '=', id)
      .executeTakeFirst();
    const stoppedFor = (row?.stopped_at ?? null) === null ? null : (row?.state_reason ?? '');
    return {
      workspaceId: 1,
      kind: channel.kind,
      stoppedFor,
      groupsAlerts: true,
      kept: null,
      openSettings: () => channel,
    };
  }

  /** Resolves when this many attempts are recorded in total. */
  async recorded(count: number): Promise<void> {
    if (this.attempts.length >= count) return;
    await new Promise<void>((resolve) => this.#waiting.push({ count, resolve }));
  }

  async webhook(path: string): Promise<number> {
    return this.channel({
      kind: 'webhook',
      settings: new Secret({
        endpoint: `${receiver.url}${path}`,
        headers: [{ key: 'Authorization', value: 'Bearer s3cr3t-token' }],
      }),
    });
  }

  async channel(channel: StoredChannel): Promise<number> {
    const id = await store.transaction(async (tx) => {
      await tx.db
        .insertInto('workspaces')
        .values({ id: 1, name: 'default', created_at: 0 })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const row = await tx.db
        .insertInto('notifications')
        .values({
          workspace_id: 1,
          name: null,
          provider_type: channel.kind,
          settings_sealed: new Uint8Array(),
          state_reason: null,
          owner: null,
          local_name: null,
          created_at: 0,
          updated_at: 0,
        })
        .returning('id')
        .executeTakeFirstOrThrow();
      return row.id;
    });
    this.channels.set(id, channel);
    return id;
  }

  /** Queues one alert per status, in one transaction. */
  async queue(notificationId: number, monitorId: number, ...statuses: AlertStatus[]): Promise<void> {
    const alerts = statuses.map((status) => ({
      notificationId,
      monitorId,
      alert: alertOf(monitorId, status),
    }));
    await queueAlerts(store, clock, this.deliverer, alerts);
  }

  async restart(): Promise<void> {
    await this.deliverer.stop();
    this.use(store);
    await this.deliverer.start();
  }

  stop(): Promise<void> {
    return this.deliverer.stop();
  }
}

function alertOf(monitorId: number, status: AlertStatus): Alert {
  return {
    monitor: { id: monitorId, name: `Monitor ${monitorId}`, url: 'https://example.com/', type: 'http' },
    status,
    cronTimestamp: 1_700_000_000_000,
    at: 1_700_000_000_500,
    reason: 'test',
    incident: 'incident-1',
    regions: [],
  };
}

const statusOf = (request: ReceivedRequest) => (request.json as { status: string }).status;
const idOf = (request: ReceivedRequest) => request.headers['webhook-id'];
const onPath = (path: string) => receiver.requests.filter((request) => request.path === path);
const deliveries = () => store.read.selectFrom('deliveries').selectAll().orderBy('id').execute();
const stateOf = (id: number) =>
  store.read
    .selectFrom('notifications')
    .select(['state', 'state_reason'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

describe('delivering', () => {
  test('an alert is sent once and recorded, and the channel is ok', async () => {
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 7, 'error');
    await bench.recorded(1);
    expect(receiver.requests).toHaveLength(1);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({ state: 'delivered', attempts: 1, uid: idOf(receiver.requests[0]!) });
    expect(await store.read.selectFrom('delivery_attempts').selectAll().execute()).toMatchObject([
      { number: 1, outcome: 'delivered', status_code: 200, error: null },
    ]);
    expect(await stateOf(channel)).toEqual({ state: 'ok', state_reason: null });
    expect(await bench.deliverer.waitingChannels()).toEqual([]);
  });

  test('500, then 429 with Retry-After, then nothing for an hour, then 200: one delivery, in order, one id', async () => {
    let answer: 500 | 429 | 200 | 'silence' = 500;
    receiver.answerWith((request, response) => {
      if (request.path === '/healthy') response.end();
      else if (answer === 500) response.writeHead(500).end('boom with s3cr3t-token');
      else if (answer === 429) response.writeHead(429, { 'retry-after': '120' }).end();
      else if (answer === 200) response.end();
    });
    await bench.deliverer.start();
    const troubled = await bench.webhook('/troubled');
    const healthy = await bench.webhook('/healthy');
    const startedAt = clock.wall();
    await bench.queue(troubled, 1, 'error', 'recovered');
    await bench.queue(healthy, 1, 'error', 'recovered');

    // The healthy channel of the same monitor gets both alerts while the troubled channel waits.
    await bench.recorded(3);
    expect(onPath('/healthy').map(statusOf)).toEqual(['error', 'recovered']);
    expect(clock.wall()).toBe(startedAt);
    expect(await stateOf(troubled)).toEqual({
      state: 'failing',
      state_reason: 'the receiver answered 500: boom with ********',
    });

    answer = 429;
    clock.advance(5_000);
    await bench.recorded(4);
    answer = 'silence';
    clock.advance(119_999);
    expect(onPath('/troubled')).toHaveLength(2);
    clock.advance(1);

    // Each attempt ends after 15 s without an answer. The next attempt begins when its wait is over.
    let recorded = 4;
    while (clock.wall() < startedAt + HOUR) {
      recorded += 1;
      await receiver.received(recorded);
      clock.advance(15_000);
      await bench.recorded(recorded);
      const { result, nextAttemptAt } = bench.attempts.at(-1)!;
      expect(result).toEqual({ outcome: 'retry', error: 'no answer within 15 s' });
      if (nextAttemptAt! >= startedAt + HOUR) answer = 200;
      clock.advance(nextAttemptAt! - clock.wall());
    }

    await bench.recorded(recorded + 2);
    const sent = onPath('/troubled');
    expect(sent.map(statusOf)).toEqual([...Array<string>(recorded - 1).fill('error'), 'recovered']);
    expect(new Set(sent.slice(0, -1).map(idOf)).size).toBe(1);
    expect(idOf(sent.at(-1)!)).not.toBe(idOf(sent[0]!));
    expect(await deliveries()).toMatchObject(Array(4).fill({ state: 'delivered' }));
    expect(await stateOf(troubled)).toEqual({ state: 'ok', state_reason: null });
  });

  test("a monitor's failures do not hold up other monitors of the same channel", async () => {
    receiver.answerWith((request, response) => {
      const { monitor } = request.json as { monitor: { id: number } };
      response.writeHead(monitor.id === 1 ? 500 : 200).end();
    });
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'recovered');
    for (let monitor = 2; monitor <= 30; monitor += 1) await bench.queue(channel, monitor, 'error');
    // The alert of monitor 1 fails. It is tried once more, because the channel accepts other alerts.
    await bench.recorded(31);
    const rows = await deliveries();
    expect(rows.filter(({ state }) => state === 'delivered')).toHaveLength(29);
    expect(rows.filter(({ state }) => state === 'pending').map(({ monitor_id }) => monitor_id)).toEqual([
      1, 1,
    ]);
  });

  test('at most eight at once to one channel', async () => {
    let open = 0;
    let most = 0;
    let isProven = false;
    const held: (() => void)[] = [];
    receiver.answerWith((_request, response) => {
      open += 1;
      most = Math.max(most, open);
      held.push(() => {
        open -= 1;
        response.end();
      });
      const isLast = receiver.requests.length === 24;
      if (isProven && (held.length >= 8 || isLast))
        for (const release of held.splice(0)) setImmediate(release);
    });
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    // The channel gets one message at first, because it is not known yet whether the receiver works.
    for (let monitor = 1; monitor <= 24; monitor += 1) await bench.queue(channel, monitor, 'error');
    await expect.poll(() => held).toHaveLength(1);
    expect(open).toBe(1);
    isProven = true;
    for (const release of held.splice(0)) release();
    await bench.recorded(24);
    expect(most).toBe(8);
  });

  test('410 is final: dead at once, visible, and the channel is stopped', async () => {
    receiver.answerWith((request, response) => {
      response.writeHead(statusOf(request) === 'error' ? 410 : 200).end('gone');
    });
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'recovered');
    await expect.poll(deliveries).toMatchObject([
      { state: 'dead', attempts: 1, last_error: 'the receiver answered 410: gone' },
      { state: 'dead', attempts: 0 },
    ]);
    expect(await stateOf(channel)).toEqual({
      state: 'failing',
      state_reason: 'the receiver answered 410: gone',
    });
  });

  test('an alert is dead after 24 hours, then the next one is sent', async () => {
    receiver.answerWith((_request, response) => response.writeHead(503).end());
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    const startedAt = clock.wall();
    await bench.queue(channel, 1, 'error', 'degraded');
    for (let attempt = 1; ; attempt += 1) {
      await bench.recorded(attempt);
      const next = bench.attempts[attempt - 1]!.nextAttemptAt;
      if (next === null) break;
      clock.advance(next - clock.wall());
    }
    expect(clock.wall()).toBe(startedAt + 24 * HOUR);
    expect(bench.attempts.length).toBeGreaterThanOrEqual(30);
    // The second alert is as old as the first, so it gets only one attempt.
    await bench.recorded(bench.attempts.length + 1);
    expect(await deliveries()).toMatchObject([{ state: 'dead' }, { state: 'dead', attempts: 1 }]);
  });

  test('the deliveries of a removed channel are not sent, and do not count as waiting', async () => {
    receiver.answerWith((_request, response) => response.writeHead(500).end());
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'recovered');
    await bench.recorded(1);
    await store.transaction((tx) => tx.db.deleteFrom('notifications').where('id', '=', channel).execute());
    bench.channels.delete(channel);
    bench.deliverer.channelRemoved(channel);
    clock.advance(5_000);
    await bench.restart();
    await expect.poll(() => bench.deliverer.sending).toBe(0);
    expect(await bench.deliverer.waitingChannels()).toEqual([]);
    expect(receiver.requests).toHaveLength(1);
  });
});

describe('the ledger', () => {
  test('a write that fails is tried again, and the alert is not sent again', async () => {
    const failures = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const toCome = [...failures];
    const flaky: Store = {
      read: store.read,
      work: store.work,
      commit: (steps) => store.commit(steps),
      transaction(work) {
        const failure = toCome.shift();
        failure?.resolve();
        return failure === undefined ? store.transaction(work) : Promise.reject(new Error('disk full'));
      },
      declare: (work) => store.declare(work),
      declarations: 0,
      close: () => store.close(),
    };
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'recovered');
    bench.use(flaky);
    await bench.deliverer.start();
    for (const failure of failures) {
      await failure.promise;
      await settle();
      clock.advance(1_000);
    }
    await bench.recorded(2);
    expect(receiver.requests.map(statusOf)).toEqual(['error', 'recovered']);
    expect(await deliveries()).toMatchObject([{ state: 'delivered' }, { state: 'delivered' }]);
  });

  test('while the database does not answer, alerts of other monitors are sent; all are recorded afterwards, in order', async () => {
    await withThreads();
    const [one, other] = [await bench.webhook('/one'), await bench.webhook('/other')];
    for (const monitor of [1, 2, 3]) await bench.queue(one, monitor, 'error', 'recovered');
    await bench.queue(other, 1, 'error', 'recovered');
    const held = await database.hold();
    await bench.deliverer.start();
    await receiver.received(4);
    expect(bench.attempts).toEqual([]);
    // The first alert of each monitor is sent, although no record is written yet.
    expect(receiver.requests.map(statusOf)).toEqual(Array(4).fill('error'));
    await held.release();
    await bench.recorded(8);
    expect(receiver.requests).toHaveLength(8);
    const pairs = Map.groupBy(
      bench.attempts,
      ({ delivery }) => `${delivery.notificationId} ${delivery.monitorId}`,
    );
    for (const attempts of pairs.values()) {
      expect(attempts.map(({ delivery }) => delivery.alert?.status)).toEqual(['error', 'recovered']);
    }
    expect(await deliveries()).toMatchObject(Array(8).fill({ state: 'delivered', attempts: 1 }));
  });

  test('the stop ends within bounds even if the database does not answer', async () => {
    await withThreads();
    await bench.queue(await bench.webhook('/a'), 1, 'error');
    const held = await database.hold();
    await bench.deliverer.start();
    while (bench.deliverer.counters.attempts.delivered === 0) await settle();
    const startedAt = clock.monotonic();
    let isStopped = false;
    const stopped = bench.stop().then(() => {
      isStopped = true;
    });
    // Threads answer in real time. The fake clock advances only while a timer waits for it.
    while (!isStopped) await (clock.pendingTimers > 0 ? clock.advanceSettling(500) : settle());
    await stopped;
    expect(clock.monotonic() - startedAt).toBeLessThanOrEqual(10_000);
    expect(await deliveries()).toMatchObject([{ state: 'pending', attempts: 0 }]);
    await held.release();
  });

  test('an alert that cannot be read is dead, and later alerts are sent', async () => {
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'degraded');
    await store.transaction((tx) =>
      tx.db.updateTable('deliveries').set({ alert: '{"status":"burning"}' }).where('id', '=', 1).execute(),
    );
    await bench.deliverer.start();
    await bench.recorded(2);
    expect(await deliveries()).toMatchObject([
      { state: 'dead', last_error: 'this version of svc cannot read the stored alert' },
      { state: 'delivered' },
    ]);
  });
});

test('deliveries that another coordinator has queued are found, also for a channel without a queue', async () => {
  const [known, unknown] = [await bench.webhook('/a'), await bench.webhook('/b')];
  await bench.deliverer.start();
  await bench.queue(known, 1, 'error');
  await bench.recorded(1);
  const elsewhere = { deliverQueued: () => {} };
  for (const notificationId of [known, unknown])
    await queueAlerts(store, clock, elsewhere, [
      { notificationId, monitorId: 2, alert: alertOf(2, 'error') },
    ]);
  await bench.deliverer.findQueuedElsewhere();
  await bench.recorded(3);
  await bench.deliverer.findQueuedElsewhere();
  expect(receiver.requests).toHaveLength(3);
});

describe('restarts', () => {
  test('alerts that were queued before the start are sent at the start, in order per monitor', async () => {
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error', 'degraded', 'recovered');
    await bench.queue(channel, 2, 'error');
    await bench.deliverer.start();
    await bench.recorded(4);
    const ofFirst = receiver.requests.filter(
      ({ json }) => (json as { monitor: { id: number } }).monitor.id === 1,
    );
    expect(ofFirst.map(statusOf)).toEqual(['error', 'degraded', 'recovered']);
  });

  test('an attempt that the stop cuts off is repeated with the same id', async () => {
    let isSilent = true;
    receiver.answerWith((_request, response) => {
      if (!isSilent) response.end();
    });
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error');
    await receiver.received(1);
    const stopped = bench.stop();
    clock.advance(1_000);
    await stopped;
    isSilent = false;
    await bench.restart();
    await bench.recorded(1);
    expect(receiver.requests.map(idOf)).toEqual([idOf(receiver.requests[0]!), idOf(receiver.requests[0]!)]);
    expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }]);
  });

  test('a wait and its place in the schedule survive a restart', async () => {
    receiver.answerWith((_request, response) => response.writeHead(500).end());
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error');
    await bench.recorded(1);
    clock.advance(5_000);
    await bench.recorded(2);
    await bench.restart();
    clock.advance(9_999);
    expect(receiver.requests).toHaveLength(2);
    clock.advance(1);
    await bench.recorded(3);
    expect(bench.attempts.at(-1)?.nextAttemptAt).toBe(clock.wall() + 15_000);
  });
});

describe('the clock', () => {
  test('set back by a day during a restart: waiting alerts are tried by their schedule', async () => {
    receiver.answerWith((_request, response) => response.writeHead(500).end());
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error');
    await bench.recorded(1);
    clock.stepWall(-24 * HOUR);
    await bench.restart();
    clock.advance(4_999);
    expect(receiver.requests).toHaveLength(1);
    clock.advance(1);
    await bench.recorded(2);
    await bench.restart();
    clock.advance(9_999);
    expect(receiver.requests).toHaveLength(2);
    clock.advance(1);
    await bench.recorded(3);
  });
});

describe('by hand', () => {
  const byHand = () =>
    createManualDeliveries({ store, clock, deliverer: bench.deliverer, publicUrl: 'http://svc.example' });

  test('only a dead delivery is replayed, with the same id and a fresh schedule', async () => {
    let status = 410;
    receiver.answerWith((_request, response) => response.writeHead(status).end());
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    await bench.queue(channel, 1, 'error');
    await bench.recorded(1);
    const { id } = (await deliveries())[0]!;
    clock.advance(30 * HOUR);
    status = 500;
    expect(await byHand().replayDelivery(id)).toBe('replayed');
    await bench.recorded(2);
    expect(bench.attempts.at(-1)?.nextAttemptAt).toBe(clock.wall() + 5_000);
    expect(await byHand().replayDelivery(id)).toBe('not-dead');
    status = 200;
    clock.advance(5_000);
    await bench.recorded(3);
    expect(new Set(receiver.requests.map(idOf)).size).toBe(1);
    expect(await deliveries()).toMatchObject([{ state: 'delivered', attempts: 3 }]);
    expect(await byHand().replayDelivery(99)).toBe('not-found');
  });

  test('a test is one attempt in the ledger', async () => {
    receiver.answerWith((_request, response) => response.writeHead(500).end('no'));
    await bench.deliverer.start();
    const channel = await bench.webhook('/a');
    const outcome = await byHand().sendTest(channel);
    expect(outcome.result).toEqual({
      outcome: 'retry',
      statusCode: 500,
      error: 'the receiver answered 500: no',
      reply: 'no',
    });
    expect(receiver.requests).toHaveLength(1);
    expect(receiver.requests[0]?.json).toMatchObject({ monitor: { id: 0, name: 'Test' }, status: 'error' });
    expect(await deliveries()).toMatchObject([
      { id: outcome.deliveryId, monitor_id: 0, state: 'dead', attempts: 1 },
    ]);
  });
});
