import type { Case } from './case.ts';
import { API_VERDICTS } from './vendor-verdicts.ts';

const MESSAGE = `Problem: status code 503, expected 200
Status code: 503
Latency: 123.4 ms
HTTP target: https://shop.example/health?…
Regions: 1 of 1 (hosta-fra)
Failing since: 2026-01-01 00:00:01 UTC`;

export const incidentCCase: Case<'incident_c'> = {
  settings: (url) => ({ webhook_url: `${url}/integrations/v1/formatted_webhook/path-s3cret/` }),
  secrets: ['path-s3cret'],
  path: '/integrations/v1/formatted_webhook/path-s3cret/',
  payload: {
    alert_uid: '0b3c:12:1767225600000',
    title: 'Error: Shop "größte" \u{1F6D2}',
    message: MESSAGE,
    state: 'alerting',
    link_to_upstream_details: 'https://svc.example/monitors/12/incident',
  },
  verdicts: {
    ...API_VERDICTS,
    200: 'delivered',
    401: 'permanent-channel',
    403: 'permanent-channel',
    404: 'permanent-channel',
    410: 'permanent-channel',
  },
};
