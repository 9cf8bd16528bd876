/**
 * Agents and coordinators of different versions as processes, under today's accounts of NATS. They run checks, record
 * results, judge statuses and send alerts, also after a restart of each part. A coordinator continues with the database
 * of the former version.
 */
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, type TestContext, test } from 'vitest';
import { VERSIONS } from '../support/kept-versions.ts';
import { MixedSystem } from '../support/mixed-system.ts';
import { openedIn, receiverIn, targetIn } from '../support/opened.ts';
import type { LogLine, Program } from '../support/process.ts';
import type { Receiver } from '../support/receiver.ts';

const REGION: Region = 'hosta-fra';
/**
 * Number of monitors of each status in a round. Together they fill more than two batches of jobs, and of results, of
 * the first version.
 */
const MONITORS = 75;

type Row = Record<string, string | number>;

/** A system whose monitors are declared in rounds. Every version checks a new monitor at once. */
async function systemIn(context: TestContext) {
  const opened = openedIn(context);
  const target = await targetIn(opened);
  let held: Promise<void> | undefined;
  let asked = new Set<string>();
  target.answerWith(async (response, path) => {
    asked.add(path.slice(1));
    await held;
    response.statusCode = path.startsWith('/down') ? 503 : 200;
    response.end('ok');
  });
  const receiver = await receiverIn(opened);
  const system = await MixedSystem.start(opened, REGION);
  let rounds = 0;
  return {
    system,
    receiver,
    /** Makes the target answer no request until `release` is called. `asked`: the monitors that ask it from now on. */
    hold(): { asked: ReadonlySet<string>; release: () => void } {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      asked = new Set();
      return { asked, release: resolve };
    },
    async declareMore(): Promise<void> {
      rounds += 1;
      await system.declare(declaration(rounds, target.url, receiver.url));
    },
    /** Resolves when every monitor declared so far has its status, and those that are down have alerted once. */
    async untilJudged(): Promise<void> {
      const expected = { active: rounds * MONITORS, error: rounds * MONITORS };
      await expect.poll(() => statusesIn(system), { interval: 100 }).toEqual(expected);
      expect(await alertsOf(receiver, rounds * MONITORS)).toEqual(namesOf('down', rounds));
    },
  };
}

const namesOf = (path: string, rounds: number): string[] =>
  Array.from({ length: rounds * MONITORS }, (_, index) => `${path}-${index}`).sort();

function declaration(rounds: number, target: string, hook: string) {
  const monitor = (name: string) => [
    name,
    { name, url: `${target}/${name}`, periodicity: '30s', active: true, retry: 0, regions: [REGION] },
  ];
  const [up, down] = [namesOf('up', rounds), namesOf('down', rounds)];
  return {
    svc_http_monitor: Object.fromEntries([...up, ...down].map(monitor)),
    svc_notification: {
      hook: {
        name: 'hook',
        provider_type: 'webhook',
        webhook: { endpoint: hook },
        monitor_ids: [...up, ...down].map((name) => `\${svc_http_monitor.${name}.id}`),
      },
    },
  };
}

function statusesIn(system: MixedSystem): Row {
  const rows = system.query<{ status: string; count: number }>(
    'SELECT status, count(*) AS count FROM monitor_states GROUP BY status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** Names of the monitors of the first `count` alerts, which must be about errors; one that is sent twice has one id. */
async function alertsOf(receiver: Receiver, count: number): Promise<string[]> {
  for (let requests = count; ; requests += 1) {
    const received = await receiver.received(requests);
    const alerts = new Map(received.map(({ headers, json }) => [headers['webhook-id'], json]));
    if (alerts.size < count) continue;
    for (const alert of alerts.values()) expect(alert).toMatchObject({ status: 'error', statusCode: 503 });
    return [...alerts.values()].map((alert) => (alert as { monitor: { name: string } }).monitor.name).sort();
  }
}

/** Log lines about how the tests start processes, about agents that they stop, and about those that a busy machine starves. */
const EXPECTED = /^started without --use-system-ca|^a region that monitors declare has lost its last agent$/;

/** Seen on a starved machine only: connections of regions that ended while they were written to, and are tried again. Why is not known. */
const isEndedConnection = ({ msg, error }: LogLine): boolean =>
  msg.startsWith('cannot hear the agents of a region: ') && error === 'write EPIPE';

const complaintsOf = (programs: readonly Program[]): unknown[] =>
  programs.flatMap(({ lines, noise }) => [
    ...noise,
    ...lines.filter(
      (line) =>
        line.level > 30 && line.sick !== 'starved' && !EXPECTED.test(line.msg) && !isEndedConnection(line),
    ),
  ]);

describe.each(VERSIONS)('%s', (version) => {
  test.for([
    ['its agent and the coordinator of today', version, 'today'],
    ['the agent of today and its coordinator', 'today', version],
  ] as const)(
    '%s check, judge and alert, and go on after a restart of either',
    async ([, ofAgent, ofCoordinator], context) => {
      const { system, declareMore, untilJudged } = await systemIn(context);
      await declareMore();
      const agent = await system.agent(ofAgent, 'one');
      const coordinator = await system.coordinator(ofCoordinator);
      await untilJudged();

      expect(await agent.end('SIGTERM')).toBe(0);
      await agent.start();
      await declareMore();
      await untilJudged();

      await coordinator.end('SIGKILL');
      await declareMore();
      await coordinator.start();
      await untilJudged();

      expect(await agent.end('SIGTERM')).toBe(0);
      expect(await coordinator.end('SIGTERM')).toBe(0);
      expect(complaintsOf([agent, coordinator])).toEqual([]);
    },
  );

  test('its agent shares a region with agents of today', async (context) => {
    const { system, declareMore, untilJudged } = await systemIn(context);
    await declareMore();
    const agents = await Promise.all([
      system.agent(version, 'old'),
      system.agent('today', 'new'),
      system.agent('today', 'newer'),
    ]);
    const coordinator = await system.coordinator('today');
    await untilJudged();
    await declareMore();
    await untilJudged();
    // NATS hands each batch to any of them.
    const reporting = () =>
      system.query<{ agent: string }>('SELECT DISTINCT agent FROM results').map(({ agent }) => agent);
    await expect.poll(() => reporting().sort()).toEqual(['new', 'newer', 'old']);
    expect(complaintsOf([...agents, coordinator])).toEqual([]);
  });

  test('the coordinator of today goes on with its database, and with what it left unread', async (context) => {
    const { system, receiver, hold, declareMore, untilJudged } = await systemIn(context);
    await declareMore();
    const agent = await system.agent(version, 'one');
    const before = await system.coordinator(version);
    await untilJudged();
    const kept = historyOf(system);

    const { asked, release } = hold();
    await declareMore();
    const known = new Set(kept.monitors.map(({ name }) => name));
    const added = [...namesOf('up', 2), ...namesOf('down', 2)].filter((name) => !known.has(name));
    expect(added).toHaveLength(2 * MONITORS);
    await expect.poll(() => added.filter((name) => !asked.has(name))).toEqual([]);
    await before.end('SIGKILL');
    const killedAt = Date.now();
    release();

    const coordinator = await system.coordinator('today');
    await untilJudged();
    const unread = `SELECT DISTINCT monitor_id FROM results WHERE slot < ${killedAt} AND monitor_id > ${2 * MONITORS}`;
    expect(system.query(unread)).toHaveLength(2 * MONITORS);
    // Who was told of an error before is not told again.
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(2 * MONITORS);
    const { results, ...rest } = historyOf(system);
    expect(rest).toMatchObject({
      monitors: expect.arrayContaining(kept.monitors),
      states: expect.arrayContaining(kept.states),
      incidents: expect.arrayContaining(kept.incidents.map((row) => expect.objectContaining(row))),
    });
    const stored = new Set(results.map((result) => JSON.stringify(result)));
    expect(kept.results.filter((result) => !stored.has(JSON.stringify(result)))).toEqual([]);
    expect(complaintsOf([agent, coordinator])).toEqual([]);
  });
});

/** What people would miss. */
function historyOf(system: MixedSystem) {
  return {
    monitors: system.query<Row>('SELECT id, name, type, active, created_at FROM monitors ORDER BY id'),
    states: system.query<Row>('SELECT monitor_id, status, since FROM monitor_states ORDER BY monitor_id'),
    results: system.query<Row>('SELECT slot, monitor_id, region, outcome, latency, status_code FROM results'),
    incidents: system.query<Row>('SELECT * FROM incidents'),
  };
}
