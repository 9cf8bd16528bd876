import { type Alert, alert } from '@svc/shared/channels/alert.ts';
import { z } from 'zod';
import { FAILURE_REASONS, reasonOf } from '../../alerts/channel.ts';
import type { TestedDelivery } from '../../alerts/deliverer.ts';
import { NO_MONITOR } from '../../alerts/notices.ts';
import type { SecretsShown } from '../../declaration/stored.ts';
import {
  type AttemptRow,
  attemptsOf,
  type DeliveryRow,
  type DeliverySearch,
  findDelivery,
  newestDeliveries,
} from '../../store/alerts/delivery-ledger.ts';
import { openAlert, readMasked } from '../../store/alerts/stored-alerts.ts';
import { existingResources } from '../../store/declaration/resources.ts';
import { DELIVERY_STATES } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { type ApiRequest, endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../lists.ts';
import { shownTo } from '../objects.ts';
import { Problem } from '../problem.ts';
import { requireMonitor } from './monitors.ts';

/* The answers about deliveries. Instants are epoch ms. Values that are not set are null. */

const attemptOutcome = z.string().meta({
  description:
    '`delivered`; `retry`: it failed in a way that may pass; `permanent-message`: the receiver refused this alert for good; `permanent-channel`: its address is dead, which stops the channel; `not-sent`: svc could not send, which is no attempt.',
});

const failureReason = z
  .string()
  .nullable()
  .meta({
    description: `Why it failed: ${FAILURE_REASONS.map((reason) => `\`${reason}\``).join(', ')}. Null where it did not fail.`,
  });

const attemptReply = z
  .string()
  .nullable()
  .meta({ description: 'What the receiver answered, shortened and without secrets.' });

const deliveryView = z
  .object({
    id,
    webhook_id: z.string().meta({ description: 'Id of the delivery. It is the same on every attempt.' }),
    notification_id: id,
    monitor_id: z
      .string()
      .regex(/^(0|[1-9][0-9]{0,14})$/)
      .meta({ description: '0: a test, or a message of svc about another channel.' }),
    state: z.enum(DELIVERY_STATES).meta({
      description:
        '`dead`: given up, and can be sent again; `superseded`: left out, because a newer alert says more or because the channel has had no alert of the incident.',
    }),
    alert: alert.nullable().meta({
      description: 'Null where another version of svc wrote the alert and this version cannot read it.',
    }),
    attempts: z.array(
      z.object({
        number: z.number().int(),
        at: z.number().int(),
        duration: z.number().meta({ description: 'Duration, ms.' }),
        outcome: attemptOutcome,
        reason: failureReason,
        status_code: z.number().int().nullable(),
        error: z.string().nullable(),
        reply: attemptReply,
        next_attempt_at: z
          .number()
          .int()
          .nullable()
          .meta({ description: 'When it was to be tried again. Null for the last attempt.' }),
      }),
    ),
    next_attempt_at: z.number().int().nullable(),
    last_error: z.string().nullable(),
    created_at: z.number().int(),
    replayed_at: z.number().int().nullable(),
    finished_at: z.number().int().nullable(),
  })
  .meta({
    examples: [
      {
        id: '91',
        webhook_id: '4f5c1f6e-6f0e-4b0e-9a53-0f6b6d1f0a51',
        notification_id: '3',
        monitor_id: '12',
        state: 'delivered',
        alert: {
          monitor: { id: 12, name: 'Shop', url: 'https://shop.example.com/health', type: 'http' },
          status: 'error',
          cronTimestamp: 1_767_225_600_000,
          statusCode: 503,
          latency: 90.1,
          errorMessage: 'status code 503, expected 200',
          at: 1_767_225_600_412,
          reason: 'majority-failed',
          incident: '5f0c2a9be1d74836:12:7d9f3c52-0b1e-4a86-9c3d-2f6f0e8a1b47',
          regions: [{ region: 'hosta-fra', outcome: 'failed' }],
        },
        attempts: [
          {
            number: 1,
            at: 1_767_225_600_420,
            duration: 35.4,
            outcome: 'delivered',
            reason: null,
            status_code: 200,
            error: null,
            reply: 'ok',
            next_attempt_at: null,
          },
        ],
        next_attempt_at: null,
        last_error: null,
        created_at: 1_767_225_600_412,
        replayed_at: null,
        finished_at: 1_767_225_600_456,
      },
    ],
  });
export type DeliveryView = z.infer<typeof deliveryView>;

const retriedView = z
  .object({ retried: z.number().int().meta({ description: 'Number of deliveries that are pending again.' }) })
  .meta({ examples: [{ retried: 12 }] });

const testedAlert = z.object({
  delivered: z.boolean(),
  delivery_id: id,
  outcome: attemptOutcome,
  reason: failureReason,
  status_code: z.number().int().nullable(),
  error: z.string().nullable(),
  reply: attemptReply,
  duration: z.number().meta({ description: 'Duration, ms.' }),
});
type TestedAlertView = z.infer<typeof testedAlert>;

const testView = testedAlert
  .extend({
    resolved: testedAlert.nullable().meta({
      description:
        'The end of the incident of the test. Null where the kind keeps no incidents open, or where the test was not delivered.',
    }),
  })
  .meta({
    examples: [
      {
        delivered: true,
        delivery_id: '92',
        outcome: 'delivered',
        reason: null,
        status_code: 200,
        error: null,
        reply: 'ok',
        duration: 35.4,
        resolved: null,
      },
    ],
  });

const cursorKeys = z.tuple([z.number().int()]);

const stateFilter = z
  .enum(DELIVERY_STATES, 'must be pending, delivered, dead or superseded')
  .optional()
  .meta({ description: 'Only deliveries in this state.' });

const deliveryQuery = cursorPage.extend({ state: stateFilter });
type DeliveryRequest = Pick<ApiRequest<z.infer<typeof deliveryQuery>>, 'query' | 'token'>;

/**
 * Maximum numbers of simultaneous tests of one channel, and of all channels of one workspace.
 * A test sends one or two alerts. Each may take 15 s if the receiver does not answer.
 */
const TESTS_PER_CHANNEL = 2;
const TESTS_PER_WORKSPACE = 8;

type Parts = Pick<ApiParts, 'store' | 'secrets' | 'deliveries'>;

export function deliveryEndpoints(parts: Parts): ServedEndpoint[] {
  const atOnce = new AtOnce();
  return [
    testEndpoint(parts, atOnce),
    retryAllEndpoint(parts, atOnce),
    ofChannelEndpoint(parts),
    ofMonitorEndpoint(parts),
    readEndpoint(parts),
    retryEndpoint(parts),
  ];
}

export const testChannel = endpoint({
  method: 'POST',
  path: '/v1/notifications/{id}/test',
  access: 'write',
  tag: 'Notifications',
  summary: 'Send a test alert: one attempt, now',
  description:
    'The test is sent like a real alert, but past the queue, and the answer has the reply of the receiver. If the kind keeps incidents open, svc then ends the incident of the test. Afterwards the waiting alerts of the channel are tried again. A delivered test starts a stopped channel again.',
  answers: { 200: { description: 'Outcome of the attempt, delivered or not.', schema: testView } },
});

function testEndpoint({ store, deliveries }: Parts, atOnce: AtOnce): ServedEndpoint {
  return serve(testChannel, async (request) => {
    const id = await requireNotification(store, workspaceOf(request), idOf(request));
    const bounds = [
      { key: `channel ${id}`, most: TESTS_PER_CHANNEL },
      { key: `workspace ${workspaceOf(request)}`, most: TESTS_PER_WORKSPACE },
    ];
    const send = () => deliveries.sendTest(id);
    const sending = atOnce
      .runBounded('tests of the channel or workspace', bounds, send)
      .catch(async (error: unknown) => {
        // If the channel was removed during the test, the test cannot be
        // recorded. Then the answer says that the channel does not exist.
        await requireNotification(store, workspaceOf(request), id);
        throw error;
      });
    const tested = await sending;
    const resolved = tested.resolved === null ? null : testedView(tested.resolved);
    return ok({ ...testedView(tested), resolved });
  });
}

export const retryChannel = endpoint({
  method: 'POST',
  path: '/v1/notifications/{id}/retry',
  access: 'write',
  tag: 'Notifications',
  summary: 'Queue all dead deliveries of a channel again, the oldest first',
  description:
    'Each delivery keeps its id and gets a fresh schedule, as with the retry of one delivery. Tests and messages of svc about itself are left out. The alerts of a stopped channel are sent too, and an alert that is delivered starts the channel again.',
  answers: { 202: { description: 'The deliveries are pending.', schema: retriedView } },
});

function retryAllEndpoint({ store, deliveries }: Parts, atOnce: AtOnce): ServedEndpoint {
  return serve(retryChannel, async (request) => {
    const id = await requireNotification(store, workspaceOf(request), idOf(request));
    const bounds = [{ key: `retries ${id}`, most: 1 }];
    const retried = await atOnce.runBounded('retries of the channel', bounds, () =>
      deliveries.replayChannel(id),
    );
    return { status: 202, body: { retried } };
  });
}

export const channelDeliveries = endpoint({
  method: 'GET',
  path: '/v1/notifications/{id}/deliveries',
  access: 'read',
  tag: 'Notifications',
  summary: 'List the alerts of a channel with every attempt to deliver them, newest first',
  query: deliveryQuery,
  answers: { 200: { description: 'A page of deliveries.', schema: historyOf(deliveryView) } },
});

function ofChannelEndpoint(parts: Parts): ServedEndpoint {
  return serve(channelDeliveries, async (request) => {
    const id = await requireNotification(parts.store, workspaceOf(request), idOf(request));
    return ok(await pageOf(parts, { notificationId: id }, request));
  });
}

export const monitorDeliveries = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/deliveries',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the alerts about a monitor to all channels with every attempt, newest first',
  query: deliveryQuery,
  answers: { 200: { description: 'A page of deliveries.', schema: historyOf(deliveryView) } },
});

function ofMonitorEndpoint(parts: Parts): ServedEndpoint {
  return serve(monitorDeliveries, async (request) => {
    const { id: monitorId } = await requireMonitor(parts.store, workspaceOf(request), idOf(request));
    return ok(await pageOf(parts, { monitorId }, request));
  });
}

const readDelivery = endpoint({
  method: 'GET',
  path: '/v1/deliveries/{id}',
  access: 'read',
  tag: 'Notifications',
  summary: 'Read one delivery with every attempt',
  answers: { 200: { description: 'The delivery.', schema: deliveryView } },
});

function readEndpoint({ store, secrets }: Parts): ServedEndpoint {
  return serve(readDelivery, async (request) => {
    const id = idOf(request);
    const row = await findDelivery(store, workspaceOf(request), id);
    if (row === null) throw new Problem('not-found', `there is no delivery ${id}`);
    return ok(viewOf(row, await attemptsOf(store, [id]), alertFor(secrets, shownTo(request))));
  });
}

export const retryDelivery = endpoint({
  method: 'POST',
  path: '/v1/deliveries/{id}/retry',
  access: 'write',
  tag: 'Notifications',
  summary: 'Queue a dead delivery again, with the same id and a fresh schedule',
  answers: { 202: { description: 'The delivery, pending.', schema: deliveryView } },
  problems: ['conflict'],
});

function retryEndpoint({ store, secrets, deliveries }: Parts): ServedEndpoint {
  return serve(retryDelivery, async (request) => {
    const id = idOf(request);
    const row = await findDelivery(store, workspaceOf(request), id);
    if (row === null) throw new Problem('not-found', `there is no delivery ${id}`);
    if (row.monitor_id === NO_MONITOR)
      throw new Problem(
        'conflict',
        'this delivery was a test, or a message of svc: send another test instead',
      );
    const outcome = await deliveries.replayDelivery(id);
    if (outcome !== 'replayed')
      throw new Problem('conflict', `delivery ${id} is ${row.state}: only a dead delivery can be retried`);
    const replayed = (await findDelivery(store, workspaceOf(request), id)) ?? row;
    return {
      status: 202,
      body: viewOf(replayed, await attemptsOf(store, [id]), alertFor(secrets, 'open')),
    };
  });
}

async function pageOf({ store, secrets }: Parts, of: DeliverySearch['of'], request: DeliveryRequest) {
  const { limit, cursor, state } = request.query;
  const beforeId = decodeCursor(cursor, cursorKeys)?.[0] ?? null;
  const rows = await newestDeliveries(store, { of, state: state ?? null, beforeId, limit: limit + 1 });
  const attempts = await attemptsOf(
    store,
    rows.map((row) => row.id),
  );
  const alertIn = alertFor(secrets, shownTo(request));
  return historyPage(
    rows,
    limit,
    (row) => viewOf(row, attempts, alertIn),
    (row) => [row.id],
  );
}

/** Makes the function that reads an alert from its stored text, with its secrets in clear text or masked. */
function alertFor(secrets: ApiParts['secrets'], shown: SecretsShown): (text: string) => Alert | null {
  return (text) => (shown === 'open' ? openAlert(secrets, text) : readMasked(text));
}

/**
 * Returns the id of a channel that exists.
 *
 * @throws Problem when the channel does not exist or belongs to another workspace
 */
async function requireNotification(store: Store, workspaceId: number, id: number): Promise<number> {
  if ((await existingResources(store, 'notifications', workspaceId, [id])).has(id)) return id;
  throw new Problem('not-found', `there is no notification ${id}`);
}

function testedView({ deliveryId, durationMs, result }: TestedDelivery): TestedAlertView {
  const isDelivered = result.outcome === 'delivered';
  return {
    delivered: isDelivered,
    delivery_id: String(deliveryId),
    outcome: result.outcome,
    reason: reasonOf(result),
    status_code: result.statusCode ?? null,
    error: isDelivered ? null : result.error,
    reply: result.reply ?? null,
    duration: Math.round(durationMs * 10) / 10,
  };
}

function viewOf(
  row: DeliveryRow,
  attempts: ReadonlyMap<number, AttemptRow[]>,
  alertIn: (text: string) => Alert | null,
): DeliveryView {
  return {
    id: String(row.id),
    webhook_id: row.uid,
    notification_id: String(row.notification_id),
    monitor_id: String(row.monitor_id),
    state: row.state,
    alert: alertIn(row.alert),
    attempts: attempts.get(row.id) ?? [],
    next_attempt_at: row.next_attempt_at,
    last_error: row.last_error,
    created_at: row.created_at,
    replayed_at: row.replayed_at,
    finished_at: row.finished_at,
  };
}
