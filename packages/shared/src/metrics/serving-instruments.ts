import { counter, gauge, histogram } from './instrument.ts';

/** The counters of every coordinator, whether it leads or not. They count from its start. */
export const API_COUNTERS = {
  answers: counter('svc_api_answers_total', 'Answers of the API.', {
    label: {
      name: 'status',
      values: {
        '200': 'It was done.',
        '201': 'It was created.',
        '202': 'It was accepted and is in progress.',
        '204': 'It was done. The answer has no body.',
        '304': 'It has not changed.',
        '400': 'The request cannot be read.',
        '401': 'A valid token is needed.',
        '403': 'The token does not allow this.',
        '404': 'The object does not exist.',
        '405': 'The path does not have that method.',
        '409': 'It conflicts with the present state.',
        '412': 'The object was changed in between.',
        '413': 'The body is too large.',
        '415': 'The body is not declared as JSON.',
        '421': 'The request is for another host.',
        '422': 'The content is not valid.',
        '429': 'There are too many requests.',
        '500': 'A defect of svc; the log has it.',
        '503': 'It is not possible at the moment.',
        other: 'Any other status.',
      },
    },
    advice: 'Where `500` or `503` grows, the log has the reason. Where `401` grows, a client tries tokens.',
  }),
  requests: counter('svc_api_requests_total', 'Requests that the API answered.', {
    openLabels: {
      method: 'The method of the endpoint, or `other` where there is none.',
      route: 'The path of the endpoint as the API description has it, or `other` where there is none.',
      status: 'The status of the answer, one of some twenty.',
    },
  }),
  requestDuration: histogram('svc_api_request_duration_seconds', 'How long answers of the API took.', {
    unit: 'seconds',
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  }),
  disconnects: counter('svc_nats_disconnects_total', 'Times that the connection to NATS was lost.', {
    advice: 'Steady growth: look at NATS and at the way to it.',
  }),
  auditLinesLeftOut: counter('svc_audit_lines_left_out_total', 'Lines that the audit trail lacks.', {
    label: {
      name: 'reason',
      values: {
        flood: 'Many refusals came at once from one source. Only some of them became lines.',
        database: 'The database did not accept the line.',
      },
    },
    advice: 'Where `flood` grows, one source is refused again and again. The trail names it.',
  }),
};

/** The gauges of every coordinator. They are measured when they are read. */
export const SERVING_GAUGES = {
  leading: gauge('svc_leading', '1 while this coordinator leads and can renew its lease, else 0.', {
    advice: '0 on all coordinators: nothing is checked.',
  }),
  databaseBytes: gauge('svc_database_bytes', 'Size of the database.', { unit: 'bytes' }),
  journalBytes: gauge(
    'svc_database_journal_bytes',
    "Size of the database's journal. PostgreSQL does not report it.",
    {
      unit: 'bytes',
      advice: 'Above 1 GiB: a program has been reading the database for long. The log says so.',
    },
  ),
  freeBytes: gauge(
    'svc_database_free_bytes',
    "Space that is left on the database's disk. PostgreSQL does not report it.",
    {
      unit: 'bytes',
      advice:
        'Below 1 GiB: make room, or lower `SVC_RESULT_RETENTION_DAYS`. On a full disk nothing is recorded.',
    },
  ),
  natsConnected: gauge(
    'svc_nats_connected',
    '1 while all connections of the coordinator to NATS are up, else 0.',
    {
      advice: '0 for more than a minute: nothing is checked. Look at NATS and at the way to it.',
    },
  ),
};
