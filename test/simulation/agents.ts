import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { check, die, type Effort, type Finding, notRunFinding } from './probe.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { World } from './world.ts';

/** A job as an agent gets it. */
export type Offer = {
  readonly slot: number;
  readonly version: number;
  /** Time from the arrival of the job to the beginning of the check, ms. */
  readonly waitMs: number;
};

type Held = Omit<Offer, 'waitMs'>;

export type Report = { readonly region: Region; readonly result: CheckResult };

/** Delay between the offer and the start of a check, and between its end and its report, ms. */
const HANDLING_MS = 5;
/** Agents refuse jobs that they finished within this time, ms. */
const REMEMBERED_MS = 300_000;

/** One agent of a region. The jobs that it holds end with it. */
class SimulatedAgent {
  /** The held jobs: the version of the monitor by the slot of the job. */
  readonly held = new Map<number, number>();
  readonly finished = new Map<number, number>();
  /** Slots whose jobs were sent to the agent. */
  readonly sent = new Set<number>();
  isAlive = true;
  /** When the agent will be connected again, monotonic ms; null: the agent is connected. */
  backAt: number | null = null;
}

export type AgentsParts = {
  readonly world: World;
  readonly clock: VirtualClock;
  /** The work that a job asks for, by the version of the monitor in the job. */
  readonly effortOf: (version: number) => Effort;
  /** Called when the report has reached the stream. */
  readonly onReport: (report: Report) => void;
};

/** The agents of a world. Each region has one, which takes jobs, probes and reports. */
export class SimulatedAgents {
  readonly #parts: AgentsParts;
  readonly #agents = new Map<Region, SimulatedAgent>();

  constructor(parts: AgentsParts) {
    this.#parts = parts;
  }

  has(region: Region): boolean {
    return this.#agents.get(region)?.backAt === null;
  }

  regions(): Iterable<Region> {
    return [...this.#agents.keys()].filter((region) => this.has(region));
  }

  heldBy(region: Region): Iterable<number> {
    return this.has(region) ? (this.#agents.get(region)?.held.keys() ?? []) : [];
  }

  start(region: Region): void {
    this.#agents.set(region, new SimulatedAgent());
  }

  /** Ends the region's agent. The jobs that it holds are lost. */
  stop(region: Region): void {
    const agent = this.#agents.get(region);
    if (agent !== undefined) agent.isAlive = false;
    this.#agents.delete(region);
  }

  /**
   * Cuts the region's agent off from NATS for a time. `onBack` is called
   * at the end of this time, unless another agent has taken its place.
   */
  cutOff(region: Region, forMs: number, onBack: () => void): void {
    const agent = this.#agents.get(region);
    if (agent === undefined || agent.backAt !== null) return;
    const { clock } = this.#parts;
    agent.backAt = clock.monotonic() + forMs;
    clock.after(forMs, () => {
      agent.backAt = null;
      if (this.#agents.get(region) === agent) onBack();
    });
  }

  /** Ends the region's agent, which gives back the jobs that it holds. Another agent takes its place. */
  roll(region: Region): void {
    const agent = this.#agents.get(region);
    if (agent === undefined || agent.backAt !== null) return;
    agent.isAlive = false;
    this.start(region);
    for (const [slot, version] of agent.held) {
      this.#report(agent, region, { slot, version }, notRunFinding('shutting-down'), () => {});
    }
  }

  /**
   * Sends the region a job. The job may be lost on its way or in the
   * agent. An agent refuses a job that it holds or has finished.
   */
  offer(region: Region, job: Offer): void {
    const { world, clock, effortOf } = this.#parts;
    const agent = this.#agents.get(region);
    if (
      agent === undefined ||
      agent.backAt !== null ||
      agent.held.has(job.slot) ||
      clock.monotonic() - (agent.finished.get(job.slot) ?? Number.NEGATIVE_INFINITY) < REMEMBERED_MS
    )
      return;
    // A job that is sent once more always arrives.
    const isFirst = !agent.sent.has(job.slot);
    agent.sent.add(job.slot);
    const isLost = (how: 'unanswered' | 'forgotten') =>
      die(world, how, region, job.slot) < world.mishaps[how];
    if (isFirst && (isLost('unanswered') || isLost('forgotten'))) return;
    agent.held.set(job.slot, job.version);
    const startedAt =
      clock.monotonic() + job.waitMs + HANDLING_MS + Math.floor(50 * die(world, 'pause', region, job.slot));
    const finding = check(world, effortOf(job.version), region, job.slot, startedAt);
    clock.after(startedAt - clock.monotonic() + finding.tookMs, () => {
      if (!agent.isAlive) return;
      agent.finished.set(job.slot, clock.monotonic());
      this.#report(agent, region, job, finding, () => agent.held.delete(job.slot));
    });
  }

  /** Sends a report on its way. The report may arrive late, and it may arrive twice. */
  #report(
    { backAt }: SimulatedAgent,
    region: Region,
    job: Held,
    finding: Finding,
    onArrival: () => void,
  ): void {
    const { world, clock, onReport } = this.#parts;
    const { mishaps, laggards } = world;
    const isLate = laggards.includes(region) || die(world, 'late', region, job.slot) < mishaps.late;
    const lagMs = isLate ? Math.floor(mishaps.lagMs * die(world, 'lag', region, job.slot)) : 0;
    const delayMs = Math.max(HANDLING_MS + lagMs, (backAt ?? 0) - clock.monotonic());
    const report: Report = { region, result: resultOf(world, job, finding, clock.wall()) };
    clock.after(delayMs, () => {
      onArrival();
      onReport(report);
    });
    if (die(world, 'doubled', region, job.slot) >= mishaps.doubled) return;
    clock.after(delayMs + 3_000, () => onReport(report));
  }
}

function resultOf(world: World, { slot, version }: Held, finding: Finding, endedAt: number): CheckResult {
  const { outcome, reason, attempts, tookMs, isTimedOut } = finding;
  return {
    monitor: world.id,
    version,
    slot,
    token: 'good',
    outcome,
    started_at: endedAt - tookMs,
    attempts: [...attempts],
    ...(reason === null ? {} : { reason }),
    ...(attempts.length === 0 ? {} : { latency: attempts.at(-1)?.latency ?? 0 }),
    ...(isTimedOut ? { timed_out: true } : {}),
  };
}
