import type { RecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { RemovedMonitor } from '@svc/coordinator/verdict/declared-effects.ts';
import type { LiveWindow } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { Link } from '@svc/coordinator/verdict/state.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';

/** The data of a removed monitor that is needed to close its incident. */
export type Remains = Pick<RemovedMonitor, 'incident' | 'links'>;

/** The store of a world, with the rows that the configuration writes before it informs the recorder. */
export interface WorldStore {
  readonly recording: RecordingStore;
  declare(monitor: LiveMonitor): Promise<void>;
  /** Removes the monitor. Returns what is needed to close an incident of the monitor. */
  remove(monitorId: number): Promise<Remains>;
  /** @param version of the link */
  link(monitorId: number, channel: number, kind: ChannelKind, version: number): Promise<void>;
  /** Removes a link. Returns the removed link; null: there was none. */
  unlink(monitorId: number, channel: number): Promise<Link | null>;
  /** Removes the channel with its links and its queued alerts. */
  removeChannel(channel: number): Promise<void>;
  /** Stores the maintenance window in place of the window with its id. Null: removes that window. */
  setWindow(id: number, window: LiveWindow | null): Promise<void>;
  /** The windows that are not over at `now` (epoch ms), by their ids. */
  windows(now: number): Promise<ReadonlyMap<number, LiveWindow>>;
  /** Adds an entry to the log of changes of the declaration. Returns its id. */
  logChange(monitorId: number): Promise<number>;
  /** Ids of the entries whose effects are not applied. */
  loggedChanges(): Promise<readonly number[]>;
  /** Newest slot up to `until` (epoch ms) that the monitor is known to have been given; null: none. */
  newestSlot(monitorId: number, until: number): Promise<number | null>;
}
