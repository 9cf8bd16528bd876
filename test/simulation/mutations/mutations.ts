/** A defect that is made on purpose: in a file of the coordinator's sources one text takes the place of another. */
export type Mutation = {
  /** What is wrong then. */
  readonly name: string;
  /** From the coordinator's sources. */
  readonly file: string;
  /** Occurs there once. */
  readonly from: string;
  readonly to: string;
};

/** The file with the defect's place. */
export function sourceOf({ file }: Mutation): URL {
  return new URL(`../../../packages/coordinator/src/${file}`, import.meta.url);
}

/* The oracle is worth something only if it can fail. Each of these is a defect that somebody could make. */
export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'the quorum is more than half instead of half of the electorate',
    file: 'domain/status.ts',
    from: 'total * 2 < size',
    to: 'total * 2 <= size',
  },
  {
    name: 'a report that comes after its slot was decided is recorded only',
    file: 'evaluation/slot-life.ts',
    from: '    reportLate(frame, state, monitor, vote);\n',
    to: '',
  },
  {
    name: 'a late report takes the place of a vote about a newer slot',
    file: 'domain/decision.ts',
    from: 'old.slot < vote.slot ? following(old, vote, time) : recounted(old, vote)',
    to: 'following(old, vote, time)',
  },
  {
    name: 'a region that abstains has passed',
    file: 'evaluation/evaluation.ts',
    from: 'answer(this.frame, evaluated.state, evaluated.monitor, slot, region);\n  }\n\n  /** Time',
    to: `{
      const pass = { monitor: id, version, slot, token: '', started_at: slot, attempts: [] } as unknown as CheckResult;
      const vote = voteOf(this.frame, evaluated.monitor, pass, 'passed', region);
      report(this.frame, evaluated.state, evaluated.monitor, vote);
    }
  }

  /** Time`,
  },
  {
    name: 'a restart forgets what channels were told',
    file: 'evaluation/restart.ts',
    from: '    ...rest,\n    votes: [],',
    to: "    ...rest,\n    links: rest.links.map((link) => ({ ...link, announced: 'active' as const })),\n    votes: [],",
  },
  {
    name: 'failures that never coincided make an error',
    file: 'domain/status.ts',
    from: "if (standing !== 'error' && !failuresCoincide",
    to: "if (standing === 'error' && !failuresCoincide",
  },
  {
    name: 'what a backlog tells of the past is announced',
    file: 'recording/backlog-hold.ts',
    from: 'return this.#held.has(monitorId);',
    to: 'return false;',
  },
  {
    name: 'a region counts before it was given a slot',
    file: 'domain/status.ts',
    from: '& hadAgent & entered;',
    to: '& hadAgent;',
  },
  {
    name: 'after a start slots are decided while what was reported meanwhile is half read',
    file: 'evaluation/slot-life.ts',
    from: 'frame.isTimeUp ? frame.instants.monotonic : Number.NEGATIVE_INFINITY',
    to: 'frame.instants.monotonic',
  },
  {
    name: 'a second `not_run` is no answer',
    file: 'evaluation/evaluation.ts',
    from: "if (!isKept && outcome !== 'not_run') return false;",
    to: 'if (!isKept) return false;',
  },
  {
    name: 'votes do not age',
    file: 'domain/status.ts',
    from: 'return vote.expiresAt > now && ',
    to: 'return ',
  },
  {
    name: 'the end of a hold tells nobody',
    file: 'recording/backlog-hold.ts',
    from: 'this.#options.onEnd([monitorId]);',
    to: '',
  },
  {
    name: 'a removed region keeps its vote',
    file: 'evaluation/declaration.ts',
    from: '  if (votes.length < state.votes.length) {',
    to: '  if (votes.length > state.votes.length) {',
  },
  {
    name: 'the vote of a late report is not written',
    file: 'evaluation/slot-life.ts',
    from: '  if (vote.slot < state.decidedSlot) frame.unwritten.add(state);\n',
    to: '',
  },
];
