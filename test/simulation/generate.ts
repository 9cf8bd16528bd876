import { PERIODICITIES, periodMs } from '@svc/shared/periodicity.ts';
import type { Quorum } from '@svc/shared/quorum.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { hasOwnRegions, withOwnRegions } from './own-regions.ts';
import { Random } from './random.ts';
import {
  type Commits,
  type Judging,
  type Limit,
  type Mishaps,
  type Move,
  QUIET,
  type Trouble,
  type World,
} from './world.ts';

const MOST_REGIONS = REGIONS.length;
/** Bounds of the number of events of a world: jobs, reports and moves. */
const FEWEST_EVENTS = 200;
const MOST_EVENTS = 2_000;
const USUALLY_MOST_EVENTS = 600;
/** Periods for which a world is watched after its last move. */
const QUIET_PERIODS = 3;
/**
 * Part of the short worlds that have two coordinators. A lease
 * is renewed each second, so long worlds would take too long.
 */
const PAIRS = 0.25;
const LONGEST_PAIR_MS = 2_400_000;
/** Maximum length of a daily window, ms. The window must be over before the next day. */
const LONGEST_DAILY_MS = 20 * 3_600_000;

type Frame = Pick<World, 'lengthMs' | 'periodMs' | 'regions' | 'agents'>;

/** Makes the world of a seed. The same seed always makes the same world. */
export function generateWorld(seed: number): World {
  const random = new Random(seed);
  const world = someWorld(seed, random);
  // Limits, declarations and quorums are made last of all, so
  // that the rest of a seed's world is the same as without them.
  const limits = random.chance(0.15) ? someLimits(random, world) : [];
  const isDeclaredMeanwhile = random.chance(0.3);
  const judging = someJudging(random);
  const single = { ...world, limits, isDeclaredMeanwhile, judging };
  const made = world.lengthMs <= LONGEST_PAIR_MS && random.chance(PAIRS) ? asPair(random, single) : single;
  const mutes = random.chance(0.2) ? someMutes(random, made) : [];
  const whole = { ...made, moves: [...made.moves, ...mutes].sort((a, b) => a.at - b.at) };
  return hasOwnRegions(seed) ? withOwnRegions(whole) : whole;
}

/** Returns the first part of a world: one in this number. Nothing moves in its last periods either. */
export function shortened(world: World, share: number): World {
  const lengthMs = Math.floor(world.lengthMs / share);
  const latest = lengthMs - QUIET_PERIODS * world.periodMs;
  return { ...world, lengthMs, moves: world.moves.filter(({ at }) => at <= latest) };
}

/** Adds a second coordinator over the same store, and moves that make the two lead in turns. */
function asPair(random: Random, world: World): World {
  const latest = world.lengthMs - QUIET_PERIODS * world.periodMs;
  const moves = [...world.moves];
  for (let count = random.between(2, 8); count > 0; count -= 1)
    moves.push({ at: random.between(1, latest), ...someMoveOfPair(random) });
  return {
    ...world,
    isPair: true,
    commits: world.commits ?? someCommits(random),
    moves: moves.sort((a, b) => a.at - b.at),
  };
}

function someMoveOfPair(random: Random) {
  const forMs = random.logarithmic(100, 60_000);
  switch (random.pick(MOVES_OF_PAIRS)) {
    case 'freeze':
      return { do: 'freeze', forMs, isUnanswered: random.chance(0.5) } as const;
    case 'cut-database':
      return { do: 'cut-database', forMs } as const;
    case 'resign':
      return { do: 'resign' } as const;
    case 'expire-lease':
      return { do: 'expire-lease' } as const;
    case 'set-back':
      return { do: 'set-back', commits: random.logarithmic(1, 20), forMs } as const;
    case 'restart':
      return {
        do: 'restart',
        downMs: forMs,
        isBeforeCommit: random.chance(0.5),
        isUnanswered: true,
      } as const;
  }
}

function someWorld(seed: number, random: Random): World {
  const regions = someRegions(random);
  const period = periodMs(random.chance(0.4) ? '30s' : random.pick(PERIODICITIES));
  const events = random.logarithmic(FEWEST_EVENTS, random.chance(0.3) ? MOST_EVENTS : USUALLY_MOST_EVENTS);
  const slots = Math.max(QUIET_PERIODS + 4, Math.round(events / (2 * regions.length + 1)));
  const isDeclared = random.chance(0.8);
  const frame: Frame = {
    lengthMs: slots * period,
    periodMs: period,
    regions: isDeclared ? regions : null,
    agents: random.chance(0.85) ? regions : regions.filter(() => random.chance(0.7)),
  };
  const isCalm = random.chance(0.05);
  const world: World = {
    seed,
    id: random.between(1, 1_000_000),
    ...frame,
    timeoutMs: random.pick([1_000, 5_000, 10_000, 45_000, 45_000, 120_000]),
    retry: random.pick([0, 0, 1, 3, 3, 10]),
    laggards: random.chance(0.2)
      ? random.sample(regions, random.between(1, Math.ceil(regions.length / 2)))
      : [],
    channels: random.pick([[], ['webhook'], ['webhook'], ['webhook', 'incident_a']] as const),
    isAhead: random.chance(0.6),
    mishaps: someMishaps(random, isCalm),
    troubles: isCalm ? [] : someTroubles(random, frame),
    limits: [],
    moves: someMoves(random, frame),
    commits: null,
    isDeclaredMeanwhile: false,
    judging: QUIET.judging,
  };
  // Windows and commits are made last, so that the rest of a seed's world is the same as without them.
  const windows = random.chance(0.4) ? someWindows(random, world) : [];
  const commits = random.chance(0.5) ? someCommits(random) : null;
  const moves = [...world.moves, ...windows].sort((a, b) => a.at - b.at);
  if (commits === null) return { ...world, moves };
  const pointed = random.chance(0.5) ? pointedWindow(random, world, commits) : [];
  return {
    ...world,
    commits,
    moves: [...moves.map((move) => unansweredOrNot(random, move)), ...pointed].sort((a, b) => a.at - b.at),
  };
}

/** Makes limits for some slots or for most of the world. They apply to the coordinator or to regions. */
function someLimits(random: Random, { lengthMs, periodMs, regions, agents }: World): Limit[] {
  const all = regions ?? agents;
  const limits: Limit[] = [];
  for (let count = random.pick([1, 1, 2]); count > 0; count -= 1) {
    const from = random.between(0, lengthMs - periodMs);
    const isOfRegions = all.length > 0 && random.chance(0.6);
    limits.push({
      from,
      until: from + random.logarithmic(periodMs, lengthMs),
      part: random.pick([0.1, 0.25, 0.5, 0.5, 0.8, 0.95]),
      regions: isOfRegions ? random.sample(all, random.between(1, all.length)) : null,
    });
  }
  return limits;
}

/** Makes a window in an outage. It ends while its change is written, or during a start of the coordinator. */
function pointedWindow(random: Random, { moves, troubles }: World, { writeMs }: Commits): Move[] {
  if (troubles.length === 0) return [];
  const { from, until } = random.pick(troubles);
  const at = random.between(from, until);
  const begins = Math.max(0, from - random.logarithmic(1_000, 100_000));
  const restart = moves.find((move) => move.do === 'restart' && move.at > begins);
  const isOfStart = restart?.do === 'restart' && random.chance(0.5);
  const ends = isOfStart ? restart.at + restart.downMs + random.between(0, 8_000) : until + 3_600_000;
  const set = { do: 'set-window', window: 3, from: begins, isDaily: false } as const;
  const moved = { ...set, at, until: at + random.between(0, 2 * writeMs) };
  return [{ ...set, at: begins, until: ends }, ...(isOfStart ? [] : [moved])];
}

function someCommits(random: Random): Commits {
  return {
    writeMs: random.logarithmic(1, 3_000),
    answerMs: random.pick([0, 20, 1_000]),
    stalls: random.pick([0, 0, 0.02]),
    stallMs: 8_000,
  };
}

/**
 * Adds to a restart whether the kill comes between a commit and
 * its acknowledgement. This is possible only if commits take time.
 */
function unansweredOrNot(random: Random, move: Move): Move {
  if (move.do !== 'restart' || move.isBeforeCommit) return move;
  return { ...move, isUnanswered: random.chance(0.5) };
}

/**
 * Makes moves that set, replace or remove maintenance windows, before, in and after the time of the window.
 */
function someWindows(random: Random, { lengthMs, periodMs, troubles }: World): Move[] {
  const latest = lengthMs - QUIET_PERIODS * periodMs;
  const moves: Move[] = [];
  for (let count = random.pick([1, 1, 2, 4]); count > 0; count -= 1) {
    const at = random.between(1, latest);
    const window = random.between(1, 2);
    if (random.chance(0.2)) {
      moves.push({ at, do: 'remove-window', window });
      continue;
    }
    // A window without trouble tests nothing, so most windows are near some trouble.
    const near = troubles.length > 0 && random.chance(0.7) ? random.pick(troubles).from : at;
    const from = Math.max(0, near + random.logarithmic(1, lengthMs / 4) * random.pick([1, -1]));
    const isDaily = random.chance(0.3);
    const longestMs = Math.max(2_000, isDaily ? Math.min(LONGEST_DAILY_MS, lengthMs / 2) : lengthMs / 2);
    moves.push({
      at,
      do: 'set-window',
      window,
      from,
      until: from + random.logarithmic(1_000, longestMs),
      isDaily,
    });
  }
  return moves;
}

/** Mutes that are set, set anew or ended, most of them near the beginning of an outage. */
function someMutes(random: Random, { lengthMs, periodMs, troubles }: World): Move[] {
  const latest = lengthMs - QUIET_PERIODS * periodMs;
  const moves: Move[] = [];
  for (let count = random.pick([1, 1, 2, 3]); count > 0; count -= 1) {
    const near = troubles.length > 0 && random.chance(0.7) ? random.pick(troubles).from : latest;
    const at = Math.max(
      1,
      Math.min(latest, near + random.logarithmic(1, lengthMs / 4) * random.pick([1, -1])),
    );
    const until = at + random.logarithmic(1_000, lengthMs / 2);
    moves.push({ at, do: 'mute', until });
    if (random.chance(0.4)) moves.push({ at: Math.min(latest, random.between(at, until)), do: 'unmute' });
  }
  return moves;
}

function someRegions(random: Random): Region[] {
  const count = random.chance(0.5)
    ? 3
    : random.chance(0.6)
      ? random.between(1, 6)
      : random.between(1, MOST_REGIONS);
  return random.sample(REGIONS, count);
}

function someMishaps(random: Random, isCalm: boolean): Mishaps {
  return {
    blip: isCalm ? 0 : random.pick([0, 0, 0.005, 0.005, 0.05]),
    notRun: random.pick([0, 0, 0.01, 0.1, 0.3]),
    forgotten: random.pick([0, 0, 0.01]),
    unanswered: random.pick([0, 0, 0.02]),
    doubled: random.pick([0, 0, 0.1]),
    late: random.pick([0, 0, 0.05, 0.3]),
    lagMs: random.logarithmic(1_000, 300_000),
  };
}

function someTroubles(random: Random, frame: Frame): Trouble[] {
  const regions = frame.regions ?? frame.agents;
  const troubles: Trouble[] = [];
  for (let count = random.pick([0, 1, 1, 2, 4]); count > 0; count -= 1) {
    const from = random.between(0, frame.lengthMs - QUIET_PERIODS * frame.periodMs);
    const lastsMs = random.logarithmic(1_000, Math.max(2_000, frame.lengthMs / 2));
    const isOfAll = random.chance(0.6) || regions.length === 0;
    troubles.push({
      from,
      until: from + lastsMs,
      regions: isOfAll ? null : random.sample(regions, random.between(1, Math.ceil(regions.length / 2))),
      sees: random.pick(['refused', 'hung', 'hung', 'slow'] as const),
      flapMs: random.chance(0.2) ? random.logarithmic(5_000, 4 * frame.periodMs) : 0,
    });
  }
  return troubles.sort((a, b) => a.from - b.from);
}

function someMoves(random: Random, frame: Frame): Move[] {
  const moves: Move[] = [];
  const latest = frame.lengthMs - QUIET_PERIODS * frame.periodMs;
  for (let count = random.pick([0, 0, 1, 2, 3, 6]); count > 0; count -= 1) {
    moves.push(...someMove(random, frame, random.between(1, latest)));
  }
  if (random.chance(0.03)) moves.push({ at: random.between(1, latest), do: 'remove' });
  return moves.sort((a, b) => a.at - b.at);
}

function someMove(random: Random, frame: Frame, at: number): Move[] {
  const region = random.pick(frame.regions ?? REGIONS);
  const soon = at + random.logarithmic(1, 2 * frame.periodMs);
  switch (random.pick(MOVES)) {
    case 'restart':
      return [
        { at, do: 'restart', downMs: random.logarithmic(100, 600_000), isBeforeCommit: random.chance(0.5) },
      ];
    case 'stop-agent':
      return [{ at, do: 'stop-agent', region, forMs: random.logarithmic(1_000, 200_000_000) }];
    case 'roll-agent':
      return random.chance(0.5)
        ? [{ at, do: 'roll-agent', region }]
        : [0, 1_000, 3_000].map((later) => ({ at: at + later, do: 'roll-agent', region }));
    case 'change-probe':
      return [{ at, do: 'change-probe' }];
    case 'change-period':
      return [{ at, do: 'change-period', periodMs: periodMs(random.pick(PERIODICITIES)) }];
    case 'change-judging':
      return [{ at, do: 'change-judging', ...someJudging(random) }];
    case 'change-regions':
      return changeOfRegions(random, frame, at);
    case 'join':
      return random
        .sample(frame.regions ?? REGIONS, random.between(1, Math.min(6, (frame.regions ?? REGIONS).length)))
        .map((joining) => ({ at, do: 'start-agent', region: joining }));
    case 'switch-off':
      return [
        { at, do: 'switch-off' },
        { at: soon, do: 'switch-on' },
      ];
    case 'link':
      return [
        { at, do: 'link', channel: random.between(1, 4), kind: random.pick(['webhook', 'incident_a']) },
      ];
    case 'unlink':
      return [{ at, do: 'unlink', channel: random.between(1, 4) }];
    case 'set-wall-clock':
      return [{ at, do: 'set-wall-clock', byMs: random.logarithmic(100, 7_200_000) * random.pick([1, -1]) }];
  }
}

/** Makes the rules by which a monitor is judged. Most monitors have the default quorum. */
function someJudging(random: Random): Judging {
  const someSlots = () => (random.chance(0.6) ? 1 : random.pick([2, 2, 3, 5, 10]));
  return {
    quorum: random.chance(0.7) ? 'majority' : random.pick<Quorum>(['any', 'all', 1, 2, 3, MOST_REGIONS]),
    confirmAfter: someSlots(),
    recoverAfter: someSlots(),
  };
}

/** Regions that are new in the declaration may get agents some time before or after it. */
function changeOfRegions(random: Random, { periodMs }: Frame, at: number): Move[] {
  const change: Move = { at, do: 'change-regions', regions: random.chance(0.1) ? null : someRegions(random) };
  if (change.regions === null || random.chance(0.5)) return [change];
  const startAt = Math.max(1, at + random.between(-periodMs, periodMs));
  return [change, ...change.regions.map((region): Move => ({ at: startAt, do: 'start-agent', region }))];
}

const MOVES_OF_PAIRS = [
  'freeze',
  'freeze',
  'cut-database',
  'cut-database',
  'resign',
  'expire-lease',
  'set-back',
  'restart',
] as const;

/** The kinds of moves, each with its frequency. */
const MOVES = [
  'restart',
  'restart',
  'restart',
  'stop-agent',
  'stop-agent',
  'roll-agent',
  'change-probe',
  'change-period',
  'change-judging',
  'change-regions',
  'change-regions',
  'join',
  'switch-off',
  'link',
  'unlink',
  'set-wall-clock',
] as const;
