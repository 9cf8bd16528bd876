import { httpMonitor } from '@svc/shared/resources/http-monitor.ts';
import { notification } from '@svc/shared/resources/notification.ts';
import { statusPage } from '@svc/shared/resources/status-page.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { resourceSchema } from './planning/resource-schema.ts';
import { pathOfPointer } from './pointer-path.ts';

const SCHEMAS = {
  monitor: resourceSchema(httpMonitor),
  notification: resourceSchema(notification),
  page: resourceSchema(statusPage),
};

test.each([
  ['monitor', '/name', ['name']],
  ['monitor', '/headers/2/value', ['headers', 2, 'value']],
  ['monitor', '/headers/2', ['headers', 2]],
  ['monitor', '/headers', ['headers', 0]],
  ['monitor', '/regions/3', ['regions']],
  ['monitor', '/otlp_headers/x~1y~0z', ['otlp_headers', { key: 'x/y~z' }]],
  ['notification', '/webhook', ['webhook', 0]],
  ['notification', '/webhook/endpoint', ['webhook', 0, 'endpoint']],
  ['notification', '/webhook/headers/1/key', ['webhook', 0, 'headers', 1, 'key']],
  ['notification', '/monitor_ids/7', ['monitor_ids']],
  ['page', '/auth_email_domains/1', ['auth_email_domains', 1]],
  ['page', '/slug', ['slug']],
  ['monitor', '', null],
  ['monitor', '/type', null],
  ['monitor', '/status', null],
  ['monitor', '/nothing/0', null],
  ['monitor', '/__proto__', null],
  ['monitor', '/headers/0/constructor', ['headers', 0]],
] as const)('%s %s', (schema, pointer, path) => {
  expect(pathOfPointer(SCHEMAS[schema], pointer)).toEqual(path);
});

test('for any pointer, the path begins with an attribute or block of a configuration', () => {
  const step = fc.oneof(
    fc.constantFrom('webhook', 'headers', 'key', 'monitor_ids', '0', '17', ''),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const path = pathOfPointer(SCHEMAS.notification, steps.map((one) => `/${one}`).join(''));
      if (path === null) return;
      const { attributes, blocks } = SCHEMAS.notification;
      expect({ ...attributes, ...blocks }).toHaveProperty([String(path[0])]);
    }),
  );
});
