import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { NatsTrial, type TrialParts } from '@svc/shared/nats/trial.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import type { NatsFolder } from './folder.ts';

/** Maximum time until a reloaded server knows its new keys, ms. */
const RELOADED_WITHIN_MS = 15_000;
/** Interval between two attempts to find out whether the server has reloaded, ms. */
const LOOK_EVERY_MS = 100;
/** The signal to reload is repeated after this number of attempts. */
const LOOKS_PER_SIGNAL = 20;

/**
 * A key that shows whether a server has reloaded. After the reload, the
 * server accepts the key if `isAccepted`, and refuses it otherwise.
 */
export type ReloadSign = { readonly seed: Secret; readonly isAccepted: boolean };

/**
 * Makes the servers of the folder that run on this machine read their configuration again.
 *
 * @param sign null when nothing shows whether a server has reloaded
 * @returns a line for people about each server, which says that the server was reloaded, or what to do
 * @throws SvcError `nats-configuration` when a server keeps its former accounts
 */
export async function reloadServers(folder: NatsFolder, sign: ReloadSign | null): Promise<string[]> {
  const lines: string[] = [];
  const system = await folder.findSeed('system', (line) => lines.push(line));
  const byPidFile = Map.groupBy(Object.entries(folder.state.servers), ([, { pidFile }]) => pidFile);
  for (const [pidFile, servers] of byPidFile) {
    const pid = await runningServer(pidFile);
    const command = `nats-server --signal reload=${pid ?? pidFile}`;
    if (pid === null) {
      for (const [file] of servers)
        lines.push(
          `no server with ${basename(file)} runs on this machine (${pidFile}). Start it with "nats-server -c ${join(folder.path, file)}". Where it runs elsewhere, copy accounts.conf there and reload it twice with "${command}": the first reload leaves results of a new region without a receiver`,
        );
      continue;
    }
    try {
      process.kill(pid, 'SIGHUP');
    } catch (error) {
      lines.push(
        `this user may not reload the server ${pid} (${messageOf(error)}): call "${command}" twice as its user`,
      );
      continue;
    }
    const server = await listening(
      servers.map(([, { listen }]) => addressed(folder, listen)),
      sign?.seed ?? system,
    );
    if (sign !== null) await untilSeen(server, sign, command);
    const isLoaded = await reloadAgain(server, system, pid);
    const files = servers.map(([file]) => basename(file)).join(', ');
    lines.push(
      isLoaded
        ? `reloaded the server ${pid} with ${servers.length > 1 ? 'one of ' : ''}${files}`
        : `told the server ${pid} to reload ${files}, and it does not say that it did: its log says why. A changed address, store or pid file needs a restart`,
    );
    if (servers.length > 1)
      lines.push(
        `copy accounts.conf to the machines of the other servers, and reload each twice with "nats-server --signal reload=${pidFile}"`,
      );
  }
  return lines;
}

/**
 * Makes the server read its configuration a second time. After the first reload with
 * a new account, results of the new region would get "no responders" until the next
 * reload or restart, because the account's imports have no receiver yet (nats-server
 * 2.9.10, 2.10.27 and 2.15.1, 2026-11-22). A signal during a reload is lost.
 *
 * @param seed key of the system account; null when there is none, and the server cannot be asked
 * @returns whether the server reports that it has read its configuration
 */
async function reloadAgain(server: Server, seed: Secret | null, pid: number): Promise<boolean> {
  const endsAt = performance.now() + RELOADED_WITHIN_MS;
  let first: string | null = null;
  for (let looks = 0; seed !== null && performance.now() < endsAt; ) {
    const last = await loadedAt(server, seed);
    if (last === NO_LISTENER) break;
    if (first !== null && last !== null && last !== first) return true;
    first ??= last;
    if (first !== null) {
      // The signal is repeated, because the server may still have been busy with the previous reload.
      if (looks % LOOKS_PER_SIGNAL === 0) process.kill(pid, 'SIGHUP');
      looks += 1;
    }
    await delay(LOOK_EVERY_MS);
  }
  if (first === null) process.kill(pid, 'SIGHUP');
  return false;
}

const varz = z.object({ data: z.object({ config_load_time: z.string() }) });

/**
 * Nothing listens at the address that the configuration names.
 * The server uses its former address until it restarts.
 */
const NO_LISTENER = 'no-listener';

/**
 * When the server last read its configuration, in the server's notation;
 * {@link NO_LISTENER} when nothing listens at its address. Null when the
 * server does not answer: during a reload, it refuses even keys that it knows.
 */
async function loadedAt(server: Server, systemSeed: Secret): Promise<string | typeof NO_LISTENER | null> {
  try {
    const trial = await NatsTrial.open({ ...server, nkeySeed: systemSeed });
    // Only this server is asked. In a cluster, the other servers
    // would answer a general question too, in any order.
    const subject = `$SYS.REQ.SERVER.${trial.server.id}.VARZ`;
    const [answer] = await trial.askAll(subject, {}).finally(() => trial.close());
    const found = varz.safeParse(answer === undefined ? null : JSON.parse(answer));
    return found.success ? found.data.data.config_load_time : null;
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return isCode(error.cause, 'CONNECTION_REFUSED') ? NO_LISTENER : null;
  }
}

/**
 * The id of the process that the file names. Null when there is no
 * such process on this machine, or when it is not a nats-server.
 */
async function runningServer(pidFile: string): Promise<number | null> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 1) return null;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // The error EPERM means that the process exists and belongs to another user.
    if (!isCode(error, 'EPERM')) return null;
  }
  // After a reboot, another process may have this process id.
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => 'nats-server');
  return name.trim().startsWith('nats-server') ? pid : null;
}

/**
 * Resolves when the server accepts or refuses the key as it must after the reload. A
 * server that refuses a new configuration reports this only in its log. It also
 * resolves after {@link RELOADED_WITHIN_MS} when this machine cannot ask the server.
 *
 * @throws SvcError `nats-configuration` when the server
 *   keeps its former accounts for {@link RELOADED_WITHIN_MS}
 */
async function untilSeen(server: Server, sign: ReloadSign, command: string): Promise<void> {
  const endsAt = performance.now() + RELOADED_WITHIN_MS;
  let found = await stateOfKey(server, sign.seed);
  while (found !== (sign.isAccepted ? 'accepted' : 'refused')) {
    // This machine cannot ask the server, so nothing shows whether it has reloaded.
    if (performance.now() > endsAt && found === 'unreachable') return;
    if (performance.now() > endsAt) {
      throw new SvcError(
        'nats-configuration',
        `the server ${server.url} was told to reload and still has its former accounts: its log says why; then call "${command}"`,
      );
    }
    await delay(LOOK_EVERY_MS);
    found = await stateOfKey(server, sign.seed);
  }
}

async function stateOfKey(server: Server, seed: Secret): Promise<'accepted' | 'refused' | 'unreachable'> {
  try {
    const trial = await NatsTrial.open({ ...server, nkeySeed: seed });
    await trial.close();
    return 'accepted';
  } catch (error) {
    return error instanceof SvcError && error.code === 'nats-refused' ? 'refused' : 'unreachable';
  }
}

type Server = Pick<TrialParts, 'url' | 'name' | 'trustsAnyServer'>;

/**
 * The one of several servers that runs on this machine. On machines of their own, the
 * servers of a cluster have the same pid file, and this machine has the files of all.
 */
async function listening(servers: readonly Server[], seed: Secret | null): Promise<Server> {
  for (const server of servers.slice(1))
    if (seed !== null && (await stateOfKey(server, seed)) !== 'unreachable') return server;
  return servers[0] as Server;
}

/** How to connect to a server on this machine. No secret is sent to it, so any certificate is accepted. */
function addressed(folder: NatsFolder, listen: string): Server {
  const url = `nats://${listen.replace(/^(?:0\.0\.0\.0|\[::\]|\*)(?=:)/, '127.0.0.1')}`;
  return { url, name: 'svc region', trustsAnyServer: parseNatsServers(folder.state.url).requiresTls };
}
