import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import type { Region } from '@svc/shared/regions.ts';

/** What a probe meets. `hung`: nothing answers until the time-out. */
export type Sight = 'refused' | 'hung' | 'slow';

/** For a time, some regions do not see the target as it should be. Instants are ms after the beginning. */
export type Trouble = {
  readonly from: number;
  readonly until: number;
  /** null: the target itself is in trouble, so every region sees it. Else these regions alone, and what they report is a lie. */
  readonly regions: readonly Region[] | null;
  readonly sees: Sight;
  /** Comes and goes, so long each; 0: throughout. ms */
  readonly flapMs: number;
};

/** What is done to the service in the course of a world, at an instant in ms after its beginning. */
export type Move = { readonly at: number } & (
  | {
      readonly do: 'restart';
      readonly downMs: number;
      /** Between the events of an instant and their commit. */
      readonly isBeforeCommit: boolean;
    }
  /** The region's agent dies with what it holds; another comes after `forMs`. */
  | { readonly do: 'stop-agent'; readonly region: Region; readonly forMs: number }
  /** The region has an agent from here on, unless it has one. */
  | { readonly do: 'start-agent'; readonly region: Region }
  /** The region's agent gives back what it holds, and another takes over at once. */
  | { readonly do: 'roll-agent'; readonly region: Region }
  | { readonly do: 'change-probe' }
  | { readonly do: 'change-period'; readonly periodMs: number }
  | { readonly do: 'change-regions'; readonly regions: readonly Region[] | null }
  | { readonly do: 'switch-off' }
  | { readonly do: 'switch-on' }
  | { readonly do: 'remove' }
  | { readonly do: 'link'; readonly channel: number; readonly kind: ChannelKind }
  | { readonly do: 'unlink'; readonly channel: number }
  | { readonly do: 'set-wall-clock'; readonly byMs: number }
);

/** How often small things go wrong, as probabilities per check. */
export type Mishaps = {
  /** The check fails although nothing is wrong. */
  readonly blip: number;
  /** The agent could not probe. */
  readonly notRun: number;
  /** The agent forgets the job. */
  readonly forgotten: number;
  /** An offer that nobody answers. */
  readonly unanswered: number;
  /** The report comes twice. */
  readonly doubled: number;
  /** The report comes late by up to `lagMs`. */
  readonly late: number;
  readonly lagMs: number;
};

/** Everything that happens in a world, as data: it can be printed, run again, and shortened. */
export type World = {
  readonly seed: number;
  /** Id of its monitor. */
  readonly id: number;
  readonly lengthMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly retry: number;
  /** Declared; null: every region with a live agent. */
  readonly regions: readonly Region[] | null;
  /** Regions with an agent at the beginning. */
  readonly agents: readonly Region[];
  /** Regions whose reports always come late, by up to `mishaps.lagMs`. */
  readonly laggards: readonly Region[];
  readonly channels: readonly ChannelKind[];
  /** Its agents take jobs ahead of their slots. */
  readonly isAhead: boolean;
  readonly mishaps: Mishaps;
  readonly troubles: readonly Trouble[];
  readonly moves: readonly Move[];
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

/** One region, which does what it should: stories say what is different. */
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
  moves: [],
};
