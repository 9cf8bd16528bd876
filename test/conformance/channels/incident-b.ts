import type { Case } from './case.ts';
import { API_VERDICTS } from './vendor-verdicts.ts';

const KEY = '43a29c5c-3dbf-4fa4-9c26-s3cret';

const DESCRIPTION = `Error: Shop "größte" \u{1F6D2}
Problem: status code 503, expected 200
Status code: 503
Latency: 123.4 ms
HTTP target: https://shop.example/health?…
Regions: 1 of 1 (hosta-fra)
Failing since: 2026-01-01 00:00:01 UTC
https://svc.example/monitors/12/incident`;

export const incidentBCase: Case<'incident_b'> = {
  settings: () => ({ api_key: KEY, region: 'us' }),
  operator: (url) => ({ incidentBUsBaseUrl: `${url}/jsm`, incidentBEuBaseUrl: 'http://127.0.0.1:1' }),
  secrets: [KEY],
  path: '/jsm/v2/alerts',
  payload: {
    message: 'Error: Shop "größte" \u{1F6D2}: status code 503, expected 200',
    alias: '0b3c:12:1767225600000',
    description: DESCRIPTION,
    priority: 'P1',
    source: 'svc',
    entity: 'Shop "größte" \u{1F6D2}',
    tags: ['svc', 'http'],
    details: {
      monitor_id: '12',
      link: 'https://svc.example/monitors/12/incident',
      reason: 'majority-failed',
    },
  },
  taken: 202,
  verdicts: {
    ...API_VERDICTS,
    202: 'delivered',
    401: 'permanent-channel',
    402: 'permanent-channel',
    403: 'permanent-channel',
  },
};
