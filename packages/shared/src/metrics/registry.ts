import { AGENT_COUNTERS, AGENT_GAUGES } from './agent-instruments.ts';
import { DELIVERY_COUNTERS, DELIVERY_GAUGES } from './delivery-instruments.ts';
import { DISPATCH_COUNTERS, DISPATCH_GAUGES } from './dispatch-instruments.ts';
import { EXPORT_COUNTERS, EXPORT_GAUGES } from './export-instruments.ts';
import type { Instrument } from './instrument.ts';
import { PROCESS_COUNTERS, PROCESS_GAUGES, PROCESS_HISTOGRAMS } from './process-instruments.ts';
import { RECORDING_COUNTERS, RECORDING_GAUGES } from './recording-instruments.ts';
import { API_COUNTERS, SERVING_GAUGES } from './serving-instruments.ts';

export type InstrumentGroup = {
  /** Heading of the group. */
  readonly title: string;
  /** Which processes have the instruments, and when the processes begin to count, as sentences. */
  readonly description: string;
  readonly of: 'process' | 'agent' | 'coordinator' | 'leader';
  readonly instruments: readonly Instrument[];
};

/** Description of the instruments of each shard that a coordinator leads. */
const OF_SHARDS =
  'They exist for the shards that the coordinator leads, and count from the moment at which it began to lead the shard. If there are several shards, they have the label `shard`.';

/**
 * Every instrument of svc. A process with any other instrument fails the test that scrapes its `/metrics`.
 */
export const INSTRUMENT_GROUPS: readonly InstrumentGroup[] = [
  group('Agent', 'agent', 'An agent counts from its start.', AGENT_COUNTERS, AGENT_GAUGES),
  group('Coordinator: dispatch', 'leader', OF_SHARDS, DISPATCH_COUNTERS, DISPATCH_GAUGES),
  group('Coordinator: recording', 'leader', OF_SHARDS, RECORDING_COUNTERS, RECORDING_GAUGES),
  group(
    'Coordinator: alerts',
    'leader',
    'They exist while the coordinator leads shard 0, and count from the moment at which it began to lead it. If there are several shards, they have the label `shard`.',
    DELIVERY_COUNTERS,
    DELIVERY_GAUGES,
  ),
  group('Coordinator: export', 'leader', OF_SHARDS, EXPORT_COUNTERS, EXPORT_GAUGES),
  group(
    'Coordinator: serving',
    'coordinator',
    'Every coordinator has them, whether it leads or not, and counts from its start.',
    API_COUNTERS,
    SERVING_GAUGES,
  ),
  group(
    'Process',
    'process',
    'Coordinators and agents have them.',
    PROCESS_COUNTERS,
    PROCESS_HISTOGRAMS,
    PROCESS_GAUGES,
  ),
];

function group(
  title: string,
  of: InstrumentGroup['of'],
  description: string,
  ...kinds: readonly Readonly<Record<string, Instrument>>[]
): InstrumentGroup {
  return { title, of, description, instruments: kinds.flatMap((kind) => Object.values(kind)) };
}
