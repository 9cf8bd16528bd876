/** Receivers of alerts by path: `/quick/N` answers at once, `/slow/N` takes one a second, `/hanging/N` never answers. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const SECOND_MS = 1_000;
const takenAt = new Map<string, number>();

const server = createServer((request, response) => {
  const path = request.url ?? '';
  request.resume();
  request.once('end', () => {
    if (path.startsWith('/hanging/')) return;
    const now = performance.now();
    if (path.startsWith('/slow/') && now - (takenAt.get(path) ?? Number.NEGATIVE_INFINITY) < SECOND_MS) {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return;
    }
    takenAt.set(path, now);
    response.end();
  });
});
server.listen(0, '127.0.0.1', 1_024);
await once(server, 'listening');
console.log((server.address() as AddressInfo).port);
process.once('disconnect', () => process.exit());
