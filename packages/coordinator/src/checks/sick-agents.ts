import type { Clock } from '@svc/shared/clock.ts';
import { SICKNESSES, type Sickness } from '@svc/shared/messages/heartbeat.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ThrottledLog } from '@svc/shared/throttled-log.ts';

/** Least time between two log lines about the same sickness of an agent, ms. Some sicknesses come and go. */
const ALARM_EVERY_MS = 60_000;
/** Maximum number of remembered log lines. When there would be more, all of them are forgotten first. */
const MAX_REMEMBERED = 10_000;

const ADVICE = {
  'network-down':
    'an agent has lost its own network: checks that cannot reach their targets are not_run and count against no target; check the uplink, the gateway and the name servers of its machine',
  starved:
    'an agent waits for a CPU: its slow answers, and the time-outs that this may explain, are not_run and count against no target; give its machine, or the quota of its cgroup, more CPU',
} as const satisfies Record<Sickness, string>;

/** The attributes of an agent that {@link SickAgents} needs. */
export type SickAgent = {
  readonly id: string;
  /** Distinguishes two agents with the same id. */
  readonly bootId: string;
  readonly region: Region;
  readonly machine: string;
  readonly sicknesses: readonly Sickness[];
};

export type SickAgentsParts = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: ThrottledLog;
  readonly counters: Pick<DispatchCounters, 'sicknesses'>;
};

/**
 * Tracks agents that report a sickness. When an agent becomes sick, an error with advice is logged, at most
 * once a minute for each agent and sickness.
 */
export class SickAgents {
  readonly #parts: SickAgentsParts;
  /** The sicknesses in each sick agent's last heartbeat. */
  readonly #sick = new Map<string, readonly Sickness[]>();
  readonly #alarmedAt = new Map<string, number>();

  constructor(parts: SickAgentsParts) {
    this.#parts = parts;
  }

  /** Called with each heartbeat. */
  trackSicknesses(agent: SickAgent): void {
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
    this.#parts.log.info('an agent has recovered', details, region);
  }

  forgetAgent(agent: SickAgent): void {
    this.#sick.delete(keyOf(agent));
  }

  countSicknesses(): Record<Sickness, number> {
    const counts = Object.fromEntries(SICKNESSES.map((each) => [each, 0])) as Record<Sickness, number>;
    for (const sicknesses of this.#sick.values()) for (const each of sicknesses) counts[each] += 1;
    return counts;
  }

  #alarm({ id, region, machine }: SickAgent, sickness: Sickness): void {
    const { clock, log, counters } = this.#parts;
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
