/**
 * Measures the time from the command `npm start`, with everything installed and a new data folder, to the
 * first recorded result. Argument: number of starts (3). One more start before them warms the compile cache.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';
import { ROOT } from '../support/process.ts';
import { openResults } from '../support/recorded-results.ts';
import { machine } from './machine.ts';
import { median } from './process-usage.ts';

const [starts = 3] = process.argv.slice(2).map(Number);

/** Time from the command to the first result, by the instant in the database, ms. */
async function startOnce(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-quick-start-'));
  const began = Date.now();
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { ...process.env, SVC_DATA_DIR: folder, SVC_LISTEN: `127.0.0.1:${await freePort()}` },
    stdio: 'ignore',
  });
  const ended = once(npm, 'exit');
  try {
    return (await firstResultAt(join(folder, 'svc.db'))) - began;
  } finally {
    npm.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits for the first recorded result, and returns its instant, epoch ms. */
async function firstResultAt(path: string): Promise<number> {
  for (;;) {
    const at = existsSync(path) ? recordedFirst(path) : null;
    if (at !== null) return at;
    await delay(50);
  }
}

/** The instant of the first recorded result; null: nothing is recorded, or there is no table yet. */
function recordedFirst(path: string): number | null {
  const database = openResults(path, 5_000);
  try {
    const table = "SELECT 1 FROM sqlite_master WHERE name IN ('results', 'slot_results')";
    if (database.prepare(table).get() === undefined) return null;
    const row = database.prepare('SELECT min(recorded_at) AS at FROM results').get();
    return typeof row?.at === 'number' ? row.at : null;
  } finally {
    database.close();
  }
}

await startOnce();
const times: number[] = [];
for (let round = 0; round < starts; round += 1) times.push(await startOnce());
console.log(machine());
console.log(`first result after ${median(times)} ms (${times.join(', ')})`);
