import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The address at which systemd-resolved and similar programs listen. */
const ADDRESS = '127.0.0.53';
/** Flags of a response: SERVFAIL, recursion desired and available (RFC 1035, section 4.1.1). */
const SERVFAIL = 0x8182;

/**
 * A forwarder on this machine whose uplink is gone. It answers every question with SERVFAIL. It must be
 * started in a network namespace of its own, because it uses port 53.
 */
export async function openForwarder(): Promise<{ readonly address: string; close(): void }> {
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const answer = Buffer.from(question);
    answer.writeUInt16BE(SERVFAIL, 2);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(53, ADDRESS);
  await once(socket, 'listening');
  return { address: ADDRESS, close: () => socket.close() };
}
