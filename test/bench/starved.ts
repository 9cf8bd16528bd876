/**
 * Measures the announcements when agents are short of CPU:
 * `node test/bench/starved.ts loops|quota|busy [runs]`.
 *
 * `loops`: 1,000 checks/s beside seven busy loops; an agent is killed and started again.
 * `quota`: 8 checks/s per region; each agent has a hundredth of a core. Every announcement in
 * this time is false, because the target answers. Then one region stays starved and two
 * recover, and some monitors really go down, half of them in silence. These must be announced.
 *
 * `busy`: 300 checks/s beside three busy loops, which disturb
 * all agents until the end, as on a machine with other work.
 */
import { execFileSync, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import type { Receiver } from '../support/receiver.ts';
import { startReceiver } from '../support/receiver.ts';
import type { System } from '../support/system.ts';
import { CpuQuota, whyNoCpuQuota } from './cpu-quota.ts';
import { CpuWaits } from './cpu-waits.ts';
import { CHECKED_FROM, declaredMonitors, PERIOD_S, webhook } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { withService } from './running-service.ts';
import { formatTable } from './table.ts';

/** Number of monitors that really go down: their target answers 503. */
const FRAGILE = 30;
/** Number of monitors whose target falls silent; their numbers follow those of the fragile ones. */
const SILENT = 30;
const LOOPS = 7;
const STARVED_FOR_MS = 40_000;
/** Duration of the outage, ms: one period for each monitor, and the wait for a starved region. */
const OUTAGE_MS = PERIOD_S * 1_000 + 20_000;

type Story = {
  readonly monitors: number;
  /** Time from the start until agents are starved, ms. */
  readonly calmMs: number;
  /** Starves the agents, and then releases those that recover. The returned function releases the rest. */
  starve(system: System): Promise<() => Promise<void>>;
  /** Time from the outage to the end, ms. */
  outageMs: number;
};

const STORIES: Readonly<Record<string, Story>> = {
  loops: { monitors: 10_000, calmMs: 12_000, starve: besideLoops, outageMs: OUTAGE_MS },
  quota: { monitors: 240, calmMs: 8_000, starve: underQuota, outageMs: OUTAGE_MS },
  // All regions are disturbed here, so an outage that one slot does not show may show in the next one.
  busy: { monitors: 3_000, calmMs: 12_000, starve: besideSomeLoops, outageMs: OUTAGE_MS + PERIOD_S * 1_000 },
};

/** The loops move to the first processor, and the first agent stays there with them. */
async function besideLoops(system: System): Promise<() => Promise<void>> {
  const { pids, end } = startLoops(LOOPS);
  await delay(STARVED_FOR_MS / 4);
  const killed = system.agent(CHECKED_FROM[1] ?? 'hostb-par');
  await killed.end('SIGKILL');
  await killed.start();
  await delay((STARVED_FOR_MS * 3) / 4);
  const first = system.agent(CHECKED_FROM[0] ?? 'hosta-fra');
  for (const pid of [first.pid, ...pids]) pinned(pid, '0');
  for (const pid of [
    killed.pid,
    system.agent(CHECKED_FROM[2] ?? 'hostc-us-east4').pid,
    system.coordinator.pid,
  ]) {
    pinned(pid, '1');
  }
  return async () => end();
}

async function besideSomeLoops(): Promise<() => Promise<void>> {
  const { end } = startLoops(3);
  await delay(STARVED_FOR_MS);
  return async () => end();
}

function startLoops(count: number): { pids: number[]; end(): void } {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' }),
  );
  const end = (): void => {
    for (const loop of loops) loop.kill('SIGKILL');
  };
  process.once('exit', end);
  return { pids: loops.map(({ pid = -1 }) => pid), end };
}

function pinned(pid: number, processors: string): void {
  execFileSync('taskset', ['-a', '-p', '-c', processors, String(pid)], { stdio: 'ignore' });
}

async function underQuota(system: System): Promise<() => Promise<void>> {
  const pids = [...system.agents.values()].map(({ pid }) => pid);
  const quotas = pids.map((pid, index) => {
    const quota = new CpuQuota(`svc-bench-${process.pid}-${index}`, 0.01);
    quota.take(pid);
    return quota;
  });
  await delay(STARVED_FOR_MS);
  pids.slice(1).forEach((pid, index) => {
    quotas[index + 1]?.release(pid);
  });
  return async () => {
    quotas[0]?.release(pids[0] ?? -1);
    for (const quota of quotas) quota.remove();
  };
}

type Figures = {
  falsely: number;
  unavailable: number;
  silent: number;
  starved: number;
  failed: number;
  sick: number;
};

async function run(story: Story): Promise<Figures> {
  const receiver = await startReceiver();
  const declare = (port: number) => {
    const declared = declaredMonitors(story.monitors, port, (number) => ({
      ...(isFragile(number) ? { url: `http://127.0.0.1:${port}/fragile` } : {}),
      ...(isSilent(number) ? { url: `http://127.0.0.1:${port}/silent` } : {}),
      timeout: 5_000,
      degraded_at: 800,
      retry: 0,
    }));
    return { svc_http_monitor: declared, svc_notification: { hook: webhook(receiver.url, declared) } };
  };
  try {
    return await withService(declare, {}, async ({ system, target }) => {
      const agentPids = () => [...system.agents.values()].map(({ pid }) => pid);
      const calm = new CpuWaits(agentPids);
      await delay(story.calmMs);
      console.log(`before: ${calm.end()}`);
      const waits = new CpuWaits(agentPids);
      const end = await story.starve(system);
      console.log(`starved: ${waits.end()}`);
      const before = told(receiver);
      const { sick, count } = await starvedSoFar(system);
      const outage = new CpuWaits(agentPids);
      target.send('down');
      await delay(story.outageMs);
      console.log(`in the outage: ${outage.end()}; silence was ${await silenceIn(system)}`);
      await end();
      const after = told(receiver);
      const isDown = (number: number) => isFragile(number) || isSilent(number);
      const falsely = new Set([...before, ...after.filter((number) => !isDown(number))]);
      return {
        falsely: falsely.size,
        unavailable: after.filter(isFragile).length,
        silent: after.filter(isSilent).length,
        starved: count,
        failed: await failedOf(system),
        sick,
      };
    });
  } finally {
    await receiver.close();
  }
}

const isFragile = (number: number): boolean => number < FRAGILE;
const isSilent = (number: number): boolean => number >= FRAGILE && number < FRAGILE + SILENT;

/** The numbers of the monitors that were announced as down or degraded. */
function told(receiver: Receiver): number[] {
  const names = receiver.requests.map(({ json }) => (json as { monitor: { name: string } }).monitor.name);
  return [...new Set(names)].map((name) => Number(name.replace('Monitor ', '')));
}

async function starvedSoFar(system: System): Promise<{ count: number; sick: number }> {
  const [row] = await system.query<{ count: number }>(
    "SELECT count(*) AS count FROM results WHERE json_extract(detail, '$.reason') = 'agent-starved'",
  );
  const alarms = system.coordinator.lines.filter(({ sick }) => sick === 'starved');
  return { count: row?.count ?? 0, sick: new Set(alarms.map(({ agent }) => agent)).size };
}

/** Outcomes of the checks of the silent monitors since they fell silent: `failed 80, not_run 10`. */
async function silenceIn(system: System): Promise<string> {
  const rows = await system.query<{ outcome: string; count: number }>(
    `SELECT outcome, count(*) AS count FROM results JOIN monitors ON monitors.id = monitor_id
     WHERE attributes LIKE '%/silent%' AND json_extract(detail, '$.timed_out') GROUP BY outcome`,
  );
  return rows.map(({ outcome, count }) => `${outcome} ${count}`).join(', ');
}

/** Number of results that wrongly report the target as down or slow. */
async function failedOf(system: System): Promise<number> {
  const [row] = await system.query<{ count: number }>(
    `SELECT count(*) AS count FROM results JOIN monitors ON monitors.id = monitor_id
     WHERE outcome IN ('failed', 'degraded')
       AND attributes NOT LIKE '%/fragile%' AND attributes NOT LIKE '%/silent%'`,
  );
  return row?.count ?? 0;
}

const [kind = 'quota', runs = '1'] = process.argv.slice(2);
const story = STORIES[kind];
const reason = kind === 'quota' ? whyNoCpuQuota() : null;
if (story === undefined) throw new Error(`no story "${kind}"; there are: ${Object.keys(STORIES).join(', ')}`);
if (reason !== null) console.log(`not measured: ${reason}`);
else {
  console.log(`${kind}, ${story.monitors.toLocaleString('en')} monitors in 3 regions, ${machine()}\n`);
  const rows: string[][] = [];
  for (let number = 1; number <= Number(runs); number += 1) {
    const { falsely, unavailable, silent, starved, failed, sick } = await run(story);
    rows.push([
      String(number),
      String(falsely),
      `${unavailable} of ${FRAGILE}`,
      `${silent} of ${SILENT}`,
      String(starved),
      String(failed),
      String(sick),
    ]);
    console.log(rows.at(-1)?.join(' | '));
  }
  const head = [
    'run',
    'announced falsely',
    'outages by 503 announced',
    'outages by silence announced',
    'not_run: starved',
    'failed or degraded falsely',
    'agents sick',
  ];
  console.log(`\n${formatTable(head, rows)}`);
  const expected = ['0', `${FRAGILE} of ${FRAGILE}`, `${SILENT} of ${SILENT}`].join();
  if (rows.some((row) => row.slice(1, 4).join() !== expected)) process.exitCode = 1;
}
