import type { Clock } from '@svc/shared/clock.ts';
import { SICKNESSES, type Sickness } from '@svc/shared/messages/heartbeat.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ThrottledLog } from '@svc/shared/throttled-log.ts';
import type { DispatchCounters } from './counters.ts';

/** The alarm about one agent and sickness is raised at most this often, ms: some come and go. */
const ALARM_EVERY_MS = 60_000;
/** Most alarms that are remembered; beyond, all are forgotten. */
const MAX_REMEMBERED = 10_000;

const ADVICE = {
  'network-down':
    'an agent has lost its own network: what it cannot reach is not_run and counts against no target; look at the uplink, the gateway and the name servers of its machine',
  starved:
    'an agent waits for a CPU: its slow answers, and the time-outs that this may explain, are not_run and count against no target; its machine, or the quota of its cgroup, is too small for what runs there',
} as const satisfies Record<Sickness, string>;

/** What is asked of an agent. */
export type SickAgent = {
  readonly id: string;
  /** Tells two agents with one id apart. */
  readonly bootId: string;
  readonly region: Region;
  readonly machine: string;
  readonly sicknesses: readonly Sickness[];
};

export type SickAgentsOptions = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: ThrottledLog;
  readonly counters: Pick<DispatchCounters, 'sicknesses'>;
};

/** The agents that find something wrong with themselves: raises the operator's alarm when one begins to. */
export class SickAgents {
  readonly #options: SickAgentsOptions;
  /** Agents, and what was wrong with each in its last heartbeat. */
  readonly #sick = new Map<string, readonly Sickness[]>();
  readonly #alarmedAt = new Map<string, number>();

  constructor(options: SickAgentsOptions) {
    this.#options = options;
  }

  /** To be called with each heartbeat. */
  heard(agent: SickAgent): void {
    const { id, region, machine, sicknesses } = agent;
    const key = keyOf(agent);
    const before = this.#sick.get(key) ?? [];
    if (sicknesses.length === 0 && before.length === 0) return;
    for (const sickness of sicknesses) if (!before.includes(sickness)) this.#alarm(agent, sickness);
    if (sicknesses.length > 0) {
      this.#sick.set(key, sicknesses);
      return;
    }
    this.#sick.delete(key);
    const details = { region, agent: id, machine, was: before, event: 'recovered' };
    this.#options.log.info('an agent is well again', details, region);
  }

  gone(agent: SickAgent): void {
    this.#sick.delete(keyOf(agent));
  }

  counts(): Record<Sickness, number> {
    const counts = Object.fromEntries(SICKNESSES.map((each) => [each, 0])) as Record<Sickness, number>;
    for (const sicknesses of this.#sick.values()) for (const each of sicknesses) counts[each] += 1;
    return counts;
  }

  #alarm({ id, region, machine }: SickAgent, sickness: Sickness): void {
    const { clock, log, counters } = this.#options;
    counters.sicknesses[sickness] += 1;
    const now = clock.monotonic();
    const key = `${region} ${id} ${sickness}`;
    if (now - (this.#alarmedAt.get(key) ?? Number.NEGATIVE_INFINITY) < ALARM_EVERY_MS) return;
    if (this.#alarmedAt.size >= MAX_REMEMBERED) this.#alarmedAt.clear();
    this.#alarmedAt.set(key, now);
    log.error(ADVICE[sickness], { region, agent: id, machine, sick: sickness }, region);
  }
}

function keyOf({ region, id, bootId }: SickAgent): string {
  return `${region} ${id} ${bootId}`;
}
