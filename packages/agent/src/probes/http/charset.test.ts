import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgressGuard } from '@svc/shared/egress.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHARSET_CASES } from '../../../../../test/support/charset-cases.ts';
import { fixedResolver, httpCheck } from '../../../../../test/support/http-check.ts';
import { createHttpProbe } from './probe.ts';

const probe = createHttpProbe({
  resolver: fixedResolver(),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
});
const context = { timeoutMs: 15_000, signal: new AbortController().signal };

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => {
    const [, kind, index] = (request.url ?? '').split('/');
    const found = CHARSET_CASES[Number(index)];
    if (kind === 'header') {
      // Node writes one byte per character in a header's value.
      const city = index === 'utf-8' ? Buffer.from('Zürich').toString('latin1') : 'Zürich';
      response.setHeader('X-City', city);
    }
    if (found?.type !== undefined) response.setHeader('Content-Type', found.type);
    response.end(found?.bytes ?? Buffer.from('ok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  server.close();
  await once(server, 'close');
});

const run = (path: string, given: Partial<HttpCheck>) =>
  probe.run(httpCheck({ url: `http://127.0.0.1:${port}/${path}`, ...given }), context);

const contains = (target: string) => [{ comparator: 'contains' as const, target }];
const containsNot = (target: string) => [{ comparator: 'not_contains' as const, target }];

test.each(CHARSET_CASES.map((each, index) => [each.name, index, each] as const))(
  'a body is read as browsers show it: %s',
  async (_name, index, { text, unknown }) => {
    const path = `body/${index}`;
    expect(await run(path, { body_assertions: contains(text) })).toMatchObject({ outcome: 'passed' });
    const { outcome, errorMessage } = await run(path, { body_assertions: containsNot(text) });
    expect(outcome).toBe('failed');
    if (unknown === undefined) expect(errorMessage).not.toMatch(/charset .* is not known/);
    else
      expect(errorMessage).toContain(`the charset "${unknown}" is not known, so the body was read as UTF-8`);
  },
);

test.each(['utf-8', 'latin-1'])('a header value of %s bytes is read as people see it', async (bytes) => {
  const header_assertions = [{ key: 'X-City', comparator: 'eq' as const, target: 'Zürich' }];
  expect(await run(`header/${bytes}`, { header_assertions })).toMatchObject({ outcome: 'passed' });
});
