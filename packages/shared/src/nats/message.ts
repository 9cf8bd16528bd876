import type { Msg, NatsError } from 'nats';
import { messageOf } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { BusMessage } from './bus.ts';
import { headerBytes, isNoResponders } from './headers.ts';

/**
 * Makes a callback for the NATS client that catches every failure of `handler`: it logs the failure and drops
 * the message.
 */
export function guardedHandler(
  subject: string,
  handler: (message: BusMessage) => void,
  log: Logger,
): (error: NatsError | null, message: Msg) => void {
  return (error, message) => {
    if (error) {
      log.error({ subject, error: messageOf(error) }, 'NATS subscription failed');
      return;
    }
    try {
      handler(toBusMessage(message));
    } catch (failure) {
      log.error({ subject, error: failure }, 'handling a NATS message failed; the message is dropped');
    }
  };
}

function toBusMessage(message: Msg): BusMessage {
  return {
    subject: message.subject,
    data: message.data,
    reply: message.reply ?? '',
    bytes: message.data.length + headerBytes(message),
    isNoResponders: isNoResponders(message),
  };
}
