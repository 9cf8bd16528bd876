import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { decodeMessage, encodeQuery } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import type { ServerAddress } from './servers.ts';

/**
 * Asks one question over a TCP connection of its own (RFC 7766), for answers that do not fit a datagram.
 * Reads at most one message of 64 KiB; anything but the answer to the question ends it as failed.
 */
export function queryOverTcp(server: ServerAddress, query: Query): Cancel {
  const id = randomInt(0x1_0000);
  const packet = encodeQuery(id, query.question, query.withEdns);
  const socket = connect({ host: server.host, port: server.port, autoSelectFamily: false, noDelay: true });
  const chunks: Buffer[] = [];
  let received = 0;
  let isDone = false;

  const end = (settle: () => void): void => {
    if (isDone) return;
    isDone = true;
    socket.destroy();
    settle();
  };
  socket.once('connect', () => {
    const framed = Buffer.alloc(2 + packet.length);
    framed.writeUInt16BE(packet.length, 0);
    packet.copy(framed, 2);
    socket.write(framed);
  });
  socket.on('error', (error: NodeJS.ErrnoException) => end(() => query.failed(error.code ?? 'EUNKNOWN')));
  socket.on('close', () => end(() => query.failed('ECONNRESET')));
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    received += chunk.length;
    if (received < 2) return;
    const data = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    chunks.splice(0, chunks.length, data);
    const length = data.readUInt16BE(0);
    if (received < 2 + length) return;
    const message = answerIn(data.subarray(2, 2 + length), id, query);
    end(() => (message === null ? query.failed('EBADRESP') : query.answered(message)));
  });
  return () => end(() => {});
}

function answerIn(data: Buffer, id: number, query: Query) {
  try {
    const message = decodeMessage(data);
    return message.id === id && !message.isTruncated && isAnswerTo(message, query.question) ? message : null;
  } catch {
    // DnsFormatError: told as a failed query.
    return null;
  }
}
