/**
 * Measures take-overs between two coordinators over one PostgreSQL. The leader is killed, stopped, frozen
 * or cut off; or the database is restarted, made read-only or set back. Arguments: monitors (1,000), rounds
 * of each case (10; 0 only fills the database), cases (all), a folder that keeps the database between runs.
 * If there are more than 10,000 monitors, most of them have a period of five minutes, and all have one region.
 *
 * The time without dispatch is the longest silence between two jobs of a shard around the
 * event. SVC_SHARDS sets the number of shards. The first coordinator that leads a shard
 * is the leader of the case. Beside the rounds, a target of 100 monitors goes down and
 * comes back, with an alert each time. At the end of a case, each check that an agent
 * reported must be recorded, and each change of the target must have been announced once.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openPostgresReading } from '@svc/coordinator/store/postgres/open-postgres.ts';
import { appendTo } from '@svc/shared/collections.ts';
import { createLogger } from '@svc/shared/log.ts';
import { ALL_JOBS, ALL_RESULTS, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import {
  AGENT_ENVIRONMENT,
  AGENT_FLAGS,
  COORDINATOR_ENVIRONMENT,
  COORDINATOR_FLAGS,
} from '../../deploy/local/node-flags.ts';
import { freePort } from '../support/free-port.ts';
import { type HeldLink, startHeldLink } from '../support/held-link.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { Program } from '../support/process.ts';
import { scrape } from '../support/prometheus-text.ts';
import { startReceiver } from '../support/receiver.ts';
import { storedResults } from '../support/recorded-results.ts';
import { Children } from './children.ts';
import { CHECKED_FROM, declaredMonitors, untilAllHaveBegunMs, webhook } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { median } from './process-usage.ts';
import { formatTable } from './table.ts';

/** Number of monitors whose target goes down and comes back. */
const FRAGILE = 100;
/**
 * Time between two changes of the target, ms. Each monitor
 * is checked twice in this time, even if 20 s are missing.
 */
const CHANGE_EVERY_MS = 80_000;
/** Duration of a cut, and of a time without writes in the database, ms. */
const OUTAGE_MS = 10_000;

const [monitors = 1_000, rounds = 10] = process.argv.slice(2, 4).map(Number);
const [asked = 'all', kept] = process.argv.slice(4);
const shards = Number(process.env.SVC_SHARDS ?? 1);
const isLarge = monitors > 10_000 || process.env.LARGE === '1';
/** Time in which a coordinator that waits reads its monitors for the first time, ms. */
const READS_MONITORS_MS = isLarge ? 45_000 : 0;
const regions = isLarge ? CHECKED_FROM.slice(0, 1) : CHECKED_FROM;

const children = new Children();
const folder = kept ?? (await mkdtemp(join(tmpdir(), 'svc-take-overs-')));
await mkdir(join(folder, 'postgres'), { recursive: true });
await chmod(folder, 0o755);
const keyFile = join(folder, 'key');
const isNew = !existsSync(keyFile);
if (isNew) await writeFile(keyFile, randomBytes(32).toString('base64'));
const portFile = join(folder, 'target-port');
const target = await children.node('test/bench/target-process.ts', [
  isNew ? '0' : await readFile(portFile, 'utf8'),
]);
await writeFile(portFile, target.line);
// With the same ports as before, the declared file is unchanged, and no start has to apply it.
const receiverFile = join(folder, 'receiver-port');
const receiver = await startReceiver(isNew ? 0 : Number(await readFile(receiverFile, 'utf8')));
await writeFile(receiverFile, new URL(receiver.url).port);
const postgres = await startPostgres({ isDurable: true, kept: join(folder, 'postgres') });
if (isNew) await postgres.run('CREATE DATABASE svc');
const nats = await startNatsServer();
const log = createLogger('bench', 'silent');
const bus = await connectBus({ url: nats.url, name: 'bench', log });
const config = join(folder, 'svc.json');
await writeFile(config, JSON.stringify(declaration()));

function declaration(): object {
  const port = Number(target.line);
  const declared = declaredMonitors(monitors, port, (number) => ({
    url: `http://127.0.0.1:${port}/${number < FRAGILE ? 'fragile' : 'steady'}`,
    regions,
    retry: 0,
    ...(isLarge && number >= FRAGILE ? { periodicity: '5m' } : {}),
  }));
  const fragile = Object.fromEntries(Object.entries(declared).slice(0, FRAGILE));
  return { svc_http_monitor: declared, svc_notification: { hook: webhook(receiver.url, fragile) } };
}

type Coordinator = {
  readonly program: Program;
  readonly url: string;
  readonly toPostgres: HeldLink;
  readonly toNats: HeldLink;
};

async function coordinatorOf(name: string): Promise<Coordinator> {
  const [toPostgres, toNats] = [await startHeldLink(postgres.port), await startHeldLink(nats.port)];
  const url = `127.0.0.1:${await freePort()}`;
  const program = new Program(
    'packages/coordinator/src/main.ts',
    {
      ...COORDINATOR_ENVIRONMENT,
      SVC_DATABASE_URL: `postgres://svc@127.0.0.1:${toPostgres.port}/svc`,
      SVC_NATS_URL: `nats://127.0.0.1:${toNats.port}`,
      SVC_SECRET_KEY: await readFile(keyFile, 'utf8'),
      SVC_LISTEN: url,
      SVC_DATA_DIR: join(folder, name),
      SVC_CONFIG: config,
      SVC_API_TOKEN: 'a-token-of-the-operator-of-the-bench',
      SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
      SVC_LOG_LEVEL: 'info',
      SVC_SHARDS: String(shards),
    },
    COORDINATOR_FLAGS,
  );
  return { program, url: `http://${url}`, toPostgres, toNats };
}

const agents = regions.map(
  (region) =>
    new Program(
      'packages/agent/src/main.ts',
      { ...AGENT_ENVIRONMENT, SVC_NATS_URL: nats.url, SVC_REGION: region, SVC_DRAIN_MS: '2000' },
      AGENT_FLAGS,
    ),
);

/** What went over NATS: when jobs were sent, which jobs were sent twice, and which checks were reported. */
class Heard {
  /** When jobs of each shard were last sent. */
  readonly #jobsAt = Array.from({ length: shards }, () => performance.now());
  #longest = 0;
  readonly #given = new Set<string>();
  givenTwice = 0;
  /** The reported checks by `monitor slot region`: when they began, and when they were first reported. */
  readonly reported = new Map<string, { readonly startedAt: number; readonly at: number }>();
  runTwice = 0;

  jobs(region: string, jobs: readonly { monitor: number; slot: number }[]): void {
    for (const { monitor, slot } of jobs) {
      this.#end(monitor % shards);
      const key = `${monitor} ${slot} ${region}`;
      if (this.#given.has(key)) this.givenTwice += 1;
      this.#given.add(key);
    }
  }

  results(
    region: string,
    results: readonly { monitor: number; slot: number; outcome: string; started_at: number }[],
  ): void {
    for (const { monitor, slot, outcome, started_at: startedAt } of results) {
      if (outcome === 'not_run') continue;
      const key = `${monitor} ${slot} ${region}`;
      const known = this.reported.get(key);
      if (known === undefined) this.reported.set(key, { startedAt, at: Date.now() });
      else if (known.startedAt !== startedAt) this.runTwice += 1;
    }
  }

  /** The longest time without jobs of a shard since {@link restart}, ms. */
  takeGap(): number {
    for (const shard of this.#jobsAt.keys()) this.#end(shard);
    return this.#longest;
  }

  /** Resolves when jobs of each shard were sent after this call. */
  async untilSent(): Promise<void> {
    const since = performance.now();
    while (this.#jobsAt.some((at) => at <= since)) await delay(20);
  }

  restart(): void {
    this.#longest = 0;
  }

  #end(shard: number): void {
    const now = performance.now();
    this.#longest = Math.max(this.#longest, now - (this.#jobsAt[shard] ?? now));
    this.#jobsAt[shard] = now;
  }
}

let heard = new Heard();
bus.subscribe(ALL_JOBS, ({ subject, data }) => {
  const message = JSON.parse(Buffer.from(data).toString());
  if (message.kind === 'jobs') heard.jobs(String(regionOfSubject(subject)), message.jobs);
});
bus.subscribe(ALL_RESULTS, ({ subject, data }) =>
  heard.results(String(regionOfSubject(subject)), JSON.parse(Buffer.from(data).toString()).results),
);

const isLeading = ({ url }: Coordinator) =>
  scrape(url).then(
    (metrics) => metrics.get('svc_leading') === 1,
    () => false,
  );

async function leaderOf([one, other]: readonly [Coordinator, Coordinator]): Promise<Coordinator> {
  for (;;) {
    if (await isLeading(one)) return one;
    if (await isLeading(other)) return other;
    await delay(20);
  }
}

async function cutOff(...links: readonly HeldLink[]): Promise<void> {
  for (const link of links) link.hold();
  await delay(OUTAGE_MS);
  for (const link of links) link.release();
}

async function endAndReplace(signal: NodeJS.Signals, { program }: Coordinator): Promise<void> {
  await program.end(signal);
  await heard.untilSent();
  await delay(2_000);
  await program.start();
  await delay(READS_MONITORS_MS);
}

/** Each case makes its event, and resolves when both coordinators run again. */
const CASES: Record<string, (leader: Coordinator) => Promise<void>> = {
  'kill -9': (leader) => endAndReplace('SIGKILL', leader),
  'clean stop': (leader) => endAndReplace('SIGTERM', leader),
  async 'frozen for 30 s'({ program }) {
    process.kill(program.pid, 'SIGSTOP');
    await delay(30_000);
    process.kill(program.pid, 'SIGCONT');
  },
  async 'PostgreSQL restarted'() {
    await postgres.stop();
    await postgres.restart();
  },
  async 'PostgreSQL killed'() {
    await postgres.kill();
    await postgres.restart();
  },
  async 'read-only for 10 s'() {
    await postgres.run('ALTER SYSTEM SET default_transaction_read_only = on');
    await postgres.run('SELECT pg_reload_conf()');
    await delay(OUTAGE_MS);
    await postgres.run('ALTER SYSTEM RESET default_transaction_read_only');
    await postgres.run('SELECT pg_reload_conf()');
  },
  async 'last 5 s of commits lost'() {
    await postgres.keepData();
    await delay(5_000);
    await postgres.goBack();
  },
  'cut off from PostgreSQL for 10 s': (leader) => cutOff(leader.toPostgres),
  'cut off from NATS for 10 s': (leader) => cutOff(leader.toNats),
  'cut off from both for 10 s': (leader) => cutOff(leader.toPostgres, leader.toNats),
};

type Alerts = {
  readonly lost: number;
  /** Number of repetitions under one id. */
  readonly repeated: number;
  /** Number of alerts that came under another id, or that are not expected. */
  readonly others: number;
};

/** The alerts since `from`, an index of requests, if each monitor has these statuses. */
function alertsSince(from: number, expected: readonly string[]): Alerts {
  const ids = new Set<string>();
  const statuses = new Map<number, string[]>();
  let repeated = 0;
  for (const { headers, json } of receiver.requests.slice(from)) {
    const id = String(headers['webhook-id']);
    const { monitor, status } = json as { monitor: { id: number }; status: string };
    if (ids.has(id)) {
      repeated += 1;
      continue;
    }
    ids.add(id);
    appendTo(statuses, monitor.id, status);
  }
  let [lost, others] = [(FRAGILE - statuses.size) * expected.length, 0];
  for (const told of statuses.values()) {
    lost += Math.max(0, expected.length - told.length);
    others += Math.max(0, told.length - expected.length);
  }
  return { lost, repeated, others };
}

/** The alerts since `from`, counted when all have come, or a minute later. */
async function alertsOf(from: number, expected: readonly string[]): Promise<Alerts> {
  for (const until = Date.now() + 60_000; ; await delay(1_000)) {
    const alerts = alertsSince(from, expected);
    if (alerts.lost === 0 || Date.now() > until) return alerts;
  }
}

/** Number of reported checks that are not recorded a minute later. */
async function lostResults(): Promise<number> {
  const reading = openPostgresReading({ url: postgres.url('svc'), log });
  const until = Date.now();
  const keys = [...heard.reported].flatMap(([key, { at }]) => (at < until ? [key] : []));
  const from = keys.reduce((least, key) => Math.min(least, Number(key.split(' ')[1])), until);
  try {
    for (;;) {
      const stored = await storedResults(reading, from);
      const recorded = new Set(
        stored.map(({ monitor_id, slot, region }) => `${monitor_id} ${slot} ${region}`),
      );
      const missing = keys.filter((key) => !recorded.has(key)).length;
      if (missing === 0 || Date.now() > until + 60_000) return missing;
      await delay(2_000);
    }
  } finally {
    await reading.close();
  }
}

async function rowOf(name: string): Promise<string[]> {
  const run = CASES[name];
  if (run === undefined) throw new Error(`no case "${name}"; there are: ${Object.keys(CASES).join(', ')}`);
  heard = new Heard();
  const before = receiver.requests.length;
  let changes = 0;
  const change = () => {
    changes += 1;
    target.send(changes % 2 === 1 ? 'down' : 'up');
  };
  change();
  const changing = setInterval(change, CHANGE_EVERY_MS);
  const gaps: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const leader = await leaderOf(pair);
    // Shards have moved to the coordinator that was started again, one each second.
    await delay(3_000 + shards * 1_000 + 2_000 * Math.random());
    heard.restart();
    await run(leader);
    await heard.untilSent();
    await delay(4_000);
    gaps.push(heard.takeGap());
    console.error(`${name}: ${gaps.at(-1)?.toFixed(0)} ms`);
  }
  clearInterval(changing);
  // The last change is announced, and the target is back when the next case begins.
  await delay(CHANGE_EVERY_MS / 2);
  if (changes % 2 === 1) {
    change();
    await delay(CHANGE_EVERY_MS / 2);
  }
  const expected = Array.from({ length: changes }, (_, index) => (index % 2 === 0 ? 'error' : 'recovered'));
  const alerts = await alertsOf(before, expected);
  return [
    name,
    median(gaps).toFixed(0),
    Math.max(...gaps).toFixed(0),
    String(heard.reported.size),
    String(await lostResults()),
    String(heard.givenTwice),
    String(heard.runTwice),
    String(FRAGILE * changes),
    String(alerts.lost),
    String(alerts.repeated),
    String(alerts.others),
  ];
}

const pair = [await coordinatorOf('one'), await coordinatorOf('two')] as const;
try {
  await Promise.all(agents.map((agent) => agent.start()));
  await pair[0].program.start();
  await pair[1].program.start();
  // After a pause of some minutes, the monitors of a kept database are unknown until they are checked again.
  if (isNew || isLarge) await delay(untilAllHaveBegunMs(monitors) + 30_000);
  else await delay(20_000);
  await delay(READS_MONITORS_MS);
  console.log(machine());
  const names = rounds === 0 ? [] : asked === 'all' ? Object.keys(CASES) : asked.split(',');
  const rows: string[][] = [];
  for (const name of names) {
    const row = await rowOf(name);
    console.error(row.join(' | '));
    rows.push(row);
  }
  console.log(
    formatTable(
      [
        `${monitors.toLocaleString('en')} monitors, ${shards} shards, ${rounds} rounds`,
        'no jobs for, ms (median)',
        'worst',
        'results',
        'lost',
        'jobs sent twice',
        'checks run twice',
        'alerts',
        'lost',
        'repeated under one id',
        'under another id',
      ],
      rows,
    ),
  );
  console.log(machine());
} finally {
  for (const [index, { program, toPostgres, toNats }] of pair.entries()) {
    await program.end('SIGTERM');
    await writeFile(
      join(folder, `coordinator-${index}.log`),
      program.lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
    );
    await toPostgres.close();
    await toNats.close();
  }
  await Promise.all(agents.map((agent) => agent.end('SIGTERM')));
  await bus.close();
  await nats.dispose();
  await postgres.dispose();
  await receiver.close();
  await children.endAll();
  if (kept === undefined) await rm(folder, { recursive: true, force: true });
}
