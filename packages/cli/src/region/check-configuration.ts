import { execFile } from 'node:child_process';
import { access, constants, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isCode, SvcError } from '@svc/shared/errors.ts';
import { ACCOUNTS_FILE } from './configuration.ts';

const run = promisify(execFile);

/** Folders of Debian's package and of others, often missing from a user's PATH. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/local/bin', '/usr/bin'];
/** Folder of the server that `npm start` has installed, from the root of the project. */
const OF_THE_PROJECT = '.cache/nats-server';
/** Begins the names of the folders with drafts. */
const DRAFT = '.check-';

/**
 * Lets the NATS server of this machine check its configurations with new accounts. Where the machine has no such
 * program the check is left out: the server keeps its former configuration when it refuses a new one.
 *
 * @param configurations texts by the names of their files in the folder
 * @param accounts the new text of the file that they include
 * @throws SvcError `nats-configuration` with the words of the server
 */
export async function checkConfiguration(
  folder: string,
  configurations: ReadonlyMap<string, string>,
  accounts: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const draft = await mkdtemp(join(folder, DRAFT));
  try {
    await writeFile(join(draft, ACCOUNTS_FILE), accounts, { mode: 0o600 });
    for (const [file, text] of configurations) {
      await writeFile(join(draft, file), text, { mode: 0o600 });
      await check(join(draft, file), join(folder, file), environment);
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Removes drafts that a check has left because its process was killed. The caller holds the lock of the folder. */
export async function removeCheckedDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(DRAFT)) await rm(join(folder, name), { recursive: true, force: true });
}

async function check(draft: string, shown: string, environment: NodeJS.ProcessEnv): Promise<void> {
  for (const command of commands(environment)) {
    try {
      // A process is started only for what is there: the search looks into each folder of `PATH`.
      if (command !== environment.SVC_NATS_SERVER) await access(command, constants.X_OK);
      await run(command, ['-t', '-c', draft], { timeout: 10_000 });
      return;
    } catch (error) {
      if (isCode(error, 'ENOENT', 'EACCES', 'ENOTDIR')) continue;
      const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
      const reason = said.replaceAll(draft, shown).split('\n').at(-1);
      const isElsewhere = reason?.includes('no such file') === true;
      const hint = isElsewhere
        ? '. If its files are on another machine or in a container, SVC_NATS_SERVER=none leaves the check out'
        : '';
      throw new SvcError(
        'nats-configuration',
        `nats-server refuses ${shown}: ${reason || 'it says no reason'}; nothing was changed${hint}`,
        { cause: error },
      );
    }
  }
}

function commands({ SVC_NATS_SERVER, PATH = '', npm_package_json }: NodeJS.ProcessEnv): string[] {
  if (SVC_NATS_SERVER) return [SVC_NATS_SERVER];
  // Only npm knows the project: the bundle of this command may lie anywhere.
  const project = npm_package_json === undefined ? [] : [join(dirname(npm_package_json), OF_THE_PROJECT)];
  const folders = [...PATH.split(delimiter).filter((folder) => folder !== ''), ...SYSTEM_FOLDERS, ...project];
  return folders.map((folder) => join(folder, 'nats-server'));
}
