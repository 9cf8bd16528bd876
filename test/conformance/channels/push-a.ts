import type { Case } from './case.ts';
import { COMMON_VERDICTS } from './verdicts.ts';

/** JSON to the root of the server. */
export const pushACase: Case<'push_a'> = {
  settings: (url) => ({
    topic: 'alerts',
    server_url: `${url}/ntfy?auth=query-s3cret`,
    token: 'tk_token-s3cret',
  }),
  operator: () => ({ pushABaseUrl: 'http://127.0.0.1:1' }),
  secrets: ['query-s3cret', 'tk_token-s3cret'],
  path: '/ntfy/?auth=query-s3cret',
  payload: {
    topic: 'alerts',
    title: 'Error: Shop "größte" \u{1F6D2}',
    message: [
      'Problem: status code 503, expected 200',
      'Status code: 503',
      'Latency: 123.4 ms',
      'HTTP target: https://shop.example/health?…',
      'Regions: 1 of 1 (hosta-fra)',
      'Failing since: 2026-01-01 00:00:01 UTC',
    ].join('\n'),
    priority: 5,
    tags: ['rotating_light'],
    click: 'https://svc.example/monitors/12/incident',
    actions: [
      { action: 'view', label: 'Open the incident', url: 'https://svc.example/monitors/12/incident' },
    ],
  },
  // A success tells the id of the message.
  verdicts: { ...COMMON_VERDICTS, 200: 'retry' },
  takenBody: JSON.stringify({ id: 'a1', time: 1_767_225_602, event: 'message', topic: 'alerts' }),
};
