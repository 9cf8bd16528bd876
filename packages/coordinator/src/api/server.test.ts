import { once } from 'node:events';
import { connect } from 'node:net';
import { Secret } from '@svc/shared/secret.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { parsePrometheus } from '../../../../test/support/prometheus-text.ts';
import { type Receiver, startReceiver } from '../../../../test/support/receiver.ts';
import { addResults } from '../../../../test/support/recorded-results.ts';
import { HTTP_MONITOR_DEFAULTS } from '../../../../test/support/resources.ts';
import { addRows, addWorkspace, changeRow } from '../../../../test/support/store-rows.ts';
import { sealSettings } from '../store/declaration/channels.ts';
import { type CheckedDomain, writeCheckedDomain } from '../store/pages/page-domains.ts';
import { writeAbsences, writeLastSeen } from '../store/results/region-absences.ts';
import { gridSlotFrom, phaseOf } from '../verdict/schedule.ts';

const MONITOR = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };

let api: RunningApi;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
  api = await startApi({
    metricsToken: new Secret('metrics-token'),
    checks: {
      runNow: async (_text, regions, timeoutMs) =>
        regions.map((region) => ({
          region,
          agent: 'agent-1',
          result: { outcome: 'passed', started_at: 1, latency: timeoutMs, attempts: [] },
        })),
    },
  });
});

afterAll(async () => {
  await api.dispose();
  await receiver.close();
});

type Json = Record<string, unknown>;

async function created(path: string, body: Json): Promise<Json & { id: string }> {
  const answer = await api.call('POST', path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as Json & { id: string };
}

const asReader = () => ({ authorization: `Bearer ${api.reader}` });

describe('monitors', () => {
  test('created, read, listed, replaced and removed', async () => {
    const answer = await api.call('POST', '/v1/monitors', MONITOR);
    expect(answer.status).toBe(201);
    const { id } = answer.body as { id: string };
    expect(answer.headers.get('location')).toBe(`/v1/monitors/${id}`);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^\d+$/),
      type: 'http',
      name: 'Shop',
      url: 'https://shop.example/',
      url_user_information: null,
      periodicity: '1m',
      ...HTTP_MONITOR_DEFAULTS,
      status: 'unknown',
      regions_status: [],
      warnings: [],
      created_at: '2026-01-01T00:00:00.000Z',
      updated_at: '2026-01-01T00:00:00.000Z',
    });
    expect((await api.call('GET', `/v1/monitors/${id}`)).body).toEqual(answer.body);
    const beyond = await api.call('GET', '/v1/monitors?offset=9007199254740991');
    expect(beyond.body).toMatchObject({ data: [], total: 1 });
    const list = await api.call('GET', '/v1/monitors?limit=1&offset=0');
    expect(list.body).toMatchObject({ data: [{ id }], total: 1, limit: 1, offset: 0 });

    // The API accepts the body of its answer as the body of a replacement.
    const replaced = await api.call('PUT', `/v1/monitors/${id}`, { ...(answer.body as Json), name: 'New' });
    expect(replaced).toMatchObject({ status: 200, body: { id, name: 'New' } });
    expect(await api.call('DELETE', `/v1/monitors/${id}`)).toMatchObject({ status: 204, body: '' });
    expect(await api.call('GET', `/v1/monitors/${id}`)).toMatchObject({ status: 404 });
  });

  test('a replacement resets what it leaves out, unless the Terraform provider does not know it', async () => {
    const set = { quorum: 'any', confirm_after: 3, description: 'Sells' };
    const { id } = await created('/v1/monitors', { ...MONITOR, ...set });
    const path = `/v1/monitors/${id}`;
    const body = { ...MONITOR, name: 'New', quorum: null };
    const provider = { 'user-agent': 'terraform-provider-svc/0.1.0 terraform/1.11.4' };
    const byProvider = await api.call('PUT', path, body, provider);
    expect(byProvider.body).toMatchObject({ name: 'New', ...set, quorum: 'majority' });
    const replaced = await api.call('PUT', path, body, { 'user-agent': 'curl/8.5.0' });
    expect(replaced.body).toMatchObject({ quorum: 'majority', confirm_after: 1, description: null });
  });

  test('status and votes come from the latest verdict', async () => {
    const { id } = await created('/v1/monitors', MONITOR);
    const at = api.clock.wall() - 1_500;
    const facts = { latency: 1, statusCode: 500, errorMessage: 'x' };
    const vote = { slot: at - 500, endedAt: at, failedSince: at - 500, upSlot: 0, expiresAt: 0, ...facts };
    api.states.set(Number(id), {
      status: 'error',
      votes: [{ region: 'hosta-fra', outcome: 'failed', at, ...vote }],
    });
    expect((await api.call('GET', `/v1/monitors/${id}`)).body).toMatchObject({
      status: 'error',
      // The age of a vote is the time since its slot.
      regions_status: [{ region: 'hosta-fra', vote: 'failed', slot: at - 500, at, age_ms: 2_000 }],
    });
  });

  test('filters by name and type', async () => {
    const { id } = await created('/v1/monitors', { ...MONITOR, name: 'Unique Needle' });
    const named = await api.call('GET', '/v1/monitors?name=needle');
    expect(named.body).toMatchObject({ data: [{ id }], total: 1 });
    expect((await api.call('GET', '/v1/monitors?name=needle&type=dns')).body).toMatchObject({
      data: [],
      total: 0,
    });
  });

  test('versions: ETag, If-Match', async () => {
    const { id } = await created('/v1/monitors', MONITOR);
    const path = `/v1/monitors/${id}`;
    const etag = (await api.call('GET', path)).headers.get('etag') ?? '';
    const changed = await api.call('PUT', path, { ...MONITOR, name: 'A' }, { 'if-match': etag });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
    const late = await api.call('PUT', path, { ...MONITOR, name: 'B' }, { 'if-match': etag });
    expect(late).toMatchObject({ status: 412, body: { type: 'urn:svc:problem:precondition-failed' } });
    expect((await api.call('DELETE', path, undefined, { 'if-match': '"a"' })).status).toBe(412);
    expect((await api.call('GET', path)).body).toMatchObject({ name: 'A' });
  });

  test('an Idempotency-Key makes one resource, and belongs to one request', async () => {
    const key = { 'idempotency-key': 'key-1' };
    const first = await api.call('POST', '/v1/monitors', { ...MONITOR, name: 'Once' }, key);
    const second = await api.call('POST', '/v1/monitors', { ...MONITOR, name: 'Once' }, key);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await api.call('GET', '/v1/monitors?name=Once')).body).toMatchObject({ total: 1 });
    expect((await api.call('POST', '/v1/monitors', { ...MONITOR, name: 'Other' }, key)).status).toBe(409);
  });

  test('a manual check answers for every region', async () => {
    const { id } = await created('/v1/monitors', {
      ...MONITOR,
      regions: ['hosta-fra', 'hostb-par'],
      timeout: 700,
    });
    expect((await api.call('POST', `/v1/monitors/${id}/check`)).body).toMatchObject({
      data: [
        {
          region: 'hosta-fra',
          agent_id: 'agent-1',
          result: { outcome: 'passed', latency: 700, reason: null },
        },
        { region: 'hostb-par' },
      ],
    });
  });

  test('results page by cursor, newest first', async () => {
    const { id, created_at } = await created('/v1/monitors', MONITOR);
    const monitorId = Number(id);
    const older = gridSlotFrom(Date.parse(String(created_at)), 30_000, phaseOf(monitorId, 30_000));
    const newer = older + 30_000;
    const failed = { outcome: 'failed', version: 1, latency: 12.5, status_code: 500 } as const;
    const detail = { phases: { connect: 12.5 }, attempts: [], timed_out: true };
    const more = { error_message: 'no', ...detail, agent: 'a', recorded_at: 5 };
    const rows = [older, newer].flatMap((slot) =>
      ['hosta-fra', 'hostb-par'].map((region) => ({
        monitor_id: monitorId,
        slot,
        region,
        ...failed,
        ...more,
      })),
    );
    await addResults(api.store, ...rows);
    const path = `/v1/monitors/${id}/results?limit=3`;
    const first = (await api.call('GET', path)).body as { data: Json[]; next_cursor: string };
    expect(first.data.map((row) => [row.cron_timestamp, row.region])).toEqual([
      [newer, 'hostb-par'],
      [newer, 'hosta-fra'],
      [older, 'hostb-par'],
    ]);
    expect(first.data[0]).toEqual({
      region: 'hostb-par',
      cron_timestamp: newer,
      outcome: 'failed',
      reason: null,
      latency: 12.5,
      phases: { connect: 12.5 },
      status_code: 500,
      error_message: 'no',
      attempts: [],
      certificate_expires_at: null,
      body_truncated: false,
      agent_id: 'a',
      recorded_at: 5,
    });
    const second = await api.call('GET', `${path}&cursor=${first.next_cursor}`);
    expect(second.body).toMatchObject({
      data: [{ cron_timestamp: older, region: 'hosta-fra' }],
      next_cursor: null,
    });
  });

  test('transitions carry their votes', async () => {
    const { id } = await created('/v1/monitors', MONITOR);
    const vote = {
      region: 'hosta-fra',
      outcome: 'failed',
      slot: 1,
      at: 2,
      latency: 3,
      status_code: 500,
      error_message: 'x',
      counted: true,
    };
    await addRows(api.store, 'transitions', {
      monitor_id: Number(id),
      from_status: 'active',
      to_status: 'error',
      reason: 'majority-failed',
      at: 2,
      slot: 1,
      votes: JSON.stringify([vote]),
      incident: 'key',
    });
    expect((await api.call('GET', `/v1/monitors/${id}/transitions`)).body).toMatchObject({
      data: [
        {
          from: 'active',
          to: 'error',
          reason: 'majority-failed',
          at: 2,
          slot: 1,
          incident: 'key',
          votes: [vote],
        },
      ],
      next_cursor: null,
    });
  });
});

describe('notifications', () => {
  const webhook = (path: string) => ({
    name: 'Ops',
    provider_type: 'webhook',
    webhook: { endpoint: `${receiver.url}${path}`, headers: [{ key: 'X-Key', value: 's3cret-value' }] },
  });

  test('write tokens see secrets, read tokens see masks, and a mask is refused', async () => {
    const made = await created('/v1/notifications', webhook('/a'));
    expect(made).toMatchObject({
      state: 'ok',
      webhook: { headers: [{ key: 'X-Key', value: 's3cret-value' }] },
    });
    const seen = await api.call('GET', `/v1/notifications/${made.id}`, undefined, asReader());
    expect(seen.body).toMatchObject({
      webhook: { endpoint: '********', headers: [{ key: 'X-Key', value: '********' }] },
    });
    expect(await api.call('PUT', `/v1/notifications/${made.id}`, seen.body)).toMatchObject({
      status: 422,
      body: {
        errors: ['/webhook/endpoint', '/webhook/headers/0/value'].map((pointer) => ({
          pointer,
          message: 'is the mask that read tokens see: write the secret itself',
        })),
      },
    });
  });

  test('a channel that cannot be read can be removed, after which the list can be read', async () => {
    const made = await created('/v1/notifications', webhook('/a'));
    const settings_sealed = sealSettings(api.secrets, { unknown: 1 });
    await changeRow(api.store, 'notifications', Number(made.id), { settings_sealed });
    expect(await api.call('GET', '/v1/notifications')).toMatchObject({ status: 500 });
    const etag = { 'if-match': '"1-anything"' };
    expect(await api.call('DELETE', `/v1/notifications/${made.id}`, undefined, etag)).toMatchObject({
      status: 204,
    });
    expect(await api.call('GET', '/v1/notifications')).toMatchObject({ status: 200 });
  });

  test('the user information of an address is a secret, the rest of it is not', async () => {
    const url = 'https://user:s3cret@shop.example/health';
    const made = await created('/v1/monitors', { ...MONITOR, url });
    expect(made).toMatchObject({ url });
    const seen = await api.call('GET', `/v1/monitors/${made.id}`, undefined, asReader());
    expect(seen.body).toMatchObject({
      url: 'https://shop.example/health',
      url_user_information: '********',
    });
    expect(await api.call('PUT', `/v1/monitors/${made.id}`, seen.body)).toMatchObject({
      status: 422,
      body: {
        errors: [
          {
            pointer: '/url_user_information',
            message: expect.stringContaining('user information of the url'),
          },
        ],
      },
    });
    const kept = await api.call('PUT', `/v1/monitors/${made.id}`, { ...(seen.body as object), url });
    expect(kept).toMatchObject({ status: 200, body: { url, url_user_information: null } });
    const without = await api.call('PUT', `/v1/monitors/${made.id}`, {
      ...MONITOR,
      url: 'https://a.example',
    });
    expect(without.body).toMatchObject({ url: 'https://a.example' });
  });

  test('a body and a query are secrets too, also in the alerts of the ledger', async () => {
    const url = `${receiver.url}/hook?key=s3cret`;
    const made = await created('/v1/monitors', { ...MONITOR, url, method: 'POST', body: 's3cret' });
    const seen = await api.call('GET', `/v1/monitors/${made.id}`, undefined, asReader());
    expect(seen.body).toMatchObject({ url: `${receiver.url}/hook?********`, body: '********' });
    const channel = await created('/v1/notifications', webhook('/quiet'));
    const alert = {
      monitor: { id: Number(made.id), name: 'Shop', url, type: 'http' },
      status: 'error',
      cronTimestamp: 1,
      at: 1,
      reason: 'majority-failed',
      incident: 'a',
      regions: [],
    };
    await addRows(api.store, 'deliveries', {
      uid: 'of-a-query',
      notification_id: Number(channel.id),
      monitor_id: Number(made.id),
      alert: JSON.stringify(alert),
      state: 'delivered',
      attempts: 1,
      next_attempt_at: null,
      last_error: null,
      created_at: 1,
      replayed_at: null,
      finished_at: 2,
    });
    const path = `/v1/notifications/${channel.id}/deliveries`;
    const urlOf = ({ body }: { body: unknown }) =>
      (body as { data: { alert: { monitor: { url: string } } }[] }).data[0]?.alert.monitor.url;
    expect(urlOf(await api.call('GET', path))).toBe(url);
    expect(urlOf(await api.call('GET', path, undefined, asReader()))).toBe(`${receiver.url}/hook?********`);
  });

  test('a kind that lacks a setting of the operator is refused, and the error names the setting', async () => {
    const message = 'SVC_MAIL_FROM is not set: email channels need it';
    const channelProblem = () => ({ reason: 'setting-missing', message }) as const;
    const lacking = await startApi({ channelProblem });
    try {
      const body = { provider_type: 'email', email: { email: 'ops@example.com' } };
      const { status, body: problem } = await lacking.call('POST', '/v1/notifications', body);
      expect({ status, problem }).toMatchObject({
        status: 422,
        problem: { errors: [{ pointer: '/provider_type', message }] },
      });
      expect((await lacking.call('GET', '/v1/notifications')).body).toMatchObject({ total: 0 });
    } finally {
      await lacking.dispose();
    }
  });

  test('a channel whose kind lacks a setting by now can be renamed and unlinked, and is shown as failing', async () => {
    const message = 'SVC_MAIL_FROM is not set: email channels need it';
    let isLacking = false;
    const lacking = await startApi({
      channelProblem: () => (isLacking ? ({ reason: 'setting-missing', message } as const) : null),
    });
    try {
      const body = { provider_type: 'email', email: { email: 'ops@example.com' } };
      const made = await lacking.call('POST', '/v1/notifications', body);
      const path = `/v1/notifications/${(made.body as { id: string }).id}`;
      isLacking = true;
      expect(await lacking.call('PUT', path, { ...body, name: 'Ops' })).toMatchObject({
        status: 200,
        body: { name: 'Ops', state: 'failing', state_reason: message },
      });
      const other = { ...body, email: { email: 'other@example.com' } };
      expect(await lacking.call('PUT', path, other)).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '/provider_type', message }] },
      });
    } finally {
      await lacking.dispose();
    }
  });

  test('a test alert, the ledger and a retry', async () => {
    const monitor = await created('/v1/monitors', MONITOR);
    const { id } = await created('/v1/notifications', { ...webhook('/b'), monitor_ids: [monitor.id] });
    receiver.answerWith((_request, response) => response.writeHead(410).end('gone'));
    expect(await api.call('POST', `/v1/notifications/${id}/test`)).toMatchObject({
      status: 200,
      body: { delivered: false, outcome: 'permanent-channel', status_code: 410 },
    });
    const ledger = (await api.call('GET', `/v1/notifications/${id}/deliveries`)).body as { data: Json[] };
    expect(ledger.data).toMatchObject([
      { monitor_id: '0', state: 'dead', attempts: [{ number: 1, status_code: 410 }], alert: { test: true } },
    ]);
    const [{ id: testId } = { id: '' }] = ledger.data;
    expect((await api.call('POST', `/v1/deliveries/${testId}/retry`)).status).toBe(409);

    await changeRow(api.store, 'deliveries', Number(testId), { monitor_id: Number(monitor.id) });
    receiver.answerWith((_request, response) => response.end());
    const recorded = new Promise<void>((resolve) => api.deliverer.onRecorded(() => resolve()));
    expect(await api.call('POST', `/v1/deliveries/${testId}/retry`)).toMatchObject({ status: 202 });
    await recorded;
    expect((await api.call('GET', `/v1/notifications/${id}/deliveries`)).body).toMatchObject({
      data: [{ state: 'delivered', attempts: [{ number: 1 }, { number: 2, status_code: 200 }] }],
    });
  });

  test('one request sends all dead deliveries of a channel again', async () => {
    const monitor = await created('/v1/monitors', MONITOR);
    const { id } = await created('/v1/notifications', webhook('/all'));
    receiver.answerWith((_request, response) => response.writeHead(410).end('gone'));
    for (let count = 0; count < 3; count += 1) await api.call('POST', `/v1/notifications/${id}/test`);
    const path = `/v1/notifications/${id}/deliveries`;
    const ids = ((await api.call('GET', path)).body as { data: { id: string }[] }).data.map(
      (each) => each.id,
    );
    // Only deliveries of a monitor are sent again, so all but one of these tests get a monitor.
    for (const each of ids.slice(1)) {
      await changeRow(api.store, 'deliveries', Number(each), { monitor_id: Number(monitor.id) });
    }
    receiver.answerWith((_request, response) => response.end());
    expect(await api.call('POST', `/v1/notifications/${id}/retry`)).toMatchObject({
      status: 202,
      body: { retried: 2 },
    });
    await expect
      .poll(async () => (await api.call('GET', path)).body)
      .toMatchObject({ data: [{ state: 'dead' }, { state: 'delivered' }, { state: 'delivered' }] });
    expect((await api.call('GET', `/v1/notifications/${id}`)).body).toMatchObject({ state: 'ok' });
    expect((await api.call('POST', `/v1/notifications/${id}/retry`)).body).toEqual({ retried: 0 });
    expect((await api.call('POST', '/v1/notifications/999/retry')).status).toBe(404);
  });
});

test('the warnings of a monitor name its channels that do not deliver', async () => {
  const monitor = await created('/v1/monitors', MONITOR);
  const other = await created('/v1/monitors', MONITOR);
  const linked = { monitor_ids: [monitor.id] };
  const hook = await created('/v1/notifications', {
    ...linked,
    name: 'Ops',
    provider_type: 'webhook',
    webhook: { endpoint: `${receiver.url}/ops?key=hush-hush` },
  });
  const path = `/v1/monitors/${monitor.id}`;
  const quiet = await api.call('GET', path);
  expect(quiet.body).toMatchObject({ warnings: [] });
  receiver.answerWith((_request, response) => response.writeHead(410).end('gone'));
  await api.call('POST', `/v1/notifications/${hook.id}/test`);
  const failing = async () => {
    const endpoint = `${receiver.url}/other`;
    const channel = await created('/v1/notifications', {
      ...linked,
      provider_type: 'webhook',
      webhook: { endpoint },
    });
    await api.call('POST', `/v1/notifications/${channel.id}/test`);
    return channel;
  };
  const first = await failing();
  const warnings = [
    `alerts are not delivered to channel ${hook.id} (Ops): the receiver answered 410: gone`,
    `alerts are not delivered to channel ${first.id}: the receiver answered 410: gone`,
  ];
  const told = await api.call('GET', path, undefined, asReader());
  expect(told.body).toMatchObject({ warnings });
  expect(told.headers.get('etag')).not.toBe(quiet.headers.get('etag'));
  expect((await api.call('GET', `/v1/monitors/${other.id}`)).body).toMatchObject({ warnings: [] });
  const list = (await api.call('GET', '/v1/monitors?limit=100')).body as { data: Json[] };
  expect(list.data.find(({ id }) => id === monitor.id)).toMatchObject({ warnings });

  for (let more = 0; more < 10; more += 1) await failing();
  const many = (await api.call('GET', path)).body as { warnings: string[] };
  expect(many.warnings).toHaveLength(11);
  expect(many.warnings.at(-1)).toBe('alerts are not delivered to 2 more notifications');

  receiver.answerWith((_request, response) => response.end());
  await api.call('POST', `/v1/notifications/${hook.id}/test`);
  expect((await api.call('GET', path)).body).not.toMatchObject({
    warnings: expect.arrayContaining([expect.stringContaining('(Ops)')]),
  });
});

test('a channel that is removed during its test is not found', async () => {
  const { id } = await created('/v1/notifications', {
    provider_type: 'webhook',
    webhook: { endpoint: `${receiver.url}/slow` },
  });
  receiver.answerWith((_request, response) => {
    void api.call('DELETE', `/v1/notifications/${id}`).then(() => response.end());
  });
  const answer = await api.call('POST', `/v1/notifications/${id}/test`);
  receiver.answerWith((_request, response) => response.end());
  expect(answer).toMatchObject({ status: 404, body: { detail: `there is no notification ${id}` } });
});

test('the test of an export is refused for a monitor without an endpoint, and for one that does not exist', async () => {
  const { id, warnings } = await created('/v1/monitors', MONITOR);
  expect(warnings).toEqual([]);
  expect(await api.call('POST', `/v1/monitors/${id}/otlp-test`)).toMatchObject({
    status: 409,
    body: { detail: 'nothing is exported here' },
  });
  await api.call('DELETE', `/v1/monitors/${id}`);
  expect((await api.call('POST', `/v1/monitors/${id}/otlp-test`)).status).toBe(404);
  const { body } = await api.call('GET', '/v1/system');
  const endpoint = 'https://otlp.example.com/v1/metrics';
  expect(body).toMatchObject({ export: { endpoints: [{ endpoint, default: false, monitors: 1 }] } });
});

describe('status pages', () => {
  test('pages with their components and groups', async () => {
    const page = await created('/v1/status-pages', { title: 'Example', slug: 'example' });
    expect(page).toMatchObject({ published: true, theme: 'system', latency: 'none', access_type: 'public' });
    expect(page.warnings).toEqual([]);
    const path = `/v1/status-pages/${page.id}`;
    const group = await created(`${path}/component-groups`, { name: 'Core' });
    const monitor = await created('/v1/monitors', MONITOR);
    const component = await created(`${path}/components`, {
      type: 'monitor',
      monitor_id: monitor.id,
      group_id: group.id,
    });
    expect(component).toMatchObject({
      page_id: page.id,
      warnings: [expect.stringContaining('the page does not show this component')],
    });
    expect((await api.call('GET', `${path}/components`)).body).toMatchObject({ total: 1 });
    expect(await api.call('PATCH', `${path}/appearance`, { theme: 'dark', published: false })).toMatchObject({
      status: 200,
      body: { theme: 'dark', published: false, latency: 'none' },
    });
    expect(await api.call('PATCH', `${path}/appearance`, { latency: '7d' })).toMatchObject({
      status: 200,
      body: { theme: 'dark', published: false, latency: '7d' },
    });
    expect((await api.call('PATCH', `${path}/appearance`, { latency: '30d' })).status).toBe(422);
    expect((await api.call('DELETE', `/v1/monitors/${monitor.id}`)).status).toBe(409);
    expect((await api.call('DELETE', `/v1/monitors/${monitor.id}?components=keep`)).status).toBe(204);
    const kept = await api.call('GET', `${path}/components/${component.id}`);
    expect(kept.body).toMatchObject({
      type: 'monitor',
      monitor_id: null,
      warnings: ['the page does not show this component: its monitor was removed'],
    });
    const other = await created('/v1/monitors', { ...MONITOR, public: true });
    const shown = { type: 'monitor', monitor_id: other.id, group_id: group.id };
    expect((await api.call('PUT', `${path}/components/${component.id}`, shown)).body).toMatchObject({
      monitor_id: other.id,
      warnings: [],
    });
    expect((await api.call('DELETE', `/v1/monitors/${other.id}?cascade=true`)).status).toBe(204);
    expect((await api.call('GET', `${path}/components/${component.id}`)).status).toBe(404);
    expect((await api.call('DELETE', path)).status).toBe(204);
  });
});

test('the warnings of a page say that it is not served under its domain yet, and why', async () => {
  const members = { title: 'Example', slug: 'own-domain', custom_domain: 'status.example.com' };
  const page = (await api.call('POST', '/v1/status-pages', members)).body as { id: string };
  const path = `/v1/status-pages/${page.id}`;
  const warnings = async () => ((await api.call('GET', path)).body as { warnings: string[] }).warnings;
  expect(await warnings()).toEqual([
    'the page is not served under status.example.com yet: where it points was not checked yet',
  ]);
  const checked: CheckedDomain = {
    pageId: Number(page.id),
    declared: 'status.example.com',
    domain: 'status.example.com',
    state: 'pending',
    problem: 'it points elsewhere',
    failures: 1,
    checkedAt: 1,
    verifiedAt: null,
  };
  const write = (domain: CheckedDomain) => api.store.transaction((tx) => writeCheckedDomain(tx, domain));
  await write(checked);
  expect(await warnings()).toEqual(['the page is not served under status.example.com: it points elsewhere']);
  await write({ ...checked, state: 'verified' });
  expect(await warnings()).toEqual([
    'the page will not be served under status.example.com much longer: it points elsewhere',
  ]);
  await write({ ...checked, state: 'verified', problem: null });
  expect(await warnings()).toEqual([]);
  const { body } = await api.call('GET', '/v1/status-pages');
  expect((body as { data: { id: string }[] }).data.find(({ id }) => id === page.id)).toMatchObject({
    warnings: [],
  });
});

test('a page warns that it is open although it has settings of a protected page', async () => {
  const open = await created('/v1/status-pages', { title: 'Open', slug: 'open', password: 'hush' });
  expect(open.warnings).toEqual(['password has no effect: access_type is public, not password']);
  const protectedPage = { title: 'Open', slug: 'open', access_type: 'password', password: 'hush-hush' };
  const path = `/v1/status-pages/${open.id}`;
  expect((await api.call('PUT', path, protectedPage)).body).toMatchObject({ warnings: [] });
  const domains = { ...protectedPage, auth_email_domains: ['example.com'] };
  expect((await api.call('PUT', path, domains)).body).toMatchObject({
    warnings: ['auth_email_domains has no effect: access_type is password, not email-domain'],
  });
  const short = { ...protectedPage, password: 'пароль7' };
  expect((await api.call('PUT', path, short)).body).toMatchObject({
    warnings: ['password is shorter than 8 characters, so it is soon guessed'],
  });
  expect((await api.call('PUT', path, { title: 'Open', slug: 'open' })).status).toBe(200);
  expect((await api.call('DELETE', path)).status).toBe(204);
});

test.each(['http://10.0.0.1/icon.png', 'https://[::ffff:10.0.0.1]/', 'http://169.254.169.254/'])(
  'the icon %s, which svc will not fetch, is told at once',
  async (icon) => {
    const page = await created('/v1/status-pages', { title: 'Icon', slug: 'icon', icon });
    expect(page.warnings).toEqual([
      expect.stringMatching(/^icon is at .*, which svc does not connect to .*SVC_CHANNEL_EGRESS_ALLOW$/),
    ]);
    const path = `/v1/status-pages/${page.id}`;
    const allowed = { title: 'Icon', slug: 'icon', icon: 'http://127.0.0.1/icon.png' };
    expect((await api.call('PUT', path, allowed)).body).toMatchObject({ warnings: [] });
    expect((await api.call('DELETE', path)).status).toBe(204);
  },
);

describe('workspaces are separate', () => {
  test("another workspace's objects are not found", async () => {
    const { id } = await created('/v1/monitors', MONITOR);
    const other = await addWorkspace(api.store, 'other');
    const { secret } = await api.tokens.create({ workspaceId: other, name: 'x', scope: 'write' }, 0);
    const theirs = { authorization: `Bearer ${secret.reveal()}` };
    for (const [method, path, body] of [
      ['GET', `/v1/monitors/${id}`, undefined],
      ['PUT', `/v1/monitors/${id}`, MONITOR],
      ['DELETE', `/v1/monitors/${id}`, undefined],
      ['GET', `/v1/monitors/${id}/results`, undefined],
      ['GET', `/v1/monitors/${id}/transitions`, undefined],
      ['POST', `/v1/monitors/${id}/check`, undefined],
    ] as const) {
      expect([path, (await api.call(method, path, body, theirs)).status]).toEqual([path, 404]);
    }
    expect((await api.call('GET', '/v1/monitors', undefined, theirs)).body).toMatchObject({
      data: [],
      total: 0,
    });
  });
});

describe('tokens, regions, health', () => {
  test('a token is shown once, is valid, and ends when it is revoked', async () => {
    const made = await created('/v1/tokens', { name: 'ci', scope: 'read' });
    const headers = { authorization: `Bearer ${made.token}` };
    expect((await api.call('GET', '/v1/monitors', undefined, headers)).status).toBe(200);
    const listed = (await api.call('GET', '/v1/tokens')).body as { data: Json[] };
    expect(listed.data.find(({ id }) => id === made.id)).toEqual({
      id: made.id,
      name: 'ci',
      scope: 'read',
      operator: false,
      created_at: expect.any(String),
      created_by: { id: expect.any(String), name: 'SVC_API_TOKEN' },
      expires_at: null,
      last_used_at: expect.stringMatching(/Z$/),
    });
    expect((await api.call('DELETE', `/v1/tokens/${made.id}`)).status).toBe(204);
    expect((await api.call('GET', '/v1/monitors', undefined, headers)).status).toBe(401);
    const operator = listed.data.find((token) => token.operator);
    expect((await api.call('DELETE', `/v1/tokens/${operator?.id}`)).status).toBe(409);
  });

  test('only the operator creates workspaces and their tokens', async () => {
    const { id } = await created('/v1/workspaces', { name: 'team' });
    expect((await api.call('POST', '/v1/workspaces', { name: 'team' })).status).toBe(409);
    const theirs = await created('/v1/tokens', { name: 'first', scope: 'admin', workspace_id: id });
    const headers = { authorization: `Bearer ${theirs.token}` };
    expect((await api.call('GET', '/v1/monitors', undefined, headers)).body).toMatchObject({ total: 0 });
    expect((await api.call('POST', '/v1/workspaces', { name: 'x' }, headers)).status).toBe(403);
    const foreign = { name: 'x', scope: 'write', workspace_id: String(api.workspaceId) };
    expect(await api.call('POST', '/v1/tokens', foreign, headers)).toMatchObject({
      status: 404,
      body: { errors: [{ pointer: '/workspace_id' }] },
    });
    expect((await api.call('GET', '/v1/workspaces?limit=1')).body).toMatchObject({
      data: [{ name: 'default' }],
      limit: 1,
    });
  });

  test('regions with their agents', async () => {
    const agent = {
      id: 'a1',
      version: '1',
      capacity: 4_000,
      running: 400,
      loopDelayMs: 1,
      isDraining: false,
      machine: '',
      sicknesses: [],
    };
    api.agents.set('hosta-fra', [
      { ...agent, lastSeenWall: 5 },
      { ...agent, id: 'a2', lastSeenWall: 4, machine: 'probe-2', sicknesses: ['starved'] },
    ]);
    const { data } = (await api.call('GET', '/v1/regions', undefined, asReader())).body as { data: Json[] };
    expect(data).toHaveLength(28);
    expect(data.find(({ region }) => region === 'hosta-fra')).toEqual({
      region: 'hosta-fra',
      name: null,
      last_seen_at: 5,
      absent_since: null,
      sick: ['starved'],
      agents: [
        {
          id: 'a1',
          version: '1',
          capacity: 4_000,
          running: 400,
          load: 0.1,
          loop_delay_ms: 1,
          last_seen_at: 5,
          draining: false,
          machine: null,
          sick: [],
        },
        expect.objectContaining({ id: 'a2', machine: 'probe-2', sick: ['starved'] }),
      ],
    });
    expect(data.find(({ region }) => region === 'hosta-ams')).toEqual({
      region: 'hosta-ams',
      name: null,
      last_seen_at: null,
      absent_since: null,
      sick: [],
      agents: [],
    });
  });

  test('regions without an agent that takes jobs, and since when', async () => {
    await api.store.transaction(async (tx) => {
      await writeLastSeen(tx, [
        { region: 'hostb-par', at: 7_000 },
        { region: 'hosta-lhr', at: 8_000 },
      ]);
      await writeAbsences(tx, [
        { region: 'hosta-lhr', kind: 'began', at: 3_000 },
        { region: 'hosta-lhr', kind: 'ended', at: 4_000 },
        { region: 'hosta-lhr', kind: 'began', at: 6_000 },
        { region: 'hosta-iad', kind: 'began', at: 9_000 },
      ]);
    });
    const { data } = (await api.call('GET', '/v1/regions', undefined, asReader())).body as { data: Json[] };
    const shown = Object.fromEntries(
      data.map(({ region, last_seen_at, absent_since }) => [region, { last_seen_at, absent_since }]),
    );
    expect(shown).toMatchObject({
      // The absence of this region's agents is not stored yet.
      'hostb-par': { last_seen_at: 7_000, absent_since: 7_000 },
      // Since 6,000, the region's last agent has taken no jobs, but it still sent heartbeats.
      'hosta-lhr': { last_seen_at: 8_000, absent_since: 6_000 },
      // A monitor declares the region, but no agent ever ran there.
      'hosta-iad': { last_seen_at: null, absent_since: 9_000 },
      'hosta-ams': { last_seen_at: null, absent_since: null },
    });
  });

  test('health and metrics', async () => {
    const nobody = { authorization: '' };
    expect(await api.call('GET', '/healthz', undefined, nobody)).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    });
    expect(await api.call('GET', '/readyz', undefined, nobody)).toMatchObject({
      status: 200,
      body: { parts: { database: true } },
    });
    expect((await api.call('GET', '/metrics', undefined, nobody)).status).toBe(401);
    const metrics = await api.call('GET', '/metrics', undefined, { authorization: 'Bearer metrics-token' });
    const { type, samples = [] } = parsePrometheus(String(metrics.body)).get('svc_api_answers_total') ?? {};
    expect(type).toBe('counter');
    const answers = new Map(samples.map(({ labels: { status }, value }) => [status, value]));
    expect(answers.get('401')).toBeGreaterThan(0);
    expect(answers.get('other')).toBe(0);
  });
});

describe('every failure is a problem', () => {
  test.each([
    ['not even HTTP', 'nonsense\r\n\r\n'],
    ['a host name that is none', 'GET /v1/monitors HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n'],
    ['headers without end', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`],
  ])('%s', async (_name, request) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(request);
    await once(socket, 'end');
    socket.destroy();
    expect(text).toContain('HTTP/1.1 400');
    expect(text).toContain('application/problem+json');
  });

  test('too many requests', async () => {
    const limited = await startApi({ rate: { perSecond: 1, atOnce: 2 } });
    try {
      for (const _ of [1, 2]) expect((await limited.call('GET', '/v1/tokens')).status).toBe(200);
      const refused = await limited.call('GET', '/v1/tokens');
      expect(refused).toMatchObject({ status: 429, body: { type: 'urn:svc:problem:rate-limited' } });
      expect(refused.headers.get('retry-after')).toBe('1');
      limited.clock.advance(1_000);
      expect((await limited.call('GET', '/v1/tokens')).status).toBe(200);
    } finally {
      await limited.dispose();
    }
  });

  test('the problem of a defect has no internals', async () => {
    const broken = await startApi({
      readiness: () => {
        throw new Error('inside: /etc/secret');
      },
    });
    try {
      const answer = await broken.call('GET', '/readyz', undefined, { 'x-request-id': 'mine-1' });
      expect(answer).toMatchObject({ status: 500, body: { request_id: 'mine-1', errors: [] } });
      expect(JSON.stringify(answer.body)).not.toContain('secret');
    } finally {
      await broken.dispose();
    }
  });
});
