import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { DELIVERY_COUNTERS } from '@svc/shared/metrics/delivery-instruments.ts';
import type { ValuesOf } from '@svc/shared/metrics/totals.ts';
import { reasonOf, type SendContext, type SendResult } from './channel.ts';
import type { FoundChannel } from './channel-queue.ts';
import type { Send } from './sender.ts';
import { bytesUpTo, shortened } from './shortening.ts';

const OWN_FAILURE: SendResult = {
  outcome: 'not-sent',
  error: 'svc could not send the alert: see the log of the coordinator',
};

/** Most bytes of what is said of a failure. */
const ERROR_BYTES = 1_024;

type Parts = {
  readonly send: Send;
  readonly clock: Clock;
  readonly log: Logger;
  readonly counters: ValuesOf<typeof DELIVERY_COUNTERS>;
};

/** Makes attempts and counts them. Whatever goes wrong is a result. */
export class Attempting {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @param alert null: this version cannot read the stored alert */
  async attempt(found: FoundChannel, alert: Alert | null, context: SendContext): Promise<SendResult> {
    const { clock, counters } = this.#parts;
    const startedAt = clock.monotonic();
    const result = bounded(await this.#sendTo(found, alert, context));
    const reason = reasonOf(result);
    if (reason !== null) counters.failures[reason] += 1;
    if (result.outcome !== 'not-sent') {
      counters.attempts[result.outcome] += 1;
      counters.attemptDuration.record((clock.monotonic() - startedAt) / 1_000);
    }
    return result;
  }

  /** The receiver did not cause it (unreadable settings, a defect), so its text stays in the log. */
  ownFailure(error: unknown, ids: object): SendResult {
    this.#parts.log.error(
      { error: messageOf(error), ...ids },
      'sending an alert failed because of svc itself',
    );
    return OWN_FAILURE;
  }

  async #sendTo(found: FoundChannel, alert: Alert | null, context: SendContext): Promise<SendResult> {
    if (alert === null)
      return { outcome: 'permanent-message', error: 'this version of svc cannot read the stored alert' };
    try {
      return await this.#parts.send(found.open(), alert, context);
    } catch (error) {
      return this.ownFailure(error, { deliveryId: context.deliveryId });
    }
  }
}

function bounded(result: SendResult): SendResult {
  if (result.outcome === 'delivered') return result;
  return { ...result, error: shortened(result.error, bytesUpTo(ERROR_BYTES)) };
}
