import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RESOURCE_KINDS } from './registry.ts';
import { MASK, masked, secretsIn } from './secrets.ts';

describe('the secrets in a resource', () => {
  test.each([
    [
      'members of lists',
      'svc_http_monitor',
      { name: 'a', headers: [{ key: 'a', value: 'b' }, { key: 'c' }, { key: 'd', value: '' }] },
      [
        { path: ['headers', 0, 'value'], isMember: false, value: 'b' },
        { path: ['headers', 2, 'value'], isMember: false, value: '' },
      ],
    ],
    [
      'members of mappings, whatever their names',
      'svc_http_monitor',
      JSON.parse('{"otlp_headers":{"a":"b","__proto__":"c"}}'),
      [
        { path: ['otlp_headers', 'a'], isMember: true, value: 'b' },
        { path: ['otlp_headers', '__proto__'], isMember: true, value: 'c' },
      ],
    ],
    [
      'single blocks',
      'svc_notification',
      { incident_a: { integration_key: 'a' } },
      [{ path: ['incident_a', 'integration_key'], isMember: false, value: 'a' }],
    ],
    [
      'single blocks as a list of one',
      'svc_notification',
      { incident_a: [{ integration_key: 'a' }], webhook: [{ headers: [{ key: 'k', value: 'v' }] }] },
      [
        { path: ['incident_a', 0, 'integration_key'], isMember: false, value: 'a' },
        { path: ['webhook', 0, 'headers', 0, 'value'], isMember: false, value: 'v' },
      ],
    ],
    ['null is none', 'svc_status_page', { password: null }, []],
    ['no resource at all', 'svc_status_page', 'password', []],
  ] as const)('%s', (_, kind, resource, places) => {
    const found = secretsIn(kind, resource);
    expect(found).toHaveLength(places.length);
    expect(found).toEqual(expect.arrayContaining([...places]));
  });

  test('are all that is masked', () => {
    const shapes = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('headers', 'value', 'otlp_headers', 'webhook', 'password'), tie('any')),
      ),
    })).any;
    fc.assert(
      fc.property(fc.constantFrom(...RESOURCE_KINDS), shapes, (kind, resource) => {
        fc.pre(typeof resource === 'object' && resource !== null);
        for (const { value } of secretsIn(kind, masked(kind, resource as object))) expect(value).toBe(MASK);
      }),
    );
  });
});
