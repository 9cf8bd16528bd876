import { CALM, type World } from '../world.ts';

/** A text that occurs once in the file (`from`), and the text that replaces it (`to`). */
type Edit = { readonly from: string; readonly to: string };

/** A deliberate defect: in a file of the coordinator's sources, one text replaces another. */
export type Mutation = Edit & {
  /** The defect in words. */
  readonly name: string;
  /** Path in the coordinator's sources. */
  readonly file: string;
  /** Further edits of the same file. */
  readonly and?: readonly Edit[];
  /**
   * A world that shows the defect, as its differences from a quiet world. Undefined: random worlds show it.
   */
  readonly story?: Partial<World>;
  /**
   * Seed of the first of the random worlds, one that was seen to show the defect. Undefined: 1. Another world may
   * show it after a change of `generate.ts`: then the test finds it later, and prints the seed.
   */
  readonly seed?: number;
};

/** The source with the defect. */
export function mutated(source: string, { from, to, and = [] }: Mutation): string {
  return [{ from, to }, ...and].reduce((text, edit) => text.replace(edit.from, () => edit.to), source);
}

/** The URL of the file in which the defect is made. */
export function sourceOf({ file }: Mutation): URL {
  return new URL(`../../../packages/coordinator/src/${file}`, import.meta.url);
}

const THREE = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;
const [A, B, C] = THREE;
const PERIOD = 30_000;

/** A pass is reported after the failure of the next slot, because the agent died with the job on its way. */
const LATE_PASS: Partial<World> = {
  seed: 4,
  periodMs: PERIOD,
  lengthMs: 12 * PERIOD,
  timeoutMs: 5_000,
  mishaps: { ...CALM, late: 0.3, lagMs: 100_000 },
  troubles: [{ from: 5 * PERIOD, until: 9 * PERIOD, regions: null, sees: 'refused', flapMs: 0 }],
  moves: [{ at: 130_000, do: 'stop-agent', region: A, forMs: 8_000 }],
};

/** Two starts follow each other during the first slots of a monitor. One of its regions sees a failure. */
const STARTS_IN_FIRST_SLOTS: Partial<World> = {
  seed: 60_163,
  id: 35_030,
  lengthMs: 10 * PERIOD,
  periodMs: PERIOD,
  regions: ['hostb-par', 'hosta-ams', 'hosta-lhr'],
  agents: ['hostb-par', 'hosta-ams', 'hosta-lhr'],
  timeoutMs: 1_000,
  retry: 3,
  isAhead: false,
  mishaps: { ...CALM, notRun: 0.3, forgotten: 0.2, late: 0.3, lagMs: 85_750 },
  troubles: [{ from: 0, until: 20 * PERIOD, regions: ['hosta-ams'], sees: 'refused', flapMs: 0 }],
  moves: [
    { at: 1_351, do: 'restart', downMs: 1_236, isBeforeCommit: false, isUnanswered: false },
    { at: 1_361, do: 'restart', downMs: 23_161, isBeforeCommit: false, isUnanswered: false },
    { at: 4_547, do: 'restart', downMs: 168, isBeforeCommit: true, isUnanswered: false },
  ],
  isDeclaredMeanwhile: true,
};

/**
 * A target is down from its fourth slot until the end.
 * Errors of the monitor need `confirmAfter` slots in a row.
 */
function downFor(confirmAfter: number, moves: World['moves']): Partial<World> {
  return {
    seed: 11,
    periodMs: PERIOD,
    lengthMs: 26 * PERIOD,
    timeoutMs: 5_000,
    regions: THREE,
    agents: THREE,
    judging: { quorum: 'majority', confirmAfter, recoverAfter: 1 },
    troubles: [{ from: 4 * PERIOD, until: 26 * PERIOD, regions: null, sees: 'refused', flapMs: 0 }],
    moves,
  };
}

/**
 * Checks of a degraded monitor hang from the eighth slot on, and many checks do not run. The
 * last vote expires after one slot of a row of two, while the next check is in progress.
 */
const AGED_IN_A_ROW: Partial<World> = {
  seed: 6,
  id: 42,
  periodMs: PERIOD,
  lengthMs: 14 * PERIOD,
  timeoutMs: 1_200,
  isAhead: true,
  mishaps: { ...CALM, notRun: 0.6 },
  judging: { quorum: 'majority', confirmAfter: 2, recoverAfter: 1 },
  troubles: [
    { from: 2 * PERIOD, until: 8 * PERIOD, regions: null, sees: 'slow', flapMs: 0 },
    { from: 8 * PERIOD, until: 14 * PERIOD, regions: null, sees: 'hung', flapMs: 0 },
  ],
};

/**
 * Both regions fail in one slot, but an error needs two slots in a row.
 * A third region joins with the next slot, in which all regions pass.
 */
const JOINED_IN_A_ROW: Partial<World> = {
  ...downFor(2, [{ at: 4 * PERIOD + 10_000, do: 'change-regions', regions: THREE }]),
  lengthMs: 12 * PERIOD,
  regions: [A, B],
  troubles: [{ from: 4 * PERIOD, until: 4 * PERIOD + 15_000, regions: null, sees: 'refused', flapMs: 0 }],
};

/**
 * The clock is set back while no coordinator runs. The second
 * start comes when the clock has reached the former slots again.
 */
const SET_BACK: Partial<World> = {
  seed: 7_212_986,
  id: 398_275,
  lengthMs: 5_790_000,
  periodMs: PERIOD,
  timeoutMs: 10_000,
  isAhead: true,
  moves: [
    { at: 4_685_826, do: 'restart', downMs: 382_988, isBeforeCommit: false },
    { at: 4_713_796, do: 'set-wall-clock', byMs: -594_480 },
    { at: 5_206_912, do: 'restart', downMs: 187_332, isBeforeCommit: false },
  ],
};

/**
 * Votes that were cast at the end of one slot expire at the end
 * of another slot. Reports are lost, and many checks do not run.
 */
const AGED_AT_THE_END_OF_A_SLOT: Partial<World> = {
  seed: 42,
  id: 42,
  periodMs: PERIOD,
  lengthMs: 8 * PERIOD,
  timeoutMs: 25_000,
  regions: THREE,
  agents: THREE,
  isAhead: true,
  mishaps: { ...CALM, notRun: 0.6, forgotten: 0.2 },
};

/**
 * A late report ends an error, and its age begins a hold. A vote
 * expires before the hold is over, while the next check is in progress.
 */
const AGED_IN_A_HOLD: Partial<World> = {
  seed: 3_540,
  id: 1,
  lengthMs: 26 * PERIOD,
  periodMs: PERIOD,
  regions: THREE,
  agents: THREE,
  timeoutMs: 45_000,
  laggards: [B, C],
  channels: ['webhook'],
  isAhead: true,
  mishaps: { ...CALM, late: 0.3, lagMs: 168_095 },
  troubles: [{ from: 7 * PERIOD, until: 38 * PERIOD, regions: null, sees: 'hung', flapMs: PERIOD }],
};

/**
 * One region failed in the slot before the coordinator ended. Another region failed
 * in the next slot, whose period was over long before the start reads its report.
 */
const HALF_READ: Partial<World> = {
  seed: 1,
  periodMs: PERIOD,
  lengthMs: 12 * PERIOD,
  timeoutMs: 20_000,
  regions: THREE,
  agents: THREE,
  troubles: [
    { from: 4 * PERIOD, until: 5 * PERIOD, regions: [B], sees: 'hung', flapMs: 0 },
    { from: 5 * PERIOD, until: 6 * PERIOD, regions: [A], sees: 'refused', flapMs: 0 },
  ],
  moves: [{ at: 5 * PERIOD - 2_000, do: 'restart', downMs: 40_000, isBeforeCommit: false }],
};

/**
 * One region has reported a failure when the coordinator is
 * killed at 126.7 s. The check of the other region still runs.
 */
const HALF_REPORTED: Partial<World> = {
  seed: 1,
  periodMs: PERIOD,
  lengthMs: 12 * PERIOD,
  timeoutMs: 20_000,
  regions: [A, B],
  agents: [A, B],
  troubles: [
    { from: 4 * PERIOD, until: 5 * PERIOD, regions: [A], sees: 'refused', flapMs: 0 },
    { from: 4 * PERIOD, until: 5 * PERIOD, regions: [B], sees: 'hung', flapMs: 0 },
  ],
  moves: [{ at: 4 * PERIOD + 6_720, do: 'restart', downMs: 5_000, isBeforeCommit: false }],
};

/**
 * Checks take longer than three periods, so each report
 * is late. The coordinator is killed between two reports.
 */
const LATE_REPORTS: Partial<World> = {
  seed: 1,
  periodMs: PERIOD,
  lengthMs: 20 * PERIOD,
  timeoutMs: 22_500,
  retry: 3,
  regions: [A],
  agents: [A],
  troubles: [{ from: 4 * PERIOD, until: 18 * PERIOD, regions: null, sees: 'hung', flapMs: 0 }],
  moves: [{ at: 342_500, do: 'restart', downMs: 8_000, isBeforeCommit: false }],
};

/** In the first slot one region fails, one passes, and one gives the job back and then cannot run it. */
const SECOND_NOT_RUN: Partial<World> = {
  seed: 8,
  periodMs: PERIOD,
  lengthMs: 5 * PERIOD,
  timeoutMs: 5_000,
  regions: THREE,
  agents: THREE,
  mishaps: { ...CALM, notRun: 0.3 },
  troubles: [{ from: 0, until: 5 * PERIOD, regions: [A], sees: 'refused', flapMs: 0 }],
  moves: [{ at: 2_504, do: 'roll-agent', region: C }],
};

/**
 * The leader stands still between a commit and its acknowledgement. Meanwhile, the other coordinator leads.
 */
const ANSWERED_LATE: Partial<World> = {
  seed: 1,
  periodMs: PERIOD,
  lengthMs: 8 * PERIOD,
  timeoutMs: 5_000,
  regions: THREE,
  agents: THREE,
  isPair: true,
  commits: { writeMs: 100, answerMs: 1_000, stalls: 0, stallMs: 0 },
  moves: [{ at: 3 * PERIOD, do: 'freeze', forMs: 20_000, isUnanswered: true }],
};

/**
 * The database loses the second take of the lease. The other
 * coordinator takes the lease again, while the first one stands still.
 */
const TAKEN_AGAIN: Partial<World> = {
  seed: 1,
  periodMs: PERIOD,
  lengthMs: 12 * PERIOD,
  timeoutMs: 5_000,
  regions: THREE,
  agents: THREE,
  isPair: true,
  commits: { writeMs: 100, answerMs: 0, stalls: 0, stallMs: 0 },
  moves: [
    { at: 3 * PERIOD, do: 'resign' },
    { at: 4 * PERIOD, do: 'freeze', forMs: 20_000, isUnanswered: false },
    { at: 4 * PERIOD + 1_000, do: 'set-back', commits: 20, forMs: 500 },
  ],
};

/**
 * A region is removed and declared again. The check of an earlier slot fails after the next slot was given.
 */
const DECLARED_AGAIN: Partial<World> = {
  seed: 72_001_840,
  id: 693_758,
  periodMs: PERIOD,
  lengthMs: 12 * PERIOD,
  regions: [A],
  agents: [A],
  troubles: [{ from: 248_000, until: 466_000, regions: null, sees: 'hung', flapMs: 0 }],
  moves: [
    { at: 271_587, do: 'change-regions', regions: [B] },
    { at: 276_279, do: 'change-regions', regions: null },
  ],
};

const HOUR = 3_600_000;

/** The target goes down in a maintenance window, for hours. */
const DOWN_IN_WINDOW: Partial<World> = {
  lengthMs: 10 * HOUR,
  channels: ['webhook'],
  troubles: [{ from: 2 * HOUR, until: 9 * HOUR, regions: null, sees: 'refused', flapMs: 0 }],
  moves: [{ at: HOUR, do: 'set-window', window: 1, from: HOUR, until: 5 * HOUR, isDaily: false }],
};

/** The window is removed before its time. */
const REMOVED_WINDOW: Partial<World> = {
  ...DOWN_IN_WINDOW,
  moves: [...(DOWN_IN_WINDOW.moves ?? []), { at: 3 * HOUR, do: 'remove-window', window: 1 }],
};

/** The monitor is muted in place of the window, and unmuted before the end. */
const UNMUTED: Partial<World> = {
  ...DOWN_IN_WINDOW,
  moves: [
    { at: HOUR, do: 'mute', until: 5 * HOUR },
    { at: 3 * HOUR, do: 'unmute' },
  ],
};

/** The system's clock is set forward over the end of the window. */
const JUMPED_WINDOW: Partial<World> = {
  ...DOWN_IN_WINDOW,
  moves: [...(DOWN_IN_WINDOW.moves ?? []), { at: 5 * HOUR - 100_000, do: 'set-wall-clock', byMs: 300_000 }],
};

/** A change lets a window end 0.2 s later. Writing the change takes longer than that. */
const ENDED_WHILE_WRITTEN: Partial<World> = {
  ...DOWN_IN_WINDOW,
  seed: 2,
  commits: { writeMs: 3_000, answerMs: 0, stalls: 0, stallMs: 0 },
  moves: [
    ...(DOWN_IN_WINDOW.moves ?? []),
    { at: 3 * HOUR, do: 'set-window', window: 1, from: HOUR, until: 3 * HOUR + 200, isDaily: false },
  ],
};

/**
 * The window ends while no coordinator runs. The next slot
 * comes minutes after the start, and the votes still count.
 */
const ENDED_IN_DOWNTIME: Partial<World> = {
  ...DOWN_IN_WINDOW,
  moves: [
    ...(DOWN_IN_WINDOW.moves ?? []),
    { at: 17_076_710, do: 'restart', downMs: 27 * 60_000, isBeforeCommit: false },
  ],
};

/** The coordinator is down while votes age. The checks of the first slot after the start are late. */
const AGED_IN_DOWNTIME: Partial<World> = {
  seed: 2,
  id: 996_105,
  lengthMs: 8 * PERIOD,
  periodMs: PERIOD,
  regions: ['hostb-sin', 'hostb-was', 'hostc-asia-southeast1'],
  agents: ['hostb-sin', 'hostb-was', 'hostc-asia-southeast1'],
  timeoutMs: 1_000,
  mishaps: { ...CALM, late: 0.3, lagMs: 48_214 },
  moves: [{ at: 69_162, do: 'restart', downMs: 90_640, isBeforeCommit: true }],
};

/**
 * One of two regions loses its agent, and the other region often cannot run its checks. Commits take seconds.
 */
const AGED_WHILE_WRITTEN: Partial<World> = {
  seed: 108,
  id: 844_119,
  lengthMs: 51 * PERIOD,
  periodMs: PERIOD,
  regions: ['hosta-lax', 'hostc-europe-west4'],
  agents: ['hosta-lax', 'hostc-europe-west4'],
  timeoutMs: 5_000,
  isAhead: true,
  mishaps: { ...CALM, notRun: 0.3, late: 0.3, lagMs: 2_955 },
  moves: [
    { at: 78_318, do: 'restart', downMs: 4_911, isBeforeCommit: false, isUnanswered: false },
    { at: 184_484, do: 'set-window', window: 1, from: 183_495, until: 561_018, isDaily: false },
    { at: 251_489, do: 'stop-agent', region: 'hosta-lax', forMs: 4_063_615 },
  ],
  commits: { writeMs: 2_755, answerMs: 1_000, stalls: 0, stallMs: 8_000 },
};

/** The period is shortened to a sixth. */
const SHORTER_PERIOD: Partial<World> = {
  seed: 22,
  id: 927_006,
  lengthMs: 52_200_000,
  periodMs: 1_800_000,
  timeoutMs: 5_000,
  moves: [{ at: 34_642_696, do: 'change-period', periodMs: 300_000 }],
};

/** The monitor is switched off and on while its votes count. */
const SWITCHED_OFF: Partial<World> = {
  seed: 28,
  id: 591_563,
  lengthMs: 30 * HOUR,
  periodMs: HOUR,
  regions: ['hostc-us-east4', 'hostc-europe-west4', 'hostc-asia-southeast1'],
  agents: ['hostc-us-east4', 'hostc-europe-west4', 'hostc-asia-southeast1'],
  timeoutMs: 120_000,
  isAhead: true,
  mishaps: { ...CALM, notRun: 0.1, lagMs: 1_063 },
  moves: [
    { at: 17_883_075, do: 'switch-off' },
    { at: 20_650_916, do: 'switch-on' },
  ],
};

/** The monitor is switched off and on in an outage. */
const SWITCHED_OFF_IN_OUTAGE: Partial<World> = {
  lengthMs: 75 * PERIOD,
  periodMs: PERIOD,
  channels: ['webhook'],
  troubles: [{ from: 651_409, until: 1_286_471, regions: null, sees: 'hung', flapMs: 0 }],
  moves: [
    { at: 884_960, do: 'switch-off' },
    { at: 900_622, do: 'switch-on' },
  ],
};

/** The monitor is removed in an outage. */
const REMOVED_IN_OUTAGE: Partial<World> = {
  lengthMs: 75 * PERIOD,
  periodMs: PERIOD,
  channels: ['webhook'],
  troubles: [{ from: 651_409, until: 1_286_471, regions: null, sees: 'refused', flapMs: 0 }],
  moves: [{ at: 884_960, do: 'remove' }],
};

/** In an outage a channel is unlinked and linked again. */
const LINKED_AGAIN: Partial<World> = {
  lengthMs: 75 * PERIOD,
  periodMs: PERIOD,
  channels: ['webhook'],
  troubles: [{ from: 651_409, until: 1_286_471, regions: null, sees: 'refused', flapMs: 0 }],
  moves: [
    { at: 884_960, do: 'unlink', channel: 1 },
    { at: 894_960, do: 'link', channel: 1, kind: 'webhook' },
  ],
};

/**
 * In an outage other regions are declared, most of them
 * without an agent. So the status is `unknown` for a while.
 */
const UNKNOWN_IN_OUTAGE: Partial<World> = {
  seed: 191,
  id: 325_279,
  lengthMs: 97 * PERIOD,
  periodMs: PERIOD,
  regions: ['hosta-jnb'],
  agents: ['hosta-jnb'],
  timeoutMs: 120_000,
  channels: ['incident_a'],
  troubles: [{ from: 639_282, until: 1_378_199, regions: null, sees: 'hung', flapMs: 0 }],
  moves: [
    { at: 1_336_817, do: 'start-agent', region: 'hostc-us-west2' },
    { at: 1_340_332, do: 'change-regions', regions: ['hosta-fra', 'hosta-syd', 'hostc-us-west2'] },
  ],
};

/*
 * The oracle is useful only if it can fail. Each entry is a defect that a programmer could make. A defect
 * that random worlds show too seldom has a story.
 */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'votes from half of the electorate are too few',
    file: 'verdict/status.ts',
    from: 'total * 2 < size',
    to: 'total * 2 <= size',
  },
  {
    name: 'a monitor with a number of regions as its quorum is judged by the majority',
    file: 'verdict/status.ts',
    from: 'return quorum > size ? total : quorum;',
    to: 'return Math.floor(total / 2) + 1;',
  },
  {
    name: 'a slot that says otherwise does not end the row',
    seed: 26,
    file: 'verdict/confirmation.ts',
    from: 'const row = verdicts.slice(verdicts.findLastIndex(isOtherwise) + 1);',
    to: 'const row = verdicts.filter((each) => !isOtherwise(each));',
  },
  {
    name: 'a slot of unknown ends the row',
    file: 'verdict/verdicts.ts',
    from: 'return { status, reason, first: null, verdicts: before };',
    to: 'return { status, reason, first: null, verdicts: NONE };',
    story: downFor(
      10,
      [B, C].map((region) => ({ at: 6 * PERIOD, do: 'stop-agent', region, forMs: 7 * PERIOD })),
    ),
  },
  {
    name: 'a late report counts as a further slot of the row',
    file: 'verdict/confirmation.ts',
    from: 'const isNewer = newest === undefined || verdict.slot > newest.slot;',
    to: 'const isNewer = newest === undefined || verdict.slot > 0;',
  },
  {
    name: 'a late report does not change what its slot said',
    seed: 103,
    file: 'verdict/confirmation.ts',
    from: 'if (!isNewer && newest.status === verdict.status) return verdicts;',
    to: 'if (!isNewer) return verdicts;',
  },
  {
    name: 'a row makes the status the worst that one of its slots says',
    seed: 138,
    file: 'verdict/confirmation.ts',
    from: '=== isWorse ? one : other',
    to: '=== isWorse ? other : one',
  },
  {
    name: 'a row begins with its last slot',
    file: 'verdict/confirmation.ts',
    from: 'return { status, first };',
    to: 'return { status, first: newest };',
  },
  {
    name: 'a restart forgets the row',
    file: 'verdict/restart.ts',
    from: 'state.verdicts = verdicts',
    to: 'state.verdicts = verdicts.slice(0, 0)',
    story: downFor(3, [{ at: 6 * PERIOD, do: 'restart', downMs: 2_000, isBeforeCommit: false }]),
  },
  {
    name: 'a row outlives what it is about',
    file: 'verdict/declared-effects.ts',
    from: '  state.verdicts = NONE;',
    to: '',
    story: downFor(3, [{ at: 6 * PERIOD, do: 'change-probe' }]),
  },
  {
    name: 'aged votes leave a status that only a row keeps',
    file: 'verdict/verdicts.ts',
    from: 'const { status } = judgement(frame, state, monitor, electorate, slot);',
    to: 'const { status } = verdictOn(frame, state, monitor, electorate);',
    story: AGED_IN_A_ROW,
  },
  {
    name: 'a slot with which regions join is one of a row before anybody reports about it',
    file: 'verdict/verdicts.ts',
    from: 'const isDecided = slot !== null && slot <= state.decidedSlot;',
    to: 'const isDecided = slot !== null;',
    story: JOINED_IN_A_ROW,
  },
  {
    name: 'a row that began before fewer slots were declared begins later',
    file: 'verdict/verdicts.ts',
    from: 'const all = withVerdict(before, { slot: about, status, at: frame.instants.slotNow });',
    to: 'const all = keptVerdicts(withVerdict(before, { slot: about, status, at: frame.instants.slotNow }), monitor);',
    story: downFor(6, [
      { at: 8 * PERIOD + 15_000, do: 'change-judging', quorum: 'majority', confirmAfter: 2, recoverAfter: 1 },
    ]),
  },
  {
    name: 'the way back from unknown needs no row',
    seed: 28,
    file: 'verdict/confirmation.ts',
    from: "if (newest.status === standing || (standing === 'unknown' && isSideKept)) return atOnce;",
    to: "if (newest.status === standing || standing === 'unknown') return atOnce;",
  },
  {
    name: 'an error by one region waits for the votes of half of the electorate',
    seed: 142,
    file: 'verdict/status.ts',
    from: "return quorum === 'any' || (typeof quorum === 'number' && quorum <= size);",
    to: 'return size < 0;',
  },
  {
    name: 'degraded needs more than half of the votes, whatever the quorum is',
    seed: 16,
    file: 'verdict/status.ts',
    from: "if (failed + degraded >= needed) return 'degraded';",
    to: "if ((failed + degraded) * 2 > total) return 'degraded';",
  },
  {
    name: 'a report that comes after its slot was decided is recorded only',
    file: 'verdict/slot-life.ts',
    from: '    reportLate(frame, state, monitor, vote);\n',
    to: '',
  },
  {
    name: 'a late report takes the place of a vote about a newer slot',
    file: 'verdict/decision.ts',
    from: 'old.slot < vote.slot ? following(old, vote, time) : recounted(old, vote)',
    to: 'following(old, vote, time)',
    story: LATE_PASS,
  },
  {
    name: 'a late report of a region whose first slot is open waits for the end of the slot',
    file: 'verdict/slot-life.ts',
    from: 'if (canEnter(frame, state, monitor)) enterRegions(',
    to: 'if (frame.now < 0) enterRegions(',
    story: DECLARED_AGAIN,
  },
  {
    name: 'a region that abstains has passed',
    seed: 16,
    file: 'verdict/evaluation.ts',
    from: "excuseRegion(this.frame, evaluated.state, evaluated.monitor, slot, region, 'dispatch');",
    to: `{
      const pass = { monitor: id, version, slot, token: '', started_at: slot, attempts: [] } as unknown as CheckResult;
      const vote = voteOf(this.frame, evaluated.monitor, pass, 'passed', region);
      takeReport(this.frame, evaluated.state, evaluated.monitor, vote);
    }`,
  },
  {
    name: 'a restart forgets what channels were told',
    file: 'verdict/restart.ts',
    from: 'state.links = stored.links;',
    to: "state.links = stored.links.map((link) => ({ ...link, announced: 'active' as const }));",
  },
  {
    name: 'failures that never coincided make an error',
    seed: 128,
    file: 'verdict/status.ts',
    from: "if (standing !== 'error' && !failuresCoincide",
    to: "if (standing === 'error' && !failuresCoincide",
  },
  {
    name: 'what a backlog tells of the past is announced',
    seed: 15,
    file: 'checks/backlog-hold.ts',
    from: 'return this.#held.has(monitorId);',
    to: 'return false;',
  },
  {
    name: 'a region counts before it was given a slot',
    seed: 25,
    file: 'verdict/status.ts',
    from: 'return intersection(intersection(declared ?? hadAgent, hadAgent), entered);',
    to: 'return intersection(declared ?? hadAgent, hadAgent);',
  },
  {
    name: 'after a start slots are decided while what was reported meanwhile is half read',
    file: 'verdict/slot-life.ts',
    from: 'frame.isResumed ? frame.instants.monotonic : Number.NEGATIVE_INFINITY',
    to: 'frame.instants.monotonic',
    story: HALF_READ,
  },
  {
    name: 'a slot from before a start is decided without the regions that may have been given it first',
    file: 'verdict/slot-life.ts',
    from: 'return state.mayLackRegion && !open.isGivenKnown && !isSureError(frame, state, monitor, open);',
    to: 'return false;',
    story: STARTS_IN_FIRST_SLOTS,
  },
  {
    name: 'a second `not_run` is no answer',
    file: 'verdict/evaluation.ts',
    from: "if (!isKept && outcome !== 'not_run') return false;",
    to: 'if (!isKept) return false;',
    story: SECOND_NOT_RUN,
  },
  {
    name: 'a start takes over the votes of a clock that was ahead',
    file: 'verdict/restart.ts',
    from: 'state.votes = votes\n    .filter(({ slot }) => slot <= newestBelieved)',
    to: 'state.votes = votes',
    story: SET_BACK,
  },
  {
    name: 'a report whose slot is not decided is not stored with the state',
    file: 'verdict/evaluation.ts',
    from: 'reports.length > 0 || slot <= decidedSlot',
    to: 'slot <= decidedSlot',
    story: HALF_REPORTED,
  },
  {
    name: 'a state is not written with its late votes',
    file: 'verdict/slot-life.ts',
    from: 'if (!castNews(frame, state, monitor, [vote])) return;\n  frame.moved.add(state);',
    to: 'if (!castNews(frame, state, monitor, [vote])) return;',
    story: LATE_REPORTS,
  },
  {
    name: 'votes do not age',
    seed: 28,
    file: 'verdict/status.ts',
    from: 'return isFresh(vote, now) && ',
    to: 'return ',
  },
  {
    name: 'votes have aged in the millisecond of their expiry, in which others are cast',
    file: 'verdict/status.ts',
    from: 'return expiresAt >= now;',
    to: 'return expiresAt > now;',
    story: AGED_AT_THE_END_OF_A_SLOT,
  },
  {
    name: 'the end of a hold tells nobody',
    seed: 15,
    file: 'checks/backlog-hold.ts',
    from: 'this.#announce([monitorId]);',
    to: '',
  },
  {
    name: 'the end of a hold tells a status whose votes have aged',
    file: 'verdict/evaluation.ts',
    from: '    ageVotes(this.frame, state, monitor);\n    announceStatus(',
    to: '    this.judgeByTime(known);\n    announceStatus(',
    story: AGED_IN_A_HOLD,
  },
  {
    name: 'maintenance windows hold nothing',
    file: 'verdict/maintenance-window.ts',
    from: 'isDuring(window.times, instant)',
    to: 'window.id < 0 && isDuring(window.times, instant)',
  },
  {
    name: 'mutes hold nothing',
    file: 'verdict/maintenance-window.ts',
    from: 'isDuring(window.times, instant)',
    to: 'window.id > 0 && isDuring(window.times, instant)',
  },
  {
    name: 'nothing is announced at the end of a mute',
    file: 'checks/maintenance-hold.ts',
    from: 'if (end !== undefined && end <= this.#parts.slotClock.now()) {',
    to: 'if (windowId > 0 && end !== undefined && end <= this.#parts.slotClock.now()) {',
  },
  {
    name: 'what a mute held is not announced when the mute is ended',
    file: 'verdict/evaluation.ts',
    from: 'const before = this.#windows.get(id);',
    to: 'const before = id > 0 || window !== null ? this.#windows.get(id) : undefined;',
    story: UNMUTED,
  },
  {
    name: 'nothing is announced at the end of a maintenance window',
    file: 'checks/maintenance-hold.ts',
    from: 'this.#announce(window.monitorIds);',
    to: '',
  },
  {
    name: 'the end of a maintenance window is noticed only with the next check',
    file: 'checks/maintenance-hold.ts',
    from: 'Math.max(0, end - slotClock.now()) / FASTEST',
    to: 'Math.max(0, end - slotClock.now()) + 20_000',
  },
  {
    name: 'what a window held is not announced when the window is removed',
    file: 'verdict/evaluation.ts',
    from: 'for (const monitorId of new Set([...held, ...holds])) this.announceUntold(monitorId);',
    to: '',
    story: REMOVED_WINDOW,
  },
  {
    name: 'a recovery in a maintenance window is never announced',
    seed: 15,
    file: 'verdict/announcing.ts',
    from: "if (status === 'unknown' || frame.isHeld(state)) return;",
    to: `if (status === 'unknown') return;
  if (frame.isHeld(state)) {
    if (status === 'active')
      state.links = state.links.map((link) => ({ ...link, announced: 'active' as const }));
    return;
  }`,
  },
  {
    name: 'a jump of the clock over the end of a maintenance window is not noticed',
    file: 'checks/maintenance-hold.ts',
    from: 'for (const { id } of this.windows.values()) this.#arm(id);',
    to: 'for (const { id } of this.windows.values()) this.#ends.delete(id);',
    story: JUMPED_WINDOW,
  },
  {
    name: 'a maintenance window that ends while its change is written holds its alerts for ever',
    file: 'checks/maintenance-hold.ts',
    from: 'this.#arm(id, since);',
    to: 'this.#arm(id);',
    story: ENDED_WHILE_WRITTEN,
  },
  {
    name: 'what an earlier process held is not announced at the end of a start',
    file: 'checks/recorder.ts',
    from: 'if (links.some(({ announced }) => announced !== status)) this.announceStatuses([id]);',
    to: '',
    story: ENDED_IN_DOWNTIME,
  },
  {
    name: 'a change of status that no slot makes has the name of the one before',
    seed: 1762,
    file: 'verdict/status-change.ts',
    from: 'Math.max(first?.slot ?? slot ?? state.decidedSlot, state.statusSlot + 1)',
    to: 'first?.slot ?? slot ?? state.decidedSlot',
  },
  {
    name: 'a row of slots gives its change the name of the slot that completes it',
    seed: 810_104,
    file: 'verdict/status-change.ts',
    from: 'first?.slot ?? slot ??',
    to: 'slot ??',
  },
  {
    name: 'a channel that is linked again is told under the ids of its former link',
    file: 'verdict/announcing.ts',
    from: 'const { notificationId, version: linkVersion } = link;',
    to: 'const { notificationId } = link;\n  const linkVersion = 0;',
    story: LINKED_AGAIN,
  },
  {
    name: 'an incident begins before the change of status that it begins with',
    file: 'verdict/status-change.ts',
    from: 'openedIncidents.push({ key, monitorId: state.id, at: begin });',
    to: 'openedIncidents.push({ key, monitorId: state.id, at: begin - 1 });',
  },
  {
    name: 'an incident ends after the recovery',
    file: 'verdict/status-change.ts',
    from: 'closedIncidents.push({ key: current, at, closure: null });',
    to: 'closedIncidents.push({ key: current, at: at + 1, closure: null });',
  },
  {
    name: 'an alert has the facts of a vote that does not support it',
    file: 'verdict/announcing.ts',
    from: 'closure === undefined ? newestSupporting(votes, status) : newest',
    to: 'newest',
  },
  {
    name: 'an alert says when it was sent in place of when the status changed',
    file: 'verdict/announcing.ts',
    from: '  const { status, reason, since: at } = state;',
    to: '  const { status, reason } = state;\n  const at = frame.instants.slotNow;',
  },
  {
    name: 'an alert says that all regions have failed',
    file: 'verdict/announcing.ts',
    from: 'regions: votes.map(({ region, outcome, slot }) => ({ region, outcome, slot })),',
    to: "regions: votes.map(({ region, slot }) => ({ region, outcome: 'failed' as const, slot })),",
  },
  {
    name: 'ageing is dated when it is noticed',
    file: 'verdict/verdicts.ts',
    from: 'Math.floor(instants.slotNow - Math.max(0, now - (expiredAt ?? now)))',
    to: 'Math.floor(instants.slotNow)',
    story: AGED_WHILE_WRITTEN,
  },
  {
    name: 'votes that aged while a check was under way go on with their status',
    file: 'verdict/slot-life.ts',
    from: 'if (!isAged || !followsAgeing(frame, state, monitor, joining, slot)) return true;',
    to: 'return true;',
    story: AGED_IN_DOWNTIME,
  },
  {
    name: 'a status whose votes have aged stands until an open slot is decided',
    seed: 52,
    file: 'verdict/next-instant.ts',
    from: 'const UNDER_WAY_MS = 500',
    to: 'const UNDER_WAY_MS = 25_000',
  },
  {
    name: 'votes count by the period that was declared when they were cast',
    file: 'verdict/declared-effects.ts',
    from: 'if (before !== undefined) shiftExpiries(state, before, after, evaluation.frame.now);',
    to: '',
    story: SHORTER_PERIOD,
  },
  {
    name: 'nobody looks at votes that are too old under a shorter period',
    file: 'verdict/declared-effects.ts',
    from: '    evaluation.judgeByTime({ state, monitor: after });\n',
    to: '',
    story: SHORTER_PERIOD,
  },
  {
    name: 'votes outlive what they are about',
    file: 'verdict/declared-effects.ts',
    from: '  state.votes = NONE;\n  state.open = [];',
    to: '  state.open = [];',
    story: SWITCHED_OFF,
  },
  {
    name: 'channels start from what they were told before a monitor was switched off',
    file: 'verdict/declared-effects.ts',
    from: 'if (closure !== null) {',
    to: "if (closure === 'monitor-deleted') {",
    story: SWITCHED_OFF_IN_OUTAGE,
  },
  {
    name: 'channels of all kinds are told that people ended an incident',
    file: 'verdict/announcing.ts',
    from: ' || !frame.closesIncidents(providerType)) return;',
    to: ') return;',
    story: REMOVED_IN_OUTAGE,
  },
  {
    name: 'a status that is unknown clears what was told',
    file: 'verdict/announcing.ts',
    from: "if (status === 'unknown' || frame.isHeld(state)) return;\n  state.links = updateLinks(",
    to: `if (frame.isHeld(state)) return;
  if (status === 'unknown') {
    state.links = state.links.map((link) => ({ ...link, announced: 'active' as const }));
    return;
  }
  state.links = updateLinks(`,
    story: UNKNOWN_IN_OUTAGE,
  },
  {
    name: 'a monitor is given every second slot',
    file: 'verdict/schedule.ts',
    from: 'gridSlotFrom(previous + Math.ceil(period / 2), period, phase)',
    to: 'gridSlotFrom(previous + Math.ceil(period * 1.5), period, phase)',
  },
  {
    name: 'a region is given no slot',
    file: 'checks/scheduler.ts',
    from: 'const live = this.#liveOf(monitor);',
    to: 'const live = this.#liveOf(monitor).slice(0, Math.max(1, this.#liveOf(monitor).length - 1));',
  },
  {
    name: 'the last region of a slot is offered no job',
    file: 'checks/scheduler.ts',
    from: 'for (let index = 0; index < live.length; index += 1) {\n      const region = live[index] as Region;\n      if (running',
    to: 'for (let index = 0; index < Math.max(1, live.length - 1); index += 1) {\n      const region = live[index] as Region;\n      if (running',
  },
  {
    name: 'a region leaves out a slot while nothing of it runs',
    file: 'checks/scheduler.ts',
    from: 'events.opened(monitor, slot, live);\n',
    to: 'events.opened(monitor, slot, live);\n    if (slot % 7 === 0 && live.length > 1 && running.length === 0) events.skipped(monitor, slot, live[0] as Region);\n',
  },
  {
    name: 'a leader that was replaced writes on: there is no fence',
    file: 'store/shard-lease.ts',
    from: 'CASE WHEN term = ? AND writes >= ? THEN term END',
    to: "CASE WHEN ? <> '' AND ? >= 0 THEN term END",
  },
  {
    name: 'the fence compares how often the lease was taken, which a database that is set back counts again',
    file: 'store/shard-lease.ts',
    from: '  return changesOf(taken) === 1;\n}',
    to: `  if (changesOf(taken) !== 1) return false;
  const sql = 'UPDATE shards SET epoch = epoch WHERE id = ? AND term = ? AND epoch = ?';
  const [found] = await store.commit([{ sql, rows: Array.from({ length: 300 }, (_, epoch) => [shard, term, epoch]) }]);
  EPOCHS.set(term, [...(found ?? [])].findIndex(({ changes }) => changes === 1));
  return true;
}
const EPOCHS = new Map<string, number>();`,
    and: [
      { from: 'CASE WHEN term = ? AND writes >= ? THEN', to: 'CASE WHEN epoch = ? AND ? >= 0 THEN' },
      { from: '[[term, writes, LEASE_MS', to: '[[EPOCHS.get(term) ?? 0, writes, LEASE_MS' },
    ],
    story: TAKEN_AGAIN,
  },
  {
    name: 'a leader writes on although the database has lost its last writes',
    seed: 29,
    file: 'store/shard-lease.ts',
    from: 'AND writes >= ? THEN',
    to: 'AND ? >= 0 THEN',
  },
  {
    name: 'a leader trusts its lease from the end of a renewal',
    file: 'store/shard-lease.ts',
    from: 'onRenewed(begunAt);',
    to: 'onRenewed(now());',
    story: ANSWERED_LATE,
  },
];
