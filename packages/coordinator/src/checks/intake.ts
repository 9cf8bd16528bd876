import type { CheckResult } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import { lastedMs } from '../verdict/check-end.ts';
import type { MessageEvent, ResultMessage } from './events.ts';
import type { RecorderDrops, RecorderParts } from './recorder-parts.ts';

/** A message as it is queued. */
export type TakenMessage = {
  readonly event: MessageEvent;
  /** Whether somebody waits for it. */
  readonly isUrgent: boolean;
};

/** Takes messages of the streams: it drops results without a job, and tells others which results have come. */
export class Intake {
  readonly #parts: RecorderParts;
  readonly #drops: RecorderDrops;

  constructor(parts: RecorderParts, drops: RecorderDrops) {
    this.#parts = parts;
    this.#drops = drops;
  }

  /** Checks the tokens of the message, and reports its results before it is queued. */
  take({ region, agent, results, position }: ResultMessage): TakenMessage {
    const valid: CheckResult[] = [];
    let isUrgent = false;
    for (let index = 0; region !== null && index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      if (!this.#isValid(result, region)) continue;
      valid.push(result);
      isUrgent ||= this.#isNews(result, region);
    }
    this.#parts.onRead(valid);
    return { event: { kind: 'message', region, agent, results: valid, position }, isUrgent };
  }

  /** The message is queued. A `not_run` may be offered again, which its evaluation finds out. */
  taken({ region, results }: MessageEvent): void {
    if (region === null) return;
    for (let index = 0; index < results.length; index += 1) {
      const result = results[index] as CheckResult;
      const { outcome, monitor, slot } = result;
      if (outcome === 'not_run') continue;
      const tookMs = outcome === 'failed' ? null : lastedMs(result);
      this.#parts.slots.arrived(monitor, slot, region, tookMs);
    }
  }

  #isValid({ monitor, slot, token }: CheckResult, region: Region): boolean {
    const { tokens, monitors } = this.#parts;
    if (!tokens.isValid(token, monitor, region, slot)) {
      this.#drops.add('bad-token', { monitor, slot, region }, 'dropped a result without a valid token');
      return false;
    }
    if (monitors.get(monitor) !== undefined) return true;
    this.#drops.add('unknown-monitor', { monitor, slot, region }, 'dropped a result of an unknown monitor');
    return false;
  }

  /**
   * Whether the result differs from the region's last vote, so that it must not wait. Of regions without a vote a pass
   * may wait: it alerts nobody, and while tens of thousands of new monitors begin, each message has such passes.
   */
  #isNews({ monitor, outcome }: CheckResult, region: Region): boolean {
    if (outcome === 'not_run') return false;
    const votes = this.#parts.states.get(monitor)?.votes ?? [];
    for (let index = 0; index < votes.length; index += 1) {
      if (votes[index]?.region === region) return votes[index]?.outcome !== outcome;
    }
    return outcome !== 'passed';
  }
}
