import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lockFile } from '@svc/shared/process/file-lock.ts';

/** Interval of the checks whether another file has finished, ms. */
const LOOK_EVERY_MS = 50;

type MadeOnce<Value> = {
  readonly folder: string;
  /** The result of `make`. */
  readonly value: Value;
};

/**
 * Makes a folder once in a run of tests, for all files that use it: the first file makes it, and
 * other files wait for it. The folder stays until the end of the run. Nobody may change its content.
 *
 * @param make fills the folder; its result is stored as JSON
 */
export async function madeOnce<Value>(
  name: string,
  make: (folder: string) => Promise<Value>,
): Promise<MadeOnce<Value>> {
  const { TESTS_TMPDIR } = process.env;
  if (TESTS_TMPDIR === undefined) throw new Error('TESTS_TMPDIR is set by temporary-folder.ts');
  const folder = join(TESTS_TMPDIR, name);
  const answer = `${folder}.json`;
  while (!existsSync(answer)) {
    const unlock = lockFile(`${folder}.lock`);
    if (unlock === null) await delay(LOOK_EVERY_MS);
    else await fill(folder, answer, make).finally(unlock);
  }
  return { folder, value: JSON.parse(await readFile(answer, 'utf8')) as Value };
}

async function fill(
  folder: string,
  answer: string,
  make: (folder: string) => Promise<unknown>,
): Promise<void> {
  // Another file has made it since the last check.
  if (existsSync(answer)) return;
  // Removes what a failed attempt of another file has left.
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await writeFile(`${answer}.part`, JSON.stringify((await make(folder)) ?? null));
  await rename(`${answer}.part`, answer);
}
