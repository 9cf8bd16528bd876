import { type Msg, MsgHdrsImpl } from 'nats';

/** Longer headers are passed over, bytes: those of agents and servers have 200 at most. */
const LONGEST_BYTES = 1_024;

const MESSAGE_ID = 'Nats-Msg-Id';

/**
 * Bytes of a message's headers, which are not read for it; a subject that is no ASCII counts as a part of them. The
 * client reads headers when they are asked for, whole: 30,000 names hold the thread for ten seconds, and a name with a
 * blank throws, which ends the client's reading of its connection for ever. Whoever holds a region's key chooses them.
 */
export function headerBytes(message: Msg): number {
  const { subject, reply = '', data } = message;
  return sizeOf(message) - subject.length - reply.length - data.length;
}

/** The server's answer when nobody listens: a status and no data. */
export function isNoResponders(message: Msg): boolean {
  if (message.data.length > 0 || headerBytes(message) > LONGEST_BYTES) return false;
  return readSafely(() => message.headers?.code) === 503;
}

/** The message's id; '' where it has none, or headers that are not read. */
export function messageIdOf(message: Msg): string {
  if (headerBytes(message) > LONGEST_BYTES) return '';
  return readSafely(() => message.headers?.get(MESSAGE_ID)) ?? '';
}

/** As {@link messageIdOf}, of headers as a stream stores them. */
export function messageIdIn(headers: Uint8Array): string {
  if (headers.length > LONGEST_BYTES) return '';
  return readSafely(() => MsgHdrsImpl.decode(headers).get(MESSAGE_ID)) ?? '';
}

/** What is no header tells nothing; the message goes on as one without. */
function readSafely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Every message of the client has it, and its interface does not say so: bytes of subject, reply, headers and data. */
function sizeOf(message: Msg): number {
  return (message as Msg & { size(): number }).size();
}
