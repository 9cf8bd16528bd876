import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Quorum } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';

/** The behaviour of a target in trouble. `hung`: nothing answers until the time-out. */
export type Sight = 'refused' | 'hung' | 'slow';

/** A time in which some or all regions see the target in trouble. Instants are ms after the beginning. */
export type Trouble = {
  readonly from: number;
  readonly until: number;
  /**
   * The regions that see the trouble. Their reports are then false.
   * Null: the target itself is in trouble, so every region sees it.
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
 * A time in which more checks are requested than can be done, so that
 * only a part of the slots is given. Instants are ms after the beginning.
 */
export type Limit = {
  readonly from: number;
  readonly until: number;
  /** The part of the slots that is given, as a probability for each slot. */
  readonly part: number;
  /**
   * The regions that are limited, each by itself. Null: the coordinator is limited, and skips whole slots.
   */
  readonly regions: readonly Region[] | null;
};

/** An event that the world brings about in the service, at an instant in ms after its beginning. */
/** The rules by which votes, and slots in a row, make the status. */
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
      /**
       * Whether the restart comes between a commit and its
       * acknowledgement, in a world whose commits take time.
       */
      readonly isUnanswered?: boolean;
    }
  /** The region's agent dies with its jobs. Another agent starts after `forMs`. */
  | { readonly do: 'stop-agent'; readonly region: Region; readonly forMs: number }
  /** The region gets an agent, unless it has one. */
  | { readonly do: 'start-agent'; readonly region: Region }
  /** The region's agent gives back its jobs, and another one takes over at once. */
  | { readonly do: 'roll-agent'; readonly region: Region }
  /**
   * The region's agent loses its connection. It continues to run, and its reports arrive when it is back.
   * `isReplaced`: another agent starts in the region when the first one is missed, so that there are two
   * agents.
   */
  | { readonly do: 'cut-off'; readonly region: Region; readonly forMs: number; readonly isReplaced: boolean }
  | { readonly do: 'change-probe' }
  /** Changes the time-out and the number of retries, and so the version of the monitor. */
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
   * Sets a maintenance window of the monitor, in place of an earlier window with
   * this number. `from` and `until`: the first occurrence, ms after the beginning.
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
   * The leader stands still, if there are two coordinators: nothing runs in it, and all waiting events come
   * as soon as it continues. `isUnanswered`: this begins between the next commit and its acknowledgement.
   */
  | { readonly do: 'freeze'; readonly forMs: number; readonly isUnanswered: boolean }
  /** Nothing passes between the leader and the database. What was sent arrives later, or is lost. */
  | { readonly do: 'cut-database'; readonly forMs: number }
  /** The leader gives up its lease. */
  | { readonly do: 'resign' }
  /** The lease expires now, whatever the leader does. */
  | { readonly do: 'expire-lease' }
  /**
   * The database cannot be reached for a time, and then has lost its
   * last batches and changes of leader. Rows that people wrote stay.
   */
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

/** The longest durations of commits, ms. Events during a commit wait for the next commit. */
export type Commits = {
  readonly writeMs: number;
  /** Time from the end of a commit until the coordinator knows of it. */
  readonly answerMs: number;
  /** Probability for each commit that the disk stalls, and the duration of a stall. */
  readonly stalls: number;
  readonly stallMs: number;
  /** Probability for each commit that the database does not accept it. */
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
  /** Whether two coordinators share the database. Otherwise there is one. */
  readonly isPair?: boolean;
};

/** Mishaps of a world in which nothing goes wrong. */
export const CALM: Mishaps = {
  blip: 0,
  notRun: 0,
  forgotten: 0,
  unanswered: 0,
  doubled: 0,
  late: 0,
  lagMs: 1_000,
};

/** A world of one region in which all works. Stories contain only their differences from it. */
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
