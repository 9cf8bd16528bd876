import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import {
  alertAbout,
  createScriptedChannel,
  type ScriptedKind,
  type Sent,
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import { sealSettings } from '../store/declaration/channels.ts';
import { StoreError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { storedChannels } from './stored-channels.ts';

/*
 * Failures of svc itself: the database, stored settings, a defect. None of these failures
 * counts as an attempt to send a queued alert. The last tests are about test alerts.
 */

const OK: SendResult = { outcome: 'delivered', statusCode: 200 };
const OWN = 'svc could not send the alert: see the log of the coordinator';
/** A test alert. */
const TEST: Alert = {
  monitor: { id: 1, name: 'a', url: 'http://a.example/', type: 'http' },
  status: 'error',
  cronTimestamp: 1,
  at: 1,
  reason: 'test',
  incident: 'a',
  regions: [],
  test: true,
};
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let parts: ConfiguredStore;
let deliverer: Deliverer;
let sent: Sent[];
let answer: (sent: Sent) => SendResult | Promise<SendResult>;
/** Error that each read of the deliverer throws; null: the reads succeed. */
let failure: Error | null;
/** Error that each look-up of a channel throws; null: the look-ups succeed. */
let lookupFailure: Error | null;
let logged: { msg: string; error?: unknown; level: number }[];

beforeEach(async () => {
  parts = await configuredStore();
  sent = [];
  logged = [];
  answer = () => OK;
  failure = lookupFailure = null;
  const stored = storedChannels(parts.store, parts.secrets);
  deliverer = scriptedDeliverer(
    parts,
    (one) => {
      sent.push(one);
      return answer(one);
    },
    {
      store: failingReads(parts.store),
      source: {
        async findChannel(id) {
          if (lookupFailure !== null) throw lookupFailure;
          return stored.findChannel(id);
        },
      },
      log: pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) }),
    },
  );
});

afterEach(async () => {
  await deliverer.stop();
  await parts.dispose();
});

function failingReads(store: Store): Store {
  return {
    get work() {
      if (failure !== null) throw failure;
      return store.work;
    },
    read: store.read,
    commit: (steps) => store.commit(steps),
    transaction: (work) => store.transaction(work),
    declare: (work) => store.declare(work),
    declarations: 0,
    close: () => store.close(),
  };
}

const channel = (kind: ScriptedKind = 'webhook') =>
  createScriptedChannel(parts, kind, { group_alerts: true });

function queue(notificationId: number, monitorIds: readonly number[], status: AlertStatus = 'error') {
  return queueAlerts(
    parts.store,
    parts.clock,
    deliverer,
    monitorIds.map((monitorId) => ({
      notificationId,
      monitorId,
      alert: alertAbout(monitorId, status),
    })),
  );
}

const rows = () =>
  parts.store.read
    .selectFrom('deliveries')
    .select(['state', 'attempts', 'last_error'])
    .orderBy('id')
    .execute();
const attempts = () => parts.store.read.selectFrom('delivery_attempts').selectAll().execute();
const states = async () => (await rows()).map(({ state }) => state);
const errors = () => logged.filter(({ level }) => level >= 50).map(({ msg }) => msg);

describe('a channel that cannot be looked up', () => {
  test('is looked up again every second until its alerts are sent', async () => {
    const id = await channel();
    lookupFailure = new StoreError('store-io', 'the disk does not answer');
    await deliverer.start();
    await queue(id, [1, 2]);
    await expect.poll(errors).toEqual(['looking up a channel failed: svc tries again']);
    await parts.clock.advanceSettling(999);
    expect(errors()).toHaveLength(1);
    await parts.clock.advanceSettling(1);
    await expect.poll(errors).toHaveLength(2);
    expect(deliverer.counters.failures.own).toBe(2);
    expect([sent.length, await states()]).toEqual([0, ['pending', 'pending']]);

    lookupFailure = null;
    await parts.clock.advanceSettling(SECOND);
    await expect.poll(states).toEqual(['delivered', 'delivered']);
    expect(deliverer.counters.failures.own).toBe(2);
  });

  test('does not delay a stop', async () => {
    const id = await channel();
    lookupFailure = new Error('a defect');
    await deliverer.start();
    await queue(id, [1]);
    await expect.poll(errors).toHaveLength(1);
    await deliverer.stop();
    await parts.clock.advanceSettling(MINUTE);
    expect(errors()).toHaveLength(1);
  });

  test('because it was removed: nothing is sent, and nothing waits', async () => {
    await deliverer.start();
    await queue(999, [1]).catch(() => {});
    deliverer.deliverQueued({ notificationId: 999 });
    await expect.poll(() => deliverer.sending).toBe(0);
    expect(sent).toEqual([]);
  });

  test('cannot be tested, and says so', async () => {
    await deliverer.start();
    await expect(deliverer.sendTest(999, TEST, null)).rejects.toMatchObject({
      code: 'store-constraint',
      message: 'there is no channel 999',
    });
  });
});

describe('a defect of the code that sends', () => {
  test('is no attempt: only the log has its text, and the alert is tried again', async () => {
    const id = await channel();
    answer = () => {
      throw new TypeError('undefined is not a function (s3cret)');
    };
    await deliverer.start();
    await queue(id, [1]);
    await expect.poll(async () => (await rows())[0]?.last_error).toBe(OWN);
    expect(await rows()).toMatchObject([{ state: 'pending', attempts: 0 }]);
    expect(await attempts()).toEqual([]);
    expect(errors()).toEqual(['sending an alert failed because of svc itself']);
    expect(deliverer.counters.failures.own).toBe(1);
    expect(Object.values(deliverer.counters.attempts)).toEqual(
      Object.values(deliverer.counters.attempts).map(() => 0),
    );

    answer = () => OK;
    await parts.clock.advanceSettling(MINUTE);
    await expect.poll(states).toEqual(['delivered']);
  });

  test('is the result of a test, without a secret', async () => {
    const id = await channel();
    answer = () => {
      throw new TypeError('s3cret');
    };
    await deliverer.start();
    const tested = await deliverer.sendTest(id, TEST, null);
    expect(tested).toMatchObject({ kind: 'webhook', result: { outcome: 'not-sent', error: OWN } });
    expect(JSON.stringify(tested)).not.toContain('s3cret');
  });
});

describe('stored settings that this version cannot read', () => {
  test('are no attempt, and a later version that can read them sends the alert', async () => {
    const id = await channel();
    const store = (settings: object) =>
      parts.store.transaction(({ db }) =>
        db
          .updateTable('notifications')
          .set({ settings_sealed: sealSettings(parts.secrets, settings) })
          .where('id', '=', id)
          .execute(),
      );
    await store({ endpoint: 7 });
    await deliverer.start();
    await queue(id, [1]);
    await expect.poll(async () => (await rows())[0]?.last_error).toBe(OWN);
    expect(sent).toEqual([]);
    await store({ endpoint: 'http://receiver.example/', headers: null });
    deliverer.channelChanged(id);
    await parts.clock.advanceSettling(MINUTE);
    await expect.poll(states).toEqual(['delivered']);
  });
});

describe('a database that cannot be read', () => {
  const disk = new StoreError('store-io', 'the disk does not answer');

  test('delays the alerts, and each is sent as soon as possible', async () => {
    const id = await channel();
    await deliverer.start();
    await queue(id, [1, 2, 3]);
    await expect.poll(states).toEqual(['delivered', 'delivered', 'delivered']);
    failure = disk;
    await queue(id, [1, 2, 3], 'recovered');
    await expect.poll(errors).toContain('sending an alert failed because of svc itself');
    const before = sent.length;
    await parts.clock.advanceSettling(SECOND);
    expect(sent.length).toBe(before);
    expect(deliverer.counters.failures.own).toBeGreaterThan(0);

    failure = null;
    await parts.clock.advanceSettling(10 * MINUTE);
    await expect.poll(async () => (await states()).filter((state) => state === 'pending')).toEqual([]);
    // The alerts are sent in order, and none is sent twice.
    const told = sent.map(({ alert }) => `${alert.monitor.id} ${alert.status}`);
    expect(new Set(told).size).toBe(told.length);
    for (const monitor of [1, 2, 3]) {
      expect(told.indexOf(`${monitor} error`)).toBeLessThan(told.indexOf(`${monitor} recovered`));
    }
  });

  test('while a group is read: all its alerts wait, and all are sent', async () => {
    const id = await channel('chat_a');
    await deliverer.start();
    const monitors = Array.from({ length: 40 }, (_, index) => index + 1);
    await queue(id, monitors);
    await expect.poll(() => deliverer.sending).toBe(0);
    failure = disk;
    await parts.clock.advanceSettling(30 * SECOND);
    const before = sent.length;
    expect((await states()).filter((state) => state === 'pending').length).toBeGreaterThan(10);
    failure = null;
    await parts.clock.advanceSettling(10 * MINUTE);
    await expect.poll(async () => new Set(await states())).toEqual(new Set(['delivered']));
    // The many alerts need only a few messages.
    expect(sent.length - before).toBeLessThan(10);
    const named = sent.flatMap(({ alert }) =>
      alert.group === undefined ? [alert.monitor.name] : alert.group.monitors.map(({ name }) => name),
    );
    expect(named.toSorted()).toEqual(monitors.map((monitor) => `Shop ${monitor}`).toSorted());
  });
});

describe('a test on a channel whose alerts wait', () => {
  const DOWN: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
  async function waiting(): Promise<number> {
    const id = await channel();
    answer = () => DOWN;
    await deliverer.start();
    await queue(id, [1, 2]);
    await expect.poll(() => sent.length).toBe(2);
    await expect.poll(() => deliverer.sending).toBe(0);
    return id;
  }

  test('makes them due if it is delivered', async () => {
    const id = await waiting();
    answer = () => OK;
    await deliverer.sendTest(id, TEST, null);
    await expect.poll(async () => (await states()).filter((state) => state === 'delivered').length).toBe(3);
  });

  test('does not change their waits if it fails', async () => {
    const id = await waiting();
    expect((await deliverer.sendTest(id, TEST, null)).result).toMatchObject(DOWN);
    expect(sent).toHaveLength(3);
    expect((await states()).filter((state) => state === 'pending')).toHaveLength(2);
  });

  test('stops the channel if the address is dead: they are dead without an attempt', async () => {
    const id = await waiting();
    answer = () => ({ outcome: 'permanent-channel', error: 'gone', statusCode: 410 });
    await deliverer.sendTest(id, TEST, null);
    await expect.poll(states).toEqual(['dead', 'dead', 'dead']);
    expect(deliverer.counters.failures.stopped).toBe(2);
    expect(sent).toHaveLength(3);
  });
});
