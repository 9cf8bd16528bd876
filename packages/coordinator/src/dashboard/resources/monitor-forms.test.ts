import { expect, test } from 'vitest';
import { startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import type { CheckRunner } from '../../api/api-parts.ts';

const NOT_RUN = {
  ...{ started_at: 0, attempts: [] },
  outcome: 'not_run',
  reason: 'overloaded',
} as const;

test('a trial says in words why a region did not run the check', async () => {
  const checks: CheckRunner = {
    runNow: async () => [{ region: 'hosta-fra', agent: 'fra-1', result: NOT_RUN }],
  };
  const api = await startApi({ checks });
  try {
    const path = '/monitors/new?type=tcp';
    const session = await DashboardSession.open(api);
    const draft = { name: 'Mail', uri: 'mail.example:25', intent: 'try' };
    const { text } = await session.send(path, path, draft);
    expect(text).toContain('the agent had no free place in time');
  } finally {
    await api.dispose();
  }
});
