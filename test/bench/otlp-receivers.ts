/**
 * A process with OTLP endpoints for a benchmark. One port takes every request
 * and answers in the encoding of the request, as OTLP demands (1.10, "OTLP/HTTP
 * Response"). The other port never answers. The process prints both ports.
 *
 *     otlp-receivers.ts [json]
 *
 * With `json` every answer is JSON, also to requests in protobuf.
 */
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';

const JSON_TYPE = 'application/json';
const isJsonOnly = process.argv[2] === 'json';
const taking = createServer((request, response) => {
  const type = isJsonOnly ? JSON_TYPE : (request.headers['content-type'] ?? JSON_TYPE);
  request
    .resume()
    .once('end', () => response.writeHead(200, { 'content-type': type }).end(type === JSON_TYPE ? '{}' : ''));
});
const hanging = createSocketServer((socket) => socket.resume().on('error', () => socket.destroy()));

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
taking.listen(0, '127.0.0.1', () =>
  hanging.listen(0, '127.0.0.1', () => process.stdout.write(`${portOf(taking)} ${portOf(hanging)}\n`)),
);
process.on('disconnect', () => process.exit(0));
