import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { decodeMessage, encodeQuery } from './packet.ts';
import { type Cancel, isAnswerTo, type Query } from './query.ts';
import type { ServerAddress } from './servers.ts';

/**
 * Asks one question over a TCP connection of its own (RFC 7766), for answers that do not fit into a datagram.
 * It reads at most one message of 64 KiB. Any message but the answer to the question ends it as failed.
 */
export function queryOverTcp(server: ServerAddress, query: Query): Cancel {
  const id = randomInt(0x1_0000);
  const packet = encodeQuery(id, query.question, query.withEdns);
  const socket = connect({ host: server.host, port: server.port, autoSelectFamily: false, noDelay: true });
  // Two bytes for the length of the message, later followed by the message.
  let frame = Buffer.alloc(2);
  let filled = 0;
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
  const take = (chunk: Buffer): void => {
    const taken = chunk.copy(frame, filled);
    filled += taken;
    if (filled < frame.length) return;
    if (frame.length === 2) {
      frame = Buffer.concat([frame, Buffer.alloc(frame.readUInt16BE(0))]);
      if (frame.length > 2) {
        take(chunk.subarray(taken));
        return;
      }
    }
    const message = answerIn(frame.subarray(2), id, query);
    end(() => (message === null ? query.failed('EBADRESP') : query.answered(message)));
  };
  socket.on('data', take);
  return () => end(() => {});
}

function answerIn(data: Buffer, id: number, query: Query) {
  try {
    const message = decodeMessage(data);
    return message.id === id && !message.isTruncated && isAnswerTo(message, query.question) ? message : null;
  } catch {
    // DnsFormatError: the caller reports a failed query.
    return null;
  }
}
