import type { Clock } from '@svc/shared/clock.ts';
import type { Distribution } from '@svc/shared/metrics/values.ts';
import type { RecordingStore } from '../store/results/recording-store.ts';

/** The store, which also records the duration of each committed transaction in `durations`, seconds. */
export function timedStore(
  store: RecordingStore,
  clock: Pick<Clock, 'monotonic'>,
  durations: Distribution,
): RecordingStore {
  return {
    ...store,
    async record(batch) {
      const startedAt = clock.monotonic();
      const ids = await store.record(batch);
      durations.record((clock.monotonic() - startedAt) / 1_000);
      return ids;
    },
  };
}
