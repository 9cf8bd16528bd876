/**
 * The target that benchmarks probe, as a process of its own. It answers every HTTP request with the same few bytes and
 * accepts plain connections, on the port of its argument or on a free one, and prints its port. From the message `down`
 * to the message `up` it answers requests for `/fragile` with 503, and does not answer requests for `/silent`.
 */
import { createServer } from 'node:net';

const BODY = 'ok\n';
const answer = (status: string) =>
  Buffer.from(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`,
  );
const OK = answer('200 OK');
const UNAVAILABLE = answer('503 Service Unavailable');
const FRAGILE = Buffer.from(' /fragile ');
const SILENT = Buffer.from(' /silent ');
let isDown = false;

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', (data) => {
    if (!isDown) socket.end(OK);
    else if (!data.includes(SILENT)) socket.end(data.includes(FRAGILE) ? UNAVAILABLE : OK);
  });
  socket.on('error', () => socket.destroy());
});
server.listen({ port: Number(process.argv[2] ?? 0), host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`${address.port}\n`);
});
process.on('message', (message) => {
  isDown = message === 'down';
});
process.on('disconnect', () => process.exit(0));
