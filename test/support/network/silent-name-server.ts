import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { compileCacheOf, ROOT } from '../process.ts';
import type { Said } from '../svc.ts';

/** Runs a program in a network whose only name server receives every question and answers none. */
const SILENT_NAME_SERVER = `
const { execFileSync, spawn } = require('node:child_process');
const [resolvConf, ...args] = process.argv.slice(1);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
execFileSync('mount', ['--bind', resolvConf, '/etc/resolv.conf']);
require('node:dgram').createSocket('udp4').bind(53, '127.0.0.1', () =>
  spawn(process.execPath, args, { stdio: 'inherit' }).on('exit', (code) => process.exit(code)));
`;

/**
 * Runs a command of `svc` in a network whose only name server
 * never answers. The system searches for a name for minutes there.
 *
 * @param folder folder for files
 */
export async function svcBesideSilentNameServer(
  folder: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Said> {
  const resolvConf = join(folder, 'resolv.conf');
  await writeFile(resolvConf, 'nameserver 127.0.0.1\noptions timeout:30 attempts:5\n');
  const main = ['--', join(ROOT, 'packages/cli/src/main.ts')];
  const child = spawn(
    'unshare',
    ['--net', '--mount', process.execPath, '-e', SILENT_NAME_SERVER, '--', resolvConf, ...main, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, ...compileCacheOf(ROOT), ...environment },
    },
  );
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, out, err };
}
