/**
 * Measures what the charts of a monitor's page take that is checked from all 28 regions every 30 s, on a real
 * database file: reading the series of each range and the phases, making the API's answer, and drawing both charts.
 *
 *   node test/bench/charts.ts [turns]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { phasesAnswer, seriesAnswer } from '@svc/coordinator/api/series-answer.ts';
import { latencyChart } from '@svc/coordinator/dashboard/monitor/latency-section.ts';
import { phasesChart } from '@svc/coordinator/dashboard/monitor/phases-section.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/domain/latency-histogram.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/domain/schedule.ts';
import { SERIES_RANGES, type SeriesRange } from '@svc/coordinator/domain/series-range.ts';
import { DAY_MS, HOUR_MS } from '@svc/coordinator/domain/summary-range.ts';
import { readPhases } from '@svc/coordinator/rollups/phases.ts';
import { readSeries } from '@svc/coordinator/rollups/series.ts';
import { openStore } from '@svc/coordinator/store/open.ts';
import { createLogger } from '@svc/shared/log.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { formatTable } from './table.ts';

const PERIOD_MS = 30_000;
const ID = 1;
const [turns = 30] = process.argv.slice(2).map(Number);

const directory = await mkdtemp(join(tmpdir(), 'svc-bench-charts-'));
const store = await openStore({ path: join(directory, 'svc.db'), log: createLogger('bench', 'warn') });
const hour = Date.UTC(2026, 5, 15, 12);
const now = hour + HOUR_MS + 20 * 60_000;
const day = Date.UTC(2026, 5, 15);

/** Latencies of a day in a region: mostly near each other, with a few that are far away. */
const latencyOf = (turn: number) => 40 + ((turn * 7_919) % 60) + (turn % 97 === 0 ? 900 : 0);
const histogram = emptyHistogram();
for (let turn = 0; turn < DAY_MS / PERIOD_MS; turn += 1) addLatency(histogram, latencyOf(turn));
const latency = encodeHistogram(histogram);

async function addResults(): Promise<void> {
  const first = gridSlotFrom(now - 14 * DAY_MS, PERIOD_MS, phaseOf(ID, PERIOD_MS));
  const rows: [number, string, number, string][] = [];
  for (let slot = first; slot < now; slot += PERIOD_MS) {
    for (const region of REGIONS) {
      const took = latencyOf(rows.length);
      rows.push([slot, region, took, `{"started_at":${slot},"phases":[0.5,11,13,${took - 25},0.5]}`]);
    }
    if (rows.length < 50_000 && slot + PERIOD_MS < now) continue;
    await store.transaction((tx) =>
      tx.runEach(
        `INSERT INTO results (slot, monitor_id, region, outcome, version, latency, status_code, detail, agent,
           recorded_at) VALUES (?, ${ID}, ?, 'passed', 1, ?, 200, ?, 'agent-1', 0)`,
        rows.splice(0),
      ),
    );
  }
}

async function addRollups(): Promise<void> {
  const hours = Array.from({ length: 14 * 24 }, (_, index) => hour - (index + 1) * HOUR_MS);
  const days = Array.from({ length: 90 }, (_, index) => day - (index + 1) * DAY_MS);
  const rowsOf = (starts: readonly number[]) =>
    starts.flatMap((at) => REGIONS.map((region) => [ID, at, region, latency]));
  await store.transaction(async (tx) => {
    await tx.runEach('INSERT INTO rollup_hours VALUES (?, ?, ?, 119, 1, 0, 0, ?)', rowsOf(hours));
    await tx.runEach('INSERT INTO rollup_days VALUES (?, ?, ?, 2879, 1, 0, 0, ?)', rowsOf(days));
    await tx.runEach('INSERT INTO rollup_progress VALUES (1, ?, 0, ?, 0, 0)', [[hour, day]]);
  });
}

type Times = { read: number[]; answered: number[]; drawn: number[] };

async function measured(range: SeriesRange, what: 'series' | 'phases'): Promise<string[]> {
  const times: Times = { read: [], answered: [], drawn: [] };
  const loop = monitorEventLoopDelay({ resolution: 1 });
  const asked = { range, region: null, regionCount: REGIONS.length, periodMs: PERIOD_MS };
  let bytes = 0;
  for (let turn = 0; turn <= turns; turn += 1) {
    if (turn === 1) loop.enable(); // The first compiles.
    const began = performance.now();
    const found =
      what === 'series' ? await readSeries(store, ID, asked, now) : await readPhases(store, ID, asked, now);
    const read = performance.now();
    const answer =
      'tallies' in found ? seriesAnswer({ ...asked, now }, found) : phasesAnswer({ ...asked, now }, found);
    JSON.stringify(answer);
    const answered = performance.now();
    bytes = String('every' in answer ? phasesChart(answer) : latencyChart(answer)).length;
    if (turn === 0) continue;
    times.read.push(read - began);
    times.answered.push(answered - read);
    times.drawn.push(performance.now() - answered);
  }
  loop.disable();
  const whole = times.read.map((ms, turn) => ms + (times.answered[turn] ?? 0) + (times.drawn[turn] ?? 0));
  const median = (values: readonly number[]) =>
    (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0).toFixed(1);
  return [
    `${what} of ${range}`,
    median(times.read),
    median(times.answered),
    median(times.drawn),
    median(whole),
    Math.max(...whole).toFixed(1),
    (loop.max / 1e6).toFixed(1),
    (bytes / 1_000).toFixed(1),
  ];
}

await addResults();
await addRollups();
const rows: string[][] = [];
for (const range of Object.keys(SERIES_RANGES) as SeriesRange[]) {
  for (const what of ['series', 'phases'] as const) rows.push(await measured(range, what));
}
console.log(`28 regions, every 30 s, ${turns} turns; ms, medians where nothing else is said\n`);
const head = ['chart', 'read', 'answer', 'drawn', 'whole', 'worst', 'longest turn of the loop', 'kB of HTML'];
console.log(formatTable(head, rows));
await store.close();
await rm(directory, { recursive: true });
