import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  API_TOKEN_FILE,
  PREVIOUS_SECRET_KEY_FILE,
  SECRET_KEY_FILE,
} from '@svc/coordinator/store/access/key-files.ts';
import { KNOWN_VARIABLES } from '@svc/shared/settings/setting-names.ts';
import { type Finding, findingsOf, type Subject } from './finding.ts';

const { ok, failed } = findingsOf('files');

/**
 * Checks that the files with secrets are closed to all users except their owner and their group.
 *
 * @param envFiles files with the settings
 */
export async function fileFindings(
  { role, config, environment }: Subject,
  envFiles: readonly string[],
): Promise<Finding[]> {
  const named = [...KNOWN_VARIABLES]
    .filter((name) => name.endsWith('_FILE') || name.endsWith('_CLIENT_KEY'))
    .map((name) => environment[name]);
  const inFolder =
    role === 'coordinator' ? [SECRET_KEY_FILE, PREVIOUS_SECRET_KEY_FILE, API_TOKEN_FILE, 'svc.db'] : [];
  const paths: (string | undefined)[] = [
    ...named,
    config.natsCredentials,
    ...(role === 'coordinator' ? [config.tlsKey, ...inFolder.map((name) => join(config.dataDir, name))] : []),
    ...envFiles,
  ];
  const findings = await Promise.all(paths.flatMap((path) => (path ? [exposure(path)] : [])));
  const exposed = findings.filter((finding) => finding !== null);
  return exposed.length > 0 ? exposed : [ok('only their owner and its group read the files with secrets')];
}

/**
 * The finding about a file that every user of the machine may use. Null when only its owner and its group
 * may use it, when it does not exist, or when it is a link or another special file. The group may use it,
 * because service managers pass secrets that way.
 */
async function exposure(path: string): Promise<Finding | null> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile() || (found.mode & 0o007) === 0) return null;
  return failed(
    `${path} has a secret, and every user of the machine may use it (mode ${(found.mode & 0o777).toString(8)})`,
    `chmod 600 ${path}`,
  );
}
