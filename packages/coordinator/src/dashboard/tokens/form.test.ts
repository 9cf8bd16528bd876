import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

test('a token that would outlive that of the session is refused at its field', async () => {
  const expires_at = new Date(api.clock.wall() + 10 * 86_400_000).toISOString();
  const { body } = await api.call('POST', '/v1/tokens', { name: 'lead', scope: 'admin', expires_at });
  const authorization = `Bearer ${(body as { token: string }).token}`;
  const session = await DashboardSession.open(api, { authorization });
  const refused = await session.send('/tokens/new', '/tokens/new', { name: 'ci', days: '90' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain(
    `<p class="field-error" id="days-hint">It must not be after ${expires_at}, when the token of this request expires.</p>`,
  );
  expect((await session.send('/tokens/new', '/tokens/new', { name: 'ci', days: '7' })).status).toBe(200);
});
