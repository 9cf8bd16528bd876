/**
 * A DNS server for benchmarks, as a process of its own. It answers
 * every question over UDP with the same A record, and prints its port.
 */
import { createSocket } from 'node:dgram';

/**
 * The record of every answer: a pointer to the name of the question,
 * type A, class IN, 60 s, 192.0.2.1 (RFC 1035, section 4.1.3).
 */
const RECORD = Buffer.from('c00c00010001' + '0000003c' + '0004c0000201', 'hex');
const HEADER_BYTES = 12;
/** Flags of an answer: response, recursion desired and available, no error. */
const FLAGS = 0x8180;

const socket = createSocket('udp4');
socket.on('message', (query, { port, address }) => {
  // The question: labels until an empty one, type and class.
  const end = query.indexOf(0, HEADER_BYTES) + 5;
  const answer = Buffer.concat([query.subarray(0, end), RECORD]);
  answer.writeUInt16BE(FLAGS, 2);
  answer.writeUInt16BE(1, 6);
  // No additional section: EDNS of the query is not answered.
  answer.writeUInt16BE(0, 10);
  socket.send(answer, port, address);
});
socket.bind(0, '127.0.0.1', () => process.stdout.write(`${socket.address().port}\n`));
process.on('disconnect', () => process.exit(0));
