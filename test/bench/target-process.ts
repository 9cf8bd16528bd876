/**
 * The target that benchmarks probe, as a process of its own: answers every HTTP request with the same
 * few bytes and takes plain connections. Prints its port.
 */
import { createServer } from 'node:net';

const BODY = 'ok\n';
const RESPONSE = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`,
);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.end(RESPONSE));
  socket.on('error', () => socket.destroy());
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`${address.port}\n`);
});
process.on('disconnect', () => process.exit(0));
