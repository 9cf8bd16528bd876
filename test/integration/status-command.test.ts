import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeAbsences, writeLastSeen } from '@svc/coordinator/store/results/region-absences.ts';
import { expect, onTestFinished, test } from 'vitest';
import { startApi } from '../support/api.ts';
import { svc } from '../support/svc.ts';

async function api(more: Parameters<typeof startApi>[0] = {}) {
  const started = await startApi(more);
  onTestFinished(() => started.dispose());
  return { ...started, asOperator: { SVC_BASE_URL: started.url, SVC_API_TOKEN: started.operator } };
}

const ERROR = {
  message: 'a region that monitors declare has lost its last agent',
  detail: 'region=hosta-fra',
  count: 2,
  firstAt: Date.parse('2026-11-22T10:00:00Z'),
  lastAt: Date.parse('2026-11-22T11:00:00Z'),
};

test('each problem is shown with what to do, and problems decide the exit code', async () => {
  const { asOperator } = await api({
    readiness: () => ({ nats: false, database: true }),
    recentErrors: () => [ERROR],
  });
  const { code, out, err } = await svc(['status'], asOperator);
  expect(code).toBe(1);
  expect(out).toMatch(/Coordinator .* DOES NOT LEAD, nats FAILS, database works/);
  expect(out).toMatch(/nats does not work +look at the NATS server/);
  expect(out).toMatch(
    /2026-11-22 11:00:00 +2 × +a region that monitors declare has lost .* \(region=hosta-fra\)/,
  );
  expect(err).toMatch(/^svc: \d findings: nats does not work; /);
});

test('a region without an agent is shown, with since when and for how long', async () => {
  const { asOperator, store } = await api();
  const now = Date.now();
  const lost = now - 3 * 3_600_000;
  const left = Date.parse('2026-01-02T03:04:05Z');
  await store.transaction(async (tx) => {
    await writeLastSeen(tx, [
      { region: 'hosta-fra', at: lost },
      { region: 'hostb-par', at: left },
    ]);
    await writeAbsences(tx, [{ region: 'hosta-fra', kind: 'began', at: lost }]);
  });
  const { out, err } = await svc(['status'], asOperator);
  const since = new Date(lost).toISOString().slice(0, 19).replace('T', ' ');
  expect(out).toContain(`hosta-fra has had no agent for 3 h, since ${since} UTC`);
  expect(out).toMatch(new RegExp(`hosta-fra +none +for 3 h, since ${since} UTC`));
  expect(out).toMatch(/hostb-par +none +for \d+ days, since 2026-01-02 03:04:05 UTC/);
  expect(err).not.toContain('hostb-par');
  const { regions } = JSON.parse((await svc(['status', '--json'], asOperator)).out);
  expect(regions).toMatchObject([{ absent_since: lost }, { absent_since: left }]);
});

test('a region is shown with its name, if it has one', async () => {
  const { asOperator, store } = await api({ ownRegions: [{ id: 'office-berlin', name: 'Berlin office' }] });
  const at = Date.now() - 60_000;
  await store.transaction((tx) => writeLastSeen(tx, [{ region: 'office-berlin', at }]));
  const { out } = await svc(['status'], asOperator);
  expect(out).toMatch(/\nBerlin office \(office-berlin\) +none +for \d/);
  expect(out).toContain('Berlin office (office-berlin) has had no agent for ');
  const { regions } = JSON.parse((await svc(['status', '--json'], asOperator)).out);
  expect(regions).toMatchObject([{ region: 'office-berlin', name: 'Berlin office' }]);
});

test('a coordinator that waits while another one leads misses neither a leader nor agents', async () => {
  const { asOperator, store } = await api({
    shards: async () => [{ id: 0, holder: 'another one', isHere: false }],
  });
  await store.transaction((tx) => writeLastSeen(tx, [{ region: 'hosta-fra', at: Date.now() }]));
  const { out } = await svc(['status'], asOperator);
  expect(out).toMatch(/Coordinator .* another coordinator leads, /);
  expect(out).toMatch(/hosta-fra +none +other coordinators hear its agents: this one leads no shard/);
  expect(out).not.toContain('no coordinator leads');
  expect(out).not.toContain('has had no agent');
});

test('the JSON output is one document', async () => {
  const { asOperator } = await api();
  const { out } = await svc(['status', '--json'], asOperator);
  expect(JSON.parse(out)).toMatchObject({
    healthy: false,
    findings: expect.any(Array),
    system: { leading: false },
  });
});

test('only the operator sees errors of the log', async () => {
  const { url, reader, asOperator } = await api({ recentErrors: () => [ERROR] });
  const shown = async (environment: Record<string, string>) => (await svc(['status'], environment)).out;
  expect(await shown(asOperator)).toContain('region=hosta-fra');
  expect(await shown({ SVC_BASE_URL: url, SVC_API_TOKEN: reader })).not.toContain('region=hosta-fra');
});

test('a coordinator that does not answer is reported', async () => {
  const started = await startApi();
  await started.dispose();
  const { code, err } = await svc(['status'], {
    SVC_BASE_URL: started.url,
    SVC_API_TOKEN: 'token-of-nobody',
  });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(started.url) });
});

test('a coordinator that hangs is reported after one try', async () => {
  const hanging = createServer(() => {});
  hanging.listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  onTestFinished(async () => {
    hanging.closeAllConnections();
    hanging.close();
    await once(hanging, 'close');
  });
  const { code, err } = await svc(['status'], {
    SVC_BASE_URL: `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`,
    SVC_API_TOKEN: 'token-of-nobody',
  });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('no complete answer within 8 s') });
});

test('a coordinator whose version does not have this report is reported as such', async () => {
  const older = createServer((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify({ type: 'urn:svc:problem:not-found', title: 'not found', status: 404 }));
  });
  older.listen(0, '127.0.0.1');
  await once(older, 'listening');
  onTestFinished(async () => {
    older.closeAllConnections();
    older.close();
    await once(older, 'close');
  });
  const { code, err } = await svc(['status'], {
    SVC_BASE_URL: `http://127.0.0.1:${(older.address() as AddressInfo).port}`,
    SVC_API_TOKEN: 'token-of-nobody',
  });
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining('or an older one, which needs an update'),
  });
});
