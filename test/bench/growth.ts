/**
 * Watches for an hour whether memory grows:
 *
 *     node test/bench/growth.ts [per second] [minutes] [warm-up]
 *
 * The whole service runs from its bundles at a small rate of checks (120 a second). Each minute the
 * benchmark prints the resident memory of each process. At the end it prints the slope of each process's
 * memory after the warm-up (20 minutes). SIGINT ends the benchmark early, with the slopes until then.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { declaredMonitors, monitorsFor } from './declared-monitors.ts';
import { machine } from './machine.ts';
import { cpuMs, median } from './process-usage.ts';
import { withService } from './running-service.ts';
import { formatTable } from './table.ts';

const MINUTE_MS = 60_000;
/**
 * Number of samples in a minute. Their median ignores the
 * effect of a heap collection, which lasts for seconds.
 */
const SAMPLES = 6;

/** Resident memory of a process, MiB: its own pages, and pages of files. */
type Memory = { readonly own: number; readonly ofFiles: number };

function memoryOf(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_024;
  return { own: mib('RssAnon'), ofFiles: mib('RssFile') + mib('RssShmem') };
}

/** The growth of `values` in an hour, by least squares. There is one value for each minute. */
function slopePerHour(values: readonly number[]): number {
  const meanAt = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let [above, below] = [0, 0];
  for (const [at, value] of values.entries()) {
    above += (at - meanAt) * (value - mean);
    below += (at - meanAt) ** 2;
  }
  return (above / below) * 60;
}

const [perSecond = 120, minutes = 65, warmUp = 20] = process.argv.slice(2).map(Number);
const ending = new AbortController();
process.once('SIGINT', () => ending.abort());

// If this variable is set, the programs are bundles, as in tests.
const folder = await mkdtemp(join(tmpdir(), 'svc-growth-'));
process.env.TESTS_TMPDIR = folder;
const declare = (port: number) => ({ svc_http_monitor: declaredMonitors(monitorsFor(perSecond), port) });
await withService(declare, {}, async ({ system }) => {
  const processes = new Map([
    ['coordinator', system.coordinator.pid],
    ['nats', system.nats.pid],
  ]);
  for (const [region, agent] of system.agents) processes.set(region, agent.pid);
  const series = new Map([...processes.keys()].map((name) => [name, [] as Memory[]]));
  console.log(`${perSecond} checks/s, ${machine()}`);
  console.log([...processes].map(([name, pid]) => `${name} ${pid}`).join(', '));
  for (let minute = 1; minute <= minutes && !ending.signal.aborted; minute += 1) {
    const samples = new Map([...processes.keys()].map((name) => [name, [] as Memory[]]));
    for (let sample = 0; sample < SAMPLES; sample += 1) {
      await delay(MINUTE_MS / SAMPLES, null, { signal: ending.signal }).catch(() => {});
      for (const [name, pid] of processes) samples.get(name)?.push(memoryOf(pid));
    }
    const texts = [...processes].map(([name, pid]) => {
      const seen = samples.get(name) ?? [];
      const own = median(seen.map((each) => each.own));
      const ofFiles = median(seen.map((each) => each.ofFiles));
      series.get(name)?.push({ own, ofFiles });
      return `${name} ${own.toFixed(1)} + ${ofFiles.toFixed(1)} (${(cpuMs(pid) / 1_000).toFixed(0)} s CPU)`;
    });
    console.log(`${minute} min: ${texts.join(', ')}`);
  }
  const rows = [...series].map(([name, all]) => {
    const seen = all.slice(warmUp);
    const sums = seen.map(({ own, ofFiles }) => own + ofFiles);
    const [first = Number.NaN] = sums;
    const slopes = [seen.map(({ own }) => own), sums].map((values) => slopePerHour(values).toFixed(2));
    return [
      name,
      first.toFixed(1),
      (sums.at(-1) ?? Number.NaN).toFixed(1),
      Math.max(...sums).toFixed(1),
      ...slopes,
    ];
  });
  const head = [
    `MiB, from minute ${warmUp} on`,
    'first',
    'last',
    'most',
    'own pages, per hour',
    'all, per hour',
  ];
  console.log(formatTable(head, rows));
}).finally(() => rm(folder, { recursive: true, force: true }));
