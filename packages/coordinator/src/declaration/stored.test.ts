import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyUrl } from '../../../../test/support/any-text.ts';
import { joinSecrets, splitSecrets } from './stored.ts';

const name = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', '*', 'headers'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
);
const secret = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `hush ${text}`);

/** Generates objects with own members of any name, like the objects of JSON.parse. */
const mapping = fc
  .uniqueArray(fc.tuple(name, secret), { selector: ([key]) => key, maxLength: 4 })
  .map((entries) =>
    JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)}}`),
  );

const monitor = fc.record({
  url: fc.oneof(
    anyUrl(),
    secret.map((text) => `https://${encodeURI(text).replaceAll(/[/?#\\@]/g, '')}@example.com/?a`),
  ),
  headers: fc.array(fc.record({ key: name, value: secret }), { maxLength: 4 }),
  otlp_headers: fc.option(mapping),
  description: fc.constant(null),
});

test('joining restores separated secrets, also after both parts went through JSON', () => {
  fc.assert(
    fc.property(monitor, (attributes) => {
      const text = JSON.stringify(attributes);
      const { plain, parts } = splitSecrets('svc_http_monitor', attributes);
      const [stored, sealed] = [JSON.stringify(plain), JSON.stringify(parts)];
      expect(stored).not.toContain('hush');
      expect(JSON.stringify(joinSecrets(JSON.parse(stored), JSON.parse(sealed)))).toBe(text);
      expect(JSON.stringify(attributes)).toBe(text);
    }),
  );
});

test('a page without a password has no secret', () => {
  expect(splitSecrets('svc_status_page', { title: 'a', password: null })).toEqual({
    plain: { title: 'a', password: null },
    parts: [],
  });
});
