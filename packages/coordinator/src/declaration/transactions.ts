import type { Clock } from '@svc/shared/clock.ts';
import type { EgressGuard } from '@svc/shared/egress.ts';
import { appendChanges, type NewChange } from '../store/declaration/changes.ts';
import { releaseFromFile } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import { wholeMs } from '../store/whole-ms.ts';
import { OpenChange } from './change.ts';
import type {
  ChangeContext,
  ChangeEffects,
  Configuration,
  ConfigurationChange,
  Drafts,
} from './configuration.ts';
import type { AttributesOf, MonitorKind } from './kinds/kinds.ts';
import { refuseDenied } from './kinds/monitors.ts';
import { ChangeScope } from './scope.ts';

/** Entries of the log that are written at once; they take some 5 ms. */
const CHANGES_PER_WRITE = 1_000;

type Parts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly effects: ChangeEffects;
  /** Name of the declared file, for what the API is refused; left out: there is none. */
  readonly declaredFile?: string | undefined;
  /** Judges the endpoints of exports. */
  readonly guard: EgressGuard;
  readonly clock: Clock;
};

/** {@link Configuration} over the store. */
export class StoredConfiguration implements Configuration, Drafts {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async transaction<T>(
    context: ChangeContext,
    work: (change: ConfigurationChange) => Promise<T>,
  ): Promise<T> {
    const { store, secrets, effects, declaredFile = null, guard, clock } = this.#parts;
    const { outcome, lastChangeId } = await store.declare(async (tx) => {
      const scope = new ChangeScope({
        context,
        tx,
        secrets,
        declaredFile,
        guard,
        now: wholeMs(clock.wall()),
      });
      const change = new OpenChange(scope);
      try {
        const outcome = await work(change);
        return { outcome, lastChangeId: await logged(tx, scope.changes) };
      } finally {
        change.end();
      }
    });
    if (lastChangeId !== null) await effects.applied(lastChangeId);
    return outcome;
  }

  checkMonitor(attributes: AttributesOf<MonitorKind>): void {
    refuseDenied(this.#parts.guard, attributes);
  }

  releaseFileOwnership(): Promise<number> {
    return this.#parts.store.transaction(releaseFromFile);
  }
}

/** Answers the id of the last entry; null when nothing with effects was changed. */
async function logged(tx: Transaction, changes: readonly NewChange[]): Promise<number | null> {
  let last: number | null = null;
  for (let start = 0; start < changes.length; start += CHANGES_PER_WRITE) {
    last = await appendChanges(tx, changes.slice(start, start + CHANGES_PER_WRITE));
  }
  return last;
}
