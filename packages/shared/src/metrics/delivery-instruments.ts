import { counter, gauge, histogram } from './instrument.ts';

/**
 * Counters of the delivery of alerts. They count from the moment when the coordinator began to lead shard 0.
 */
export const DELIVERY_COUNTERS = {
  /** The label has the outcomes that the ledger keeps, and the API answers, for each attempt. */
  attempts: counter('svc_delivery_attempts_total', 'Attempts to deliver an alert, or a test of a channel.', {
    label: {
      name: 'outcome',
      values: {
        delivered: 'The receiver took it.',
        retry:
          'It failed in a way that may pass. An alert is tried again until it is a day old, a test is not.',
        'permanent-message': 'The receiver refused this alert for good; other alerts may pass.',
        'permanent-channel':
          'The receiver refuses all of this channel until its settings are changed, or the channel cannot send.',
      },
    },
    advice:
      'Where anything but `delivered` grows: `GET /v1/notifications/{id}/deliveries` has every attempt with its `outcome` and the answer of the receiver.',
  }),
  dead: counter(
    'svc_deliveries_dead_total',
    'Alerts that were given up. svc does not try to deliver them again.',
    {
      advice:
        'Any growth: an alert did not arrive. `GET /v1/notifications/{id}/deliveries?state=dead` has them with the reason; mend the channel, and send them again by `POST /v1/notifications/{id}/retry`.',
    },
  ),
  failures: counter(
    'svc_delivery_failures_total',
    'Attempts to deliver an alert that failed, by the reason.',
    {
      label: {
        name: 'reason',
        values: {
          'rate-limited': 'The receiver takes it later. Its whole channel waits.',
          receiver: 'The receiver failed.',
          refused: 'The receiver refused it.',
          unanswered: 'No answer came. The receiver may have the alert.',
          unreachable: 'No name, no connection or no trusted certificate.',
          operator: 'The vendor refused the credentials in the settings of the coordinator.',
          stopped: 'The address of the channel is dead. Nothing was sent.',
          own: 'Nothing was sent because of svc: a setting is missing, or its log says why.',
        },
      },
      advice:
        '`operator` and `own` are for who runs the coordinator; the others are for who declared the channel: `GET /v1/notifications/{id}/deliveries` names them.',
    },
  ),
  attemptDuration: histogram(
    'svc_delivery_attempt_duration_seconds',
    'How long attempts to deliver an alert took.',
    { unit: 'seconds', bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15] },
  ),
};

/** Gauges of the delivery of alerts. Waiting deliveries are counted every 10 s. */
export const DELIVERY_GAUGES = {
  lanes: gauge(
    'svc_delivery_lanes',
    'Pairs of monitor and channel with alerts that wait to be delivered, counted every 10 s.',
    {
      advice: 'Steady growth: receivers do not accept alerts. See `svc_delivery_attempts_total`.',
    },
  ),
  age: gauge(
    'svc_delivery_age_seconds',
    'How long the oldest alert has waited to be delivered; 0 without one.',
    {
      unit: 'seconds',
      advice: 'Above 120, alerts do not reach people: `GET /v1/system` names the channels.',
    },
  ),
  sending: gauge('svc_deliveries_sending', 'Messages that are being sent.'),
  overdue: gauge(
    'svc_delivery_channels_overdue',
    'Channels with an alert that has waited for two minutes or more.',
    { advice: 'Above 0: `GET /v1/system` names them.' },
  ),
};
