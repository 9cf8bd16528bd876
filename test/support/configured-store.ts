import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ChangeApplier } from '@svc/coordinator/declaration/change-applier.ts';
import type { ChangeEffects } from '@svc/coordinator/declaration/configuration.ts';
import { MonitorsInMemory } from '@svc/coordinator/declaration/live-monitors.ts';
import { Reading } from '@svc/coordinator/declaration/reading.ts';
import { StoredConfiguration } from '@svc/coordinator/declaration/stored-configuration.ts';
import { removeChanges } from '@svc/coordinator/store/declaration/changes.ts';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { ensureDefaultWorkspace } from '@svc/coordinator/store/declaration/workspaces.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { ONLY_SHARD } from '@svc/coordinator/verdict/shard.ts';
import { createEgressGuard, type EgressGuard } from '@svc/shared/egress.ts';
import { createLogger } from '@svc/shared/log.ts';
import { type TestDatabase, testDatabase } from './database.ts';
import { FakeClock } from './fake-clock.ts';
import { folderInMemory } from './folder-in-memory.ts';
import { STORE_IN_PROCESS } from './store-in-process.ts';

export const silentLog = createLogger('test', 'silent');

/** Makes a folder in memory, if the system has room there. No test of a store depends on a disk. */
export async function temporaryFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(folderInMemory(), 'svc-store-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export type TemporaryStore = {
  readonly database: TestDatabase;
  readonly store: Store;
  dispose(): Promise<void>;
};

/** An empty store, opened without threads. */
export async function temporaryStore(workers = STORE_IN_PROCESS): Promise<TemporaryStore> {
  const database = await testDatabase();
  const store = await database.open(workers);
  return {
    database,
    store,
    async dispose() {
      await store.close();
      await database.remove();
    },
  };
}

export type ConfiguredStore = TemporaryStore & {
  readonly secrets: Secrets;
  /** The key of `secrets`. */
  readonly secretKey: Uint8Array;
  readonly clock: FakeClock;
  readonly monitors: MonitorsInMemory;
  /** Decides to which endpoints metrics may be exported. */
  readonly guard: EgressGuard;
  readonly effects: ChangeEffects;
  readonly configuration: StoredConfiguration;
  readonly reading: Reading;
  /** Id of the workspace `default`. */
  readonly workspaceId: number;
};

/** Name of the declared file in refusals of the API. */
export const DECLARED_FILE = 'monitors.yaml';

/**
 * An empty store with all parts that declarations need. Only the monitors in memory
 * follow its changes.
 */
export async function configuredStore(workers = STORE_IN_PROCESS): Promise<ConfiguredStore> {
  const opened = await temporaryStore(workers);
  const { store } = opened;
  const clock = new FakeClock();
  const secretKey = randomBytes(32);
  const secrets = new Secrets(secretKey);
  const workspaceId = await ensureDefaultWorkspace(store, clock.wall());
  const monitors = await MonitorsInMemory.load(store, secrets);
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: ['127.0.0.1'] });
  const effects = new ChangeApplier({
    shard: ONLY_SHARD,
    store,
    secrets,
    clock,
    log: silentLog,
    sink: {
      async declare(changes, until) {
        await store.commit([removeChanges(until)]);
        for (const change of changes) {
          if (change.kind !== 'monitor') continue;
          monitors.replace(monitors.get(change.monitorId) ?? null, change.monitor);
        }
      },
    },
  });
  return {
    ...opened,
    secrets,
    secretKey,
    clock,
    monitors,
    guard,
    effects,
    configuration: new StoredConfiguration({
      store,
      secrets,
      effects,
      declaredFile: DECLARED_FILE,
      guard,
      clock,
    }),
    reading: new Reading(store, secrets),
    workspaceId,
  };
}
