/**
 * A process with OTLP endpoints for a benchmark. One port takes every request, and the other never answers.
 * It prints both ports.
 */
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';

const taking = createServer((request, response) => {
  request
    .resume()
    .once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
});
const hanging = createSocketServer((socket) => socket.resume().on('error', () => socket.destroy()));

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
taking.listen(0, '127.0.0.1', () =>
  hanging.listen(0, '127.0.0.1', () => process.stdout.write(`${portOf(taking)} ${portOf(hanging)}\n`)),
);
process.on('disconnect', () => process.exit(0));
