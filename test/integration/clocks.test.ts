/**
 * The system's clock is set, or an agent's clock is wrong, while
 * checks run. Slots continue one by one, and nothing is announced.
 */
import type { ServerResponse } from 'node:http';
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { hookOf, type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const PERIOD_MS = 30_000;
const HOUR_MS = 3_600_000;

async function start(opened: Opened, agentClockOffset: (region: Region) => number = () => 0) {
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    agentClockOffset,
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
      },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
    },
  });
  await service.changed('Web', 'active');
  return { web, hook, service, id: await service.idOf('Web') };
}

const failing = (response: ServerResponse) => {
  response.statusCode = 503;
  response.end();
};

/** The slots of a monitor, in the order in which they were opened. */
const slotsOf = async (service: LocalService, id: number) =>
  (
    await service.query<{ slot: number }>(
      'SELECT slot FROM results WHERE monitor_id = ? GROUP BY slot ORDER BY min(recorded_at), slot',
      id,
    )
  ).map(({ slot }) => slot);

/**
 * The newest slot that a majority of regions had reported at that moment (epoch ms). The other regions may
 * have reported it after the jump.
 */
async function lastVotedBefore(service: LocalService, id: number, moment: number): Promise<number> {
  const [found] = await service.query<{ slot: number }>(
    `SELECT slot FROM results WHERE monitor_id = ? AND slot < ? AND recorded_at < ?
     GROUP BY slot HAVING 2 * count(*) > ? ORDER BY slot DESC LIMIT 1`,
    id,
    moment,
    moment,
    REGIONS.length,
  );
  if (found === undefined) throw new Error('no slot was voted on before the clock jumped');
  return found.slot;
}

const stepsOf = (slots: readonly number[]) => slots.slice(1).map((slot, index) => slot - (slots[index] ?? 0));

/** Expects votes of all regions, none older than a slot that is late. */
async function expectFreshVotes(service: LocalService, id: number): Promise<void> {
  const { regions_status: votes } = await service.get<{
    regions_status: { region: string; vote: string; age_ms: number }[];
  }>(`/v1/monitors/${id}`);
  expect(votes.map(({ region, vote }) => [region, vote])).toEqual(
    REGIONS.map((region) => [region, 'passed']),
  );
  for (const { age_ms } of votes) {
    expect(age_ms).toBeGreaterThan(0);
    expect(age_ms).toBeLessThan(3 * PERIOD_MS);
  }
}

const said = (service: LocalService, text: string) => service.warnings.some(({ msg }) => msg.includes(text));

/** Expects that an outage is still noticed, and announced once. */
async function expectJudging({ web, hook, service, id }: Awaited<ReturnType<typeof start>>): Promise<void> {
  web.answerWith(failing);
  await hook.received(1);
  web.answerWith((response) => response.end('ok'));
  await hook.received(2);
  await service.decided(id, 1);
  expect(hook.requests.map(({ json }) => (json as { status: string }).status)).toEqual([
    'error',
    'recovered',
  ]);
}

describe.concurrent('the clock', () => {
  test('of the coordinator is set forward by an hour: the slots in between are skipped, and unknown', async (context) => {
    const started = await start(openedIn(context));
    const { service, web, hook, id } = started;
    await service.decided(id, 1);
    const [hits, before, seen] = [web.hits, (await slotsOf(service, id)).length, service.transitions.length];
    service.clock.stepWall(HOUR_MS);
    await service.decided(id, 3);
    await expectFreshVotes(service, id);

    const slots = await slotsOf(service, id);
    const steps = stepsOf(slots.slice(1));
    const jumps = steps.filter((step) => step !== PERIOD_MS);
    expect(jumps).toHaveLength(1);
    expect(jumps[0]).toBeGreaterThanOrEqual(HOUR_MS - PERIOD_MS);
    expect(jumps[0]).toBeLessThanOrEqual(HOUR_MS + 2 * PERIOD_MS);
    // One request per region and slot. The newest slots may not be recorded yet.
    expect(web.hits - hits).toBeLessThanOrEqual((slots.length - before + 2) * REGIONS.length);
    expect(said(service, 'the clock went forward')).toBe(true);
    const changes = service.transitions.slice(seen);
    expect(changes.map(({ to, reason }) => [to, reason])).toEqual([
      ['unknown', 'votes-expired'],
      ['active', 'all-passed'],
    ]);
    const [unknown] = await service.query<{ at: number }>(
      "SELECT at FROM transitions WHERE monitor_id = ? AND to_status = 'unknown'",
      id,
    );
    const last = await lastVotedBefore(service, id, (slots.at(-1) ?? 0) - HOUR_MS / 2);
    expect((unknown?.at ?? 0) - last).toBeGreaterThanOrEqual(3 * PERIOD_MS);
    expect((unknown?.at ?? 0) - last).toBeLessThan(4 * PERIOD_MS);
    expect(hook.requests).toHaveLength(0);
    expect(await service.metric('svc_results_total{novelty="repeated"}')).toBe(0);
    await expectJudging(started);
  });

  test('of the coordinator is set back by an hour: slots continue one by one', async (context) => {
    const started = await start(openedIn(context));
    const { service, web, hook, id } = started;
    await service.decided(id, 1);
    const [hits, before, seen] = [web.hits, (await slotsOf(service, id)).length, service.transitions.length];
    service.clock.stepWall(-HOUR_MS);
    await service.decided(id, 3);
    await expectFreshVotes(service, id);

    const slots = await service.query<{ slot: number }>('SELECT DISTINCT slot FROM results ORDER BY slot');
    // The first slot of a monitor is off the grid.
    const steps = stepsOf(slots.slice(1).map(({ slot }) => slot));
    expect(steps).toEqual(steps.map(() => PERIOD_MS));
    expect(web.hits - hits).toBeLessThanOrEqual((slots.length - before + 2) * REGIONS.length);
    expect(service.transitions.slice(seen)).toEqual([]);
    expect(hook.requests).toHaveLength(0);
    expect(await service.metric('svc_results_total{novelty="repeated"}')).toBe(0);
    await expectJudging(started);
  });

  test('was set back by an hour before a restart: records that now lie in the future are ignored', async (context) => {
    const started = await start(openedIn(context));
    const { service, hook, id } = started;
    await service.decided(id, 1);
    const seen = service.transitions.length;
    const newest = Math.max(...(await slotsOf(service, id)));
    await service.stopCoordinator();
    service.clock.stepWall(-HOUR_MS);
    await service.startCoordinator();
    await service.decided(id, 3);
    await expectFreshVotes(service, id);
    expect(said(service, 'lie in the future')).toBe(true);
    const later = (await slotsOf(service, id)).filter((slot) => slot < newest - HOUR_MS / 2);
    expect(later.length).toBeGreaterThanOrEqual(3);
    // If the next slot comes only after the start has ended, no vote is left until then.
    const changes = service.transitions.slice(seen).map(({ to }) => to);
    expect([[], ['unknown', 'active']]).toContainEqual(changes);
    expect(hook.requests).toHaveLength(0);
    await expectJudging(started);
  });

  test('was set forward by an hour before a restart: the newest slot is not followed by a burst', async (context) => {
    const started = await start(openedIn(context));
    const { service, web, hook, id } = started;
    await service.decided(id, 1);
    await service.stopCoordinator();
    const [hits, before] = [web.hits, (await slotsOf(service, id)).length];
    service.clock.stepWall(HOUR_MS);
    await service.startCoordinator();
    await service.decided(id, 2);
    await expectFreshVotes(service, id);
    expect(web.hits - hits).toBeLessThanOrEqual(
      ((await slotsOf(service, id)).length - before + 2) * REGIONS.length,
    );
    expect(hook.requests).toHaveLength(0);
    await expectJudging(started);
  });

  test('of agents is wrong by an hour, fast in one region and slow in another: nothing changes', async (context) => {
    const offsets: Partial<Record<Region, number>> = { 'hosta-fra': HOUR_MS, 'hostb-par': -HOUR_MS };
    const started = await start(openedIn(context), (region) => offsets[region] ?? 0);
    const { service, hook, id } = started;
    const seen = service.transitions.length;
    await service.decided(id, 2);
    await expectFreshVotes(service, id);
    expect(service.transitions.slice(seen)).toEqual([]);
    expect(hook.requests).toHaveLength(0);
    const outcomes = await service.query(
      "SELECT DISTINCT outcome FROM results WHERE monitor_id = ? AND outcome <> 'not_run'",
      id,
    );
    expect(outcomes).toEqual([{ outcome: 'passed' }]);
    await expectJudging(started);
  });
});
