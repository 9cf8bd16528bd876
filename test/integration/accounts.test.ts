/**
 * One NATS account per region, as `svc region` makes them. svc works with these accounts, and an agent cannot
 * exceed its rights.
 */

import { readFileSync } from 'node:fs';
import { createMetrics } from '@svc/agent/metrics.ts';
import { ResultOutbox } from '@svc/agent/result-outbox.ts';
import { systemClock } from '@svc/shared/clock.ts';
import { MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import {
  heartbeatSubject,
  heartbeatsStream,
  jobsSubject,
  resultsStream,
  resultsSubject,
  runSubject,
} from '@svc/shared/messages/subjects.ts';
import type { BusMessage } from '@svc/shared/nats/bus.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { connect, Events, type NatsConnection, headers as natsHeaders, nkeyAuthenticator } from 'nats';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { jetStreamOf } from '../support/jetstream.ts';
import { natsAccounts } from '../support/nats-accounts.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { openedIn, serviceIn, targetIn } from '../support/opened.ts';
import { RegionStream } from '../support/region-stream.ts';

const OWN: Region = 'office-berlin';
const OTHER: Region = 'hostb-par';
const REGIONS = [OTHER, OWN];
const EXTRA_REGIONS = [{ id: OWN, name: 'Berlin office' }];
const MAX_BYTES = 2 * 1024 ** 2;

test('jobs, heartbeats and acknowledged results pass between the accounts', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    extraRegions: EXTRA_REGIONS,
    accounts: natsAccounts(REGIONS),
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
      },
    },
  });
  await service.changed('Web', 'active');
  await service.decided(await service.idOf('Web'), 2);
  const reported = await service.query<{ region: string }>(
    'SELECT DISTINCT region FROM results ORDER BY region',
  );
  expect(reported.map(({ region }) => region)).toEqual(REGIONS);
  await service.until(() => REGIONS.every((region) => service.agent(region).metrics.batchesAcknowledged > 0));
  for (const region of REGIONS)
    expect(service.agent(region).metrics).toMatchObject({ batchesRefused: 0, resultsDropped: 0 });
  // The server reports each refusal as an error.
  expect(service.warnings.filter(({ msg }) => msg === 'NATS reported an error')).toEqual([]);
});

describe('an agent', () => {
  const accounts = natsAccounts(REGIONS);
  const log = pino({ level: 'silent' });
  let server: NatsServer;
  let coordinator: NatsBus;
  /** The streams of the cheating agent's own region and of the other one. */
  let own: RegionStream;
  let other: RegionStream;
  let cheat: NatsConnection;
  /** The operations that the server refused, such as `publish svc.results.hostb-par`. */
  let refused: string[];

  beforeAll(async () => {
    server = await startNatsServer(accounts.configuration);
    coordinator = await connectBus({
      url: server.url,
      name: 'coordinator',
      log,
      nkeySeed: new Secret(accounts.seedOf('coordinator')),
    });
    own = new RegionStream(coordinator, OWN);
    other = new RegionStream(coordinator, OTHER);
    for (const stream of [own, other]) await stream.ensure({ maxBytes: MAX_BYTES });
    for (const region of REGIONS) coordinator.publish(resultsSubject(region), 'something to purge');
    await coordinator.flush();
  });
  afterAll(async () => {
    await coordinator.close();
    await server.dispose();
  });
  beforeEach(async (context) => {
    cheat = await connectAs(OWN);
    context.onTestFinished(() => cheat.close());
    refused = [];
    void keepRefusals(cheat, refused);
  });

  const connectAs = (region: Region) =>
    connect({
      servers: server.url,
      inboxPrefix: `_INBOX_${region}`,
      authenticator: nkeyAuthenticator(new TextEncoder().encode(accounts.seedOf(region))),
    });

  /** Resolves when the server has handled all messages of the cheating agent. */
  async function allHandled(): Promise<void> {
    const inbox = `_INBOX_${OWN}.fence`;
    const acknowledged = new Promise<void>((resolve) => {
      cheat.subscribe(inbox, { max: 1, callback: () => resolve() });
    });
    cheat.publish(resultsSubject(OWN), 'fence', { reply: inbox });
    await acknowledged;
    await coordinator.flush();
  }

  test.each([
    ['jobs of another region', jobsSubject(OTHER), 'agents'],
    ['jobs of its region past the queue group', jobsSubject(OWN), undefined],
    ['jobs of its region in a queue group of its own', jobsSubject(OWN), 'mine'],
    ['jobs of all regions', 'svc.jobs.*', 'agents'],
    ['results of another region', resultsSubject(OTHER), undefined],
    ['heartbeats of another region', heartbeatSubject(OTHER, '*'), undefined],
    ['heartbeats of its region', heartbeatSubject(OWN, '*'), undefined],
    ['answers to checks by hand of another region', runSubject(OTHER, '*'), undefined],
    ['answers to another region', `_INBOX_${OTHER}.>`, undefined],
    ['answers to the coordinator', '_INBOX.>', undefined],
    ['what the stream hands out', '$JS.>', undefined],
    ['everything', '>', undefined],
  ])('cannot listen to %s', async (_what, subject, queue) => {
    const failure = new Promise<string>((resolve) => {
      cheat.subscribe(subject, {
        ...(queue === undefined ? {} : { queue }),
        callback: (error) => resolve(error?.code ?? 'a message'),
      });
    });
    expect(await failure).toBe('PERMISSIONS_VIOLATION');
  });

  const api = (what: string, region: Region) => `$JS.API.${what}.${resultsStream(region)}`;

  test.each([
    ['jobs to its own region', jobsSubject(OWN)],
    ['jobs to another region', jobsSubject(OTHER)],
    ['results of another region', resultsSubject(OTHER)],
    ['results of a shard of another region', `${resultsSubject(OTHER)}.1`],
    ['results two levels below its own', `${resultsSubject(OWN)}.1.1`],
    ['results of no region', 'svc.results'],
    ['a heartbeat of another region', heartbeatSubject(OTHER, 'one')],
    ['a heartbeat two levels below its own', heartbeatSubject(OWN, 'one.two')],
    ['an answer to a check by hand of another region', runSubject(OTHER, 'run')],
    ['answers to another region', `_INBOX_${OTHER}.x`],
    ['a list of the streams', '$JS.API.STREAM.LIST'],
    ['a question about the account', '$JS.API.INFO'],
    ['an acknowledgement', `$JS.ACK.${resultsStream(OTHER)}.c.1.1.1.1.0`],
    ['a word to the system', '$SYS.REQ.SERVER.PING'],
    ...REGIONS.flatMap((region) => [
      [`a purge of ${region}`, api('STREAM.PURGE', region)],
      [`a deletion of ${region}`, api('STREAM.DELETE', region)],
      [`a change of ${region}`, api('STREAM.UPDATE', region)],
      [`a question about ${region}`, api('STREAM.INFO', region)],
      [`a copy of ${region}`, api('STREAM.SNAPSHOT', region)],
      [`an older copy of ${region}`, api('STREAM.RESTORE', region)],
      [`a request for a message of ${region}`, api('STREAM.MSG.GET', region)],
      [`a request past the leader of ${region}`, api('DIRECT.GET', region)],
      [`a removal of a message of ${region}`, api('STREAM.MSG.DELETE', region)],
      [`a consumer of ${region}`, api('CONSUMER.CREATE', region)],
      [`a durable consumer of ${region}`, `${api('CONSUMER.DURABLE.CREATE', region)}.mine`],
      [`a pull from a consumer of ${region}`, `${api('CONSUMER.MSG.NEXT', region)}.mine`],
      [`a removal of a consumer of ${region}`, `${api('CONSUMER.DELETE', region)}.mine`],
      [`a mirror of ${region}`, `$JS.API.STREAM.CREATE.MIRROR_${region}`],
      ...[
        'STREAM.PURGE',
        'STREAM.DELETE',
        'STREAM.UPDATE',
        'STREAM.MSG.GET',
        'DIRECT.GET',
        'CONSUMER.CREATE',
      ].map((what) => [
        `${what} of the heartbeats of ${region}`,
        `$JS.API.${what}.${heartbeatsStream(region)}`,
      ]),
    ]),
  ])('cannot send %s', async (_what, subject) => {
    const before = await Promise.all([own.info(), other.info()]);
    cheat.publish(subject, '{"seq":1}', { reply: `_INBOX_${OWN}.answer` });
    await expect.poll(() => refused).toEqual([`publish ${subject}`]);
    expect(await Promise.all([own.info(), other.info()])).toEqual(before);
  });

  test.each([
    ["another region's results", resultsSubject(OTHER)],
    ["another region's jobs", jobsSubject(OTHER)],
    ["its own region's jobs", jobsSubject(OWN)],
    ["another region's inbox", `_INBOX_${OTHER}.x`],
    ["the coordinator's inbox", '_INBOX.x'],
    ...REGIONS.flatMap((region) => [
      [`the purge of ${region}`, api('STREAM.PURGE', region)],
      [`the deletion of ${region}`, api('STREAM.DELETE', region)],
      [`the change of ${region}`, api('STREAM.UPDATE', region)],
    ]),
  ])('cannot have the acknowledgement of its result delivered to %s', async (_where, reply) => {
    const honest = await connectAs(OTHER);
    const seen: string[] = [];
    // Not all of `$JS.API.STREAM`: the test's own request below may arrive here after it was answered.
    const watched = [
      resultsSubject(OTHER),
      jobsSubject(OTHER),
      '_INBOX.x',
      '$JS.API.STREAM.PURGE.>',
      '$JS.API.STREAM.DELETE.>',
    ].map((subject) => coordinator.subscribe(subject, (message) => void seen.push(message.subject)));
    honest.subscribe(`_INBOX_${OTHER}.>`, { callback: (_error, message) => void seen.push(message.subject) });
    honest.subscribe(jobsSubject(OTHER), {
      queue: 'agents',
      callback: (_error, message) => void seen.push(message.subject),
    });
    await Promise.all([coordinator.flush(), honest.flush()]);
    const before = await Promise.all([own.info(), other.info()]);

    cheat.publish(resultsSubject(OWN), 'mine', { reply });
    await allHandled();
    await honest.flush();
    await honest.close();
    for (const subscription of watched) subscription.close();

    expect(seen).toEqual([]);
    const [ownBefore, otherBefore] = before;
    expect(await other.info()).toEqual(otherBefore);
    const after = await own.info();
    expect(after).toMatchObject({ created: ownBefore.created, firstSequence: ownBefore.firstSequence });
    for (let sequence = ownBefore.lastSequence + 1; sequence <= after.lastSequence; sequence += 1) {
      expect((await own.message(sequence))?.subject).toBe(resultsSubject(OWN));
    }
  });

  /** The answer of the stream to a message of the cheating agent. */
  async function answerTo(data: string, headers: Record<string, string>): Promise<string> {
    const inbox = `_INBOX_${OWN}.${Object.keys(headers).join('-')}`;
    const answer = new Promise<string>((resolve) => {
      cheat.subscribe(inbox, { max: 1, callback: (_error, message) => resolve(message.string()) });
    });
    const sent = natsHeaders();
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    cheat.publish(resultsSubject(OWN), data, { reply: inbox, headers: sent });
    return answer;
  }

  test("cannot learn message ids of another region, nor make the stream take that region's results for repetitions", async (context) => {
    const honest = await connectBus({
      url: server.url,
      name: 'honest',
      log,
      nkeySeed: new Secret(accounts.seedOf(OTHER)),
      inboxPrefix: `_INBOX_${OTHER}`,
    });
    context.onTestFinished(() => honest.close());
    const metrics = createMetrics();
    const outbox = new ResultOutbox({ bus: honest, clock: systemClock, metrics, log });
    outbox.start();
    const report = (text: string) =>
      new Promise<string>((resolve) => {
        outbox.addBatch({ subject: resultsSubject(OTHER), text, bytes: 10, results: 1, onSettled: resolve });
      });
    await report('the first');
    const { lastSequence: first } = await other.info();
    const lastId = (await other.message(first))?.messageId ?? '';

    const told = await answerTo('mine', { 'Nats-Expected-Last-Msg-Id': 'no such id' });
    expect(told).toContain('wrong last msg ID');
    expect(told).not.toContain(lastId);
    // Tries the id itself, and the ids that would come next if ids were counted up.
    const [, start = '', number = '0'] = /^(.*?)(\d*)$/.exec(lastId) ?? [];
    for (let next = 0; next < 50; next += 1) {
      await answerTo('mine', { 'Nats-Msg-Id': next === 0 ? lastId : `${start}${Number(number) + next}` });
    }

    for (let batch = 0; batch < 20; batch += 1) await report(`batch ${batch}`);
    const { lastSequence } = await other.info();
    expect(lastSequence - first).toBe(20);
    expect(metrics).toMatchObject({ batchesAcknowledged: 21, batchesDisowned: 0 });
    await outbox.stop(0);
  });

  test.each([
    ['a roll-up of everything', { 'Nats-Rollup': 'all' }],
    ['a roll-up of its subject', { 'Nats-Rollup': 'sub' }],
    ['a time to live', { 'Nats-TTL': '1s' }],
    ['a schedule', { 'Nats-Schedule': '@every 1s', 'Nats-Schedule-Target': resultsSubject(OTHER) }],
    ['an atomic batch', { 'Nats-Batch-Id': 'b', 'Nats-Batch-Sequence': '1' }],
    ['a counter', { 'Nats-Incr': '1' }],
    ['another stream', { 'Nats-Expected-Stream': resultsStream(OTHER) }],
    ['a place in the stream', { 'Nats-Expected-Last-Sequence': '0' }],
    ['an origin', { 'Nats-Stream-Source': resultsStream(OTHER) }],
  ])('changes nothing of what is stored by asking for %s', async (_what, headers) => {
    await answerTo('kept', { 'Nats-Msg-Id': `before ${_what}` });
    const before = await Promise.all([own.info(), other.info()]);
    await answerTo('x', headers);
    expect(await other.info()).toEqual(before[1]);
    const { firstSequence, lastSequence } = await own.info();
    expect(firstSequence).toBe(before[0].firstSequence);
    expect(lastSequence).toBeGreaterThanOrEqual(before[0].lastSequence);
    expect(await own.message(before[0].lastSequence)).not.toBeNull();
  });

  test('fills its own stream with what it may send, and evicts no results of others', async () => {
    const before = await other.info();
    const data = 'x'.repeat(200 * 1024);
    for (let sent = 0; sent < 4 * MAX_BYTES; sent += data.length) {
      cheat.publish(resultsSubject(OWN), data);
      cheat.publish(`${resultsSubject(OWN)}.1`, data);
      await cheat.flush();
    }
    // Together, these messages are larger than any batch of results.
    for (let sent = 0; sent < 4 * MAX_BYTES; sent += 500 * 1024) {
      cheat.publish(resultsSubject(OWN), 'x'.repeat(500 * 1024));
      await cheat.flush();
    }
    await allHandled();
    expect(await other.info()).toEqual(before);
    const { firstSequence, bytes } = await own.info();
    expect(firstSequence).toBeGreaterThan(1);
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  });

  const serverMebibytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1_024;

  test.each([
    ['of one agent', () => 'one'],
    ['of invented agents', (n: number) => `invented-${n}`],
  ])(
    'does not fill the memory of the server with heartbeats %s that ask for an answer',
    async (_, bootOf) => {
      const reading = await coordinator.readHeartbeats(
        OWN,
        () => {},
        () => {},
      );
      const before = serverMebibytes();
      for (let n = 0; n < 200_000; n += 1) {
        cheat.publish(heartbeatSubject(OWN, bootOf(n)), 'x', { reply: `_INBOX_${OWN}.${n}` });
        if (n % 500 === 0) await cheat.flush();
      }
      await allHandled();
      await reading.close();
      expect(serverMebibytes() - before).toBeLessThan(64);
    },
  );

  test('evicts no heartbeat of another region, and none of other agents of its own region', async (context) => {
    const kept: string[] = [];
    // Removes the messages of the test before.
    const { streams } = await jetStreamOf(coordinator.connection);
    await streams.purge(heartbeatsStream(OWN));
    for (const region of REGIONS) {
      const reading = await coordinator.readHeartbeats(
        region,
        ({ subject, data }) => void kept.push(`${subject} ${Buffer.from(data)}`),
        () => {},
      );
      context.onTestFinished(() => reading.close());
    }
    const honest = await Promise.all(REGIONS.map(connectAs));
    for (const connection of honest) context.onTestFinished(() => connection.close());
    const beat = (text: string): void => {
      for (const [index, region] of REGIONS.entries())
        honest[index]?.publish(heartbeatSubject(region, 'honest'), text);
    };
    beat('before');
    await expect.poll(() => kept.filter((text) => text.endsWith(' before'))).toHaveLength(REGIONS.length);
    for (let n = 0; n < 5_000; n += 1) {
      cheat.publish(heartbeatSubject(OWN, `invented-${n}`), 'x'.repeat(n % 2 === 0 ? 4_000 : 10));
      if (n % 500 === 0) await cheat.flush();
    }
    await allHandled();
    beat('after');
    await expect
      .poll(() => kept.filter((text) => text.endsWith('honest after')))
      .toHaveLength(REGIONS.length);
  });

  test('learns that no coordinator has its region', async () => {
    const answers: number[] = [];
    const inbox = `_INBOX_${OWN}.heartbeats`;
    cheat.subscribe(inbox, { callback: (_error, message) => answers.push(message.headers?.code ?? 0) });
    const beat = async () => {
      cheat.publish(heartbeatSubject(OWN, 'one'), 'x', { reply: inbox });
      await allHandled();
      return answers.splice(0);
    };
    const reading = await coordinator.readHeartbeats(
      OWN,
      () => {},
      () => {},
    );
    expect(await beat()).toEqual([]);
    await reading.close();
    expect(await coordinator.removeOtherHeartbeats([OTHER])).toEqual([OWN]);
    expect(await beat()).toEqual([503]);
  });

  test('can send messages of the maximum length, and no longer ones', async (context) => {
    const talkative = await connectAs(OWN);
    context.onTestFinished(() => talkative.close());
    const heard = new Promise<number>((resolve) => {
      coordinator.subscribe(runSubject(OWN, 'run'), ({ data }) => resolve(data.length));
    });
    await coordinator.flush();
    talkative.publish(runSubject(OWN, 'run'), 'x'.repeat(MAX_AGENT_MESSAGE_BYTES));
    expect(await heard).toBe(MAX_AGENT_MESSAGE_BYTES);
    const failure = firstError(talkative);
    // Without this change, the agent's own client would refuse a message above the server's maximum.
    Object.assign(talkative.info ?? {}, { max_payload: 1_024 ** 2 });
    talkative.publish(runSubject(OWN, 'run'), 'x'.repeat(MAX_AGENT_MESSAGE_BYTES + 1));
    // The client shows only this code for "maximum payload violation".
    expect(await failure).toBe('NATS_PROTOCOL_ERR');
  });

  test('cannot have any number of subscriptions', async (context) => {
    const greedy = await connectAs(OWN);
    context.onTestFinished(() => greedy.close());
    const failure = firstError(greedy);
    for (let n = 0; n < 10_000; n += 1) greedy.subscribe(`_INBOX_${OWN}.${n}`, { callback: () => {} });
    // The client shows only this code for "maximum subscriptions exceeded".
    expect(await failure).toBe('NATS_PROTOCOL_ERR');
  });

  test('that is connected gets its jobs; the coordinator learns at once that a region has none', async () => {
    const jobs = new Promise<string>((resolve) => {
      cheat.subscribe(jobsSubject(OWN), {
        queue: 'agents',
        callback: (_error, message) => resolve(message.string()),
      });
    });
    await cheat.flush();
    const inbox = coordinator.inbox();
    const answer = new Promise<BusMessage>((resolve) => coordinator.subscribe(`${inbox}.*`, resolve));
    coordinator.publish(jobsSubject(OWN), 'a job', { reply: `${inbox}.own` });
    coordinator.publish(jobsSubject(OTHER), 'a job', { reply: `${inbox}.other` });
    expect(await jobs).toBe('a job');
    expect(await answer).toMatchObject({ subject: `${inbox}.other`, isNoResponders: true });
  });
});

async function keepRefusals(connection: NatsConnection, refused: string[]): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type !== Events.Error || status.permissionContext === undefined) continue;
    refused.push(`${status.permissionContext.operation} ${status.permissionContext.subject}`);
  }
}

async function firstError(connection: NatsConnection): Promise<string> {
  for await (const status of connection.status()) {
    if (status.type === Events.Error) return String(status.data);
  }
  return 'none';
}
