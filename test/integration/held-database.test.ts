import type { CheckResult, ResultBatch } from '@svc/shared/messages/check-result.ts';
import { ALL_RESULTS, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { hookOf, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;

test('while no commit succeeds, checks and reads go on and nothing is announced; what is announced is durable', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', retry: 0, active: true, regions: REGIONS },
      },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
    },
  });
  await service.changed('Web', 'active');
  const id = await service.idOf('Web');
  const errors = async () =>
    (await service.query("SELECT 1 FROM transitions WHERE monitor_id = ? AND to_status = 'error'", id))
      .length;
  const durableWhenReceived: number[] = [];
  hook.answerWith((_request, response) => {
    void errors().then((count) => {
      durableWhenReceived.push(count);
      response.end();
    });
  });

  const bus = await connectBus({ url: service.nats.url, name: 'test', log: pino({ level: 'silent' }) });
  opened.push({ close: () => bus.close() });
  const reported: string[] = [];
  bus.subscribe(ALL_RESULTS, ({ subject, data }) => {
    const { results } = JSON.parse(Buffer.from(data).toString()) as ResultBatch;
    for (const { slot } of results as CheckResult[]) reported.push(`${slot}/${regionOfSubject(subject)}`);
  });
  await bus.flush();
  const held = await service.database.hold();
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end('down');
  });
  const before = web.hits;
  // After three more slots the outage is certain, and the database has refused a commit.
  await service.until(() => web.hits >= before + 3 * REGIONS.length);
  const { status } = await service.get<{ status: string }>(`/v1/monitors/${id}`);
  expect(status).toBe('active');
  expect(await service.get<{ total: number }>('/v1/monitors')).toMatchObject({ total: 1 });
  expect(hook.requests).toEqual([]);

  const meanwhile = [...reported];
  await held.release();
  await hook.received(1);
  await expect.poll(() => durableWhenReceived).toEqual([1]);
  await service.changed('Web', 'error');
  web.answerWith((response) => response.end());
  await hook.received(2);
  expect(hook.requests.map(({ json }) => (json as { status: string }).status)).toEqual([
    'error',
    'recovered',
  ]);
  // No result that was reported meanwhile is lost.
  const stored = new Set(
    (
      await service.query<{ key: string }>(
        "SELECT slot || '/' || region AS key FROM results WHERE monitor_id = ?",
        id,
      )
    ).map(({ key }) => key),
  );
  expect(meanwhile.length).toBeGreaterThan(REGIONS.length);
  expect(meanwhile.filter((key) => !stored.has(key))).toEqual([]);
});
