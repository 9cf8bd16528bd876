import { DOCUMENTS } from '@svc/coordinator/pages/documents.ts';
import fc from 'fast-check';
import type { RunningApi } from '../api.ts';
import { dashboardPaths } from '../dashboard/every-path.ts';
import { DashboardSession } from '../dashboard/session.ts';
import { bodiesOf } from './bodies.ts';
import { type Operation, readContract } from './document.ts';
import { valuesOf } from './generate.ts';
import { filled, subjectOf } from './subjects.ts';
import { type Sent, World } from './world.ts';

const SEED = 20_260_101;
/** Number of valid values of each query parameter that are requested. */
const VALUES = 4;

export type Requested = { readonly request: string; readonly status: number; readonly ms: number };

/**
 * Sends every valid request that the API documents, with each query parameter and with the cursors
 * of its answers. Also requests each page of the dashboard and each document of a status page.
 *
 * @param api an API with the sample company
 * @param statusPath path of a public status page
 */
export async function requestEverything(api: RunningApi, statusPath: string): Promise<Requested[]> {
  const world = World.ofOperator(api);
  const { document, operations } = await readContract(api);
  const done: Requested[] = [];

  async function timed<Answer extends { status: number }>(request: string, send: () => Promise<Answer>) {
    const began = performance.now();
    const answer = await send();
    done.push({ request, status: answer.status, ms: performance.now() - began });
    return answer;
  }
  const send = (operation: Operation, sent: Sent, query = '') =>
    timed(`${sent.method} ${operation.path}${query}`, () =>
      world.send({ ...sent, path: `${sent.path}${query}` }),
    );

  for (const operation of operations) {
    // The first monitor is the company's, and has results and a history. A new monitor has one result.
    const isOfResults = operation.path.endsWith('/what-if') || operation.method === 'get';
    const isAboutFirst = isOfResults && operation.path.startsWith('/v1/monitors/{id}');
    const ids = isAboutFirst ? { id: '1' } : await subjectOf(operation, world);
    const sent = { method: operation.method.toUpperCase(), path: filled(operation.path, ids) };
    if (operation.body !== null) {
      for (const body of await bodiesOf(operation.id, world, ids)) await send(operation, { ...sent, body });
      continue;
    }
    await send(operation, sent);
    if (operation.method !== 'get') continue;
    const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
    for (const { name, schema } of parameters) {
      if (name === 'cursor') continue;
      const values = fc.sample(valuesOf(document, schema), { seed: SEED, numRuns: VALUES });
      for (const value of new Set(values.map(String)))
        await send(operation, sent, `?${name}=${encodeURIComponent(value.toWellFormed())}`);
    }
    if (!parameters.some(({ name }) => name === 'cursor')) continue;
    const { text } = await send(operation, sent, '?limit=1');
    const { next_cursor: cursor } = JSON.parse(text) as { next_cursor: string | null };
    if (cursor !== null) await send(operation, sent, `?limit=1&cursor=${encodeURIComponent(cursor)}`);
  }

  const session = await DashboardSession.open(api);
  for (const path of [...dashboardPaths(api), '/palette', '/?name=zzz'])
    await timed(`GET ${path}`, () => session.get(path));
  for (const path of [...DOCUMENTS.keys(), '/days/1', '/subscribe'])
    await timed(`GET ${statusPath}${path}`, () => fetch(`${api.url}${statusPath}${path}`));
  return done;
}
