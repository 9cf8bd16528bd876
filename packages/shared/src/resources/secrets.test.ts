import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MASK } from '../secret.ts';
import { urlSecrets } from '../url-secrets.ts';
import { RESOURCE_KINDS } from './registry.ts';
import { isMask, masked, secretAt, secretsIn } from './secrets.ts';

describe('the secrets in a resource', () => {
  test.each([
    [
      'members of lists',
      'svc_http_monitor',
      { name: 'a', headers: [{ key: 'a', value: 'b' }, { key: 'c' }, { key: 'd', value: '' }] },
      [
        { path: ['headers', 0, 'value'], isMember: false, part: undefined, value: 'b' },
        { path: ['headers', 2, 'value'], isMember: false, part: undefined, value: '' },
      ],
    ],
    [
      'members of mappings, whatever their names',
      'svc_http_monitor',
      JSON.parse('{"otlp_headers":{"a":"b","__proto__":"c"}}'),
      [
        { path: ['otlp_headers', 'a'], isMember: true, part: undefined, value: 'b' },
        { path: ['otlp_headers', '__proto__'], isMember: true, part: undefined, value: 'c' },
      ],
    ],
    [
      'single blocks',
      'svc_notification',
      { incident_a: { integration_key: 'a' } },
      [{ path: ['incident_a', 'integration_key'], isMember: false, part: undefined, value: 'a' }],
    ],
    [
      'single blocks as a list of one',
      'svc_notification',
      { incident_a: [{ integration_key: 'a' }], webhook: [{ headers: [{ key: 'k', value: 'v' }] }] },
      [
        { path: ['incident_a', 0, 'integration_key'], isMember: false, part: undefined, value: 'a' },
        { path: ['webhook', 0, 'headers', 0, 'value'], isMember: false, part: undefined, value: 'v' },
      ],
    ],
    [
      'texts of which a part is one, where they have it',
      'svc_http_monitor',
      { name: 'http://a:b@c', url: 'http://a:b@c' },
      [{ path: ['url'], isMember: false, part: urlSecrets, value: 'http://a:b@c' }],
    ],
    ['no part, no secret', 'svc_http_monitor', { url: 'http://c', body: '' }, []],
    ['null is none', 'svc_status_page', { password: null }, []],
    ['no resource at all', 'svc_status_page', 'password', []],
  ] as const)('%s', (_, kind, resource, places) => {
    const found = secretsIn(kind, resource);
    expect(found).toHaveLength(places.length);
    expect(found).toEqual(expect.arrayContaining([...places]));
  });

  test('are masked in a list where no list is meant', () => {
    expect(masked('svc_notification', [{ webhook: [{ endpoint: 'a' }] }])).toEqual([
      { webhook: [{ endpoint: MASK }] },
    ]);
  });

  test('are all that is masked', () => {
    const shapes = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        fc.string(),
        fc.constant('https://user:secret@example.com/'),
        fc.constant(null),
        fc.array(tie('any'), { maxLength: 2 }),
        fc.dictionary(
          fc.constantFrom('headers', 'value', 'otlp_headers', 'webhook', 'password', 'url', 'endpoint'),
          tie('any'),
        ),
      ),
    })).any;
    fc.assert(
      fc.property(fc.constantFrom(...RESOURCE_KINDS), shapes, (kind, resource) => {
        fc.pre(typeof resource === 'object' && resource !== null);
        for (const place of secretsIn(kind, masked(kind, resource as object)))
          expect(isMask(place)).toBe(true);
      }),
    );
  });
});

describe('a secret at a place', () => {
  test.each([
    [['url'], 'https://user:secret@example.com', true],
    [['url'], 'https://example.com', false],
    [['url'], null, false],
    [['headers', 0, 'value'], '', true],
    [['headers', 0, 'key'], 'X-A', false],
    [['otlp_headers', 'X-A'], 'a', true],
  ])('%j: %j', (path, value, isSecret) => {
    expect(secretAt('svc_http_monitor', path, value) !== null).toBe(isSecret);
  });

  test.each([
    ['https://********@example.com', true],
    ['https://********:a@example.com', false],
    ['https://user:********@example.com', false],
  ])('%s: sent back as it was shown: %j', (value, isShown) => {
    expect(isMask({ value, part: urlSecrets })).toBe(isShown);
    expect(isMask({ value: MASK, part: undefined })).toBe(true);
  });
});
