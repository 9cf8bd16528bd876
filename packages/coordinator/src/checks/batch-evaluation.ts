import type { CheckResult, Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { ResultKey, StreamPosition } from '../store/results/recording-store.ts';
import { Evaluation } from '../verdict/evaluation.ts';
import { bitOf, NO_REGIONS, type RegionSet, union } from '../verdict/region-set.ts';
import { applyEvent, type MessageEvent, type RecorderEvent } from './events.ts';
import type { RecentRegions, RecorderParts } from './recorder-parts.ts';
import type { RecordedResult } from './result-feed.ts';

type Priors = ReadonlyMap<CheckResult, Outcome | null>;

/** What the evaluation of one batch has produced, before it is written. */
export type EvaluatedBatch = {
  readonly evaluation: Evaluation;
  /** The new positions, by stream. */
  readonly positions: ReadonlyMap<string, StreamPosition>;
  /** Id of the last entry of the log of changes that the batch applied; null: the batch applied no entry. */
  readonly changesUntil: number | null;
  readonly reported: readonly RecordedResult[];
  /** The results of `reported` whose jobs will be offered again. */
  readonly givenBack: ReadonlySet<CheckResult>;
};

/**
 * Evaluates batches of events: asks the store which results of a batch are recorded
 * already, and hands the events of the batch to one evaluation. It changes no state,
 * so an evaluation whose write fails can be dropped.
 */
export class BatchEvaluation {
  readonly #parts: RecorderParts;
  /** Whether the resumption after the start is over (`Recorder.endResumption`). */
  isResumed = false;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** @throws StoreError when the recorded outcomes cannot be read */
  async evaluate(batch: readonly RecorderEvent[]): Promise<EvaluatedBatch> {
    const priors = await this.#priors(batch, this.begin());
    const evaluation = this.begin();
    const reported: RecordedResult[] = [];
    const givenBack = new Set<CheckResult>();
    const positions = new Map<string, StreamPosition>();
    let changesUntil: number | null = null;
    for (const event of batch) {
      if (event.kind === 'message') {
        this.#report(evaluation, event, priors, reported, givenBack);
        if (event.position !== null) positions.set(event.position.stream, event.position);
      } else {
        applyEvent(evaluation, event);
        if (event.kind === 'declared') changesUntil = event.until;
      }
    }
    evaluation.finish();
    return { evaluation, positions, changesUntil, reported, givenBack };
  }

  /** Begins an evaluation at this moment. */
  begin(): Evaluation {
    const { states, monitors, maintenance, rollups, clock, slotClock, isHeld, closesIncidents } = this.#parts;
    // The slots' clock is read first, because this reading may notice a jump and so change `jumpedMs`.
    const slotNow = slotClock.now();
    const { jumpedMs, jumpedAt } = slotClock;
    const wall = Math.floor(clock.wall());
    return new Evaluation({
      states,
      monitors,
      windows: maintenance.windows,
      instants: { wall, slotNow, monotonic: clock.monotonic(), jumpedMs, jumpedAt },
      electable: electableRegions(this.#parts.presence),
      rolledUpUntil: rollups.claimedUntil,
      isHeld,
      ids: this.#parts.ids,
      closesIncidents,
      isResumed: this.isResumed,
    });
  }

  /**
   * Queries the store for recorded outcomes of the batch's results, as far as they are not known from memory.
   */
  async #priors(batch: readonly RecorderEvent[], evaluation: Evaluation): Promise<Priors> {
    const asked: { result: CheckResult; key: ResultKey }[] = [];
    for (const event of batch) {
      if (event.kind !== 'message' || event.region === null) continue;
      const { region, results } = event;
      for (let index = 0; index < results.length; index += 1) {
        const result = results[index] as CheckResult;
        if (!evaluation.needsPrior(result, region)) continue;
        asked.push({ result, key: { monitorId: result.monitor, slot: result.slot, region } });
      }
    }
    if (asked.length === 0) return new Map();
    const outcomes = await this.#parts.store.recordedOutcomes(asked.map(({ key }) => key));
    return new Map(asked.map(({ result }, index) => [result, outcomes[index] ?? null]));
  }

  #report(
    evaluation: Evaluation,
    { region, agent, results, stream }: MessageEvent,
    priors: Priors,
    reported: RecordedResult[],
    givenBack: Set<CheckResult>,
  ): void {
    if (region === null) return;
    for (let index = 0; index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      const monitor = evaluation.monitor(result.monitor);
      // The monitor was removed after the result was queued.
      if (monitor === undefined) continue;
      const isOfferedAgain = this.#isOfferedAgain(result, region);
      if (isOfferedAgain) givenBack.add(result);
      const prior = priors.get(result) ?? null;
      const isNew = evaluation.reported(monitor, { result, region, agent, prior, isOfferedAgain });
      reported.push({ result, monitor, region, stream, isNew });
    }
  }

  #isOfferedAgain({ outcome, monitor, slot, reason }: CheckResult, region: Region): boolean {
    if (outcome !== 'not_run') return false;
    return this.#parts.slots.isOfferedAgain(monitor, slot, region, reason ?? 'internal-error');
  }
}

/** The regions that had an agent within 24 h. */
export function electableRegions(presence: RecentRegions): RegionSet {
  let set = NO_REGIONS;
  for (const region of presence.regions) {
    if (presence.hadAgentWithin24h(region)) set = union(set, bitOf(region));
  }
  return set;
}
