import type { Outcome } from './outcome.ts';
import type { World } from './world.ts';

/** Number of lines of a story that are printed before the violation. Earlier lines seldom matter. */
const LINES = 60;

/** Describes a failing world for people: its settings, its events and its violations. */
export function tell(world: World, { story, violations }: Outcome): string {
  const { seed, periodMs, timeoutMs, retry, regions, agents, laggards, mishaps } = world;
  const { commits } = world;
  const happening = Object.entries(mishaps).filter(([, chance]) => chance > 0);
  const lines = [
    `World ${seed}: a period of ${periodMs / 1_000} s, ${retry + 1} attempts of ${timeoutMs / 1_000} s.`,
    `  regions: ${regions?.join(', ') ?? 'all'}; agents in: ${agents.join(', ')}`,
    `  mishaps: ${happening.map(([name, chance]) => `${name} ${chance}`).join(', ')}`,
    ...(commits === null
      ? []
      : [
          `  commits: ${Object.entries(commits)
            .map(([name, value]) => `${name} ${value}`)
            .join(', ')}`,
        ]),
    ...(laggards.length === 0 ? [] : [`  always late: ${laggards.join(', ')}`]),
    ...world.troubles.map(
      ({ from, until, regions: seenBy, sees, flapMs }) =>
        `  ${seconds(from)} to ${seconds(until)}: ${seenBy?.join(', ') ?? 'every region'} sees it ${sees}${flapMs > 0 ? `, every other ${seconds(flapMs)}` : ''}`,
    ),
    ...world.limits.map(
      ({ from, until, part, regions: limited }) =>
        `  ${seconds(from)} to ${seconds(until)}: ${part} of the slots are given${limited === null ? '' : ` in ${limited.join(', ')}`}`,
    ),
    ...(story.length > LINES ? ['  …'] : []),
    ...story.slice(-LINES).map(({ at, text }) => `  ${seconds(at).padStart(12)}  ${text}`),
    ...violations.map(({ kind, at, text }) => `  ${seconds(at).padStart(12)}  VIOLATION ${kind}: ${text}`),
  ];
  return lines.join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(3)} s`;
}
