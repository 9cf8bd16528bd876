/**
 * Measures a status page of 50 components beside the checks, at a steady rate of requests:
 * `node test/bench/status-page-beside.ts [requests/s] [seconds] [checks/s] [root]`. The whole service runs on
 * this machine, as for whole-loop.ts; the page shows 50 of its monitors, and a separate process requests it.
 * `root`: another checkout whose coordinator and agents run.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Children } from './children.ts';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import type { PacedFigures } from './paced-client-process.ts';
import { RecordedChecks, spreadText } from './recorded-checks.ts';
import { cpuOf, type RunningService, withService } from './running-service.ts';
import { formatTable } from './table.ts';

const COMPONENTS = 50;
const HEAD = [
  'requests/s',
  'answered',
  'p50, ms',
  'p99, ms',
  'p99.9, ms',
  'longest, ms',
  'of it: sent late, p99',
  'bytes (gzip)',
  'checks/s',
  'end → recorded ms p50/p99',
  "coordinator's CPU",
];

const [rate = '2000', seconds = '30', checks = '1000', root] = process.argv.slice(2);

/** The declared file: monitors for the rate of checks, of which a page shows the first. */
function declared(port: number): object {
  const isShown = (number: number) => number < COMPONENTS;
  const monitors = declaredMonitors(monitorsFor(Number(checks)), port, (number) => ({
    public: isShown(number),
  }));
  const components = Array.from({ length: COMPONENTS }, (_, number) => [
    `c${number}`,
    {
      page_id: `\${svc_status_page.page.id}`,
      type: 'monitor',
      monitor_id: `\${svc_http_monitor.m${number}.id}`,
    },
  ]);
  return {
    svc_http_monitor: monitors,
    svc_status_page: { page: { title: 'Example', slug: 'example' } },
    svc_status_page_component: Object.fromEntries(components),
  };
}

async function measure({ system }: RunningService): Promise<string[]> {
  await delay(untilAllAreCheckedMs(monitorsFor(Number(checks))));
  const children = new Children();
  try {
    const from = Date.now();
    const before = cpuOf(system).coordinator;
    const url = `${system.url}/status/example`;
    const { line } = await children.node('test/bench/paced-client-process.ts', [url, rate, seconds]);
    const cpu = (cpuOf(system).coordinator - before) / (Date.now() - from);
    const until = Date.now();
    await delay(3_000);
    const recorded = await RecordedChecks.of(system, from, until);
    return rowOf(JSON.parse(line) as PacedFigures, recorded, cpu);
  } finally {
    await children.endAll();
  }
}

function rowOf(figures: PacedFigures, recorded: RecordedChecks, cpu: number): string[] {
  const times = [figures.p50, figures.p99, figures.p999, figures.worst, figures.sending];
  return [
    Number(rate).toLocaleString('en'),
    figures.answers.toLocaleString('en'),
    ...times.map((ms) => ms.toFixed(1)),
    String(figures.bytes),
    recorded.perSecond.toFixed(0),
    spreadText(recorded.recording()),
    `${(cpu * 100).toFixed(0)} %`,
  ];
}

console.log(formatTable(HEAD, [await withService(declared, root === undefined ? {} : { root }, measure)]));
