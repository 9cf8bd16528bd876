import type { RecordingStore } from '@svc/coordinator/store/recording-store.ts';
import type { MortalClock } from './mortal-clock.ts';

/** The store of a process that may die: what it had begun to write then never arrives. */
export function mortalStore(store: RecordingStore, life: Pick<MortalClock, 'isAlive'>): RecordingStore {
  return {
    recordedOutcomes: (keys) => store.recordedOutcomes(keys),
    states: (monitors, now) => store.states(monitors, now),
    positions: () => store.positions(),
    setAside: (range) => store.setAside(range),
    record: (batch) => (life.isAlive ? store.record(batch) : new Promise(() => {})),
  };
}
