/** Answers of pages and API while another program locks the database against reading and writing. */
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { STORE_THREADS } from '@svc/coordinator/store/sqlite/store-threads.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { createResource } from '../support/declared-resources.ts';
import { lockDatabase, skipsLocks } from '../support/locked-database.ts';

const DOMAIN = 'here.example.org';
/** Paths of documents below the page. */
const DOCUMENTS = [
  '',
  '?lang=de',
  '/feed.atom',
  '/feed.rss',
  '/feed.json',
  '/badge.svg',
  '/api/v2/summary.json',
];
const MINUTE_MS = 60_000;

type Answer = { readonly status: number; readonly isStale: boolean; readonly body: string };

async function ask({ url }: RunningApi, path: string, host?: string): Promise<Answer> {
  const sent = request(`${url}${path}`, { headers: host === undefined ? {} : { host }, agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  sent.on('error', reject).on('response', (answer) => {
    const { statusCode: status = 0, headers } = answer;
    text(answer).then((body) => resolve({ status, isStale: 'svc-stale-since' in headers, body }), reject);
  });
  sent.end();
  return promise;
}

test.skipIf(skipsLocks)(
  'public pages go on for an hour under both of their names, marked, and the API says that the database is busy',
  async () => {
    const api = await startApi({}, {}, STORE_THREADS);
    onTestFinished(() => api.dispose());
    const id = await createResource(api, 'svc_status_page', {
      ...{ title: 'Main', slug: 'main', custom_domain: DOMAIN },
    });
    await createResource(api, 'svc_status_page', { title: 'Unread', slug: 'unread' });
    expect((await api.call('POST', `/v1/status-pages/${id}/domain/check`)).status).toBe(200);
    api.clock.advance(2_000);

    /** Advances the clock that bounds the waits of requests, and waits for their answers. */
    async function answersWithin(ms: number, asked: readonly Promise<Answer>[]): Promise<Answer[]> {
      let isAnswered = false;
      const all = Promise.all(asked).finally(() => {
        isAnswered = true;
      });
      for (let left = ms; !isAnswered; left -= 10) {
        if (left > 0) api.clock.advance(10);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return all;
    }
    const askAll = () =>
      DOCUMENTS.flatMap((path) => [
        ask(api, `/status/main${path}`),
        ask(api, path.startsWith('/') ? path : `/${path}`, DOMAIN),
      ]);
    const statuses = (answers: readonly Answer[]) => new Set(answers.map(({ status }) => status));

    expect(statuses(await answersWithin(0, askAll()))).toEqual(new Set([200]));
    const locked = await lockDatabase(api.database.file);
    for (let minute = 1; minute <= 60; minute += 1) {
      api.clock.advance(MINUTE_MS);
      const answers = await answersWithin(1_000, askAll());
      expect(statuses(answers)).toEqual(new Set([200]));
      expect(answers.every(({ isStale }) => isStale)).toBe(true);
    }
    const [page] = await answersWithin(1_000, askAll());
    expect(page?.body).toContain(' stale" role="status">');
    // One after the other, each of these reads would wait for 10 s.
    const refused = await Promise.all(Array.from({ length: 20 }, () => api.call('GET', '/v1/monitors')));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    const [unread] = await answersWithin(3_000, [ask(api, '/status/unread')]);
    expect(unread?.status).toBe(503);

    await locked.release();
    await expect
      .poll(async () => {
        api.clock.advance(2_000);
        const answers = await answersWithin(0, [...askAll(), ask(api, '/status/unread')]);
        return answers.map(({ status, isStale }) => `${status}${isStale ? ' stale' : ''}`);
      })
      .toEqual(Array.from({ length: 2 * DOCUMENTS.length + 1 }, () => '200'));
    expect((await api.call('GET', '/v1/monitors')).status).toBe(200);
  },
);
