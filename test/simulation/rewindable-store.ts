import type { RecordedBatch, RecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { LiveWindow } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { MemoryStore } from './memory-store.ts';
import { Rewindable } from './rewindable.ts';
import type { WorldStore } from './store.ts';

/** A store in memory that may lose its last writes. */
export class RewindableStore implements WorldStore {
  readonly #memory = new Rewindable(() => new MemoryStore());
  readonly recording: RecordingStore = {
    recordedOutcomes: (keys) => this.#memory.value.recordedOutcomes(keys),
    states: (now) => this.#memory.value.states(now),
    positions: () => this.#memory.value.positions(),
    record: (batch: RecordedBatch) => this.#memory.take((store) => store.record(batch)),
  };

  /** Number of writes so far. */
  get writes(): number {
    return this.#memory.length;
  }

  /** Loses all writes after the first `writes`. */
  setBack(writes: number): void {
    this.#memory.rewindTo(writes);
  }

  declare(monitor: LiveMonitor) {
    return this.#memory.take((store) => store.declare(monitor));
  }

  remove(monitorId: number) {
    return this.#memory.take((store) => store.remove(monitorId));
  }

  link(monitorId: number, channel: number, kind: ChannelKind, version: number) {
    return this.#memory.take((store) => store.link(monitorId, channel, kind, version));
  }

  unlink(monitorId: number, channel: number) {
    return this.#memory.take((store) => store.unlink(monitorId, channel));
  }

  removeChannel(channel: number) {
    return this.#memory.take((store) => store.removeChannel(channel));
  }

  setWindow(id: number, window: LiveWindow | null) {
    return this.#memory.take((store) => store.setWindow(id, window));
  }

  logChange() {
    return this.#memory.take((store) => store.logChange());
  }

  windows() {
    return this.#memory.value.windows();
  }

  loggedChanges() {
    return this.#memory.value.loggedChanges();
  }

  newestSlot(monitorId: number, until: number) {
    return this.#memory.value.newestSlot(monitorId, until);
  }
}
