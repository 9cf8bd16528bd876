import type { BusMessage } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { type AgentMessage, agentMessage, MAX_AGENT_MESSAGE_BYTES } from '@svc/shared/messages/heartbeat.ts';
import type { Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import type { DispatchCounters } from './counters.ts';
import { isWorthParsing } from './message-outline.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type AgentMessagesParts = {
  clock: Clock;
  log: Logger;
  counters: DispatchCounters;
  onMessage: (region: Region, message: AgentMessage) => void;
};

/**
 * Reads the messages on the agents' subjects. A message that cannot be read is dropped, counted and logged.
 */
export class AgentMessages {
  readonly #parts: AgentMessagesParts;
  readonly #log: ThrottledLog;

  constructor(parts: AgentMessagesParts) {
    this.#parts = parts;
    this.#log = new ThrottledLog(parts.log, parts.clock);
  }

  /** @param region of the message's subject: the accounts of NATS bind an agent to its region's subjects */
  handle(region: Region, message: BusMessage): void {
    if (message.data.length > MAX_AGENT_MESSAGE_BYTES) {
      this.#drop(message, 'oversized');
      return;
    }
    if (!isWorthParsing(message.data)) {
      this.#drop(message, 'more parts than any known message has');
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(utf8.decode(message.data));
    } catch {
      // The content helps nobody; the message is counted.
      this.#drop(message, 'not JSON');
      return;
    }
    const parsed = agentMessage.safeParse(value);
    if (parsed.success) this.#parts.onMessage(region, parsed.data);
    else this.#drop(message, 'not a known message');
  }

  #drop({ subject, data }: BusMessage, reason: string): void {
    const { counters } = this.#parts;
    counters.messagesDropped += 1;
    const details = { subject, bytes: data.length, reason, dropped: counters.messagesDropped };
    this.#log.warn('dropped a message from an agent', details);
  }
}
