/** The whole service on a cluster of three NATS servers, of which two are killed one after the other. */
import { resultsStream } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { startNatsCluster } from '../support/nats-cluster.ts';
import { openedIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const NAMES = Array.from({ length: 60 }, (_, index) => `monitor-${index}`);

test('checks go on while one server is down, and nothing is announced', async (context) => {
  const opened = openedIn(context);
  const cluster = await startNatsCluster();
  opened.push({ close: () => cluster.dispose() });
  const { url } = await targetIn(opened);
  const monitor = (name: string) => [name, { name, url, periodicity: '30s', active: true, regions: REGIONS }];
  const service = await serviceIn(opened, {
    regions: REGIONS,
    natsUrl: cluster.url,
    // The clock runs in real time, because the servers elect their leaders in real time.
    scale: 1,
    declared: { svc_http_monitor: Object.fromEntries(NAMES.map(monitor)) },
  });
  await Promise.all(NAMES.map((name) => service.changed(name, 'active')));
  for (const index of [0, 1]) {
    const killedAt = Date.now();
    await cluster.kill(index);
    const slots = 'SELECT 1 FROM results WHERE slot > ? GROUP BY slot, monitor_id HAVING count(*) = ?';
    await service.until(
      async () => (await service.query(slots, killedAt, REGIONS.length)).length > NAMES.length / 2,
    );
    await cluster.start(index);
    // The next server may be killed only when this one has caught up.
    await service.until(async () => (await cluster.currentServersOf(resultsStream('hosta-fra'))) === 3);
  }
  expect(service.transitions.filter(({ to }) => to !== 'active')).toEqual([]);
  // A job under way when a server ended may be lost, but never two in a row.
  const slots = 'SELECT DISTINCT monitor_id AS monitor, slot FROM results ORDER BY monitor_id, slot';
  const rows = await service.query<{ monitor: number; slot: number }>(slots);
  const waits = rows.map(({ monitor, slot }, at) =>
    rows[at - 1]?.monitor === monitor ? slot - (rows[at - 1]?.slot ?? 0) : 0,
  );
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
});
