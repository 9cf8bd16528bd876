import { Evaluation } from '@svc/coordinator/verdict/evaluation.ts';
import type { Report } from '@svc/coordinator/verdict/kept-results.ts';
import { Windows } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor, MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import { regionSet, sizeOf } from '@svc/coordinator/verdict/region-set.ts';
import { States } from '@svc/coordinator/verdict/state.ts';
import { isCounted, statusOf, tally } from '@svc/coordinator/verdict/status.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import { noise } from './random.ts';

/*
 * Measures the rule that an `error` begins only where failures share a moment (decision 0152): how many false
 * alarms it removes, and how many real outages it costs. It runs one monitor of three regions, one of them
 * bad, under the real evaluation, and compares the verdicts of the same votes without the rule.
 */

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const satisfies readonly Region[];
const BAD: Region = REGIONS[0];
const ALL = regionSet(REGIONS);
const PERIOD_MS = 30_000;
/** Duration of an attempt, whether it is refused or answered, ms. */
const CHECK_MS = 40;
const BLIP = 0.005;
const NOT_RUN = 0.1;
/** One outage begins in every so many slots. The target is well at all other times. */
const OUTAGE_EVERY_SLOTS = 24;
const LONGEST_OUTAGE_SLOTS = 8;
/** Time for reports, decision and announcement, on top of the slots and their checks, ms. */
const SLACK_MS = 15_000;
const YEAR_SLOTS = (365.25 * 86_400_000) / PERIOD_MS;
const BEGIN = Date.UTC(2026, 0, 1);
/** Number of remembered reports of each region. No vote comes from an older one. */
const REMEMBERED = 8;

const DICE = { fails: 1, notRun: 2, delay: 3, outage: 4, length: 5 } as const;

export type AlarmSetting = {
  readonly seed: number;
  readonly slots: number;
  /** Share of its checks in which the bad region fails. */
  readonly badShare: number;
  /**
   * Null: the target is healthy. Otherwise real outages occur, which last at least this many slots, and are
   * late if they are announced after more.
   */
  readonly dueSlots: number | null;
};

export type AlarmCounts = {
  /**
   * Alarms in which a majority failed about one slot. No
   * rule about moments can distinguish them from an outage.
   */
  oneSlot: number;
  /** Alarms in which the failures of the majority are about different slots. */
  apart: number;
  /** Real outages announced late or not at all. */
  late: number;
};

export type AlarmResult = {
  readonly outages: number;
  readonly withRule: AlarmCounts;
  readonly without: AlarmCounts;
};

type Outage = { readonly from: number; readonly until: number };

/** Counts the alarms of one announcer. */
class Announcer {
  readonly counts: AlarmCounts = { oneSlot: 0, apart: 0, late: 0 };
  readonly #dueMs: number;
  readonly #errors: { readonly from: number; until: number }[] = [];
  #status: MonitorStatus = 'unknown';

  constructor(dueMs: number) {
    this.#dueMs = dueMs;
  }

  become(status: MonitorStatus, at: number, isOneSlot: () => boolean): void {
    if (status === this.#status) return;
    const last = this.#errors.at(-1);
    if (this.#status === 'error' && last !== undefined) last.until = at;
    if (status === 'error') {
      this.#errors.push({ from: at, until: Number.POSITIVE_INFINITY });
      this.counts[isOneSlot() ? 'oneSlot' : 'apart'] += 1;
    }
    this.#status = status;
  }

  /** Handles the end of an outage: counts it if it was not announced in time. */
  ended({ from, until }: Outage): void {
    const isAnnounced = this.#errors.some((error) => error.until > from && error.from <= from + this.#dueMs);
    if (!isAnnounced && until - from >= this.#dueMs) this.counts.late += 1;
    this.#errors.splice(0, this.#errors.length - 1);
  }
}

/** Runs the monitor for the number of slots in `setting`, and counts its alarms. */
export function countAlarms(setting: AlarmSetting): AlarmResult {
  const states = new States();
  const monitor = aMonitor();
  const { seed, slots, dueSlots } = setting;
  const dueMs = dueAfterMs(dueSlots ?? 0);
  const withRule = new Announcer(dueMs);
  const without = new Announcer(dueMs);
  const said = new Map<Region, { slot: number; outcome: Outcome }[]>(REGIONS.map((region) => [region, []]));
  let outages = 0;

  /** Evaluates and commits one event. */
  const evaluate = (at: number, tell: (evaluation: Evaluation) => void): void => {
    const evaluation = new Evaluation({
      states,
      monitors: { get: () => monitor },
      windows: new Windows(),
      instants: { wall: at, slotNow: at, monotonic: at - BEGIN, jumpedMs: 0, jumpedAt: null },
      electable: ALL,
      rolledUpUntil: 0,
      isHeld: () => false,
      closesIncidents: () => false,
      ids: { incidentKey: () => 'key', alertId: () => 'id' },
      isResumed: true,
    });
    tell(evaluation);
    evaluation.finish();
    evaluation.drafts.forEach((draft) => {
      if (draft !== null) states.set(draft);
    });
    const state = states.get(monitor.id);
    if (state === undefined) return;
    const { now } = evaluation.frame;
    const { failed, degraded, total } = tally(state.votes, ALL, now);
    const votes = state.votes.filter((vote) => isCounted(vote, ALL, now));
    const isOneSlot = () =>
      [...said.values()].flat().some(({ slot: about }) => failedAbout(about, said) * 2 > votes.length);
    withRule.become(state.status, at, isOneSlot);
    without.become(statusOf(failed, degraded, total, sizeOf(ALL), monitor.quorum), at, isOneSlot);
  };

  for (let index = 0; index < slots; index += 1) {
    const slot = BEGIN + index * PERIOD_MS;
    const outage = dueSlots === null ? null : outageAt(seed, index, dueMs);
    evaluate(slot, (evaluation) => evaluation.opened(monitor, slot, ALL));
    for (const { region, delayMs } of inOrder(seed, index)) {
      const outcome = outcomeOf(setting, region, index, outage);
      const reports = said.get(region) ?? [];
      if (outcome !== 'not_run') reports.push({ slot, outcome });
      if (reports.length > REMEMBERED) reports.shift();
      evaluate(slot + delayMs, (evaluation) => evaluation.reported(monitor, reportOf(slot, region, outcome)));
    }
    const last = BEGIN + (index + 1) * PERIOD_MS;
    if (outage === null || outage.until >= last || outage.until < slot) continue;
    if (outage.until - outage.from >= dueMs) outages += 1;
    for (const announcer of [withRule, without]) announcer.ended(outage);
  }
  return { outages, withRule: withRule.counts, without: without.counts };
}

/** The regions that failed about the slot and have reported no other outcome since. */
function failedAbout(
  about: number,
  said: ReadonlyMap<Region, readonly { slot: number; outcome: Outcome }[]>,
): number {
  let failed = 0;
  for (const reports of said.values()) {
    const since = reports.filter(({ slot }) => slot >= about);
    if (since[0]?.slot === about && since.every(({ outcome }) => outcome === 'failed')) failed += 1;
  }
  return failed;
}

/** Time after its beginning within which an outage of this number of slots must be announced, ms. */
function dueAfterMs(slots: number): number {
  return slots * PERIOD_MS + CHECK_MS + SLACK_MS;
}

/**
 * Returns the outage around the slot; null: there is none. One outage begins
 * in every {@link OUTAGE_EVERY_SLOTS} slots, at any phase and with any length.
 */
function outageAt(seed: number, index: number, shortestMs: number): Outage | null {
  const group = Math.floor(index / OUTAGE_EVERY_SLOTS);
  const first = BEGIN + (group * OUTAGE_EVERY_SLOTS + 8) * PERIOD_MS;
  const from = first + Math.floor(PERIOD_MS * noise(seed, DICE.outage, 0, group));
  const longestMs = LONGEST_OUTAGE_SLOTS * PERIOD_MS;
  const lastsMs = shortestMs + (longestMs - shortestMs) * noise(seed, DICE.length, 0, group);
  return { from, until: from + Math.floor(lastsMs) };
}

function outcomeOf(
  { seed, badShare }: AlarmSetting,
  region: Region,
  index: number,
  outage: Outage | null,
): Outcome {
  const place = REGIONS.indexOf(region as (typeof REGIONS)[number]);
  if (noise(seed, DICE.notRun, place, index) < NOT_RUN) return 'not_run';
  const slot = BEGIN + index * PERIOD_MS;
  if (outage !== null && slot >= outage.from && slot < outage.until) return 'failed';
  const share = region === BAD ? badShare : BLIP;
  return noise(seed, DICE.fails, place, index) < share ? 'failed' : 'passed';
}

/** The regions in the order in which their reports come. */
function inOrder(seed: number, index: number): { region: Region; delayMs: number }[] {
  return REGIONS.map((region, place) => ({
    region,
    delayMs: CHECK_MS + 10 + Math.floor(250 * noise(seed, DICE.delay, place, index)),
  })).sort((a, b) => a.delayMs - b.delayMs);
}

function reportOf(slot: number, region: Region, outcome: Outcome): Report {
  const attempts = outcome === 'not_run' ? [] : [{ outcome, started_ms: 0, latency: CHECK_MS }];
  return {
    result: { monitor: 1, version: 1, slot, token: '', outcome, started_at: slot, attempts },
    region,
    agent: 'agent',
    prior: null,
    isOfferedAgain: false,
  };
}

function aMonitor(): LiveMonitor {
  return {
    id: 1,
    workspaceId: 1,
    type: 'http',
    name: 'Monitor',
    target: 'http://127.0.0.1/',
    active: true,
    periodMs: PERIOD_MS,
    regions: REGIONS,
    version: 1,
    quorum: 'majority',
    confirmAfter: 1,
    recoverAfter: 1,
    degradedAtMs: 0,
    longestCheckMs: 10_000,
    activatedAt: 0,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

/**
 * Makes a table of false alarms per monitor and year, and
 * of real outages that were announced late or not at all.
 */
export function describeAlarms({ seed, slots }: Pick<AlarmSetting, 'seed' | 'slots'>): string {
  const perYear = (count: number) => ((count * YEAR_SLOTS) / slots).toFixed(1);
  const lines = [
    '| bad region fails in | about one slot, without → with | failures apart, without → with | fewer | late after two slots, without → with | late after one slot |',
    '| --- | --- | --- | --- | --- | --- |',
  ];
  for (const badShare of [0.05, 0.2, 0.5, 1]) {
    const well = countAlarms({ seed, slots, badShare, dueSlots: null });
    const [two, one] = [2, 1].map((dueSlots) =>
      describeLate(countAlarms({ seed, slots, badShare, dueSlots })),
    );
    const fewer = 100 * (1 - well.withRule.apart / Math.max(1, well.without.apart));
    lines.push(
      `| ${100 * badShare} % | ${perYear(well.without.oneSlot)} → ${perYear(well.withRule.oneSlot)} | ` +
        `${perYear(well.without.apart)} → ${perYear(well.withRule.apart)} | ${fewer.toFixed(1)} % | ${two} | ${one} |`,
    );
  }
  return lines.join('\n');
}

function describeLate({ outages, without, withRule }: AlarmResult): string {
  return `${without.late} → ${withRule.late} of ${outages}`;
}
