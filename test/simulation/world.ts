import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';

/** What a probe meets. `hung`: nothing answers until the time-out. */
export type Sight = 'refused' | 'hung' | 'slow';

/** A time in which some or all regions see the target in trouble. Instants are ms after the beginning. */
export type Trouble = {
  readonly from: number;
  readonly until: number;
  /**
   * The regions that see the trouble. Their reports are then false. Null: the target itself is in trouble, so every
   * region sees it.
   */
  readonly regions: readonly Region[] | null;
  readonly sees: Sight;
  /**
   * The trouble comes and goes: it lasts this long, and
   * then pauses this long, ms. 0: it lasts without a pause.
   */
  readonly flapMs: number;
};

/**
 * A time in which more is asked for than can be done, so that only this part of the slots is given. Instants are ms
 * after the beginning.
 */
export type Limit = {
  readonly from: number;
  readonly until: number;
  /** The part of the slots that is given, as a probability for each slot. */
  readonly part: number;
  /** The regions that cannot do more, each for itself. Null: the coordinator cannot, which skips slots as a whole. */
  readonly regions: readonly Region[] | null;
};

/** An event that the world brings about in the service, at an instant in ms after its beginning. */
/** How votes and slots in a row make the status. */
export type Judging = {
  readonly quorum: Quorum;
  readonly confirmAfter: number;
  readonly recoverAfter: number;
};

export type Move = { readonly at: number } & (
  | {
      readonly do: 'restart';
      readonly downMs: number;
      /** Whether the restart comes between the events of an instant and their commit. */
      readonly isBeforeCommit: boolean;
      /** Whether it comes between a commit and its acknowledgement, where commits take time. */
      readonly isUnanswered?: boolean;
    }
  /** The region's agent dies with its jobs; another one starts after `forMs`. */
  | { readonly do: 'stop-agent'; readonly region: Region; readonly forMs: number }
  /** The region gets an agent, unless it has one. */
  | { readonly do: 'start-agent'; readonly region: Region }
  /** The region's agent gives back its jobs, and another one takes over at once. */
  | { readonly do: 'roll-agent'; readonly region: Region }
  /**
   * The region's agent loses its connection. It goes on, and what it reports meanwhile comes when it is back. `isReplaced`:
   * another agent of the region takes its place when it is missed, so that there are two.
   */
  | { readonly do: 'cut-off'; readonly region: Region; readonly forMs: number; readonly isReplaced: boolean }
  | { readonly do: 'change-probe' }
  /** Another time-out and number of retries, which change what is probed. */
  | { readonly do: 'change-effort'; readonly timeoutMs: number; readonly retry: number }
  | { readonly do: 'change-period'; readonly periodMs: number }
  | ({ readonly do: 'change-judging' } & Judging)
  | { readonly do: 'change-regions'; readonly regions: readonly Region[] | null }
  | { readonly do: 'switch-off' }
  | { readonly do: 'switch-on' }
  | { readonly do: 'remove' }
  | { readonly do: 'link'; readonly channel: number; readonly kind: ChannelKind }
  | { readonly do: 'unlink'; readonly channel: number }
  | { readonly do: 'set-wall-clock'; readonly byMs: number }
  /**
   * A maintenance window of the monitor, in place of the one with its number. `from` and `until`: its first
   * occurrence, ms after the beginning.
   */
  | {
      readonly do: 'set-window';
      readonly window: number;
      readonly from: number;
      readonly until: number;
      readonly isDaily: boolean;
    }
  | { readonly do: 'remove-window'; readonly window: number }
  /** The monitor is muted, in place of its mute. `until`: ms after the beginning. */
  | { readonly do: 'mute'; readonly until: number }
  | { readonly do: 'unmute' }
  /**
   * Of two coordinators, the leader stands still: nothing runs in it, and afterwards all of that comes at once.
   * `isUnanswered`: it does so between the next commit and its acknowledgement.
   */
  | { readonly do: 'freeze'; readonly forMs: number; readonly isUnanswered: boolean }
  /** Nothing passes between the leader and the database. What was sent arrives later, or is lost. */
  | { readonly do: 'cut-database'; readonly forMs: number }
  /** The leader gives its lease up. */
  | { readonly do: 'resign' }
  /** The lease expires now, whatever the leader does. */
  | { readonly do: 'expire-lease' }
  /** The database is away, and comes back without its last batches and changes of leader. Rows of people stay. */
  | { readonly do: 'set-back'; readonly commits: number; readonly forMs: number }
);

/** How often small things go wrong, as probabilities per check. */
export type Mishaps = {
  /** The probability that a check fails although nothing is wrong. */
  readonly blip: number;
  /** The probability that the agent cannot probe. */
  readonly notRun: number;
  /** The probability that the agent forgets the job. */
  readonly forgotten: number;
  /** The probability that nobody answers an offer. */
  readonly unanswered: number;
  /** The probability that the report comes twice. */
  readonly doubled: number;
  /** The probability that the report comes late, by up to `lagMs`. */
  readonly late: number;
  readonly lagMs: number;
};

/** The longest times of commits, ms. What happens meanwhile waits for the next one. */
export type Commits = {
  readonly writeMs: number;
  /** From the end of a commit until the coordinator knows of it. */
  readonly answerMs: number;
  /** How often the disk stalls, as a probability per commit, and for how long. */
  readonly stalls: number;
  readonly stallMs: number;
  /** How often the database accepts no writes, as a probability per commit. */
  readonly failures?: number;
};

/** Everything that happens in a world, as data: it can be printed, run again, and shortened. */
export type World = {
  readonly seed: number;
  /** Id of the world's monitor. */
  readonly id: number;
  readonly lengthMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly retry: number;
  /** The regions that the monitor declares; null: every region with a live agent. */
  readonly regions: readonly Region[] | null;
  /** Regions with an agent at the beginning. */
  readonly agents: readonly Region[];
  /** Regions whose reports always come late, by up to `mishaps.lagMs`. */
  readonly laggards: readonly Region[];
  readonly channels: readonly ChannelKind[];
  /** Whether dispatch's turns come before the slots. */
  readonly isAhead: boolean;
  readonly mishaps: Mishaps;
  readonly troubles: readonly Trouble[];
  readonly limits: readonly Limit[];
  readonly moves: readonly Move[];
  /** Null: commits take no time. */
  readonly commits: Commits | null;
  /**
   * Whether people change rows also while no coordinator runs, or before
   * it has resumed. Otherwise the changes wait for the coordinator.
   */
  readonly isDeclaredMeanwhile: boolean;
  readonly judging: Judging;
  /** Two coordinators share the database, and commits take time. Otherwise there is one. */
  readonly isPair?: boolean;
};

/** Nothing goes wrong. */
export const CALM: Mishaps = {
  blip: 0,
  notRun: 0,
  forgotten: 0,
  unanswered: 0,
  doubled: 0,
  late: 0,
  lagMs: 1_000,
};

/** One region that works as it should. Stories state only their differences. */
export const QUIET: World = {
  seed: 1,
  id: 1,
  lengthMs: 6_000_000,
  periodMs: 600_000,
  regions: ['hosta-fra'],
  agents: ['hosta-fra'],
  timeoutMs: 45_000,
  retry: 0,
  laggards: [],
  channels: [],
  isAhead: false,
  mishaps: CALM,
  troubles: [],
  limits: [],
  moves: [],
  commits: null,
  isDeclaredMeanwhile: false,
  judging: { quorum: 'majority', confirmAfter: 1, recoverAfter: 1 },
};
