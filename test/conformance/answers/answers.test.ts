import { createHttpProbe } from '@svc/agent/probes/http/probe.ts';
import { createEgressGuard } from '@svc/shared/egress.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixedResolver, httpCheck } from '../../support/http-check.ts';
import type { Answer } from './answer.ts';
import { CORPUS } from './corpus.ts';
import { type CorpusServer, startCorpusServer } from './corpus-server.ts';

const probe = createHttpProbe({
  resolver: fixedResolver(),
  egress: createEgressGuard({ base: 'agent', deny: [], allow: [] }),
});
const context = { timeoutMs: 15_000, signal: new AbortController().signal };

let server: CorpusServer;
beforeAll(async () => {
  server = await startCorpusServer(CORPUS);
});
afterAll(() => server.close());

/** Every status passes. Where a body is expected, an assertion compares it. */
function checkOf(answer: Answer) {
  const { expected, method } = answer;
  // A text is given as UTF-8, the body's bytes are one character each.
  const body = 'refused' in expected ? '' : Buffer.from(expected.body, 'latin1').toString();
  return httpCheck({
    url: server.urlOf(answer),
    method,
    status_code_assertions: [{ comparator: 'gte', target: 100 }],
    body_assertions: [{ comparator: 'refused' in expected ? 'neq' : 'eq', target: body }],
  });
}

test('ids are unique', () => {
  expect(new Set(CORPUS.map(({ id }) => id)).size).toBe(CORPUS.length);
});

test.each(CORPUS.map((answer) => [answer.id, answer] as const))('%s', async (_id, answer) => {
  const { expected } = answer;
  const outcome = await probe.run(checkOf(answer), context);
  const { statusCode, errorMessage } = outcome;
  if ('refused' in expected) {
    expect({ ...outcome, errorMessage }).toMatchObject({
      outcome: 'failed',
      errorMessage: expect.stringMatching(expected.refused),
    });
  } else {
    expect({ outcome: outcome.outcome, statusCode, errorMessage }).toEqual({
      outcome: 'passed',
      statusCode: expected.status,
      errorMessage: undefined,
    });
  }
});
