/**
 * JetStream's store differs from what the coordinator has read from it, because it was restored from an
 * earlier copy, deleted or emptied. The database stays valid, reading continues, and no outage of svc itself
 * is announced.
 */
import { cp, rm } from 'node:fs/promises';
import type { CheckResult, ResultBatch } from '@svc/shared/messages/check-result.ts';
import { ALL_RESULTS, regionOfSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { jetStreamOf } from '../support/jetstream.ts';
import type { LocalService } from '../support/local-service.ts';
import { type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { RegionStream } from '../support/region-stream.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const MONITORS = 20;

async function start(opened: Opened) {
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const monitors = Object.fromEntries(
    Array.from({ length: MONITORS }, (_, number) => [
      `m${number}`,
      { name: `M${number}`, url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
    ]),
  );
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {
      svc_http_monitor: monitors,
      svc_notification: {
        hook: {
          provider_type: 'webhook',
          webhook: { endpoint: hook.url },
          monitor_ids: Object.keys(monitors).map((name) => `\${svc_http_monitor.${name}.id}`),
        },
      },
    },
  });
  const bus = await connectBus({ url: service.nats.url, name: 'test', log: pino({ level: 'silent' }) });
  opened.push({ close: () => bus.close() });
  /** `monitor/slot/region` of each result that agents published. */
  const reported = new Set<string>();
  bus.subscribe(ALL_RESULTS, ({ subject, data }) => {
    if (data[0] !== '{'.charCodeAt(0)) return;
    const { results } = JSON.parse(Buffer.from(data).toString()) as ResultBatch;
    for (const { monitor, slot } of results as CheckResult[]) {
      reported.add(`${monitor}/${slot}/${regionOfSubject(subject)}`);
    }
  });
  await bus.flush();
  await Promise.all(Object.keys(monitors).map((name) => service.changed(name.toUpperCase(), 'active')));
  // Two regions suffice to make a monitor active. Waits until the stream of the third is known too.
  await service.until(async () => (await storedRegions(service)) === REGIONS.length);
  return {
    service,
    hook,
    bus,
    reported,
    stream: new RegionStream(bus, 'hosta-fra'),
    id: await service.idOf('M7'),
  };
}

const storedKeys = async (service: LocalService) =>
  new Set(
    (
      await service.query<{ key: string }>(
        "SELECT monitor_id || '/' || slot || '/' || region AS key FROM results",
      )
    ).map(({ key }) => key),
  );

const storedRegions = async (service: LocalService) =>
  (await service.query('SELECT DISTINCT region FROM results')).length;

/** Expects that earlier results are still stored, and that later ones are recorded. */
async function expectAllStored(
  service: LocalService,
  reported: ReadonlySet<string>,
  before: ReadonlySet<string>,
): Promise<void> {
  const kept = await storedKeys(service);
  expect([...before].filter((key) => !kept.has(key))).toEqual([]);
  const due = [...reported];
  await service.until(async () => {
    const stored = await storedKeys(service);
    return due.every((key) => stored.has(key));
  });
}

/**
 * Expects that no target was judged down or slow. `unknown` is allowed: on a busy machine the outage of NATS
 * may outlast the votes.
 */
function expectNoOutage({ transitions }: LocalService, seen: number): void {
  const calledDown = transitions.slice(seen).filter(({ to }) => to !== 'unknown' && to !== 'active');
  expect(calledDown).toEqual([]);
}

const said = (service: LocalService, text: string) =>
  service.warnings.filter(({ msg }) => msg.includes(text));

const REPLACED = 'svc_streams_replaced_total';
const LOST = 'svc_result_messages_dropped_total{reason="lost"}';

describe.concurrent('the result stream', () => {
  test('restored from an earlier copy is read again, and repeats change nothing', async (context) => {
    const { service, hook, reported, id } = await start(openedIn(context));
    const seen = service.transitions.length;
    const copy = `${service.nats.storeDir}-copy`;
    await service.nats.stop();
    await cp(service.nats.storeDir, copy, { recursive: true });
    await service.nats.restart();
    await service.decided(id, 2);
    const before = await storedKeys(service);
    await service.nats.stop();
    await service.nats.restart(async (storeDir) => {
      await rm(storeDir, { recursive: true });
      await cp(copy, storeDir, { recursive: true });
      // Results that the stream had acknowledged and no coordinator had read are lost with it.
      reported.clear();
    });
    await service.decided(id, 2);
    await expectAllStored(service, reported, before);
    expect(said(service, 'was replaced')).not.toEqual([]);
    expect(await service.metric(REPLACED)).toBe(REGIONS.length);
    expect(await service.metric('svc_results_total{novelty="repeated"}')).toBeGreaterThan(0);
    expectNoOutage(service, seen);
    expect(hook.requests).toHaveLength(0);
  });

  test('deleted with its store is created again and read from its beginning', async (context) => {
    const { service, hook, reported, id } = await start(openedIn(context));
    const seen = service.transitions.length;
    const before = await storedKeys(service);
    await service.nats.kill();
    await service.nats.restart(async (storeDir) => {
      await rm(storeDir, { recursive: true });
      reported.clear();
    });
    await service.decided(id, 3);
    await expectAllStored(service, reported, before);
    expect(await service.metric(REPLACED)).toBe(REGIONS.length);
    expectNoOutage(service, seen);
    expect(hook.requests).toHaveLength(0);
  });

  test('deleted on a running server is created again', async (context) => {
    const { service, hook, reported, bus, id } = await start(openedIn(context));
    const seen = service.transitions.length;
    const before = await storedKeys(service);
    await (await jetStreamOf(bus.connection)).streams.delete('SVC_RESULTS_hosta-fra');
    reported.clear();
    await service.decided(id, 3);
    await expectAllStored(service, reported, before);
    expect(await service.metric(REPLACED)).toBe(1);
    expectNoOutage(service, seen);
    expect(hook.requests).toHaveLength(0);
  });

  test('emptied while nobody read it: lost results are counted and cause an alert, the rest is recorded', async (context) => {
    const { service, hook, reported, bus, stream, id } = await start(openedIn(context));
    await service.decided(id, 1);
    await service.stopCoordinator();
    const before = await storedKeys(service);
    const [position] = await service.query<{ sequence: number }>(
      "SELECT sequence FROM stream_positions WHERE stream = 'SVC_RESULTS_hosta-fra'",
    );
    const read = position?.sequence ?? 0;
    for (let number = 0; number < 5; number += 1) bus.publish('svc.results.hosta-fra', `unread ${number}`);
    await bus.flush();
    const { lastSequence: last } = await stream.info();
    await stream.purge(last + 1);
    const lost = last - read;
    expect(lost).toBeGreaterThan(0);

    await service.startCoordinator();
    reported.clear();
    await service.decided(id, 2);
    await expectAllStored(service, reported, before);
    expect(await service.metric(LOST)).toBe(lost);
    expect(said(service, 'results were lost')).toHaveLength(1);
    expect(hook.requests).toHaveLength(0);
  });
});
