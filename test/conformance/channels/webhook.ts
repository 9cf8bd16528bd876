import type { Case } from './case.ts';

/** The specification's flat JSON. */
const payload = {
  monitor: { id: 12, name: 'Shop "größte" \u{1F6D2}', url: 'https://shop.example/health?a=1&b=2' },
  cronTimestamp: 1_767_225_600_000,
  status: 'error',
  statusCode: 503,
  latency: 123.4,
  errorMessage: 'status code 503, expected 200',
};

export const webhookCase: Case<'webhook'> = {
  settings: (url) => ({
    endpoint: `${url}/hook/path-s3cret?key=query-s3cret`,
    headers: [{ key: 'Authorization', value: 'Bearer header-s3cret' }],
  }),
  secrets: ['query-s3cret', 'path-s3cret', 'header-s3cret'],
  path: '/hook/path-s3cret?key=query-s3cret',
  payload,
  verdicts: {
    200: 'delivered',
    201: 'delivered',
    202: 'delivered',
    204: 'delivered',
    299: 'delivered',
    301: 'retry',
    302: 'retry',
    304: 'retry',
    307: 'retry',
    400: 'retry',
    401: 'retry',
    403: 'retry',
    404: 'retry',
    408: 'retry',
    409: 'retry',
    410: 'permanent-channel',
    413: 'retry',
    422: 'retry',
    425: 'retry',
    429: 'retry',
    500: 'retry',
    502: 'retry',
    503: 'retry',
    504: 'retry',
    599: 'retry',
  },
};
