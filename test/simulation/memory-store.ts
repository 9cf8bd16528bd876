import { StoreError } from '@svc/coordinator/store/errors.ts';
import type {
  RecordedBatch,
  RecordingStore,
  StreamPosition,
} from '@svc/coordinator/store/results/recording-store.ts';
import type { LiveWindow } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import type { StoredState } from '@svc/coordinator/verdict/restart.ts';
import type { Link, ReasonInterval } from '@svc/coordinator/verdict/state.ts';
import { SAME_INTERVAL_MS } from '@svc/coordinator/verdict/status-change.ts';
import type { Writes, WrittenState, WrittenVotes } from '@svc/coordinator/verdict/writes.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { appendTo } from '@svc/shared/collections.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Remains, WorldStore } from './store.ts';

/** Outcomes by slot, then region. */
type Results = Map<number, Map<Region, Outcome>>;

/**
 * Keeps in memory what the database stores of a world. A restart of the coordinator changes nothing in it.
 */
export class MemoryStore implements WorldStore, RecordingStore {
  readonly #declared = new Set<number>();
  readonly #states = new Map<number, WrittenState>();
  readonly #votes = new Map<number, WrittenVotes>();
  readonly #links = new Map<number, Link[]>();
  readonly #results = new Map<number, Results>();
  readonly #offGrid = new Map<number, Set<number>>();
  /** Intervals by monitor, oldest first. */
  readonly #intervals = new Map<number, ReasonInterval[]>();
  /** When each incident began, by its key. */
  readonly #incidents = new Map<string, number>();
  readonly #channels = new Set<number>();
  #changes: number[] = [];
  readonly #windows = new Map<number, LiveWindow>();
  #lastChange = 0;
  readonly #positions = new Map<string, StreamPosition>();
  /** The uids of all deliveries. */
  readonly #uids = new Set<string>();

  get recording(): RecordingStore {
    return this;
  }

  async declare({ id }: LiveMonitor): Promise<void> {
    this.#declared.add(id);
  }

  async remove(id: number): Promise<Remains> {
    const remains = { incident: this.#states.get(id)?.incident ?? null, links: this.#linksOf(id) };
    this.#declared.delete(id);
    this.#states.delete(id);
    this.#links.delete(id);
    this.#results.delete(id);
    return remains;
  }

  async link(id: number, notificationId: number, providerType: ChannelKind, version: number): Promise<void> {
    this.#channels.add(notificationId);
    const links = this.#links.get(id) ?? [];
    if (links.some((link) => link.notificationId === notificationId)) return;
    const untold = { notificationId, providerType, version, announced: 'active', incident: null } as const;
    this.#links.set(id, [...links, untold]);
  }

  async unlink(id: number, notificationId: number): Promise<Link | null> {
    const links = this.#links.get(id) ?? [];
    const removed = this.#linksOf(id).find((link) => link.notificationId === notificationId) ?? null;
    this.#links.set(
      id,
      links.filter((link) => link.notificationId !== notificationId),
    );
    return removed;
  }

  async removeChannel(notificationId: number): Promise<void> {
    this.#channels.delete(notificationId);
    for (const id of this.#links.keys()) await this.unlink(id, notificationId);
  }

  async setWindow(id: number, window: LiveWindow | null): Promise<void> {
    if (window === null) this.#windows.delete(id);
    else this.#windows.set(id, window);
  }

  async windows(): Promise<ReadonlyMap<number, LiveWindow>> {
    return this.#windows;
  }

  async logChange(): Promise<number> {
    this.#lastChange += 1;
    this.#changes.push(this.#lastChange);
    return this.#lastChange;
  }

  async loggedChanges(): Promise<readonly number[]> {
    return this.#changes;
  }

  async newestSlot(id: number, until: number): Promise<number | null> {
    let newest = 0;
    const note = (slot: number) => {
      if (slot <= until && slot > newest) newest = slot;
    };
    note(this.#votes.get(id)?.decidedSlot ?? 0);
    for (const slot of this.#offGrid.get(id) ?? []) note(slot);
    for (const slot of this.#results.get(id)?.keys() ?? []) note(slot);
    return newest === 0 ? null : newest;
  }

  async recordedOutcomes(
    keys: readonly { monitorId: number; slot: number; region: Region }[],
  ): Promise<readonly (Outcome | null)[]> {
    return keys.map(({ monitorId, slot, region }) => {
      return this.#results.get(monitorId)?.get(slot)?.get(region) ?? null;
    });
  }

  async record({ writes, positions, changesUntil }: RecordedBatch): Promise<readonly boolean[]> {
    if (writes.results.some(({ result }) => !Number.isInteger(result.slot))) {
      throw new StoreError('store-constraint', 'a result without a slot');
    }
    for (const { result, region } of writes.results)
      this.#insert(result.monitor, result.slot, region, result.outcome);
    for (const { monitorId, slot, region } of writes.abstentions)
      this.#insert(monitorId, slot, region, 'not_run');
    for (const { monitorId, slot } of writes.offGridSlots) {
      const slots = this.#offGrid.get(monitorId) ?? new Set();
      this.#offGrid.set(monitorId, slots.add(slot));
    }
    for (const state of writes.states)
      if (this.#declared.has(state.id)) this.#states.set(state.id, { ...state });
    for (const votes of writes.votes) this.#votes.set(votes.id, votes);
    for (const id of writes.removed) this.#votes.delete(id);
    for (const { monitorId, reason, at } of writes.intervals)
      appendTo(this.#intervals, monitorId, { reason, at, until: at, slots: 1, isUnwritten: false });
    for (const { monitorId, ...longer } of writes.longerIntervals) {
      const known = this.#intervals.get(monitorId) ?? [];
      const index = known.findLastIndex(({ reason, at }) => reason === longer.reason && at === longer.at);
      known[index] = { ...longer, isUnwritten: false };
    }
    for (const { key, at } of writes.openedIncidents) this.#incidents.set(key, at);
    for (const announcement of writes.announcements) this.#announced(announcement);
    for (const position of positions) this.#positions.set(position.stream, position);
    if (changesUntil !== null) this.#changes = this.#changes.filter((id) => id > changesUntil);
    return writes.deliveries.map(({ notificationId, uid }) => {
      if (!this.#channels.has(notificationId) || this.#uids.has(uid)) return false;
      this.#uids.add(uid);
      return true;
    });
  }

  async *states(now: number): AsyncGenerator<StoredState[]> {
    if (this.#states.size === 0) return;
    yield [...this.#states.values()].map((state) => ({
      ...(this.#votes.get(state.id) ?? { decidedSlot: 0, writtenAt: 0, votes: [], verdicts: [], open: [] }),
      ...state,
      intervals: this.#intervalsOf(state, now),
      incidentSince: this.#beginOf(state.incident),
      links: this.#linksOf(state.id),
    }));
  }

  async positions(): Promise<readonly StreamPosition[]> {
    return [...this.#positions.values()];
  }

  /** The stored intervals of the monitor that may be continued. */
  #intervalsOf({ id, since, reason }: WrittenState, now: number): ReasonInterval[] {
    const byReason = new Map<string, ReasonInterval>();
    for (const interval of this.#intervals.get(id) ?? []) {
      const isRecent = interval.reason === reason || interval.until >= now - SAME_INTERVAL_MS;
      if (interval.at >= since && isRecent) byReason.set(interval.reason, interval);
    }
    return [...byReason.values()];
  }

  #beginOf(incident: string | null): number | null {
    return incident === null ? null : (this.#incidents.get(incident) ?? null);
  }

  /** Stores an outcome. The first outcome other than `not_run` stays, and replaces a stored `not_run`. */
  #insert(monitorId: number, slot: number, region: Region, outcome: Outcome): void {
    const results: Results = this.#results.get(monitorId) ?? new Map();
    const ofSlot: Map<Region, Outcome> = results.get(slot) ?? new Map();
    this.#results.set(monitorId, results);
    results.set(slot, ofSlot);
    const known = ofSlot.get(region);
    if (known === undefined || (known === 'not_run' && outcome !== 'not_run')) ofSlot.set(region, outcome);
  }

  /** The links of the monitor, with the beginnings of their incidents. */
  #linksOf(monitorId: number): Link[] {
    const links = this.#links.get(monitorId) ?? [];
    return links.map((link) => ({ ...link, incidentSince: this.#beginOf(link.incident) }));
  }

  #announced(news: Writes['announcements'][number]): void {
    const { monitorId, notificationId, providerType, announced, incident } = news;
    const isTold = (link: Link) =>
      link.notificationId === notificationId && link.providerType === providerType;
    const links = this.#links.get(monitorId) ?? [];
    this.#links.set(
      monitorId,
      links.map((link) => (isTold(link) ? { ...link, announced, incident } : link)),
    );
  }
}
