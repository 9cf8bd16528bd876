/**
 * A database that lost its last commits: a copy of it takes its place, and the coordinator starts again. The
 * results are still in NATS. When they are read again, the same statuses and alerts follow from them as
 * before.
 */
import { expect, test } from 'vitest';
import { hookOf, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;

test('results are recorded again, once, and an alert is sent again under the id that it had', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const monitorOf = (name: string) => ({
    ...{ name, url: `${web.url}/${name}`, regions: REGIONS },
    ...{ periodicity: '30s', active: true, retry: 0 },
  });
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {
      svc_http_monitor: { steady: monitorOf('Steady'), failing: monitorOf('Failing') },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.steady', 'svc_http_monitor.failing') },
    },
  });
  await Promise.all([service.changed('Steady', 'active'), service.changed('Failing', 'active')]);
  await service.database.copy();
  const newest =
    (await service.query<{ slot: number }>('SELECT max(slot) AS slot FROM results'))[0]?.slot ?? 0;

  web.answerWith((response, path) => void response.writeHead(path === '/Failing' ? 503 : 200).end());
  await hook.received(1);
  await service.decided(await service.idOf('Steady'), 1);
  await service.stopCoordinator();

  const results = () =>
    service.query(
      `SELECT monitor_id, slot, region, outcome, latency FROM results
        WHERE slot > ? AND outcome <> 'not_run' ORDER BY slot, monitor_id, region`,
      newest,
    );
  const facts = async () => ({
    incidents: await service.query('SELECT key, monitor_id FROM incidents WHERE closed_at IS NULL'),
    alerts: await service.query("SELECT uid, status FROM deliveries WHERE state = 'delivered'"),
    // On a busy machine the votes of the steady monitor may age.
    // It then becomes unknown, and active again with another slot.
    states: await service.query(
      `SELECT monitor_id, status, incident, CASE WHEN status = 'error' THEN status_slot END AS status_slot
        FROM monitor_states`,
    ),
  });
  const [resultsBefore, factsBefore] = [await results(), await facts()];
  expect(resultsBefore.length).toBeGreaterThan(6);
  expect(factsBefore).toMatchObject({ incidents: [{}], alerts: [{ status: 'error' }], states: [{}, {}] });

  await service.database.returnToCopy();
  expect([...(await results()), ...(await facts()).alerts]).toEqual([]);
  await service.startCoordinator();
  await service.until(async () => (await facts()).alerts.length === 1);
  await service.decided(await service.idOf('Steady'), 1);
  expect(await results()).toEqual(expect.arrayContaining(resultsBefore));
  expect(await facts()).toEqual(factsBefore);

  web.answerWith((response) => response.end());
  const alerts = await hook.received(3);
  expect(alerts.map(({ json }) => (json as { status: string }).status)).toEqual([
    'error',
    'error',
    'recovered',
  ]);
  const [first, again, recovered] = alerts.map(({ headers }) => headers['webhook-id']);
  expect(again).toBe(first);
  expect(recovered).not.toBe(first);
});
