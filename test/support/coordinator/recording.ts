import type { Clock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import type { CheckResult, NotRunReason, Outcome } from '@svc/shared/messages/check-result.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { closesIncidents } from '../../../packages/coordinator/src/alerts/registry.ts';
import type { ResultMessage } from '../../../packages/coordinator/src/checks/events.ts';
import { MaintenanceHold } from '../../../packages/coordinator/src/checks/maintenance-hold.ts';
import { Recorder } from '../../../packages/coordinator/src/checks/recorder.ts';
import type { RecentRegions } from '../../../packages/coordinator/src/checks/recorder-parts.ts';
import { SlotClock } from '../../../packages/coordinator/src/checks/slot-clock.ts';
import { removeLinks, resetLinks } from '../../../packages/coordinator/src/store/declaration/links.ts';
import { Secrets } from '../../../packages/coordinator/src/store/declaration/secrets.ts';
import {
  endWindow,
  insertWindow,
  liveWindowsOf,
  loadWindows,
} from '../../../packages/coordinator/src/store/incidents/maintenance-windows.ts';
import { muteIdOf, removeMute, setMute } from '../../../packages/coordinator/src/store/incidents/mutes.ts';
import {
  createRecordingStore,
  type RecordingStore,
} from '../../../packages/coordinator/src/store/results/recording-store.ts';
import type { SqlValue, Store } from '../../../packages/coordinator/src/store/store.ts';
import type { StatusChange } from '../../../packages/coordinator/src/verdict/frame.ts';
import type { LiveMonitor } from '../../../packages/coordinator/src/verdict/monitor.ts';
import type { SlotOutcome, SlotOutcomes } from '../../../packages/coordinator/src/verdict/slots.ts';
import { States } from '../../../packages/coordinator/src/verdict/state.ts';
import type { NewDelivery } from '../../../packages/coordinator/src/verdict/writes.ts';
import { type TestDatabase, testDatabase } from '../database.ts';
import { FakeClock } from '../fake-clock.ts';
import { type StoredResult, storedResults } from '../recorded-results.ts';
import { TEST_IDS } from '../test-ids.ts';
import { DeclaredMonitors } from './dispatch-parts.ts';

export const THREE: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
export const PERIOD = 30_000;
const SECRETS = new Secrets(Buffer.alloc(32, 1));

export function liveMonitor(id: number, changes: Partial<LiveMonitor> = {}): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: `Monitor ${id}`,
    target: 'http://127.0.0.1/',
    active: true,
    periodMs: PERIOD,
    regions: THREE,
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 10_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: null,
    ...changes,
  };
}

type Facts = Partial<CheckResult> & { outcome: Outcome };

/**
 * A recorder over a real database, with a clock that stands still. `restart`
 * opens the database again, as after a crash: uncommitted data is gone.
 */
export class Recording {
  /** A clock that stands still, unless the recording was opened with a real one. */
  readonly clock = new FakeClock();
  readonly monitors = new DeclaredMonitors();
  readonly enqueued: NewDelivery[] = [];
  readonly changes: StatusChange[] = [];
  readonly outcomes: SlotOutcome[] = [];
  readonly presence: RecentRegions & { had: Set<Region> };
  store!: Store;
  recorder!: Recorder;
  states!: States;
  slotClock!: SlotClock;
  /** The results that were reported to dispatch when they came. */
  readonly arrivals: Parameters<SlotOutcomes['resultArrived']>[] = [];
  isOfferedAgain: SlotOutcomes['isOfferedAgain'] = () => false;
  /** Whether announcements about the monitor are held. */
  isHeld: (monitorId: number) => boolean = () => false;
  onRead: (results: readonly CheckResult[]) => void = () => {};
  /** The error with which commits fail while it is set. */
  commitFailure: Error | null = null;
  /** Called once, while the next batch is evaluated and not yet written. */
  duringNextWrite: (() => void) | null = null;
  /** Instant up to which hours are rolled up, epoch ms; 0: no hour is. */
  rollups = { claimedUntil: 0 };
  /** The maintenance windows: the stored windows at the start, with the changes since then. */
  maintenance!: MaintenanceHold;
  sequence = 0;
  /** The newest slot that a clock which was ahead has given, as the next start finds it. */
  aheadSlot: number | null = null;
  #database!: TestDatabase;
  #version = 0;

  readonly #realClock: Clock | null;

  constructor(realClock: Clock | null) {
    this.#realClock = realClock;
    const had = new Set<Region>(THREE);
    this.presence = { had, regions: REGIONS, hadAgentWithin24h: (region) => had.has(region) };
  }

  static async open(realClock: Clock | null = null): Promise<Recording> {
    const recording = new Recording(realClock);
    recording.#database = await testDatabase();
    await recording.start();
    await recording.write(
      "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0) ON CONFLICT DO NOTHING",
    );
    return recording;
  }

  async start(): Promise<void> {
    const log = createLogger('test', 'silent');
    this.store = await this.#database.open();
    this.states = new States();
    const clock = this.#realClock ?? this.clock;
    this.slotClock = new SlotClock(clock, null, log, this.aheadSlot);
    const { slotClock } = this;
    this.maintenance = new MaintenanceHold({ clock, slotClock });
    const loadedAt = slotClock.now();
    this.maintenance.changeWindows(await loadWindows(this.store, loadedAt), loadedAt);
    this.recorder = new Recorder({
      store: this.#recordingStore(),
      states: this.states,
      monitors: this.monitors,
      presence: this.presence,
      maintenance: this.maintenance,
      rollups: this.rollups,
      tokens: { isValid: (token) => token === 'good' },
      slots: {
        isOfferedAgain: (...job) => this.isOfferedAgain(...job),
        resultArrived: (...arrival) => this.arrivals.push(arrival),
        outcomeRecorded: (outcome) => this.outcomes.push(outcome),
      },
      clock,
      slotClock: this.slotClock,
      log,
      closesIncidents,
      ids: TEST_IDS,
      onResults: (results) => this.onRead(results),
      isHeld: (monitorId) => this.isHeld(monitorId),
      onDeclared: (id, monitor) => {
        if (monitor === null) this.monitors.delete(id);
        else this.monitors.set(monitor);
      },
      onQueued: (delivery) => this.enqueued.push(delivery),
    });
    this.recorder.onTransition((change) => this.changes.push(change));
    await this.recorder.load();
    this.maintenance.start((monitorIds) => this.recorder.announceStatuses(monitorIds));
  }

  /** Ends without recording the queued events, and starts again from the database. */
  async restart(): Promise<void> {
    const { recorder } = this;
    await this.store.close();
    // A process that has ended has no timers.
    this.maintenance.stop();
    if (this.#realClock !== null) await recorder.stop();
    await this.start();
  }

  /** Copies the database as it is now, for {@link restartFromCopy}. */
  copy(): Promise<void> {
    return this.#database.copy();
  }

  /** Restarts like {@link restart}, from a database that has lost all commits since {@link copy}. */
  async restartFromCopy(): Promise<void> {
    const { recorder } = this;
    await this.store.close();
    this.maintenance.stop();
    if (this.#realClock !== null) await recorder.stop();
    await this.#database.returnToCopy();
    await this.start();
  }

  async dispose(): Promise<void> {
    this.maintenance.stop();
    await this.recorder.stop();
    await this.store.close();
    await this.#database.remove();
  }

  /** Declares a monitor as the configuration does: first its row, then the effects. */
  async declare(monitor: LiveMonitor): Promise<void> {
    await this.write(
      `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
        updated_at) VALUES (?, 1, 'http', ?, 1, '{}', 0, 0, 0) ON CONFLICT DO NOTHING`,
      monitor.id,
      monitor.name,
    );
    await this.recorder.declare([{ kind: 'monitor', monitorId: monitor.id, monitor, removed: null }], 0);
  }

  async remove(id: number): Promise<void> {
    await this.write('DELETE FROM monitors WHERE id = ?', id);
    await this.recorder.declare([{ kind: 'monitor', monitorId: id, monitor: null, removed: null }], 0);
  }

  async channel(id: number, kind: string, monitorIds: readonly number[]): Promise<void> {
    await this.write(
      `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
        VALUES (?, 1, ?, ?, 0, 0)`,
      id,
      kind,
      new Uint8Array(),
    );
    for (const monitorId of monitorIds) await this.link(monitorId, id, kind);
  }

  async link(monitorId: number, notificationId: number, providerType: string): Promise<void> {
    this.#version += 1;
    const version = this.#version;
    await this.write(
      'INSERT INTO links (monitor_id, notification_id, version) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      monitorId,
      notificationId,
      version,
    );
    await this.recorder.declare([{ kind: 'linked', monitorId, notificationId, providerType, version }], 0);
  }

  async unlink(monitorId: number, notificationId: number): Promise<void> {
    await this.store.transaction((tx) => removeLinks(tx, notificationId, [monitorId]));
    await this.recorder.declare([{ kind: 'unlinked', monitorId, notificationId, link: null }], 0);
  }

  async changeKind(notificationId: number, providerType: string): Promise<void> {
    const [before] = await this.rows<{ kind: string }>(
      'SELECT provider_type AS kind FROM notifications WHERE id = ?',
      notificationId,
    );
    this.#version += 1;
    const version = before?.kind === providerType ? null : this.#version;
    await this.write('UPDATE notifications SET provider_type = ? WHERE id = ?', providerType, notificationId);
    if (version !== null) await this.store.transaction((tx) => resetLinks(tx, { notificationId, version }));
    await this.recorder.declare([{ kind: 'channel', notificationId, providerType, version }], 0);
  }

  async removeChannel(notificationId: number): Promise<void> {
    await this.write('DELETE FROM notifications WHERE id = ?', notificationId);
    await this.recorder.declare([{ kind: 'channel-removed', notificationId }], 0);
  }

  /** Declares a maintenance window as people do: first its rows, then the effects. Returns its id. */
  async window(monitorIds: readonly number[], startsAt: number, endsAt: number): Promise<number> {
    const none = { title: 'Work', text: '', pageIds: [], componentIds: [] };
    const times = { startsAt, endsAt, timeZone: 'UTC', repeat: null };
    const id = await this.store.transaction((tx) =>
      insertWindow(tx, 1, { ...none, ...times, monitorIds }, this.clock.wall()),
    );
    await this.#applyWindow(id);
    return id;
  }

  /**
   * Ends a window.
   *
   * @param at end of the window, epoch ms
   */
  async endWindow(id: number, at: number): Promise<void> {
    await this.store.transaction((tx) => endWindow(tx, id, at));
    await this.#applyWindow(id);
  }

  async removeWindow(id: number): Promise<void> {
    await this.write('DELETE FROM maintenance_windows WHERE id = ?', id);
    await this.#applyWindow(id);
  }

  /** Mutes the monitor until this instant, epoch ms; null: ends its mute. */
  async mute(monitorId: number, until: number | null): Promise<void> {
    await this.store.transaction(async (tx) => {
      if (until === null) await removeMute(tx, monitorId);
      else await setMute(tx, { monitorId, at: this.clock.wall(), until, by: 'Ada' });
    });
    await this.#applyWindow(muteIdOf(monitorId));
  }

  async #applyWindow(windowId: number): Promise<void> {
    const window = (await liveWindowsOf(this.store, [windowId])).get(windowId) ?? null;
    await this.recorder.declare([{ kind: 'maintenance', windowId, window }], 0);
  }

  /** Makes a message of the stream with one result. */
  message(monitorId: number, slot: number, region: Region, facts: Facts): ResultMessage {
    this.sequence += 1;
    const result: CheckResult = {
      monitor: monitorId,
      version: this.monitors.get(monitorId)?.version ?? 1,
      slot,
      token: 'good',
      started_at: slot,
      attempts: [],
      latency: 12.5,
      ...facts,
    };
    return {
      region,
      agent: 'agent-1',
      results: [result],
      position: {
        stream: 'stream-1',
        created: 'stream-1',
        sequence: this.sequence,
        messageId: `m${this.sequence}`,
        time: this.clock.wall(),
      },
    };
  }

  async report(monitorId: number, slot: number, region: Region, facts: Facts | Outcome): Promise<void> {
    const full = typeof facts === 'string' ? { outcome: facts } : facts;
    void this.recorder.recordMessage(this.message(monitorId, slot, region, full));
    await this.recorder.flushed();
  }

  async abstain(monitorId: number, slot: number, region: Region, reason: NotRunReason): Promise<void> {
    this.recorder.abstained(this.#monitor(monitorId), slot, region, reason);
    await this.recorder.flushed();
  }

  async skip(monitorId: number, slot: number, region: Region): Promise<void> {
    this.recorder.skipped(this.#monitor(monitorId), slot, region);
    await this.recorder.flushed();
  }

  /** Opens the present slot, and lets the regions report in this order. */
  async slot(monitorId: number, outcomes: Partial<Record<Region, Facts | Outcome>>): Promise<number> {
    const slot = this.clock.wall();
    const regions = Object.keys(outcomes) as Region[];
    this.recorder.opened(this.#monitor(monitorId), slot, regions);
    for (const region of regions) await this.report(monitorId, slot, region, outcomes[region] ?? 'passed');
    return slot;
  }

  /** Lets time pass. Events that fall due are recorded at their instants. */
  async pass(ms: number): Promise<void> {
    await this.recorder.flushed();
    this.slotClock.now();
    for (let left = ms; left > 0; left -= 1_000) {
      this.clock.advance(Math.min(1_000, left));
      // Dispatch does the same with each of its ticks.
      this.slotClock.now();
      await this.recorder.flushed();
    }
  }

  /**
   * The recorded results, ordered by slot, monitor and region. Results that are being written are included.
   */
  results(): Promise<StoredResult[]> {
    return this.store.transaction(({ db }) => storedResults({ read: db }));
  }

  rows<T>(sql: string, ...parameters: SqlValue[]): Promise<T[]> {
    return this.store.transaction((tx) => tx.query<T>(sql, parameters));
  }

  /** Runs one statement outside of the recorder, as the configuration does. */
  async write(sql: string, ...parameters: SqlValue[]): Promise<void> {
    await this.store.commit([{ sql, rows: [parameters] }]);
  }

  status(monitorId: number): string | undefined {
    return this.states.get(monitorId)?.status;
  }

  alerts(): string[] {
    return this.enqueued.map(({ alert }) => alert.status);
  }

  #recordingStore(): RecordingStore {
    const store = createRecordingStore(this.store, SECRETS);
    return {
      ...store,
      record: (batch) => {
        if (this.commitFailure !== null) return Promise.reject(this.commitFailure);
        const happens = this.duringNextWrite;
        this.duringNextWrite = null;
        happens?.();
        return store.record(batch);
      },
    };
  }

  #monitor(id: number): LiveMonitor {
    const monitor = this.monitors.get(id);
    if (monitor === undefined) throw new RangeError(`no monitor ${id}`);
    return monitor;
  }
}
