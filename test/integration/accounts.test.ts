/** One NATS account per region, as `deploy/nats` makes them: svc works under them, and an agent cannot cheat. */
import type { BusMessage } from '@svc/shared/bus.ts';
import { agentsSubject, jobsSubject, resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { connect, Events, type NatsConnection, nkeyAuthenticator } from 'nats';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { natsAccounts } from '../support/nats-accounts.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { openedIn, serviceIn, targetIn } from '../support/opened.ts';
import { RegionStream } from '../support/region-stream.ts';

const OWN: Region = 'hosta-fra';
const OTHER: Region = 'hostb-par';
const REGIONS = [OWN, OTHER];

test('jobs, acceptances and acknowledged results pass between the accounts', {
  timeout: 60_000,
}, async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    accounts: natsAccounts(REGIONS),
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
      },
    },
  });
  await service.changed('Web', 'active');
  await service.decided(service.idOf('Web'), 2);
  const reported = service.query<{ region: string }>('SELECT DISTINCT region FROM results ORDER BY region');
  expect(reported.map(({ region }) => region)).toEqual(REGIONS);
  await service.until(() => REGIONS.every((region) => service.agent(region).metrics.batchesAcknowledged > 0));
  for (const region of REGIONS)
    expect(service.agent(region).metrics).toMatchObject({ batchesResent: 0, resultsDropped: 0 });
  expect(service.warnings).toEqual([]);
});

describe('an agent', () => {
  const accounts = natsAccounts(REGIONS);
  const log = pino({ level: 'silent' });
  let server: NatsServer;
  let coordinator: NatsBus;
  let stream: RegionStream;
  let cheat: NatsConnection;
  /** What the server refused the cheat: `publish svc.results.hostb-par`. */
  let refused: string[];

  beforeAll(async () => {
    server = await startNatsServer(accounts.configuration);
    coordinator = await connectBus({
      url: server.url,
      name: 'coordinator',
      log,
      nkeySeed: accounts.seedOf('coordinator'),
    });
    stream = new RegionStream(coordinator, OTHER);
    await stream.ensure({ maxBytes: 16 * 1024 ** 2 });
    coordinator.publish(resultsSubject(OTHER), 'something to purge');
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

  /** Resolves when the server has handled all that the cheat published. */
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
    ['signs of life of another region', agentsSubject(OTHER), undefined],
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

  test.each([
    ['jobs to its own region', jobsSubject(OWN)],
    ['jobs to another region', jobsSubject(OTHER)],
    ['results of another region', resultsSubject(OTHER)],
    ['signs of life of another region', agentsSubject(OTHER)],
    ['answers to another region', `_INBOX_${OTHER}.x`],
    ['a purge', `$JS.API.STREAM.PURGE.${resultsStream(OWN)}`],
    ['a deletion', `$JS.API.STREAM.DELETE.${resultsStream(OWN)}`],
    ['a question about the stream', `$JS.API.STREAM.INFO.${resultsStream(OWN)}`],
    ['a request for a stored message', `$JS.API.STREAM.MSG.GET.${resultsStream(OWN)}`],
    ['a consumer of its own', `$JS.API.CONSUMER.CREATE.${resultsStream(OWN)}`],
  ])('cannot send %s', async (_what, subject) => {
    const { lastSequence, firstSequence } = await stream.info();
    cheat.publish(subject, '{"seq":1}', { reply: `_INBOX_${OWN}.answer` });
    await expect.poll(() => refused).toEqual([`publish ${subject}`]);
    expect(await stream.info()).toMatchObject({ lastSequence, firstSequence });
  });

  test.each([
    ["another region's results", resultsSubject(OTHER)],
    ["another region's jobs", jobsSubject(OTHER)],
    ["its own region's jobs", jobsSubject(OWN)],
    ["another region's inbox", `_INBOX_${OTHER}.x`],
    ["the coordinator's inbox", '_INBOX.x'],
    ['the purge of the stream', `$JS.API.STREAM.PURGE.${resultsStream(OWN)}`],
    ['the deletion of the stream', `$JS.API.STREAM.DELETE.${resultsStream(OWN)}`],
  ])('cannot have the acknowledgement of its result delivered to %s', async (_where, reply) => {
    const other = await connectAs(OTHER);
    const seen: string[] = [];
    // Not all of `$JS.API.STREAM`: our own question below may be seen after it was answered.
    const watched = [
      resultsSubject(OTHER),
      jobsSubject(OTHER),
      '_INBOX.x',
      '$JS.API.STREAM.PURGE.>',
      '$JS.API.STREAM.DELETE.>',
    ].map((subject) => coordinator.subscribe(subject, (message) => void seen.push(message.subject)));
    other.subscribe(`_INBOX_${OTHER}.>`, { callback: (_error, message) => void seen.push(message.subject) });
    other.subscribe(jobsSubject(OTHER), {
      queue: 'agents',
      callback: (_error, message) => void seen.push(message.subject),
    });
    await Promise.all([coordinator.flush(), other.flush()]);
    const before = await stream.info();

    cheat.publish(resultsSubject(OWN), 'mine', { reply });
    await allHandled();
    await other.flush();
    await other.close();
    for (const subscription of watched) subscription.close();

    expect(seen).toEqual([]);
    const after = await stream.info();
    expect(after.firstSequence).toBe(before.firstSequence);
    for (let sequence = before.lastSequence + 1; sequence <= after.lastSequence; sequence += 1) {
      expect((await stream.message(sequence))?.subject).toBe(resultsSubject(OWN));
    }
  });

  test('that is there gets its jobs; of a region without one the coordinator hears at once', async () => {
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
