import type { BusMessage } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type AgentMessage, agentMessage } from '@svc/shared/messages/heartbeat.ts';
import { regionOfSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { DispatchCounters } from './counters.ts';

/** Twice the largest heartbeat there can be. */
const MAX_MESSAGE_BYTES = 1_024 * 1_024;
/** Dropped messages are logged at most this often, ms. */
const LOG_EVERY_MS = 10_000;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type AgentMessagesOptions = {
  clock: Clock;
  log: Logger;
  counters: DispatchCounters;
  onMessage: (region: Region, message: AgentMessage) => void;
};

/**
 * Reads what comes on the agents' subjects. The subject says which region speaks; what cannot be read
 * is dropped, counted and logged.
 */
export class AgentMessages {
  readonly #options: AgentMessagesOptions;
  #logAgainAt = Number.NEGATIVE_INFINITY;

  constructor(options: AgentMessagesOptions) {
    this.#options = options;
  }

  handle(message: BusMessage): void {
    const region = regionOfSubject(message.subject);
    if (region === null) {
      this.#drop(message, 'unknown region');
      return;
    }
    if (message.data.length > MAX_MESSAGE_BYTES) {
      this.#drop(message, 'oversized');
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(utf8.decode(message.data));
    } catch {
      // What it was helps nobody; that it came is counted.
      this.#drop(message, 'not JSON');
      return;
    }
    const parsed = agentMessage.safeParse(value);
    if (parsed.success) this.#options.onMessage(region, parsed.data);
    else this.#drop(message, 'not a known message');
  }

  #drop({ subject, data }: BusMessage, reason: string): void {
    const { clock, counters, log } = this.#options;
    counters.droppedMessages += 1;
    if (clock.monotonic() < this.#logAgainAt) return;
    this.#logAgainAt = clock.monotonic() + LOG_EVERY_MS;
    log.warn(
      { subject, bytes: data.length, reason, dropped: counters.droppedMessages },
      "dropped an agent's message",
    );
  }
}
