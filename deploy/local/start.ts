/**
 * `npm start`: runs NATS, the coordinator and one agent per region as child processes until Ctrl-C. It prints
 * the parts with their addresses, then one line per change of status.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { isRegion, REGIONS } from '@svc/shared/regions.ts';
import { watchLauncher } from './launcher.ts';
import { lockDataFolder, unusable } from './lock.ts';
import { findNatsServer } from './nats-server.mjs';
import { paintFor } from './output.ts';
import { LocalService } from './service.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

async function main(): Promise<void> {
  const environment = process.env;
  const regions = regionsOf(environment.SVC_REGIONS || 'hosta-fra,hostb-par,hostc-us-east4');
  const dataDir = resolve(environment.SVC_DATA_DIR || join(PROJECT, 'data'));
  makeDataFolder(dataDir);
  const unlock = lockDataFolder(dataDir);
  const service = new LocalService({
    project: PROJECT,
    dataDir,
    regions,
    environment,
    natsServer:
      environment.SVC_NATS_URL || environment.SVC_NATS_URL_FILE ? null : (await findNatsServer()).path,
    configFile: configFileOf(environment.SVC_CONFIG),
    paint: paintFor(process.stdout, environment),
    print: (line) => console.log(line),
  });
  const stopped = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // A second signal: the person does not want to wait.
      if (service.isStopping) service.kill();
      else void service.stop().then(() => stopped.resolve(0));
    });
  }
  const unwatch = watchLauncher(environment, () => {
    console.log('npm, which started svc, is gone');
    void service.stop().then(() => stopped.resolve(0));
  });
  service.onGiveUp(() => void service.stop().then(() => stopped.resolve(1)));
  // Not awaited: a part that cannot start leaves this pending, and `onGiveUp` ends the wait below.
  service.start().catch((error: unknown) => {
    console.error(`svc: ${messageOf(error)}`);
    void service.stop().then(() => stopped.resolve(1));
  });
  process.exitCode = await stopped.promise;
  unwatch();
  unlock();
}

/** The default is the sample file; null for `none`. */
function configFileOf(setting: string | undefined): string | null {
  if (setting === 'none') return null;
  return resolve(setting || join(dirname(fileURLToPath(import.meta.url)), 'svc.yaml'));
}

function makeDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new SvcError('data-folder', unusable(dataDir, error), { cause: error });
  }
}

function regionsOf(text: string) {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const regions = names.filter(isRegion);
  const unknown = names.filter((name) => !isRegion(name));
  if (unknown.length > 0) {
    throw new SvcError(
      'bad-settings',
      `SVC_REGIONS: unknown region ${unknown.join(', ')}; the regions are ${REGIONS.join(', ')}`,
    );
  }
  if (regions.length === 0) throw new SvcError('bad-settings', 'SVC_REGIONS: name at least one region');
  return [...new Set(regions)];
}

// After the terminal was closed there is no reader, and everything must still stop in order.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

try {
  await main();
} catch (error) {
  console.error(`svc: ${messageOf(error)}`);
  process.exitCode = 1;
}
