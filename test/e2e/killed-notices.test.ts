/**
 * The coordinator is killed with SIGKILL at each message that people get: the notice about a region that fails
 * alone, the alert that a mute has held, reminders. The kill comes before the answer, and so before the record of
 * the message. At the end, what the receivers got is compared with what was due.
 *
 * Services in this process make the incidents an hour and a half before the present, and end them. They run on a
 * faster clock.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from '../../deploy/local/node-flags.ts';
import { builtService } from '../support/built-services.ts';
import { queryOnce, testDatabase } from '../support/database.ts';
import { LocalService, SECRET_KEY } from '../support/local-service.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { OPERATOR_ENVIRONMENT } from '../support/operator-values.ts';
import { Program } from '../support/process.ts';
import type { ReceivedRequest, Receiver } from '../support/receiver.ts';
import { ScaledClock } from '../support/scaled-clock.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const HOUR_MS = 3_600_000;
/** The answer of an ntfy server. The webhook takes it too. */
const PUBLISHED = JSON.stringify({ id: 'x', time: 1 });

/** A coordinator process that is killed at each message that comes for the first time. */
class MortalCoordinator {
  readonly #program: Program;
  readonly #seen = new Set<string>();
  #lives = 0;
  /** The number of the life that was killed last. */
  #killed = 0;

  constructor(program: Program, receivers: readonly Receiver[]) {
    this.#program = program;
    for (const receiver of receivers) {
      receiver.answerWith((request, response) => {
        const key = keyOf(request);
        if (this.#seen.has(key) && !this.#isDying) response.end(PUBLISHED);
        else void this.#endLife();
        this.#seen.add(key);
      });
    }
  }

  get lives(): number {
    return this.#lives;
  }

  get #isDying(): boolean {
    return this.#killed === this.#lives;
  }

  /** Starts the process. It may be killed, and started again, before it is ready. */
  async start(): Promise<void> {
    this.#lives += 1;
    const life = this.#lives;
    await this.#program.start().catch((error: unknown) => {
      if (this.#killed < life) throw error;
    });
  }

  async end(): Promise<void> {
    this.#killed = this.#lives;
    await this.#program.end('SIGKILL');
  }

  async #endLife(): Promise<void> {
    if (this.#isDying) return;
    await this.end();
    await this.start();
  }
}

/** Identifies a message. The messages of an ntfy server have no id, so equal ones count as one message. */
function keyOf({ headers, text }: ReceivedRequest): string {
  return String(headers['webhook-id'] ?? text);
}

function titleOf({ json, headers }: ReceivedRequest): string | undefined {
  const { title, status } = json as { title?: string; status?: string };
  return title ?? (headers['svc-reminder'] === undefined ? status : 'reminder');
}

test('a coordinator that is killed at each message loses none, sends none under a second id, and forgets no mute and no acknowledgement', async (context) => {
  const opened = openedIn(context);
  const [web, phone, hook] = [await targetIn(opened), await receiverIn(opened), await receiverIn(opened)];
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  const database = await testDatabase();
  opened.push({ close: () => database.remove() });
  let isDown = false;
  web.answerWith((response, path) => {
    response.statusCode = isDown && path !== '/partly' ? 503 : 200;
    response.end();
  });
  for (const receiver of [phone, hook]) receiver.answerWith((_request, response) => response.end(PUBLISHED));
  const declared = (periodicity: string) => {
    const monitorOf = (name: string, host: string) => ({
      ...{ name, url: `http://${host}:${new URL(web.url).port}/${name.toLowerCase()}`, regions: REGIONS },
      ...{ periodicity, retry: 0, active: true },
    });
    const monitors = {
      partly: monitorOf('Partly', 'web.test'),
      down: monitorOf('Down', '127.0.0.1'),
      muted: monitorOf('Muted', '127.0.0.1'),
      acknowledged: monitorOf('Acknowledged', '127.0.0.1'),
    };
    const monitor_ids = Object.keys(monitors).map((name) => `\${svc_http_monitor.${name}.id}`);
    const linked = { monitor_ids, remind_every: '1h' };
    return {
      svc_http_monitor: monitors,
      svc_notification: {
        phone: { provider_type: 'push_a', push_a: { topic: 'ops', server_url: phone.url }, ...linked },
        hook: { provider_type: 'webhook', webhook: { endpoint: hook.url }, ...linked },
      },
    };
  };
  const query = <Row>(sql: string) => queryOnce<Row>(database.url, sql);
  const delivered = async () => (await query("SELECT id FROM deliveries WHERE state = 'delivered'")).length;
  /** The different messages about a monitor, in the order in which each came first. */
  const told = (name: string, { requests }: Receiver = phone) => {
    const ofMonitor = requests.filter(({ text }) => text.includes(name));
    return [...new Map(ofMonitor.map((request) => [keyOf(request), titleOf(request)])).values()];
  };
  let isPartlyFailing = true;
  const options = {
    ...{ database: database.url, natsUrl: nats.url, regions: REGIONS, declared: declared('30s') },
    names: (region: Region) => ({
      get 'web.test'() {
        return [region === 'hosta-fra' && isPartlyFailing ? '127.0.0.2' : '127.0.0.1'];
      },
    }),
  };

  const clock = new ScaledClock(10);
  clock.stepWall(-1.5 * HOUR_MS);
  const before = await LocalService.start({ ...options, clock });
  try {
    for (const name of ['Partly', 'Down', 'Muted', 'Acknowledged']) await before.changed(name, 'active');
    const until = new Date(clock.wall() + HOUR_MS).toISOString();
    await before.request('POST', `/v1/monitors/${await before.idOf('Muted')}/mute`, { until });
    isDown = true;
    for (const name of ['Down', 'Muted', 'Acknowledged']) await before.changed(name, 'error');
    await before.until(async () => (await delivered()) === 4);
    const id = await before.idOf('Acknowledged');
    const { data } = await before.get<{ data: { id: string }[] }>(
      `/v1/incidents?monitor_id=${id}&state=open`,
    );
    const answer = await before.request('POST', `/v1/incidents/${data[0]?.id}/acknowledge`, {
      note: 'On it.',
    });
    expect(answer).toMatchObject({ status: 200 });
    // The votes of such a monitor count for three hours.
    await before.reload(declared('1h'));
  } finally {
    await before.dispose();
  }
  expect(told('Muted')).toEqual([]);

  const folder = await mkdtemp(join(tmpdir(), 'svc-killed-'));
  opened.push({ close: () => rm(folder, { recursive: true, force: true }) });
  const program = new Program(
    await builtService('coordinator'),
    {
      ...COORDINATOR_ENVIRONMENT,
      ...OPERATOR_ENVIRONMENT,
      SVC_DATA_DIR: folder,
      SVC_DATABASE_URL: database.url.reveal(),
      SVC_SECRET_KEY: SECRET_KEY,
      SVC_API_TOKEN: 'token-of-the-operator-in-the-tests',
      SVC_NATS_URL: nats.url,
      SVC_LISTEN: '127.0.0.1:0',
      SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
    },
    COORDINATOR_FLAGS,
  );
  opened.push({ close: async () => void (await program.end('SIGKILL')) });
  const coordinator = new MortalCoordinator(program, [phone, hook]);
  await coordinator.start();
  await expect.poll(delivered).toBe(4 + 5);
  await coordinator.end();
  expect(told('Partly')).toEqual(['Region hosta-fra fails: Partly']);
  expect(told('Muted')).toEqual(['Error: Muted']);
  expect(told('Down')).toEqual(['Error: Down', 'Still failing: Down']);

  // Two hours later, Down is reminded a second time and Muted a first time.
  const store = await database.open();
  await store.commit([
    { sql: 'UPDATE delivery_threads SET at = at - ?', rows: [[2 * HOUR_MS]] },
    { sql: 'UPDATE reminders SET at = at - ?', rows: [[2 * HOUR_MS]] },
  ]);
  await store.close();
  await coordinator.start();
  await expect.poll(delivered).toBe(4 + 5 + 4);
  await coordinator.end();
  expect(coordinator.lives).toBeGreaterThan(3);

  isDown = false;
  isPartlyFailing = false;
  for (const receiver of [phone, hook]) receiver.answerWith((_request, response) => response.end(PUBLISHED));
  await serviceIn(opened, options);
  await expect.poll(delivered).toBe(4 + 5 + 4 + 7);
  expect(told('Partly')).toEqual(['Region hosta-fra fails: Partly', 'Region hosta-fra works again: Partly']);
  expect(told('Muted')).toEqual(['Error: Muted', 'Still failing: Muted', 'Recovered: Muted']);
  expect(told('Acknowledged')).toEqual(['Error: Acknowledged', 'Recovered: Acknowledged']);
  // The reminders of Down have the same text if they came within the same second.
  expect([...new Set(told('Down'))]).toEqual(['Error: Down', 'Still failing: Down', 'Recovered: Down']);
  expect(told('Down', hook)).toEqual(['error', 'reminder', 'reminder', 'recovered']);
  const numbers =
    "SELECT number FROM reminders r JOIN monitors m ON m.id = r.monitor_id WHERE m.name = 'Down'";
  expect(await query(numbers)).toEqual([{ number: 2 }, { number: 2 }]);
  // Each of the nine alerts has one id, however often it came.
  expect(told('', hook)).toHaveLength(9);
});
