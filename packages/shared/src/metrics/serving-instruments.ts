import { counter, gauge } from './instrument.ts';

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
    advice: 'Where `500` or `503` grows, the log has the reason. Where `401` grows, somebody tries tokens.',
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
  leading: gauge('svc_leading', '1 while this coordinator leads, else 0.', {
    advice: '0 on all coordinators: nothing is checked.',
  }),
  natsConnected: gauge('svc_nats_connected', '1 while the coordinator is connected to NATS, else 0.', {
    advice: '0 for more than a minute: nothing is checked. Look at NATS and at the way to it.',
  }),
};
