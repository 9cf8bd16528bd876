/**
 * The target that benchmarks probe, as a process of its own. It answers every HTTP request with the same
 * few bytes, and accepts plain connections. It listens on the port of its first argument, or on a free
 * port, and prints its port. From the message `down` to the message `up`, it answers requests for
 * `/fragile` with 503, and does not answer requests for `/silent`. It answers requests for `/held` after
 * 10 s. With the files of a key and of a certificate chain as second and third argument, it speaks TLS.
 */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

const BODY = 'ok\n';
const answer = (status: string) =>
  Buffer.from(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`,
  );
const OK = answer('200 OK');
const UNAVAILABLE = answer('503 Service Unavailable');
const FRAGILE = Buffer.from(' /fragile ');
const SILENT = Buffer.from(' /silent ');
const HELD = Buffer.from(' /held ');
const HELD_MS = 10_000;
let isDown = false;

const [port = '0', keyFile, chainFile] = process.argv.slice(2);

function serve(socket: Socket): void {
  socket.on('data', (data) => {
    if (data.includes(HELD)) setTimeout(() => socket.end(OK), HELD_MS);
    else if (!isDown) socket.end(OK);
    else if (!data.includes(SILENT)) socket.end(data.includes(FRAGILE) ? UNAVAILABLE : OK);
  });
  socket.on('error', () => socket.destroy());
}

const server =
  keyFile === undefined || chainFile === undefined
    ? createServer({ noDelay: true }, serve)
    : createTlsServer(
        {
          key: readFileSync(keyFile),
          cert: readFileSync(chainFile),
          ALPNProtocols: ['http/1.1'],
          noDelay: true,
        },
        serve,
      ).on('tlsClientError', (_error, socket) => socket.destroy());
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4_096 }, () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) process.stdout.write(`${address.port}\n`);
});
process.on('message', (message) => {
  isDown = message === 'down';
});
process.on('disconnect', () => process.exit(0));
