import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { NatsTrial } from '@svc/shared/nats-trial.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { NatsFolder } from './folder.ts';

/** Longest time until a reloaded server knows its new keys, ms, and the pause between two looks. */
const RELOADED_WITHIN_MS = 15_000;
const LOOK_EVERY_MS = 100;

/** A key by which a reload is seen to have happened: the server knows it from then on, or not any more. */
export type ReloadSign = { readonly seed: Secret; readonly isAccepted: boolean };

/**
 * Makes the servers of the folder that run on this machine read their configuration again.
 *
 * @param sign null: nothing tells whether the reload happened
 * @returns a line for people about each server: that it was reloaded, or the command that does it
 */
export async function reloadServers(folder: NatsFolder, sign: ReloadSign | null): Promise<string[]> {
  const lines: string[] = [];
  for (const [file, { listen, pidFile }] of Object.entries(folder.state.servers)) {
    const pid = await runningServer(pidFile);
    const command = `nats-server --signal reload=${pid ?? pidFile}`;
    if (pid === null) {
      lines.push(
        `no server with ${basename(file)} runs on this machine (${pidFile}). Start it with "nats-server -c ${join(folder.path, file)}". Where it runs elsewhere, copy accounts.conf there and reload it with "${command}"`,
      );
      continue;
    }
    try {
      process.kill(pid, 'SIGHUP');
    } catch (error) {
      lines.push(
        `this user may not reload the server ${pid} (${messageOf(error)}): call "${command}" as its user`,
      );
      continue;
    }
    if (sign !== null) await untilSeen(listen, sign, command);
    lines.push(`reloaded the server ${pid} with ${basename(file)}`);
  }
  return lines;
}

/** The process of the file, where it is a nats-server of this machine. */
async function runningServer(pidFile: string): Promise<number | null> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return null;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // It is there, and belongs to somebody else.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return null;
  }
  // A process id is used again after a reboot.
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'nats-server');
  return name.trim().startsWith('nats-server') ? pid : null;
}

/**
 * Resolves when the server behaves as after the reload. A server only logs why it refuses a new configuration.
 *
 * @throws SvcError `nats-configuration` where it does not within {@link RELOADED_WITHIN_MS}
 */
async function untilSeen(listen: string, sign: ReloadSign, command: string): Promise<void> {
  const endsAt = performance.now() + RELOADED_WITHIN_MS;
  let found = await stateOfKey(listen, sign.seed);
  while (found !== (sign.isAccepted ? 'accepted' : 'refused')) {
    // Where this machine cannot ask the server, the signal alone must do.
    if (performance.now() > endsAt && found === 'unreachable') return;
    if (performance.now() > endsAt) {
      throw new SvcError(
        'nats-configuration',
        `the server on ${listen} was told to reload and still has its former accounts: its log says why; then call "${command}"`,
      );
    }
    await delay(LOOK_EVERY_MS);
    found = await stateOfKey(listen, sign.seed);
  }
}

async function stateOfKey(listen: string, seed: Secret): Promise<'accepted' | 'refused' | 'unreachable'> {
  const url = `nats://${listen.replace(/^(?:0\.0\.0\.0|\[::\]|\*)(?=:)/, '127.0.0.1')}`;
  try {
    const trial = await NatsTrial.open({ url, name: 'svc region', nkeySeed: seed, trustsAnyServer: true });
    await trial.close();
    return 'accepted';
  } catch (error) {
    return error instanceof SvcError && error.code === 'nats-refused' ? 'refused' : 'unreachable';
  }
}
