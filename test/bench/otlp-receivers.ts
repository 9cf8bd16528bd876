/**
 * Endpoints of OTLP for a benchmark, as a process of its own: one port takes every request, the other never
 * answers. Prints both ports.
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
