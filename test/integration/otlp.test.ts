/**
 * A receiver of OTLP gets the points that the stored results imply, across restarts of coordinator and
 * receiver.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { runCommandLine } from '@svc/cli/command-line.ts';
import { MetricsRequest } from '@svc/coordinator/export/requests.ts';
import { countResult, newTotals } from '@svc/coordinator/export/totals.ts';
import { MOST_RESOURCE_ATTRIBUTES } from '@svc/shared/otlp/without-effect.ts';
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { allRecorded } from '../support/all-recorded.ts';
import { liveMonitor } from '../support/coordinator/dispatch-parts.ts';
import type { LocalService } from '../support/local-service.ts';
import { type Opened, openedIn, serviceIn, targetIn } from '../support/opened.ts';
import { OtlpReceiver, type OtlpSeries } from '../support/otlp-receiver.ts';
import { skipsVictoriaMetrics, victoriaMetricsIn } from '../support/victoria-metrics.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];

type Stored = {
  monitor_id: number;
  region: string;
  outcome: string;
  status_code: number | null;
  results: number;
  latency: number;
};

/** The sums of the stored results, by the attributes of a series of durations. */
function storedIn(service: LocalService): Promise<Stored[]> {
  return service.query<Stored>(`
    SELECT monitor_id, region, outcome, status_code, count(*) AS results, sum(latency) / 1000 AS latency
    FROM results WHERE outcome <> 'not_run'
    GROUP BY monitor_id, region, outcome, status_code`);
}

const checksOf = (stored: readonly Stored[]) => stored.reduce((sum, { results }) => sum + results, 0);

function checksIn(series: readonly OtlpSeries[]): number {
  return series
    .filter(({ name }) => name === 'svc.checks')
    .reduce((sum, { point }) => sum + Number(point.asInt), 0);
}

/** Compares every series with the rows: counts must be equal, and sums equal except for rounding. */
function expectSame(series: readonly OtlpSeries[], stored: readonly Stored[]): void {
  const keyOf = (...parts: (string | number | null | undefined)[]) =>
    parts.map((part) => part ?? '').join(' ');
  const durations = new Map(
    series
      .filter(({ name }) => name === 'svc.check.duration')
      .map(({ attributes: has, point }) => [
        keyOf(
          has['svc.monitor.id'],
          has['svc.region'],
          has['svc.check.outcome'],
          has['http.response.status_code'],
        ),
        point,
      ]),
  );
  const checks = new Map<string, number>();
  for (const { monitor_id, region, outcome, status_code, results, latency } of stored) {
    const point = durations.get(keyOf(monitor_id, region, outcome, status_code));
    expect(Number(point?.count), `${monitor_id} ${region} ${outcome} ${status_code}`).toBe(results);
    expect(point?.sum).toBeCloseTo(latency, 6);
    const inBuckets = (point?.positive?.bucketCounts ?? []).reduce((sum, count) => sum + Number(count), 0);
    expect(inBuckets + Number(point?.zeroCount ?? 0)).toBe(results);
    const key = keyOf(monitor_id, region, outcome);
    checks.set(key, (checks.get(key) ?? 0) + results);
  }
  expect(durations.size).toBe(stored.length);
  const counters = series.filter(({ name }) => name === 'svc.checks');
  for (const { attributes: has, point } of counters) {
    const key = keyOf(has['svc.monitor.id'], has['svc.region'], has['svc.check.outcome']);
    expect(Number(point.asInt), key).toBe(checks.get(key) ?? 0);
  }
  // There is a series for every outcome of each monitor and region with checks, and no other.
  const checked = new Set(stored.map(({ monitor_id, region }) => `${monitor_id} ${region}`));
  expect(counters).toHaveLength(3 * checked.size);
}

type StoredPhase = { monitor_id: number; region: string; phase: number; results: number; ms: number };

/** The phases of the stored results. A phase is named by its index in {@link PHASES}. */
async function phasesIn(service: LocalService): Promise<StoredPhase[]> {
  const rows = await service.query<{ monitor_id: number; region: string; phases: string | null }>(
    "SELECT monitor_id, region, detail ->> 'phases' AS phases FROM results WHERE outcome <> 'not_run'",
  );
  const sums = new Map<string, StoredPhase>();
  for (const { monitor_id, region, phases } of rows) {
    for (const [phase, ms] of (JSON.parse(phases ?? '[]') as (number | null)[]).entries()) {
      if (ms === null) continue;
      const key = `${monitor_id} ${region} ${phase}`;
      const { results, ms: sum } = sums.get(key) ?? { results: 0, ms: 0 };
      sums.set(key, { monitor_id, region, phase, results: results + 1, ms: sum + ms });
    }
  }
  return [...sums.values()];
}

const PHASES = ['dns', 'connect', 'tls', 'first_byte', 'transfer'];

function expectSamePhases(series: readonly OtlpSeries[], stored: readonly StoredPhase[]): void {
  const points = new Map(
    series
      .filter(({ name }) => name === 'svc.check.phase.duration')
      .map(({ attributes: has, point }) => [
        `${has['svc.monitor.id']} ${has['svc.region']} ${has['svc.check.phase']}`,
        point,
      ]),
  );
  for (const { monitor_id, region, phase, results, ms } of stored) {
    const key = `${monitor_id} ${region} ${PHASES[phase]}`;
    expect(Number(points.get(key)?.count), key).toBe(results);
    expect(points.get(key)?.sum, key).toBeCloseTo(ms / 1_000, 6);
  }
  expect(points.size).toBe(stored.length);
}

async function receiverIn(opened: Opened): Promise<OtlpReceiver> {
  const receiver = await OtlpReceiver.start();
  opened.push({ close: () => receiver.close() });
  return receiver;
}

/** `/status/503` answers 503. */
function byPath(response: ServerResponse, path: string): void {
  response.writeHead(Number(/^\/status\/(\d+)/.exec(path)?.[1] ?? 200)).end('ok');
}

/** Returns a function that declares a monitor of one region with further attributes. */
async function webIn(opened: Opened): Promise<(more: object) => object> {
  const web = await targetIn(opened);
  web.answerWith(byPath);
  const monitor = { name: 'Web', url: web.url, periodicity: '30s', active: true, regions: ['hosta-fra'] };
  return (more) => ({ svc_http_monitor: { web: { ...monitor, ...more } } });
}

/** The endpoints that get metrics, according to `/v1/system`. */
async function endpointsOf(service: LocalService): Promise<string[]> {
  const { export: exported } = await service.get<{ export: { endpoints: { endpoint: string }[] } }>(
    '/v1/system',
  );
  return exported.endpoints.map(({ endpoint }) => endpoint);
}

/**
 * The encoding of the exports. It is JSON at first. The endpoint reads protobuf too, and gets it after some
 * intervals.
 */
const ENCODING: string = expect.stringMatching(/^(?:json|protobuf)$/);

const MONITORS = { http: 11, tcp: 7, dns: 2 };
const IN_ALL = 20;

/** Monitors of all kinds. One of ten HTTP monitors fails. */
function monitorsTo(endpoint: string, targets: { url: string; port: number }) {
  const common = {
    periodicity: '30s',
    active: true,
    retry: 0,
    timeout: 2_000,
    regions: REGIONS,
    otlp_endpoint: endpoint,
    otlp_headers: { Authorization: 'Bearer secret-of-the-endpoint' },
  };
  const named = (kind: string, count: number, more: (index: number) => object) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `${kind}${index}`,
        { ...common, name: `${kind} ${index}`, ...more(index) },
      ]),
    );
  return {
    svc_http_monitor: named('http', MONITORS.http, (index) => ({
      url: `${targets.url}/status/${index % 10 === 0 ? 503 : 200}?key=secret-of-the-target`,
      follow_redirects: false,
    })),
    svc_tcp_monitor: named('tcp', MONITORS.tcp, () => ({ uri: `127.0.0.1:${targets.port}` })),
    svc_dns_monitor: named('dns', MONITORS.dns, () => ({ uri: 'example.test' })),
  };
}

/** Ends the checks, so that the stored results do not grow any more. */
async function quiet(service: LocalService): Promise<Stored[]> {
  await Promise.all(REGIONS.map((region) => service.stopAgent(region)));
  await allRecorded(service);
  return storedIn(service);
}

test('a receiver gets exactly the points that the stored results imply, across restarts', async (context) => {
  const opened = openedIn(context);
  const receiver = await receiverIn(opened);
  const web = await targetIn(opened);
  web.answerWith(byPath);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    scale: 10,
    declared: monitorsTo(receiver.url, web),
  });
  const isExported = (checks: number) => () => checksIn(receiver.series) >= checks;
  await receiver.until(isExported(2 * IN_ALL * REGIONS.length));

  // After a restart of the coordinator the counts go on from the same beginning.
  await service.stopCoordinator();
  const before = receiver.series.filter(({ name }) => name === 'svc.checks');
  await service.startCoordinator();
  await receiver.until(isExported(4 * IN_ALL * REGIONS.length));
  const startOf = new Map(before.map(({ attributes, point }) => [JSON.stringify(attributes), point]));
  for (const { name, attributes, point } of receiver.series) {
    const earlier = startOf.get(JSON.stringify(attributes));
    if (name !== 'svc.checks' || earlier === undefined) continue;
    expect(point.startTimeUnixNano).toBe(earlier.startTimeUnixNano);
    expect(Number(point.asInt)).toBeGreaterThanOrEqual(Number(earlier.asInt));
  }

  // The receiver is down for a while.
  await receiver.close();
  await service.decided(await service.idOf('tcp 0'), 2);
  await receiver.restart();

  const stored = await quiet(service);
  await receiver.until(isExported(checksOf(stored)));
  expectSame(receiver.series, stored);
  expectSamePhases(receiver.series, await phasesIn(service));
  expect(receiver.errors).toEqual([]);
  const states = receiver.series.filter(
    ({ name, point }) => name === 'svc.monitor.status' && point.asDouble === 1,
  );
  expect(states).toHaveLength(IN_ALL);

  // All monitors share one pipeline, of which only the headers are secret.
  const { export: exported } = await service.get<{ export: { endpoints: object[] } }>('/v1/system');
  expect(exported.endpoints).toEqual([
    expect.objectContaining({ endpoint: `${receiver.url}/v1/metrics`, monitors: IN_ALL, default: false }),
  ]);
  const said = JSON.stringify([receiver.series, exported, service.warnings]);
  expect(said).not.toContain('secret-of-the');
  expect(receiver.requests.at(-1)?.headers.authorization).toBe('Bearer secret-of-the-endpoint');

  const { body } = await service.request('POST', `/v1/monitors/${await service.idOf('http 0')}/otlp-test`);
  expect(body).toMatchObject({
    delivered: true,
    endpoint: `${receiver.url}/v1/metrics`,
    answers: [{ encoding: ENCODING, taken: true, points_rejected: 0, error: null }],
  });
});

test('monitors without an endpoint are exported to the default, and a monitor may get and lose its own', async (context) => {
  const opened = openedIn(context);
  const [fallback, own] = [await receiverIn(opened), await receiverIn(opened)];
  const declared = await webIn(opened);
  const service = await serviceIn(opened, {
    regions: ['hosta-fra'],
    scale: 10,
    exports: { fallback: { url: `${fallback.url}/v1/metrics`, headers: [] }, histograms: 'explicit' },
    declared: declared({}),
  });
  await fallback.until(() => checksIn(fallback.series) > 0);
  const [duration] = fallback.series.filter(({ name }) => name === 'svc.check.duration');
  expect(duration?.point.explicitBounds?.[0]).toBe(0.005);

  await service.reload(declared({ otlp_endpoint: own.url }));
  await own.until(() => checksIn(own.series) > checksIn(fallback.series));
  const written = { out: '', err: '' };
  const code = await runCommandLine(['otlp-test', String(await service.idOf('Web'))], {
    environment: { SVC_BASE_URL: service.url, SVC_API_TOKEN: service.token },
    out: { write: (text) => (written.out += text) },
    err: { write: (text) => (written.err += text) },
  });
  expect([code, written.err]).toEqual([0, '']);
  expect(written.out).toMatch(
    /^\d+ points to http:\S+\/v1\/metrics in [\d.]+ ms\n {2}(?:json|protobuf): taken\n$/,
  );

  await service.reload(declared({ otlp_endpoint: own.url, name: 'Other' }));
  await own.until(() => own.series.some(({ attributes }) => attributes['svc.monitor.name'] === 'Other'));
  await service.reload(declared({}));
  await expect.poll(() => endpointsOf(service)).toEqual([`${fallback.url}/v1/metrics`]);
  // A request with points that were collected before may still be under way.
  const before = own.requests.length;
  const checks = checksIn(fallback.series);
  await fallback.until(() => checksIn(fallback.series) > checks + 3);
  expect(own.requests.length).toBeLessThanOrEqual(before + 1);
});

test('a monitor leaves a hanging endpoint at once, and the new endpoint gets all its counts', async (context) => {
  const opened = openedIn(context);
  const [hanging, own] = [await receiverIn(opened), await receiverIn(opened)];
  hanging.intercept = () => true;
  const declared = await webIn(opened);
  const service = await serviceIn(opened, {
    regions: ['hosta-fra'],
    scale: 10,
    declared: declared({ otlp_endpoint: hanging.url }),
  });
  await hanging.until(() => hanging.requests.length > 0);
  await service.decided(await service.idOf('Web'), 2);
  await service.reload(declared({ otlp_endpoint: own.url }));
  await own.until(() => checksIn(own.series) > 2);
  await expect.poll(() => endpointsOf(service)).toEqual([`${own.url}/v1/metrics`]);
  expect(await service.metric('svc_otlp_points_total{outcome="dropped"}')).toBeGreaterThan(0);

  const stored = checksOf(await quiet(service));
  await expect.poll(() => checksIn(own.series)).toBe(stored);
  await service.reload(declared({}));
  await expect.poll(() => endpointsOf(service)).toEqual([]);
  const tested = await service.request('POST', `/v1/monitors/${await service.idOf('Web')}/otlp-test`);
  expect(tested).toMatchObject({ status: 409 });
});

test('endpoints that hang, refuse and redirect delay no other', async (context) => {
  const opened = openedIn(context);
  const receivers = await Promise.all(Array.from({ length: 4 }, () => receiverIn(opened)));
  const [good, hanging, refusing, redirecting] = receivers as [
    OtlpReceiver,
    OtlpReceiver,
    OtlpReceiver,
    OtlpReceiver,
  ];
  hanging.intercept = () => true;
  refusing.intercept = (_message, response) => {
    response.writeHead(403).end('no');
    return true;
  };
  redirecting.intercept = (_message, response) => {
    response.writeHead(301, { location: good.url }).end();
    return true;
  };
  const web = await targetIn(opened);
  web.answerWith(byPath);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    scale: 10,
    declared: {
      svc_http_monitor: Object.fromEntries(
        receivers.map((receiver, index) => [
          `web${index}`,
          {
            name: `Web ${index}`,
            url: web.url,
            periodicity: '30s',
            active: true,
            regions: REGIONS,
            otlp_endpoint: receiver.url,
          },
        ]),
      ),
    },
  });
  await good.until(() => good.requests.length >= 5);
  const state = async (receiver: OtlpReceiver) => {
    const { export: exported } = await service.get<{
      export: { endpoints: { endpoint: string; failing: boolean }[] };
    }>('/v1/system');
    return exported.endpoints.find(({ endpoint }) => endpoint.startsWith(receiver.url));
  };
  // On a busy machine, a good endpoint may once answer too late. The next request has the same counts and
  // newer ones.
  await expect.poll(() => state(good)).toMatchObject({ failing: false });
  const refused = { failing: true, last_error: { message: 'answered 403: no' } };
  await expect.poll(() => state(refusing)).toMatchObject(refused);
  const redirected = { failing: true, last_error: { message: 'answered 301: redirects are not followed' } };
  await expect.poll(() => state(redirecting)).toMatchObject(redirected);
  expect(await service.metric('svc_otlp_endpoints{state="failing"}')).toBeGreaterThanOrEqual(2);
});

/** The queries of docs/metrics.md, by the questions that they answer. */
function documentedQueries(): Map<string, string> {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const table = page.slice(page.indexOf('## Queries'), page.indexOf('## When an endpoint'));
  const rows = table.matchAll(/^\| ([^|]+) \| `(.+)` \|$/gm);
  const queries = new Map([...rows].map(([, question = '', query = '']) => [question, query]));
  expect(queries.size).toBeGreaterThan(6);
  return queries;
}

test.skipIf(skipsVictoriaMetrics)(
  'VictoriaMetrics answers the documented queries with the stored numbers',
  async (context) => {
    const opened = openedIn(context);
    const database = await victoriaMetricsIn(opened, context);
    const web = await targetIn(opened);
    web.answerWith(byPath);
    const service = await serviceIn(opened, {
      regions: REGIONS,
      scale: 10,
      declared: monitorsTo(database.endpoint, web),
    });
    await service.decided(await service.idOf('tcp 0'), 3);
    const stored = await quiet(service);
    const total = async () => (await database.query('sum(svc_checks_total)'))[0]?.value ?? 0;
    await service.until(async () => (await total()) === checksOf(stored));
    const documented = documentedQueries();
    const ask = (question: string) => database.query(documented.get(question) ?? '');
    const byOutcome = await ask('checks so far, by outcome');
    expect(byOutcome).toHaveLength(3);
    for (const { labels, value } of byOutcome) {
      expect(value).toBe(checksOf(stored.filter(({ outcome }) => outcome === labels.svc_check_outcome)));
    }
    const means = await ask('mean duration of all checks so far, by region');
    expect(means).toHaveLength(REGIONS.length);
    for (const { labels, value } of means) {
      const rows = stored.filter(({ region }) => region === labels.svc_region);
      const seconds = rows.reduce((sum, { latency }) => sum + latency, 0);
      expect(value).toBeCloseTo(seconds / checksOf(rows), 9);
    }
    for (const query of documented.values()) await database.query(query);
    // On a busy machine single checks of other monitors may fail.
    const passing = new Set(
      stored.filter(({ outcome }) => outcome !== 'failed').map((row) => row.monitor_id),
    );
    const failing = stored.map(({ monitor_id }) => monitor_id).filter((id) => !passing.has(id));
    // A status may be exported after the checks that decided it.
    const down = async () =>
      (await ask('monitors that are down')).map(({ labels }) => Number(labels.svc_monitor_id)).sort();
    await expect.poll(down).toEqual([...new Set(failing)].sort());
    const { export: exported } = await service.get<{ export: { endpoints: object[] } }>('/v1/system');
    expect(exported.endpoints).toEqual([
      expect.objectContaining({ encoding: 'protobuf', failing: false, points_dropped: 0 }),
    ]);
  },
);

test.skipIf(skipsVictoriaMetrics)(
  'VictoriaMetrics keeps every series up to the bounds that a start warns of, and none far beyond',
  async (context) => {
    const database = await victoriaMetricsIn(openedIn(context), context);
    const now = Date.now();
    const send = async (id: number, resource: readonly (readonly [string, string])[]) => {
      const totals = newTotals('', now - 1_000);
      const failed = { outcome: 'failed', status_code: 503, error_type: 'assertion', latency: 20 } as const;
      countResult(totals, { ...failed, monitor: id, region: 'hosta-fra' }, 'exponential', now);
      const service = [
        ['service.name', 'svc'],
        ['service.version', '1'],
      ] as const;
      const frame = { resource: [...service, ...resource], histograms: 'exponential', at: now } as const;
      const request = new MetricsRequest(frame);
      request.add({ monitor: liveMonitor(id), totals, history: [] });
      const headers = { 'content-type': 'application/x-protobuf' };
      const body = Buffer.from(request.encoded('protobuf'));
      expect((await fetch(database.endpoint, { method: 'POST', headers, body })).status).toBe(200);
    };
    const attributes = (count: number) =>
      Array.from({ length: count }, (_, index) => [`attribute.n${index}`, 'v'] as const);
    const kept = async (id: number) => {
      const names = ['svc_check_duration_seconds_bucket', 'svc_checks_total', 'svc_monitor_status_ratio'];
      const counts = names.map((name) =>
        database.query(`count(last_over_time(${name}{svc_monitor_id="${id}"}[1h]))`),
      );
      return (await Promise.all(counts)).map(([found]) => found?.value ?? 0);
    };
    await send(1, attributes(MOST_RESOURCE_ATTRIBUTES + 1));
    await send(2, attributes(MOST_RESOURCE_ATTRIBUTES + 5));
    await send(3, [['team', 'x'.repeat(4_097)]]);
    await send(4, attributes(MOST_RESOURCE_ATTRIBUTES));
    await send(5, [['team', 'x'.repeat(4_096)]]);
    // The last points come after the others.
    await expect.poll(() => kept(5)).toEqual([1, 3, 4]);
    await expect.poll(() => kept(4)).toEqual([1, 3, 4]);
    expect(await kept(1)).toEqual([0, 3, 4]);
    expect([await kept(2), await kept(3)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
  },
);
