import type { LiveMonitor } from '@svc/coordinator/domain/monitor.ts';
import { BELIEVED_AHEAD_MS } from '@svc/coordinator/domain/status.ts';
import {
  readFrom,
  reportAsStored,
  type StoredResult,
  type StoredState,
} from '@svc/coordinator/evaluation/restart.ts';
import type { Link } from '@svc/coordinator/evaluation/state.ts';
import { type LiveWindow, Windows } from '@svc/coordinator/evaluation/windows.ts';
import type { ReportedResult, Writes, WrittenState } from '@svc/coordinator/evaluation/writes.ts';
import { StoreError } from '@svc/coordinator/store/errors.ts';
import type { RecordedBatch, RecordingStore } from '@svc/coordinator/store/recording-store.ts';
import type { StreamPosition } from '@svc/coordinator/store/stream-position.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { Remains, WorldStore } from './store.ts';

type Row = {
  readonly outcome: Outcome;
  readonly version: number;
  readonly result: StoredResult | null;
  /** Ranges that were set aside before it was written. */
  readonly setBacks: number;
};
/** By slot, then region. */
type Results = Map<number, Map<Region, Row>>;

/**
 * Keeps in memory what the database stores of a world. A restart of the coordinator changes nothing in it.
 */
export class MemoryStore implements WorldStore, RecordingStore {
  readonly #declared = new Set<number>();
  readonly #states = new Map<number, WrittenState>();
  readonly #links = new Map<number, Link[]>();
  readonly #results = new Map<number, Results>();
  readonly #offGrid = new Map<number, Set<number>>();
  /** When each incident began, by its key. */
  readonly #incidents = new Map<string, number>();
  readonly #channels = new Set<number>();
  /** Ranges of slots that starts have set aside. */
  readonly #setAside: { readonly from: number; readonly until: number }[] = [];
  #changes: number[] = [];
  #windows = Windows.NONE;
  #lastChange = 0;
  readonly #positions = new Map<string, StreamPosition>();
  #deliveries = 0;

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

  async link(id: number, notificationId: number, providerType: ChannelKind): Promise<void> {
    this.#channels.add(notificationId);
    const links = this.#links.get(id) ?? [];
    if (links.some((link) => link.notificationId === notificationId)) return;
    this.#links.set(id, [...links, { notificationId, providerType, announced: 'active', incident: null }]);
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
    this.#windows = this.#windows.with(id, window);
  }

  async windows(): Promise<Windows> {
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
    note(this.#states.get(id)?.decidedSlot ?? 0);
    for (const slot of this.#offGrid.get(id) ?? []) note(slot);
    for (const slot of this.#results.get(id)?.keys() ?? []) note(slot);
    return newest === 0 ? null : newest;
  }

  async recordedOutcomes(
    keys: readonly { monitorId: number; slot: number; region: Region }[],
  ): Promise<readonly (Outcome | null)[]> {
    return keys.map(({ monitorId, slot, region }) => {
      return this.#results.get(monitorId)?.get(slot)?.get(region)?.outcome ?? null;
    });
  }

  async record({ writes, positions, changesUntil }: RecordedBatch): Promise<readonly (number | null)[]> {
    if (writes.results.some(({ result }) => !Number.isInteger(result.slot))) {
      throw new StoreError('store-constraint', 'a result without a slot');
    }
    for (const result of writes.results) this.#recordResult(result);
    for (const { monitorId, slot, region, version } of writes.abstentions) {
      this.#insert(monitorId, slot, region, {
        outcome: 'not_run',
        version,
        result: null,
        setBacks: this.#setAside.length,
      });
    }
    for (const { monitorId, slot } of writes.offGridSlots) {
      const slots = this.#offGrid.get(monitorId) ?? new Set();
      this.#offGrid.set(monitorId, slots.add(slot));
    }
    for (const state of writes.states)
      if (this.#declared.has(state.id)) this.#states.set(state.id, { ...state });
    for (const { key, at } of writes.openedIncidents) this.#incidents.set(key, at);
    for (const announcement of writes.announcements) this.#announced(announcement);
    for (const position of positions) this.#positions.set(position.stream, position);
    if (changesUntil !== null) this.#changes = this.#changes.filter((id) => id > changesUntil);
    return writes.deliveries.map(({ notificationId }) =>
      this.#channels.has(notificationId) ? ++this.#deliveries : null,
    );
  }

  async *states(
    monitors: { get(id: number): LiveMonitor | undefined },
    now: number,
  ): AsyncGenerator<StoredState[]> {
    if (this.#states.size === 0) return;
    yield [...this.#states.values()].map((state) => ({
      id: state.id,
      status: state.status,
      since: state.since,
      reason: state.reason,
      version: state.version,
      decidedSlot: state.decidedSlot,
      floorSlot: state.floorSlot,
      entered: state.entered,
      incident: state.incident,
      incidentSince: this.#beginOf(state.incident),
      intervals: state.intervals,
      votes: state.votes,
      openSlots: state.openSlots,
      writtenAt: state.writtenAt,
      links: this.#linksOf(state.id),
      results: this.#resultsSince(state, monitors.get(state.id), now),
    }));
  }

  async setAside(range: { readonly from: number; readonly until: number }): Promise<void> {
    this.#setAside.push(range);
  }

  async positions(): Promise<readonly StreamPosition[]> {
    return [...this.#positions.values()];
  }

  #beginOf(incident: string | null): number | null {
    return incident === null ? null : (this.#incidents.get(incident) ?? null);
  }

  #recordResult(reported: ReportedResult): void {
    const { monitor, slot, outcome, version } = reported.result;
    this.#insert(monitor, slot, reported.region, {
      outcome,
      version,
      result: reportAsStored(reported),
      setBacks: this.#setAside.length,
    });
  }

  /** The first outcome that is not `not_run` stays, and it replaces a recorded `not_run`. */
  #insert(monitorId: number, slot: number, region: Region, row: Row): void {
    const results: Results = this.#results.get(monitorId) ?? new Map();
    const ofSlot: Map<Region, Row> = results.get(slot) ?? new Map();
    this.#results.set(monitorId, results);
    results.set(slot, ofSlot);
    const known = ofSlot.get(region);
    if (known === undefined || (known.outcome === 'not_run' && row.outcome !== 'not_run'))
      ofSlot.set(region, row);
  }

  /** The rows of the links, and when their incidents began. */
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

  /** The newest recorded slot of all monitors. */
  #newestSlot(until: number): number {
    let newest = 0;
    for (const slots of this.#results.values())
      for (const slot of slots.keys()) if (slot <= until && slot > newest) newest = slot;
    return newest;
  }

  #resultsSince(state: WrittenState, monitor: LiveMonitor | undefined, now: number): StoredResult[] {
    if (monitor === undefined || !monitor.active) return [];
    const from = readFrom(state, monitor, now, this.#newestSlot(now + BELIEVED_AHEAD_MS));
    const found: StoredResult[] = [];
    for (const [slot, rows] of this.#results.get(state.id) ?? []) {
      if (slot < from || slot > now + BELIEVED_AHEAD_MS) continue;
      for (const { result, version: ofRow, setBacks } of rows.values()) {
        const isSetAside = this.#setAside
          .slice(setBacks)
          .some(({ from, until }) => slot > from && slot <= until);
        if (result !== null && ofRow === monitor.version && !isSetAside) found.push(result);
      }
    }
    return found.sort((a, b) => a.slot - b.slot || (a.region < b.region ? -1 : 1));
  }
}
