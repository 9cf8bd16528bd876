import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import { durationText, utcText } from '@svc/shared/time-texts.ts';
import { insertDeliveries, type NewlyQueued, queueDeliveries } from '../store/alerts/delivery-queue.ts';
import {
  beginNotices,
  endNotices,
  type NoticeReceiver,
  noticeReceivers,
  type StoredNotice,
  silentWorkspaces,
  storedNotices,
  type Told,
} from '../store/alerts/monitor-notices.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import type { DerivedIds } from '../verdict/derived-ids.ts';
import type { LiveMonitor, LiveMonitors, MonitorStatus } from '../verdict/monitor.ts';
import {
  type MonitorNotice,
  mayBegin,
  type NoticeChange,
  type NoticeMoment,
  noticeChanges,
} from '../verdict/monitor-notices.ts';
import type { RegionSet } from '../verdict/region-set.ts';
import type { Shard } from '../verdict/shard.ts';
import type { MonitorState, States } from '../verdict/state.ts';
import type { Vote } from '../verdict/status.ts';
import { HUMAN_KINDS } from './registry.ts';

const LOOK_EVERY_MS = 10_000;
/**
 * If more time lies between two looks, this process was frozen or the clock was set forward, ms. Votes may have
 * expired meanwhile, as in an outage of svc.
 */
const LONGEST_GAP_MS = 60_000;
/** Maximum number of notices that one transaction begins or ends. */
const NOTICES_PER_TRANSACTION = 100;
/**
 * Number of changes after which a walk over the states ends. Making the messages of so many changes takes some
 * 10 ms. If any of them was stored, another walk follows at once.
 */
const NOTICES_PER_WALK = 1_000;

export type MonitorNoticesParts = {
  readonly shard: Shard;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: Pick<DerivedIds, 'noticeKey' | 'noticeId'>;
  readonly states: Pick<States, 'get' | 'values'>;
  readonly monitors: Pick<LiveMonitors, 'get'>;
  readonly clock: Clock;
  readonly slotClock: { now(): number; readonly jumpedMs: number };
  readonly log: Logger;
  /** For how long a region must fail alone, ms. */
  readonly regionAfterMs: number;
  readonly regionText: RegionText;
  /** The regions that had an agent within 24 h. */
  readonly electable: () => RegionSet;
  /** Whether announcements about the monitor are held now. */
  readonly isHeld: (monitorId: number) => boolean;
  readonly onQueued: (queued: NewlyQueued) => void;
};

/** A notice that begins, with the monitor's status from which it follows. */
type Beginning = {
  readonly is: 'begun';
  readonly notice: Omit<StoredNotice, 'told'>;
  readonly alert: Alert;
  readonly status: MonitorStatus;
  /** Epoch ms. */
  readonly statusSince: number;
};

/** A notice that ends. `alert` is null if it ends without a message. */
type Ending = { readonly is: 'ended'; readonly notice: StoredNotice; readonly alert: Alert | null };

type DueChange = Beginning | Ending;

/**
 * Sends people notices about monitors of one shard: a region fails alone, or data is missing
 * (`verdict/monitor-notices.ts`). Alerts announce neither. Every 10 s, the states in memory are compared with
 * the notices that have begun.
 *
 *     states in memory ──▶ changes of notices ──▶ one transaction: rows of the notices, and their deliveries
 *
 * A notice is stored in the transaction that queues its messages, so a kill of svc neither loses nor doubles
 * a message. The stored states contain since when a region fails or data is missing, so the next leader of
 * the shard continues the count.
 */
export class MonitorNotices {
  readonly #parts: MonitorNoticesParts;
  /** The notices that have begun, by id of the monitor. Null: they must be read from the store. */
  #open: Map<number, readonly StoredNotice[]> | null = null;
  /**
   * When most monitors of a workspace were last without data,
   * by id of the workspace. Epoch ms on the slots' clock.
   */
  readonly #silentAt = new Map<number, number>();
  /** Since when svc has worked without a gap, epoch ms on the slots' clock. */
  #workingSince = 0;
  /** The last look, epoch ms on the slots' clock. */
  #lookedAt = 0;
  #cancelTimer: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #isWaiting = false;
  #isStopped = false;

  constructor(parts: MonitorNoticesParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#workingSince = this.#parts.slotClock.now();
    this.#lookedAt = this.#workingSince;
    this.#cancelTimer = this.#parts.clock.every(LOOK_EVERY_MS, () => this.#lookSoon());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#looking;
  }

  /** Resolves when the comparison in progress has ended. */
  async looked(): Promise<void> {
    await this.#looking;
  }

  #lookSoon(): void {
    if (this.#isWaiting || this.#isStopped) return;
    this.#isWaiting = true;
    this.#looking = this.#looking.then(async () => {
      this.#isWaiting = false;
      await this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#noteGap();
    try {
      this.#open ??= Map.groupBy(
        await storedNotices(this.#parts.store, this.#parts.shard),
        ({ monitorId }) => monitorId,
      );
      await this.#findSilence(this.#open);
      for (let isMore = true; isMore && !this.#isStopped; ) {
        const due = this.#changesDue(this.#open);
        let stored = 0;
        for (let start = 0; start < due.length && !this.#isStopped; start += NOTICES_PER_TRANSACTION) {
          const some = due.slice(start, start + NOTICES_PER_TRANSACTION);
          stored += await this.#parts.store.transaction((tx) => this.#storeChanges(tx, some));
        }
        isMore = due.length >= NOTICES_PER_WALK && stored > 0;
      }
    } catch (error) {
      // A commit whose answer was lost may have stored the changes.
      this.#open = null;
      this.#parts.log.error({ error: messageOf(error) }, 'notices about monitors failed: svc tries again');
    }
  }

  #noteGap(): void {
    const now = this.#parts.slotClock.now();
    if (now - this.#lookedAt > LONGEST_GAP_MS) this.#workingSince = now;
    this.#lookedAt = now;
  }

  /**
   * Notes the workspaces in which most monitors have no data now. The store is queried only for workspaces with
   * an active monitor that has no data, and about whose missing data no notice has begun.
   */
  async #findSilence(open: ReadonlyMap<number, readonly StoredNotice[]>): Promise<void> {
    const { store, states, monitors, slotClock } = this.#parts;
    const now = slotClock.now();
    const asked = new Set<number>();
    for (const { id, status } of states.values()) {
      if (status !== 'unknown' || open.get(id)?.some(({ region }) => region === null)) continue;
      const monitor = monitors.get(id);
      if (monitor?.active === true) asked.add(monitor.workspaceId);
    }
    for (const id of await silentWorkspaces(store, asked)) this.#silentAt.set(id, now);
  }

  #changesDue(open: ReadonlyMap<number, readonly StoredNotice[]>): DueChange[] {
    const { states, monitors, slotClock, clock, electable, regionAfterMs, isHeld } = this.#parts;
    const slotNow = slotClock.now();
    const moment: NoticeMoment = {
      slotNow,
      now: clock.monotonic() + slotClock.jumpedMs,
      electable: electable(),
      regionAfterMs,
      workingSince: (workspaceId) => Math.max(this.#workingSince, this.#silentAt.get(workspaceId) ?? 0),
      isHeld,
    };
    const due: DueChange[] = [];
    const judge = (id: number, state: Readonly<MonitorState> | undefined) => {
      const monitor = monitors.get(id);
      const changes = noticeChanges(state, monitor, open.get(id) ?? [], moment);
      for (const change of changes) due.push(this.#dueOf(change, monitor, state, slotNow));
    };
    for (const id of open.keys()) {
      if (due.length < NOTICES_PER_WALK) judge(id, states.get(id));
    }
    for (const state of states.values()) {
      if (due.length >= NOTICES_PER_WALK) break;
      if (mayBegin(state, monitors, moment) && !open.has(state.id)) judge(state.id, state);
    }
    return due;
  }

  /** Makes the message at once, because the next commit changes the votes in place. */
  #dueOf(
    change: NoticeChange<StoredNotice>,
    monitor: LiveMonitor | undefined,
    state: Readonly<MonitorState> | undefined,
    at: number,
  ): DueChange {
    const { is, notice } = change;
    if (is === 'dropped') return { is: 'ended', notice, alert: null };
    if (monitor === undefined || state === undefined) {
      throw new TypeError(`a notice about the removed monitor ${notice.monitorId} is ${is}`);
    }
    const { votes } = change;
    const { regionText } = this.#parts;
    if (is === 'over') {
      // Data came back when the present status began, perhaps in a mute or a maintenance window that held this message.
      const overAt = notice.region === null ? state.since : at;
      const alert = noticeAlert(notice, { is, monitor, state, votes, at: overAt }, regionText);
      return { is: 'ended', notice, alert };
    }
    const { monitorId, region, since } = notice;
    const stored = { ...notice, key: this.#parts.ids.noticeKey(monitorId, region, since) };
    const { status, since: statusSince } = state;
    const alert = noticeAlert(stored, { is, monitor, state, votes, at }, regionText);
    return { is, notice: stored, alert, status, statusSince };
  }

  /** Returns how many of the changes are stored. The others no longer apply, or were stored before. */
  async #storeChanges(tx: Transaction, due: readonly DueChange[]): Promise<number> {
    const { secrets, onQueued } = this.#parts;
    const monitorIds = [...new Set(due.map(({ notice }) => notice.monitorId))];
    const receivers = await noticeReceivers(tx, monitorIds, HUMAN_KINDS);
    const begun = due
      .filter((change) => change.is === 'begun')
      .map((change) => ({ ...change, notice: { ...change.notice, told: toldOf(change, receivers) } }));
    const ended = due.filter((change) => change.is === 'ended');
    const areBegun = await beginNotices(tx, begun);
    const areEnded = await endNotices(
      tx,
      ended.map(({ notice }) => notice),
    );
    const messages = [
      ...ended.filter((_, index) => areEnded[index]).map((change) => stillLinked(change, receivers)),
      ...begun.filter((_, index) => areBegun[index]),
    ];
    const queued = messages.flatMap(({ notice, alert }) =>
      alert === null ? [] : this.#deliveries(notice, alert),
    );
    await queueDeliveries(tx, { secrets, insert: insertDeliveries, onQueued }, queued);
    tx.onCommit(() => {
      for (const { notice } of ended) this.#replaceOpen(notice, null);
      begun.forEach(({ notice }, index) => {
        if (areBegun[index]) this.#replaceOpen(notice, notice);
      });
    });
    return [...areBegun, ...areEnded].filter((isStored) => isStored).length;
  }

  #deliveries({ monitorId, key, told }: StoredNotice, alert: Alert) {
    const event = alert.notice?.isOver === true ? 'over' : 'begun';
    const queuedAt = Math.floor(this.#parts.clock.wall());
    return told.map(({ id: notificationId }) => {
      const uid = this.#parts.ids.noticeId(`${key} ${event}`, notificationId);
      return { uid, notificationId, monitorId, alert, queuedAt };
    });
  }

  #replaceOpen({ monitorId, region }: MonitorNotice, notice: StoredNotice | null): void {
    const others = (this.#open?.get(monitorId) ?? []).filter((each) => each.region !== region);
    const next = notice === null ? others : [...others, notice];
    if (next.length === 0) this.#open?.delete(monitorId);
    else this.#open?.set(monitorId, next);
  }
}

type Receivers = ReadonlyMap<number, readonly NoticeReceiver[]>;

/** The channels that get the message that a notice has begun. */
function toldOf({ notice: { monitorId, region } }: Beginning, receivers: Receivers): Told {
  return (receivers.get(monitorId) ?? [])
    .filter(({ hearsOfNoData }) => region !== null || hearsOfNoData)
    .map(({ id, version }) => ({ id, version }));
}

/**
 * Leaves out the channels that were unlinked after the message about the beginning
 * of the notice was queued for them, or whose kind was changed since.
 */
function stillLinked({ notice, alert }: Ending, receivers: Receivers): Pick<Ending, 'notice' | 'alert'> {
  const present = receivers.get(notice.monitorId) ?? [];
  const isPresent = (one: Told[number]) =>
    present.some(({ id, version }) => id === one.id && version === one.version);
  return { notice: { ...notice, told: notice.told.filter(isPresent) }, alert };
}

type Happened = {
  readonly is: 'begun' | 'over';
  readonly monitor: LiveMonitor;
  readonly state: Readonly<MonitorState>;
  /** The votes that count. */
  readonly votes: readonly Vote[];
  /** Epoch ms. */
  readonly at: number;
};

/** The status of a message that a notice is over. It decides about the colour of the message. */
const STATUS_AFTER: Readonly<Record<MonitorStatus, AlertStatus>> = {
  active: 'recovered',
  degraded: 'degraded',
  error: 'error',
  unknown: 'degraded',
};

const BACK_WORDS: Readonly<Record<AlertStatus, string>> = {
  recovered: 'Data is back',
  degraded: 'Data is back, status degraded',
  error: 'Data is back, status error',
};

/** The message that a notice has begun, or that it is over. */
export function noticeAlert(
  { region, since, key }: Pick<StoredNotice, 'region' | 'since' | 'key'>,
  { is, monitor, state, votes, at }: Happened,
  regionText: RegionText,
): Alert {
  const isOver = is === 'over';
  const vote = votes.find((each) => each.region === region);
  const { id, name, target: url, type } = monitor;
  const ofData = isOver ? BACK_WORDS[STATUS_AFTER[state.status]] : 'No data';
  const title = region === null ? ofData : `Region ${regionText(region)} ${isOver ? 'works again' : 'fails'}`;
  const facts = [
    ...(region === null ? noDataFacts(state, since, isOver) : regionFacts(region, votes, since, isOver)),
    ...(isOver ? [{ label: 'Lasted', text: durationText(Math.max(0, at - since)) }] : []),
    { label: 'Status', text: state.status },
  ];
  return {
    monitor: { id, name, url, type },
    status: isOver ? STATUS_AFTER[state.status] : 'degraded',
    cronTimestamp: vote?.slot ?? at,
    at,
    since,
    reason: region === null ? 'no-data' : 'region-fails-alone',
    incident: key,
    regions: votes.map((each) => ({ region: each.region, outcome: each.outcome, slot: each.slot })),
    ...(vote?.errorMessage == null ? {} : { errorMessage: vote.errorMessage }),
    notice: { title: `${title}: ${name}`, lines: [], facts, ...(isOver ? { isOver } : {}) },
  };
}

function regionFacts(region: string, votes: readonly Vote[], since: number, isOver: boolean) {
  const problem = isOver ? null : (votes.find((each) => each.region === region)?.errorMessage ?? null);
  const others = votes.filter((each) => each.region !== region);
  const count = (outcome: Vote['outcome']) => others.filter((each) => each.outcome === outcome).length;
  const seen = (['passed', 'degraded', 'failed'] as const)
    .filter((outcome) => count(outcome) > 0)
    .map((outcome) => `${count(outcome)} ${outcome}`);
  return [
    ...(problem === null ? [] : [{ label: 'Problem', text: problem }]),
    { label: isOver ? 'Failed there since' : 'Failing there since', text: utcText(since) },
    ...(seen.length === 0 ? [] : [{ label: 'Other regions', text: seen.join(', ') }]),
  ];
}

function noDataFacts({ reason }: Readonly<MonitorState>, since: number, isOver: boolean) {
  if (isOver) return [{ label: 'There was none since', text: utcText(since) }];
  const why =
    reason === 'no-electorate'
      ? 'none of its regions had an agent in the last 24 hours, or none has been given a check yet'
      : 'too few of its regions report';
  return [
    { label: 'Reason', text: why },
    { label: 'No data since', text: utcText(since) },
  ];
}
