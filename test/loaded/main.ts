/**
 * `npm run loaded`: runs the tests again and again beside busy loops, which take CPU time from them. It finds tests
 * that pass only on a quiet machine. Each round runs every series:
 *
 *     npm run loaded -- --rounds 10 --busy 4 --minutes 40 test/integration/garbage.test.ts test/e2e/kill.test.ts
 *
 * Each file is a series; with `--together --workers 4` all of them are one, four at once. Without files all tests but
 * those in a browser are run, in several series.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BusyLoops } from './busy-loops.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
/** Arguments of Vitest by the name of a series. */
const SERIES: Readonly<Record<string, readonly string[]>> = {
  unit: ['--project', 'unit'],
  long: ['--project', 'long'],
  processes: ['--project', 'processes'],
  integration: ['test/integration/'],
  e2e: ['--project', 'system', 'test/e2e/'],
  alone: ['--project', 'alone'],
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    /** Processes that take a CPU each. */
    busy: { type: 'string', default: String(2 * availableParallelism()) },
    /** No series is started after this time. */
    minutes: { type: 'string', default: '120' },
    /** Files at once. */
    workers: { type: 'string', default: '1' },
    /** Whether the files are one series. */
    together: { type: 'boolean', default: false },
  },
});

type Series = { readonly name: string; readonly args: readonly string[]; passed: number; failed: number };

const series: Series[] = argumentsOfSeries().map(([name, args]) => ({ name, args, passed: 0, failed: 0 }));

const endsAt = performance.now() + Number(values.minutes) * 60_000;
const loops = await BusyLoops.start(Number(values.busy));
try {
  await rounds();
} finally {
  await loops.stop();
}
console.log(`\n${values.busy} busy loops beside it:`);
for (const { name, passed, failed } of series) console.log(`${name}: ${passed} passed, ${failed} failed`);
if (series.some(({ passed, failed }) => failed > 0 || passed === 0)) process.exitCode = 1;

function argumentsOfSeries(): [name: string, args: readonly string[]][] {
  if (positionals.length === 0) return Object.entries(SERIES);
  return values.together ? [['all files', positionals]] : positionals.map((file) => [file, [file]]);
}

async function rounds(): Promise<void> {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    for (const each of series) {
      if (performance.now() > endsAt) return;
      const started = performance.now();
      const { hasPassed, output } = await run(each.args);
      if (hasPassed) each.passed += 1;
      else each.failed += 1;
      const seconds = Math.round((performance.now() - started) / 1_000);
      console.log(`round ${round}: ${each.name} ${hasPassed ? 'passed' : 'FAILED'} in ${seconds} s`);
      if (!hasPassed) console.log(output);
    }
  }
}

async function run(args: readonly string[]): Promise<{ hasPassed: boolean; output: string }> {
  const vitest = spawn(process.execPath, [VITEST, 'run', `--maxWorkers=${values.workers}`, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1' },
  });
  const chunks: Buffer[] = [];
  for (const stream of [vitest.stdout, vitest.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
  const [code] = await once(vitest, 'close');
  return { hasPassed: code === 0, output: Buffer.concat(chunks).toString() };
}
