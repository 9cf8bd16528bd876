/**
 * `npm start`: runs NATS, the coordinator and one agent per region as child processes until Ctrl-C. It prints
 * the parts with their addresses, then one line per change of status, warning and error. With the argument
 * `cluster`, which `npm run start:cluster` gives, it runs PostgreSQL, three NATS servers and two
 * coordinators.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf, SvcError } from '@svc/shared/errors.ts';
import { type Region, regionsWith, regionTexts } from '@svc/shared/regions.ts';
import { wrongRegion } from '@svc/shared/resources/wording.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { OWN_REGIONS_SETTING } from '@svc/shared/settings/own-regions.ts';
import { LocalCluster, type LocalClusterOptions } from './cluster.ts';
import { watchLauncher } from './launcher.ts';
import { lockDataFolder, unusable } from './lock.ts';
import { findNatsServer } from './nats-server.mjs';
import { paintFor } from './output.ts';
import { findPostgres } from './postgres-server.mjs';
import { LocalService, type LocalServiceOptions } from './service.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

const SERVERS_OF_CLUSTER = ['SVC_NATS_URL', 'SVC_NATS_URL_FILE', 'SVC_DATABASE_URL', 'SVC_DATABASE_URL_FILE'];

async function main(): Promise<void> {
  const environment = process.env;
  const { extraRegions } = readEnvironment(OWN_REGIONS_SETTING, environment).values;
  const known = regionsWith(extraRegions);
  const regions = regionsOf(environment.SVC_REGIONS || 'hosta-fra,hostb-par,hostc-us-east4', known);
  const isCluster = process.argv[2] === 'cluster';
  const dataDir = resolve(environment.SVC_DATA_DIR || (isCluster ? clusterFolder() : join(PROJECT, 'data')));
  makeDataFolder(dataDir);
  const unlock = lockDataFolder(dataDir);
  const options = {
    project: PROJECT,
    dataDir,
    regions,
    regionText: regionTexts(extraRegions),
    environment,
    configFile: configFileOf(environment.SVC_CONFIG),
    paint: paintFor(process.stdout, environment),
    print: (line: string) => console.log(line),
  };
  const service = isCluster ? await clusterOf(options) : await serviceOf(options);
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
    // Ctrl-C also ends the programs that the start waits for.
    if (service.isStopping) return;
    console.error(`svc: ${messageOf(error)}`);
    void service.stop().then(() => stopped.resolve(1));
  });
  process.exitCode = await stopped.promise;
  unwatch();
  unlock();
}

async function serviceOf(options: Omit<LocalServiceOptions, 'natsServer'>): Promise<LocalService> {
  const { SVC_NATS_URL: url, SVC_NATS_URL_FILE: urlFile } = options.environment;
  return new LocalService({ ...options, natsServer: url || urlFile ? null : (await findNatsServer()).path });
}

async function clusterOf(
  options: Omit<LocalClusterOptions, 'natsServer' | 'postgres'>,
): Promise<LocalCluster> {
  const given = SERVERS_OF_CLUSTER.filter((name) => options.environment[name]);
  if (given.length > 0) {
    throw new SvcError(
      'bad-settings',
      `the cluster runs its own NATS servers and PostgreSQL: unset ${given.join(', ')}`,
    );
  }
  const [{ path: natsServer }, postgres] = [await findNatsServer(), await findPostgres()];
  return new LocalCluster({ ...options, natsServer, postgres });
}

/** PostgreSQL does not run as root, and its user may not enter a clone in the home folder of root. */
function clusterFolder(): string {
  return process.getuid?.() === 0 ? '/var/lib/svc-cluster' : join(PROJECT, 'data', 'cluster');
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

function regionsOf(text: string, known: readonly Region[]) {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new SvcError('bad-settings', `SVC_REGIONS: ${wrongRegion(unknown, known)}`);
  if (names.length === 0) throw new SvcError('bad-settings', 'SVC_REGIONS: name at least one region');
  return [...new Set(names)];
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
