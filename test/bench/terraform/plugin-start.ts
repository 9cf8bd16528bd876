import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleProvider, executableName } from '../../../deploy/build/provider.ts';
import { standalonePackage } from '../../../deploy/build/standalone.ts';
import { type BuiltProvider, VERSION } from '../../support/terraform/built-provider.ts';
import { type PluginCommand, startClient } from '../../support/terraform/plugin-process.ts';
import { median } from '../process-usage.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const NODE = { SVC_TERRAFORM_NODE: process.execPath };

type Start = { readonly handshakeMs: number; readonly schemaMs: number };

/**
 * Time from the start of the process to its handshake line and to the answered schema, one row for each way
 * to start it.
 */
export async function startRows(provider: BuiltProvider, starts: number): Promise<string[][]> {
  const ways: Record<string, PluginCommand> = {
    'launcher and bundle': { file: join(provider.folder, executableName(VERSION)), args: [] },
    'node and bundle': provider.command,
  };
  const standalone = await makeStandalone();
  if ('skipped' in standalone) console.log(`No standalone provider: ${standalone.skipped}.\n`);
  else ways['standalone executable'] = standalone.command;
  try {
    return await measure(ways, starts);
  } finally {
    if (!('skipped' in standalone)) await standalone.remove();
  }
}

async function measure(ways: Record<string, PluginCommand>, starts: number): Promise<string[][]> {
  const taken = new Map<string, Start[]>(Object.keys(ways).map((name) => [name, []]));
  // The ways take turns, so that all meet the same state of the machine. The first round fills the caches.
  for (let round = 0; round <= starts; round += 1) {
    for (const [name, command] of Object.entries(ways)) {
      const start = await startOnce(command);
      if (round > 0) taken.get(name)?.push(start);
    }
  }
  return [...taken].map(([name, all]) => [
    name,
    ...[all.map(({ handshakeMs }) => handshakeMs), all.map(({ schemaMs }) => schemaMs)].map(
      (times) =>
        `${median(times).toFixed(0)} (${Math.min(...times).toFixed(0)}–${Math.max(...times).toFixed(0)})`,
    ),
  ]);
}

async function startOnce(command: PluginCommand): Promise<Start> {
  const client = await startClient(command, NODE);
  const { startedAt, answeredAt } = client.running;
  await client.schema();
  const schemaMs = performance.now() - startedAt;
  await client.close();
  return { handshakeMs: answeredAt - startedAt, schemaMs };
}

type Made = { readonly command: PluginCommand; remove(): Promise<void> };

async function makeStandalone(): Promise<Made | { readonly skipped: string }> {
  const made = await standalonePackage(await bundleProvider(ROOT), ROOT, VERSION);
  if ('skipped' in made) return made;
  const [executable] = made.files;
  if (executable === undefined) return { skipped: 'it has no files' };
  const folder = await mkdtemp(join(tmpdir(), 'svc-standalone-'));
  const file = join(folder, executable.name);
  await writeFile(file, executable.content);
  await chmod(file, 0o755);
  return { command: { file, args: [] }, remove: () => rm(folder, { recursive: true, force: true }) };
}
