import { expect, test } from 'vitest';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS = ['hosta-fra', 'hostb-par'] as const;
const MINUTE_MS = 60_000;
/**
 * Number of slots: three calls are due in six slots. One slot is added, because a call may have been due
 * just before the first of them.
 */
const SLOTS = 7;

test("the dead man's switch is called while checks are given out and recorded, and not while they are not", async (context) => {
  const opened = openedIn(context);
  const [web, watcher] = [await targetIn(opened), await receiverIn(opened)];
  const service = await serviceIn(opened, {
    scale: 20,
    regions: REGIONS,
    deadmanUrl: `${watcher.url}/ping`,
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', retry: 0, active: true, regions: REGIONS },
      },
    },
  });
  await watcher.received(2);
  const slotsPass = async (count: number) => {
    const from = web.hits;
    await service.until(() => web.hits >= from + count * REGIONS.length);
  };

  const held = await service.database.hold();
  // The oldest result that waits is older than a minute by then.
  await slotsPass(4);
  const beforeHold = watcher.requests.length;
  await slotsPass(SLOTS);
  expect(watcher.requests).toHaveLength(beforeHold);
  await held.release();
  await watcher.received(beforeHold + 1);

  for (const region of REGIONS) await service.stopAgent(region);
  await service.until(
    () => service.said.get('a region that monitors declare has lost its last agent') === REGIONS.length,
  );
  const withoutAgents = watcher.requests.length;
  await new Promise<void>((resolve) => service.clock.after(3 * MINUTE_MS, resolve));
  expect(watcher.requests).toHaveLength(withoutAgents);
});

test('between checks, calls stop while the database takes no writes', async (context) => {
  const opened = openedIn(context);
  const [web, watcher] = [await targetIn(opened), await receiverIn(opened)];
  const service = await serviceIn(opened, {
    scale: 20,
    regions: REGIONS,
    deadmanUrl: `${watcher.url}/ping`,
    declared: { svc_http_monitor: { web: { name: 'Web', url: web.url, periodicity: '1h', active: true } } },
  });
  await service.changed('Web', 'active');
  await watcher.received(1);
  const held = await service.database.hold();
  const beforeHold = watcher.requests.length;
  await new Promise<void>((resolve) => service.clock.after(4 * MINUTE_MS, resolve));
  // A call whose write was done just before the hold may still have been on its way.
  expect(watcher.requests.length).toBeLessThanOrEqual(beforeHold + 1);
  await held.release();
  await watcher.received(beforeHold + 2);
});
