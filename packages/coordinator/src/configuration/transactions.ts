import type { Clock } from '@svc/shared/clock.ts';
import type { DeclarationEffects } from '../results/evaluation.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import { OpenChange } from './change.ts';
import type { ChangeContext, Configuration, ConfigurationChange } from './configuration.ts';
import { RESOURCE_TABLES } from './kinds.ts';
import type { MonitorsInMemory } from './live-monitors.ts';
import { ChangeScope } from './scope.ts';

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly effects: DeclarationEffects;
  readonly monitors: MonitorsInMemory;
  readonly clock: Clock;
};

/** {@link Configuration} over the store. */
export class StoredConfiguration implements Configuration {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  transaction<T>(context: ChangeContext, work: (change: ConfigurationChange) => Promise<T>): Promise<T> {
    const { store, secrets, effects, monitors, clock } = this.#parts;
    return store.transaction(async (tx) => {
      const scope = new ChangeScope({ context, tx, secrets, effects, monitors, now: clock.wall() });
      const change = new OpenChange(scope);
      try {
        return await work(change);
      } finally {
        change.end();
      }
    });
  }

  releaseFileOwnership(): Promise<number> {
    return this.#parts.store.transaction(async ({ db }) => {
      let released = 0;
      for (const table of RESOURCE_TABLES) {
        const { numUpdatedRows } = await db
          .updateTable(table)
          .set({ owner: null })
          .where('owner', '=', 'file')
          .executeTakeFirstOrThrow();
        released += Number(numUpdatedRows);
      }
      return released;
    });
  }
}
