/**
 * Measures how a large declaration affects running checks: `node test/bench/large-apply.ts [rate] [monitors]`.
 * While `rate` checks a second run, `monitors` further monitors are declared. They are active, so that their
 * scheduling is measured too. Their period is an hour, so that few checks but their first ones run. Then all of
 * these are changed to `active: false`. One row each shows the time before, the time until the API has the last
 * new or changed one, and the time after. The longest pause is the longest time in which no check was recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { RecordedChecks, spreadText } from './recorded-checks.ts';
import { type RunningService, watchCoordinatorMemory, withService } from './running-service.ts';
import { formatTable } from './table.ts';

/** Seconds that are looked at before the change. */
const BEFORE_S = 20;
/** Time that is measured after the last of the new monitors is known, s. It includes their first slots. */
const AFTER_S = 20;

type Figures = {
  readonly name: string;
  readonly from: number;
  readonly until: number;
  readonly peakMiB: number;
};

async function during(service: RunningService, name: string, work: () => Promise<void>): Promise<Figures> {
  const from = Date.now();
  const memory = watchCoordinatorMemory(service.system);
  await work().finally(() => memory.end());
  return { name, from, until: Date.now(), peakMiB: memory.end() };
}

async function untilDeclared({ system }: RunningService, monitors: number): Promise<void> {
  for (;;) {
    const { total } = await system.get<{ total: number }>('/v1/monitors?limit=1');
    if (total === monitors) return;
    await delay(100);
  }
}

async function untilInactive({ system }: RunningService, monitors: number): Promise<void> {
  for (;;) {
    const { data } = await system.get<{ data: { active: boolean }[] }>(
      `/v1/monitors?limit=1&offset=${monitors - 1}`,
    );
    if (data[0]?.active === false) return;
    await delay(100);
  }
}

const [rate = '1000', more = '15000'] = process.argv.slice(2);
const monitors = monitorsFor(Number(rate));
const added = Number(more);
const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitors, port) });
const declareMore = (port: number, active: boolean) => ({
  svc_http_monitor: {
    ...declaredMonitors(monitors, port),
    ...Object.fromEntries(
      Object.entries(declaredMonitors(added, port, () => ({ periodicity: '1h', active }))).map(
        ([name, monitor]) => [`more-${name}`, monitor],
      ),
    ),
  },
});

await withService(declare, {}, async (service) => {
  const { system, target } = service;
  await delay(untilAllAreCheckedMs(monitors));
  const spans = [
    await during(service, 'before', () => delay(BEFORE_S * 1_000)),
    await during(service, 'the file changes, until it is applied', async () => {
      await system.declare(declareMore(target.port, true));
      await untilDeclared(service, monitors + added);
    }),
    await during(service, `${AFTER_S} s after`, () => delay(AFTER_S * 1_000)),
    await during(service, 'all of them change, until they are changed', async () => {
      await system.declare(declareMore(target.port, false));
      await untilInactive(service, monitors + added);
    }),
    await during(service, `${AFTER_S} s after that`, () => delay(AFTER_S * 1_000)),
  ];
  await delay(3_000);
  const own = 'monitor_id IN (SELECT id FROM monitors ORDER BY id LIMIT ?)';
  const rows = spans.map(({ name, from, until, peakMiB }) => {
    const checks = new RecordedChecks(system, from, until, { where: own, parameters: [monitors] });
    return [
      name,
      ((until - from) / 1_000).toFixed(1),
      checks.perSecond.toFixed(0),
      `${checks.having('not_run')} / ${checks.having('failed')}`,
      spreadText(checks.startLateness()),
      spreadText(checks.recording()),
      checks.longestPauseMs().toFixed(0),
      peakMiB.toFixed(0),
    ];
  });
  const head = [
    `${added.toLocaleString('en')} monitors more`,
    's',
    'checks/s of the others',
    'not_run / failed',
    'start lateness ms p50/p99',
    'end → recorded ms p50/p99',
    'longest pause ms',
    'coordinator peak MiB',
  ];
  console.log(formatTable(head, rows));
});
