import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { clientIdentity, pemCertificate } from './client-identity.ts';
import { ProtocolClient, type ServedPlugin } from './protocol-client.ts';

/** How a provider is started. */
export type PluginCommand = { readonly file: string; readonly args: readonly string[] };

export const COOKIE = 'd602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2';

/** A plug-in process that has written its handshake line. */
export type RunningPlugin = ServedPlugin & {
  readonly process: ChildProcess;
  /** Lines that the process has written to stderr so far. */
  readonly log: readonly string[];
  /** Instants by `performance.now()`: just before the start of the process, and at its handshake line. */
  readonly startedAt: number;
  readonly answeredAt: number;
};

/** Time for which Terraform waits for the handshake line, ms. */
const HANDSHAKE_MS = 60_000;

/**
 * Makes a folder for the TMPDIR of one plug-in. A killed plug-in leaves the directory of its socket behind.
 */
export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'svc-tmp-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Starts a provider the way Terraform does and reads its handshake line. */
export async function startPlugin(
  { file, args }: PluginCommand,
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningPlugin> {
  const client = clientIdentity();
  const temporary = await temporaryFolder();
  const startedAt = performance.now();
  const child = spawn(file, args, {
    env: {
      PATH: process.env.PATH ?? '',
      TMPDIR: temporary.path,
      ...environment,
      TF_PLUGIN_MAGIC_COOKIE: COOKIE,
      PLUGIN_PROTOCOL_VERSIONS: '5,6',
      PLUGIN_MIN_PORT: '10000',
      PLUGIN_MAX_PORT: '25000',
      PLUGIN_CLIENT_CERT: client.certificate,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').finally(temporary.remove);
  const log: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line));
  const line = await firstLine(child, ended, log);
  const answeredAt = performance.now();
  const [core, application, network, address, kind, certificate = ''] = line.split('|');
  if (core !== '1' || application !== '6' || kind !== 'grpc' || certificate.includes('=')) {
    child.kill('SIGKILL');
    throw new Error(`Unrecognized remote plugin message: ${line}`);
  }
  return {
    process: child,
    target: network === 'unix' ? `unix:${address}` : String(address),
    // The Base64 text has no padding, but PEM requires it.
    serverCertificate: pemCertificate(Buffer.from(certificate, 'base64').toString('base64')),
    client,
    log,
    ended,
    startedAt,
    answeredAt,
  };
}

/** A provider in a process of its own, with the client that started it. */
export async function startClient(
  command: PluginCommand,
  environment: Readonly<Record<string, string>> = {},
): Promise<ProtocolClient<RunningPlugin>> {
  return new ProtocolClient(await startPlugin(command, environment));
}

async function firstLine(child: ChildProcess, ended: Promise<unknown>, log: string[]): Promise<string> {
  const timeout = AbortSignal.timeout(HANDSHAKE_MS);
  const lines = createInterface({ input: child.stdout! });
  const first = once(lines, 'line', { signal: timeout }).then(([line]) => line as string);
  first.catch(() => {}); // If the process ends first, that error is reported.
  const early = ended.then(() => {
    throw new Error(`the plug-in ended before its handshake (${child.exitCode}):\n${log.join('\n')}`);
  });
  early.catch(() => {}); // Later ends are no failure of the start.
  return Promise.race([first, early]);
}
