import { DISPATCH_GAUGES } from '@svc/shared/metrics/dispatch-instruments.ts';
import { type Series, seriesOf, type ValuesOf } from '@svc/shared/metrics/values.ts';
import type { KnownAgent } from './agents.ts';
import type { Dispatch } from './dispatch.ts';

type RegionGauges = Pick<
  ValuesOf<typeof DISPATCH_GAUGES>,
  'agents' | 'agentsCapacity' | 'agentsHeld' | 'agentsLoopDelay' | 'agentsClockOffset'
>;

/** The gauges of each region, from the last heartbeats of its agents that take jobs. */
export function regionGauges({ agents, regions }: Pick<Dispatch, 'agents' | 'regions'>): RegionGauges {
  const byRegion = regions.map((region) => {
    const known = [...agents.agentsOf(region)];
    return { region, live: known.filter(({ serial, isDraining }) => serial > 0 && !isDraining) };
  });
  const measured = (
    gauge: (typeof DISPATCH_GAUGES)[keyof RegionGauges],
    measure: (live: readonly KnownAgent[]) => number,
  ): Series<'region'> =>
    seriesOf(
      gauge,
      byRegion.map(({ region, live }) => [{ region }, measure(live)]),
    );
  return {
    agents: measured(DISPATCH_GAUGES.agents, (live) => live.length),
    agentsCapacity: measured(DISPATCH_GAUGES.agentsCapacity, sumOf('capacity')),
    agentsHeld: measured(DISPATCH_GAUGES.agentsHeld, sumOf('held')),
    agentsLoopDelay: measured(DISPATCH_GAUGES.agentsLoopDelay, largestOf('loopDelayMs')),
    agentsClockOffset: measured(DISPATCH_GAUGES.agentsClockOffset, largestOf('clockOffsetMs')),
  };
}

function sumOf(member: 'capacity' | 'held') {
  return (live: readonly KnownAgent[]): number => live.reduce((sum, agent) => sum + agent[member], 0);
}

/** In seconds, whatever the direction. */
function largestOf(member: 'loopDelayMs' | 'clockOffsetMs') {
  return (live: readonly KnownAgent[]): number =>
    live.reduce((largest, agent) => Math.max(largest, Math.abs(agent[member])), 0) / 1_000;
}
