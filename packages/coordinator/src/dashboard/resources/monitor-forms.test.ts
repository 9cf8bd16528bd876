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

test('the form offers the regions that have an agent first, and chosen ones; the others are folded', async () => {
  const api = await startApi();
  try {
    const agent = {
      ...{ id: 'a1', version: '1', capacity: 10, running: 1, loopDelayMs: 1, machine: '', sicknesses: [] },
      ...{ isDraining: false, lastSeenWall: api.clock.wall() },
    };
    const session = await DashboardSession.open(api);
    const split = async (path: string) => {
      const [first = '', folded = ''] = (await session.get(path)).text.split('Regions without an agent');
      return [first, folded].map((part) =>
        [...part.matchAll(/name="regions" value="([^"]+)"/g)].map(([, id]) => id),
      );
    };
    expect((await split('/monitors/new?type=tcp'))[1]).toEqual([]);
    api.agents.set('hosta-sin', [agent]);
    const [first, folded] = await split('/monitors/new?type=tcp');
    expect(first).toEqual(['hosta-sin']);
    expect(folded).toHaveLength(27);
    const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' };
    const id = await api.create('/v1/monitors', { ...monitor, regions: ['hostb-par'] });
    expect((await split(`/monitors/${id}/edit?type=tcp`))[0]?.toSorted()).toEqual(['hosta-sin', 'hostb-par']);
  } finally {
    await api.dispose();
  }
});
