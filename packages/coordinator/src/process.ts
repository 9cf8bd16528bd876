import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@svc/shared/clock.ts';
import { isCode, messageOf, SvcError } from '@svc/shared/errors.ts';
import { createLogger } from '@svc/shared/log.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { busOptionsOf } from '@svc/shared/nats/nats-settings.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { otlpWarnings } from '@svc/shared/otlp/without-effect.ts';
import { ownExportOf } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import { endWhenAsked, sayReady, settingsOfProcess } from '@svc/shared/process/service-process.ts';
import { RecentErrors } from '@svc/shared/recent-errors.ts';
import { Secret } from '@svc/shared/secret.ts';
import { SYSTEM_STORE_UNUSED, trustsSystemStore } from '@svc/shared/server-trust.ts';
import { fileVariantOf } from '@svc/shared/settings/setting-names.ts';
import type { TlsFiles } from './api/listener-settings.ts';
import {
  COORDINATOR_SETTINGS,
  type CoordinatorConfig,
  checkCoordinatorSettings,
  databaseOf,
} from './config.ts';
import { Coordinator } from './coordinator.ts';
import { DeclarationError } from './declaration/yaml/declaration.ts';
import { exportSettingsOf } from './export/export-settings.ts';
import { operatorTokens } from './operator-tokens.ts';
import {
  API_TOKEN_FILE,
  forgetPreviousKey,
  generatedSecret,
  keptKeys,
  type SecretKeys,
} from './store/access/key-files.ts';
import { generateToken } from './store/access/tokens.ts';
import { generateSecretKey } from './store/declaration/secrets.ts';

/**
 * Maximum time for the stop, ms. After this time the process ends, even if parts have not
 * stopped. While the database accepts no writes, several parts wait for it one after the other.
 */
const STOP_WITHIN_MS = 4_500;

/** Runs the coordinator for the life of this process. */
export async function runCoordinator(args: readonly string[]): Promise<void> {
  const settings = settingsOfProcess('coordinator', args, COORDINATOR_SETTINGS, checkCoordinatorSettings);
  if (settings === null) return;
  const { values: config, warnings } = settings;
  const errors = new RecentErrors();
  const log = createLogger('coordinator', config.logLevel, errors);
  for (const warning of [...warnings, ...otlpWarnings(process.env)]) log.warn(warning);
  if (!trustsSystemStore()) log.warn(SYSTEM_STORE_UNUSED);

  let coordinator: Coordinator | null = null;
  let isEnding = false;
  const end = (why: string, exitCode = 0): void => {
    // A second signal ends the process at once.
    if (isEnding) endNow();
    isEnding = true;
    log.info({ why }, 'the coordinator is ending');
    if (coordinator === null) process.exit(exitCode);
    setTimeout(endNow, STOP_WITHIN_MS).unref();
    void coordinator.stop().then(() => process.exit(exitCode));
  };
  const onNewerDatabase = (error: Error): void => {
    if (isEnding) return;
    log.error(
      { error: messageOf(error) },
      'a newer version has migrated the database: this coordinator ends',
    );
    end('the database belongs to a newer version', 1);
  };
  endWhenAsked(config, (why) => end(why));

  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    const keys = await keysOf(config);
    coordinator = await createCoordinator(config, keys, log, errors, onNewerDatabase);
    process.on('SIGHUP', () => void coordinator?.reload());
    const { url } = await coordinator.start();
    // The start has encrypted all stored secrets with the new key.
    if (config.secretKey === undefined) await forgetPreviousKey(config.dataDir, keys);
    log.info({ event: 'ready', url }, 'the coordinator is ready');
    sayReady();
  } catch (error) {
    if (isEnding) return;
    process.stderr.write(`svc: the coordinator cannot start: ${explained(error, config)}\n`);
    process.exit(1);
  }
}

/**
 * Ends the process without waiting. `process.exit` would wait for the thread that writes the database,
 * and so for a stalled disk or another program's lock. A kill at any moment loses no committed data.
 */
function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}

async function createCoordinator(
  config: CoordinatorConfig,
  { key: secretKey, previous: previousSecretKey }: SecretKeys,
  log: ReturnType<typeof createLogger>,
  errors: RecentErrors,
  onNewerDatabase: (error: Error) => void,
): Promise<Coordinator> {
  const connectNats = async () => {
    const bus = await connectBus({ ...busOptionsOf(config), name: 'svc coordinator', log });
    return { bus, streams: new NatsResultStreams(bus) };
  };
  const [nats, apiTokens] = await Promise.all([
    connectNats(),
    config.apiToken ?? generatedTokens(config.dataDir),
  ]);
  const { host, port } = config.listen;
  const tls = tlsFilesOf(config);
  return new Coordinator({
    config: {
      ...config,
      database: databaseOf(config.databaseUrl, config.dataDir),
      publicUrl:
        config.publicUrl ??
        `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
      tls,
      secretKey,
      previousSecretKey,
      apiTokens,
      apiTokenFile:
        process.env[fileVariantOf('SVC_API_TOKEN')] ||
        (config.apiToken === undefined ? join(config.dataDir, API_TOKEN_FILE) : null),
    },
    operator: config,
    exports: exportSettingsOf(config),
    ownExport: ownExportOf(config),
    nats,
    connectNats,
    clock: systemClock,
    log,
    recentErrors: () => errors.list(),
    onNewerDatabase,
    environment: process.env,
  });
}

/**
 * The present and the previous key for secrets. If the settings have the present key,
 * both keys come from the settings. Otherwise the present key comes from the data
 * folder, and the previous key comes from the data folder unless the settings have it.
 */
async function keysOf({ secretKey, previousSecretKey, dataDir }: CoordinatorConfig): Promise<SecretKeys> {
  if (secretKey !== undefined) return { key: secretKey, previous: previousSecretKey ?? null };
  const kept = await keptKeys(dataDir, generateSecretKey);
  return { key: kept.key, previous: previousSecretKey ?? kept.previous };
}

function tlsFilesOf({ tlsCert: cert, tlsKey: key }: CoordinatorConfig): TlsFiles | null {
  return cert === undefined || key === undefined ? null : { cert, key };
}

async function generatedTokens(dataDir: string): Promise<Secret<readonly string[]>> {
  const text = await generatedSecret(dataDir, API_TOKEN_FILE, generateToken);
  const parsed = operatorTokens.safeParse(text.reveal());
  if (parsed.success) return new Secret(parsed.data);
  const problems = parsed.error.issues.map(({ message }) => message).join('; ');
  throw new SvcError('bad-tokens', `${join(dataDir, API_TOKEN_FILE)}: ${problems}`);
}

function explained(error: unknown, config: CoordinatorConfig): string {
  if (isCode(error, 'EADDRINUSE')) {
    return `another program uses ${config.listen.host}:${config.listen.port}: set SVC_LISTEN to another address`;
  }
  // The log already contains each error with its position in the file.
  if (error instanceof DeclarationError) return 'the declared file has errors, which are logged above';
  return messageOf(error);
}
