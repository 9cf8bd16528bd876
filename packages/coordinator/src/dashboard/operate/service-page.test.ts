import { SERVING_GAUGES } from '@svc/shared/metrics/serving-instruments.ts';
import { measurementsOf } from '@svc/shared/metrics/values.ts';
import { expect, test } from 'vitest';
import { startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

test('a coordinator that leads some of the shards says which, and which are led by others or by nobody', async () => {
  const unknown = { databaseBytes: Number.NaN, journalBytes: Number.NaN, freeBytes: Number.NaN };
  const api = await startApi({
    measurements: () => measurementsOf(SERVING_GAUGES, { leading: 1, natsConnected: 1, ...unknown }, 0),
    shards: async () => [
      { id: 0, holder: 'this one', isHere: true },
      { id: 1, holder: 'another one', isHere: false },
      { id: 2, holder: null, isHere: false },
      { id: 3, holder: 'this one', isHere: true },
    ],
  });
  try {
    const { text } = await (await DashboardSession.open(api)).get('/service');
    const words = text.replaceAll(/<[^>]*>/g, '');
    expect(words).not.toContain('Another coordinator leads');
    expect(words).toContain('This coordinator leads 0, 3. Others lead 1.');
    expect(words).toContain('No coordinator leads 2');
  } finally {
    await api.dispose();
  }
});
