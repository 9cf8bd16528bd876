import { mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { databaseFileOf } from '@svc/coordinator/config.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';

const { ok, warning, failed } = findingsOf('disk');

const MIB = 1_024 ** 2;
const LOW_BYTES = 1_024 * MIB;
const FULL_BYTES = 64 * MIB;
const WRITES = 20;
/**
 * Median duration of a durable write above which there is a warning, because
 * alerts are late, ms. Each commit of the database waits for one such write.
 */
const SLOW_MS = 50;
const TOO_SLOW_MS = 1_000;

/**
 * Checks the free space and the speed of the disk that
 * holds SQLite's file. An agent stores nothing on a disk.
 */
export async function diskFindings(subject: Subject): Promise<Finding[]> {
  if (subject.role === 'agent') return [];
  const { databaseUrl, dataDir } = subject.config;
  const file = databaseFileOf(databaseUrl, dataDir);
  // PostgreSQL's data are on the disk of its own server, so there is no disk to check here.
  if (file === null) return [];
  const folder = resolve(dirname(file));
  try {
    const found = await room(folder);
    // On a full disk, a write would fail and say nothing about the speed.
    return found.level === 'failed' ? [found] : [found, await speed(folder)];
  } catch (error) {
    return [
      failed(
        `cannot write to ${folder}: ${messageOf(error)}`,
        'create the folder, and give it to the user of the coordinator; call the doctor as that user',
      ),
    ];
  }
}

async function room(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const what = `${folder} has ${Math.round(free / MIB)} MiB left`;
  const todo = 'make room: a full disk stops the recording of results';
  if (free < FULL_BYTES) return failed(what, todo);
  return free < LOW_BYTES ? warning(what, todo) : ok(what);
}

async function speed(folder: string): Promise<Finding> {
  const draft = await mkdtemp(join(folder, '.doctor-'));
  try {
    const file = await open(join(draft, 'write'), 'w');
    const times: number[] = [];
    try {
      for (let write = 0; write < WRITES; write += 1) {
        const startedAt = performance.now();
        await file.write(Buffer.alloc(4_096, write));
        await file.datasync();
        times.push(performance.now() - startedAt);
      }
    } finally {
      await file.close();
    }
    times.sort((a, b) => a - b);
    return judged(times[WRITES / 2] ?? 0, times.at(-1) ?? 0);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function judged(median: number, longest: number): Finding {
  const what = `a durable write takes ${median.toFixed(1)} ms, at most ${longest.toFixed(1)} ms of ${WRITES}`;
  const todo = 'put the data folder on a local SSD; a network disk delays records and alerts';
  if (median > TOO_SLOW_MS) return failed(what, todo);
  return median > SLOW_MS ? warning(what, todo) : ok(what);
}
