/**
 * The export over OTLP of the metrics that coordinator and agents have about themselves, as a receiver with
 * OpenTelemetry's definitions reads it.
 */

import { INSTRUMENT_GROUPS } from '@svc/shared/metrics/registry.ts';
import type { OwnExportSettings } from '@svc/shared/own-metrics/own-metrics-settings.ts';
import { otlpName } from '@svc/shared/own-metrics/producer.ts';
import { Secret } from '@svc/shared/secret.ts';
import { expect, test } from 'vitest';
import { allRecorded } from '../support/all-recorded.ts';
import { type Opened, openedIn, serviceIn, targetIn } from '../support/opened.ts';
import {
  attributesOf,
  metricsOf,
  type OtlpPoint,
  OtlpReceiver,
  type Received,
} from '../support/otlp-receiver.ts';
import { parsePrometheus } from '../support/prometheus-text.ts';

const HEADER = 'Bearer secret-of-the-endpoint';

function settingsFor(url: string, more: Partial<OwnExportSettings> = {}): OwnExportSettings {
  return {
    url: new Secret(url),
    headers: new Secret({ authorization: HEADER }),
    encoding: 'protobuf',
    isCompressed: true,
    intervalMs: 1_000,
    timeoutMs: 1_000,
    tls: { ca: [], identity: null },
    resource: [['deployment.environment.name', 'test']],
    ...more,
  };
}

async function receiverIn(opened: Opened): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  opened.push({ close: () => receiver.close() });
  return receiver;
}

const MONITOR = { name: 'Web', periodicity: '30s', active: true, regions: ['hosta-fra'] };

function resourceOf({ request }: Received): Record<string, string> {
  const [first] = request?.resourceMetrics ?? [];
  return attributesOf(first?.resource ?? { attributes: [] });
}

/** The requests of the process with this service name. */
function requestsOf(receiver: OtlpReceiver, service: string): Received[] {
  return receiver.requests.filter((received) => resourceOf(received)['service.name'] === service);
}

/** The points of a metric in the last request of the service. */
function pointsOf(receiver: OtlpReceiver, service: string, name: string): OtlpPoint[] {
  const request = requestsOf(receiver, service).at(-1)?.request;
  const metric = request && metricsOf(request).find((each) => each.name === name);
  return (metric?.sum ?? metric?.gauge ?? metric?.histogram)?.dataPoints ?? [];
}

const numberOf = (point: OtlpPoint | undefined) => Number(point?.asInt ?? point?.asDouble ?? Number.NaN);

test.each(['protobuf', 'json'] as const)(
  'what coordinator and agents show at /metrics goes out as %s, and says whose it is',
  async (encoding) => {
    const opened: Opened = [];
    try {
      const receiver = await receiverIn(opened);
      const web = await targetIn(opened);
      const service = await serviceIn(opened, {
        regions: ['hosta-fra'],
        agentsListen: true,
        declared: { svc_http_monitor: { web: { ...MONITOR, url: web.url } } },
        ownExport: settingsFor(`${receiver.url}/v1/metrics`, { encoding, isCompressed: encoding === 'json' }),
      });
      await receiver.until(
        () =>
          numberOf(pointsOf(receiver, 'svc-coordinator', 'svc_results')[0]) > 0 &&
          // The streams are looked at now and then.
          pointsOf(receiver, 'svc-coordinator', 'svc_stream').length > 0 &&
          numberOf(pointsOf(receiver, 'svc-agent', 'svc_agent_batches_acknowledged')[0]) > 0,
      );
      expect(receiver.errors).toEqual([]);
      const [coordinator] = requestsOf(receiver, 'svc-coordinator').slice(-1);
      const [agent] = requestsOf(receiver, 'svc-agent').slice(-1);
      if (coordinator === undefined || agent === undefined) throw new Error('a process has sent nothing');
      expect(resourceOf(agent)).toMatchObject({
        'service.instance.id': service.agent('hosta-fra').id,
        'svc.region': 'hosta-fra',
        'deployment.environment.name': 'test',
      });
      expect(agent.headers.authorization).toBe(HEADER);
      expect(agent.path).toBe('/v1/metrics');

      // The export has everything that /metrics shows, under the names of OTLP. A metric without points is
      // not sent.
      const agentUrl = `http://127.0.0.1:${service.agent('hosta-fra').healthPort}`;
      const kinds = new Map(
        INSTRUMENT_GROUPS.flatMap(({ instruments }) => instruments).map((one) => [one.name, one]),
      );
      for (const [url, { request }] of [
        [service.url, coordinator],
        [agentUrl, agent],
      ] as const) {
        const families = parsePrometheus(await (await fetch(`${url}/metrics`)).text());
        const shown = [...families]
          .filter(([, { samples }]) => samples.length > 0)
          .map(([name]) => kinds.get(name));
        const names = shown.map((one) => (one === undefined ? '' : otlpName(one).name));
        const sent = request === null ? [] : metricsOf(request);
        expect(new Set(sent.map(({ name }) => name))).toEqual(new Set(names));
        for (const metric of sent) {
          const points = metric.sum ?? metric.histogram;
          if (points === undefined) continue;
          expect(points.aggregationTemporality).toBe('AGGREGATION_TEMPORALITY_CUMULATIVE');
          if (metric.sum !== undefined) expect(points.isMonotonic).toBe(true);
        }
      }
      const [delay] = pointsOf(receiver, 'svc-coordinator', 'svc_event_loop_delay');
      const counted = (delay?.bucketCounts ?? []).reduce((sum, count) => sum + Number(count), 0);
      expect(counted).toBe(Number(delay?.count));
      expect(service.said.get('the own metrics are exported by OTLP')).toBe(2);
    } finally {
      for (const one of opened.toReversed()) await one.close();
    }
  },
);

test('counts begin again at a restart, with a new start time', async (context) => {
  const opened = openedIn(context);
  const receiver = await receiverIn(opened);
  const web = await targetIn(opened);
  const service = await serviceIn(opened, {
    regions: ['hosta-fra'],
    declared: { svc_http_monitor: { web: { ...MONITOR, url: web.url } } },
    ownExport: settingsFor(`${receiver.url}/v1/metrics`, { intervalMs: 2_000, timeoutMs: 2_000 }),
  });
  const results = () => pointsOf(receiver, 'svc-coordinator', 'svc_results')[0];
  await receiver.until(() => numberOf(results()) >= 2);
  // The stop itself makes the last export, with what was recorded before the stop began.
  await service.stopAgent('hosta-fra');
  await allRecorded(service);
  const before = requestsOf(receiver, 'svc-coordinator').length;
  await service.stopCoordinator();
  expect(requestsOf(receiver, 'svc-coordinator').length).toBeGreaterThan(before);
  const last = results();
  const stored =
    (await service.query<{ count: number }>('SELECT count(*) AS count FROM results'))[0]?.count ?? 0;
  expect(numberOf(last)).toBe(stored);

  await receiver.close();
  await service.startCoordinator();
  const isRefused = () =>
    service.warnings.some(({ msg }) => msg.startsWith('the own metrics were not exported'));
  await service.until(isRefused);
  await service.startAgent('hosta-fra');
  await service.decided(await service.idOf('Web'), 1);
  await receiver.restart();
  await receiver.until(() => Number(results()?.startTimeUnixNano) > Number(last?.startTimeUnixNano));
  await receiver.until(() => numberOf(results()) > 0);
  expect(Number(results()?.timeUnixNano)).toBeGreaterThan(Number(results()?.startTimeUnixNano));
  await service.until(() => service.said.has('the own metrics are exported again'));
});

test('an endpoint that refuses, hangs or drips delays neither checks nor the stop, and no secret is logged', async (context) => {
  const opened = openedIn(context);
  const receiver = await receiverIn(opened);
  const web = await targetIn(opened);
  let asked = 0;
  const open = new Set<() => void>();
  receiver.intercept = (message, response) => {
    asked += 1;
    if (asked % 3 === 0) {
      response.writeHead(403, `no ${message.headers.authorization}`).end('no');
    } else if (asked % 3 === 1) {
      // The server sends a byte now and then, so that no time-out for silence ends the answer.
      response.writeHead(200, { 'content-type': 'application/x-protobuf' });
      const timer = setInterval(() => response.write('\0'), 50);
      open.add(() => clearInterval(timer));
      response.on('close', () => clearInterval(timer));
    }
    return true;
  };
  opened.push({
    async close() {
      for (const end of open) end();
    },
  });
  const service = await serviceIn(opened, {
    regions: ['hosta-fra'],
    declared: { svc_http_monitor: { web: { ...MONITOR, url: web.url } } },
    ownExport: settingsFor(`${receiver.url}/v1/metrics`),
  });
  await receiver.until(() => asked >= 8);
  await service.decided(await service.idOf('Web'), 1);
  const failed = service.warnings.filter(({ msg }) => msg.startsWith('the own metrics were not exported'));
  expect(failed.length).toBeGreaterThan(0);
  expect(JSON.stringify(service.warnings)).not.toContain('secret-of-the-endpoint');
  await service.stopAgent('hosta-fra');
  await service.stopCoordinator();
});

test('rejected points are logged, without the secret that the endpoint repeats in its message', async (context) => {
  const opened = openedIn(context);
  const receiver = await receiverIn(opened);
  receiver.intercept = (message, response) => {
    const errorMessage = `no room for ${message.headers.authorization}`;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: '3', errorMessage } }));
    return true;
  };
  const service = await serviceIn(opened, {
    regions: [],
    declared: {},
    ownExport: settingsFor(`${receiver.url}/v1/metrics`, { encoding: 'json' }),
  });
  const rejected = () => service.warnings.find(({ msg }) => msg.includes('with a warning'));
  await service.until(() => rejected() !== undefined);
  expect(rejected()?.warning).toMatch(/Partial Success.*"rejectedDataPoints":"3".*no room for \*{8}/);
  expect(JSON.stringify(service.warnings)).not.toContain('secret-of-the-endpoint');
});
