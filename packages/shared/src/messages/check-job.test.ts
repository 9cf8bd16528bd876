import { expect, test } from 'vitest';
import type { CheckKind, CheckOf } from './check.ts';
import { checkJob } from './check-job.ts';

const common = { timeout: 5_000, retry: 2, degraded_at: 0 };
const CHECKS: { readonly [K in CheckKind]: CheckOf<K> } = {
  http: {
    type: 'http',
    url: 'https://a.example/',
    method: 'POST',
    headers: [{ key: 'Accept', value: 'text/html' }],
    body: 'x',
    follow_redirects: true,
    status_code_assertions: [{ target: 200, comparator: 'eq' }],
    body_assertions: [{ target: 'ok', comparator: 'contains' }],
    header_assertions: [{ key: 'Server', target: '', comparator: 'not_empty' }],
    certificate_expiry_days: 14,
    ...common,
  },
  tcp: { type: 'tcp', uri: 'a.example:25', ...common },
  dns: { type: 'dns', uri: 'a.example', record_assertions: [], ...common },
};
const job = (check: unknown) => ({
  ...{ monitor: 7, version: 1, slot: 1_763_720_000_000, token: 'x'.repeat(22) },
  ...{ wait_ms: 100, start_within_ms: 10_000, slow: true, check },
});

test.each(Object.values(CHECKS))(
  'a job is read with every member of a check of $type, without what is unknown',
  (check) => {
    const read = checkJob.parse({ ...job({ ...check, later: 1 }), later: 1 });
    expect({ ...read, check: read.check.reveal() }).toEqual(job(check));
  },
);
