/**
 * Measures the Terraform provider as users get it, run by the real Terraform against a coordinator with a
 * database on disk: `node test/bench/terraform.ts [pairs]`. It measures the start of the plug-in, and planning,
 * creating, reading and removing monitors. In alternation it measures a provider with the same resources and
 * plans that invents the answers of the service. Times are those of whole commands.
 */
import { REGIONS } from '@svc/shared/regions.ts';
import { System } from '../support/system.ts';
import { buildProvider } from '../support/terraform/built-provider.ts';
import type { Configuration } from '../support/terraform/runner.ts';
import { terraformBinary } from '../support/terraform/terraform-command.ts';
import { Children } from './children.ts';
import { load, machine, versionOf } from './machine.ts';
import { cpuMs, median } from './process-usage.ts';
import { formatTable } from './table.ts';
import { type Life, liveOnce, type Measured, type Step } from './terraform/commands.ts';
import { startRows } from './terraform/plugin-start.ts';

const MEMORY_PROVIDER = 'test/support/terraform/memory-provider-main.ts';
const STARTS = 21;
const SIZES = [1, 100, 1_000];
const [REGION] = REGIONS;

type Lives = { readonly svc: Life[]; readonly memory: Life[] };
type Side = keyof Lives;

function configurationOf(monitors: number, port: number): Configuration {
  const monitor = (number: number) => ({
    name: `Monitor ${number}`,
    url: `http://127.0.0.1:${port}/health?number=${number}`,
    periodicity: '1m',
    description: 'What it is, and whom to ask when it is down.',
    active: true,
    timeout: 10_000,
    regions: [REGION],
    headers: [{ key: 'Accept', value: 'application/json' }],
    status_code_assertions: [{ target: 200, comparator: 'eq' }],
  });
  const entries = Array.from({ length: monitors }, (_, number) => [`m${number}`, monitor(number)]);
  return { resource: { svc_http_monitor: Object.fromEntries(entries) } };
}

/** By turns, the first of each pair too. */
async function pairsOf(count: number, live: (side: Side) => Promise<Life>): Promise<Lives> {
  const lives: Lives = { svc: [], memory: [] };
  for (let pair = 0; pair < count; pair += 1) {
    const order: Side[] = pair % 2 === 0 ? ['svc', 'memory'] : ['memory', 'svc'];
    for (const side of order) lives[side].push(await live(side));
  }
  return lives;
}

function rowsOf(monitors: number, { svc, memory }: Lives): string[][] {
  const steps: Record<Step, string> = {
    plan: 'plan, all to be created',
    apply: 'apply',
    refresh: 'plan, nothing to change',
    destroy: 'destroy',
  };
  return Object.entries(steps).map(([step, name]) => {
    const of = (lives: Life[], value: (measured: Measured) => number) =>
      median(lives.map((life) => value(life[step as Step])));
    const [ours, theirs] = [of(svc, ({ ms }) => ms), of(memory, ({ ms }) => ms)];
    const peak = (lives: Life[]) => Math.max(...lives.map((life) => life[step as Step].peakMiB)).toFixed(0);
    return [
      `${monitors.toLocaleString('en')}: ${name}`,
      seconds(ours),
      seconds(theirs),
      (ours / theirs).toFixed(2),
      ...[svc, memory].map((lives) => seconds(of(lives, (measured) => measured.cpuMs))),
      seconds(of(svc, ({ serviceCpuMs }) => serviceCpuMs)),
      seconds(of(svc, ({ terraformCpuMs }) => terraformCpuMs)),
      `${peak(svc)} / ${peak(memory)}`,
    ];
  });
}

const HEAD = [
  'monitors: command',
  's',
  's, in memory',
  'ratio',
  'plug-in CPU s',
  'the same, in memory',
  'coordinator CPU s',
  'Terraform CPU s',
  'plug-in peak MiB, in memory',
];

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

async function measure(terraform: string, pairs: number): Promise<void> {
  const children = new Children();
  const target = Number((await children.node('test/bench/target-process.ts')).line);
  const providers: Record<Side, Awaited<ReturnType<typeof buildProvider>>> = {
    svc: await buildProvider(),
    memory: await buildProvider(MEMORY_PROVIDER),
  };
  const system = await System.start({ regions: [REGION], declared: {} });
  try {
    console.log(`${machine(versionOf(terraform))}\n`);
    const starts = await startRows(providers.svc, STARTS);
    console.log(
      formatTable([`plug-in, ms, median of ${STARTS} (least–most)`, 'handshake', 'schema'], starts),
    );
    const rows: string[][] = [];
    for (const monitors of SIZES) {
      const configuration = configurationOf(monitors, target);
      const lives = await pairsOf(pairs, (side) =>
        liveOnce({
          terraform,
          provider: providers[side],
          arguments: { base_url: system.url, api_token: system.token },
          configuration,
          monitors,
          serviceCpuMs: () => cpuMs(system.coordinator.pid),
        }),
      );
      rows.push(...rowsOf(monitors, lives));
    }
    console.log(`\n${formatTable(HEAD, rows)}\n\nMedians of ${pairs}, peaks of all; at the end ${load()}`);
  } finally {
    await system.dispose();
    await children.endAll();
    await Promise.all(Object.values(providers).map((provider) => provider.remove()));
  }
}

const terraform = terraformBinary();
if (terraform === null) console.log('Skipped: no terraform on PATH nor in SVC_TEST_TERRAFORM.');
else await measure(terraform, Number(process.argv[2] ?? 3));
