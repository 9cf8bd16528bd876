import { alert } from '@svc/shared/channels/alert.ts';
import { z } from 'zod';
import { FAILURE_REASONS } from '../notify/channel.ts';
import { DELIVERY_STATES } from '../store/schema.ts';
import { id } from './answers.ts';

/** Schemas of the API's answers about deliveries. Instants are epoch ms; unset values are null. */

const attemptOutcome = z.string().meta({
  description:
    '`delivered`; `retry`: it failed in a way that may pass; `permanent-message`: the receiver refused this alert for good; `permanent-channel`: its address is dead, which stops the channel; `not-sent`: svc could not send, which is no attempt.',
});

const failureReason = z
  .string()
  .nullable()
  .meta({
    description: `Why it failed: ${FAILURE_REASONS.map((reason) => `\`${reason}\``).join(', ')}. Null where it did not.`,
  });

const attemptReply = z
  .string()
  .nullable()
  .meta({ description: 'What the receiver answered, shortened and without secrets.' });

export const deliveryView = z
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
        '`dead`: given up, and can be sent again; `superseded`: left out, because a newer alert says more or because the channel was never told of the incident.',
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

export const retriedView = z
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
export type TestedAlertView = z.infer<typeof testedAlert>;

export const testView = testedAlert
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
