import { type Msg, MsgHdrsImpl } from 'nats';

/** Maximum size of headers that are read, bytes. The headers of agents and servers have 200 bytes at most. */
const LONGEST_BYTES = 1_024;

const MESSAGE_ID = 'Nats-Msg-Id';

/**
 * Size of a message's headers in bytes, found without reading them. If a subject is not ASCII, the result is
 * greater by its additional bytes.
 *
 * The client parses headers whole when they are asked for: 30,000 names hold the thread for ten seconds.
 * Parsing a name with a blank throws, and the client then never reads its connection again. Any holder of a
 * region's key can choose the headers.
 */
export function headerBytes(message: Msg): number {
  const { subject, reply = '', data } = message;
  return messageBytes(message) - subject.length - reply.length - data.length;
}

/** Whether the message is the server's "no responders" message, which has a status and no data. */
export function isNoResponders(message: Msg): boolean {
  if (message.data.length > 0 || headerBytes(message) > LONGEST_BYTES) return false;
  return readSafely(() => message.headers?.code) === 503;
}

/** The message's id; '' when it has none, or when its headers are not read. */
export function messageIdOf(message: Msg): string {
  if (headerBytes(message) > LONGEST_BYTES) return '';
  return readSafely(() => message.headers?.get(MESSAGE_ID)) ?? '';
}

/** Like {@link messageIdOf}, for headers as a stream stores them. */
export function messageIdIn(headers: Uint8Array): string {
  if (headers.length > LONGEST_BYTES) return '';
  return readSafely(() => MsgHdrsImpl.decode(headers).get(MESSAGE_ID)) ?? '';
}

/** Reads a header. Malformed headers count as none, and the message is handled without them. */
function readSafely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Bytes of the subject, the reply, the headers and the data. Every message of the client has `size()`,
 * although the client's interface does not declare it.
 */
export function messageBytes(message: Msg): number {
  return (message as Msg & { size(): number }).size();
}
