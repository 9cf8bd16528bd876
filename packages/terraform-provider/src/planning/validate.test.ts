import type { Attributes, Value } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import {
  configurations,
  partlyUnknown,
} from '../../../../test/support/terraform/arbitrary-configurations.ts';
import { bodyOf, channel } from '../../../../test/support/terraform/configuration-case.ts';
import { typedConfiguration } from '../../../../test/support/terraform/typed-configuration.ts';
import { VALID_CONFIGURATIONS } from '../../../../test/support/terraform/valid-configurations.ts';
import type { Diagnostic } from '../provider.ts';
import { ExactNumber, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { resourceSchema } from './resource-schema.ts';
import { validateConfig } from './validate.ts';
import { terraformDefinition } from './write-only.ts';

const CLIENT = { allowsWriteOnly: true };

function diagnostics(type: string, body: Readonly<Record<string, unknown>>): Diagnostic[] {
  const definition = DEFINITIONS[type as ResourceKind];
  const schema = resourceSchema(terraformDefinition(definition));
  return validateConfig(definition, typedConfiguration(schema, body), CLIENT);
}

/**
 * Validates the smallest valid configuration with these members added. Returns `path: detail` of each
 * diagnostic.
 */
function found(kind: ResourceKind, members: Readonly<Record<string, unknown>>): string[] {
  return diagnostics(kind, bodyOf(kind, members)).map(({ path, detail }) => `${path?.join('.')}: ${detail}`);
}

test.each(VALID_CONFIGURATIONS)('$type with $name is valid', ({ type, body }) => {
  expect(diagnostics(type, body)).toEqual([]);
});

test('the summary names the attribute', () => {
  const summaries = (kind: ResourceKind, members: object) =>
    diagnostics(kind, bodyOf(kind, { ...members })).map(({ summary }) => summary);
  expect(summaries('svc_tcp_monitor', { periodicity: '2m' })).toEqual(['Invalid periodicity']);
  expect(summaries('svc_http_monitor', { headers: [{ key: '', value: '' }] })).toEqual([
    'Invalid headers key',
  ]);
  expect(summaries('svc_status_page', { access_type: 'password' })).toEqual(['Missing password']);
  expect(summaries('svc_notification', { email: undefined })).toEqual(['Missing email']);
});

describe('unknown values are not judged', () => {
  test.each<[what: string, kind: ResourceKind, members: Record<string, unknown>, expected: string[]]>([
    ['an attribute', 'svc_tcp_monitor', { uri: UNKNOWN, timeout: UNKNOWN, regions: UNKNOWN }, []],
    ['a member of a set', 'svc_tcp_monitor', { regions: [UNKNOWN, 'hosta-fra'] }, []],
    ['a member of a list', 'svc_status_page', { auth_email_domains: [UNKNOWN] }, []],
    ['a value in a map', 'svc_tcp_monitor', { otlp_headers: { tenant: UNKNOWN } }, []],
    ['all blocks of a name', 'svc_http_monitor', { headers: UNKNOWN }, []],
    ['an attribute in a block', 'svc_http_monitor', { headers: [{ key: UNKNOWN, value: UNKNOWN }] }, []],
    [
      'an object in a list',
      'svc_notification',
      channel('webhook', { endpoint: UNKNOWN, headers: [UNKNOWN] }),
      [],
    ],
    [
      'a member of an object in a list',
      'svc_notification',
      channel('webhook', { endpoint: 'https://a', headers: [{ key: UNKNOWN, value: 'a' }] }),
      [],
    ],
    ['the kind of a channel', 'svc_notification', { provider_type: UNKNOWN }, []],
    ['the block of a channel', 'svc_notification', { email: UNKNOWN }, []],
    ['the block of another kind', 'svc_notification', { sms: UNKNOWN }, []],
    ['the access', 'svc_status_page', { access_type: UNKNOWN }, []],
    ['the password', 'svc_status_page', { access_type: 'password', password: UNKNOWN }, []],
    ['the domains', 'svc_status_page', { access_type: 'email-domain', auth_email_domains: UNKNOWN }, []],
    ['the type of a component', 'svc_status_page_component', { type: UNKNOWN, monitor_id: '1' }, []],
    ['the monitor of a component', 'svc_status_page_component', { type: 'monitor', monitor_id: UNKNOWN }, []],
    ['part of a body too large', 'svc_http_monitor', { body: '\u0001'.repeat(262_144), name: UNKNOWN }, []],
    [
      'but a wrong member beside it is',
      'svc_tcp_monitor',
      { regions: [UNKNOWN, 'hosta-frx'] },
      ['regions: regions: "hosta-frx" is not a region: did you mean "hosta-fra"?'],
    ],
    [
      'but the name of an unknown value is',
      'svc_tcp_monitor',
      { otlp_headers: { Host: UNKNOWN } },
      [expect.stringContaining('names a header that the connection itself sets')],
    ],
    [
      'but its place in a list counts',
      'svc_status_page',
      { auth_email_domains: [UNKNOWN, '@a.example'] },
      [expect.stringMatching(/^auth_email_domains\.1: auth_email_domains\[1\] must be/)],
    ],
    [
      'but how many there are is',
      'svc_notification',
      channel('webhook', { endpoint: 'https://a', headers: Array(21).fill(UNKNOWN) }),
      ['webhook.0.headers: webhook[0].headers has 21 entries, but at most 20 are allowed.'],
    ],
    [
      'but another rule is',
      'svc_status_page',
      { access_type: 'password', auth_email_domains: UNKNOWN, title: UNKNOWN },
      ['password: password is required when access_type is password.'],
    ],
  ])('%s', (_what, kind, members, expected) => {
    expect(found(kind, members)).toEqual(expected);
  });

  test.each(RESOURCE_KINDS)('in any attribute of a valid %s', (kind) => {
    fc.assert(
      fc.property(fc.oneof(configurations(kind), partlyUnknown(kind)), (config) => {
        expect(validateConfig(DEFINITIONS[kind], config, CLIENT)).toEqual([]);
      }),
    );
  });
});

test.each<[kind: ResourceKind, members: Record<string, unknown>, expected: string]>([
  ['svc_tcp_monitor', { name: null }, 'name: name is required, but it is null.'],
  ['svc_tcp_monitor', { regions: [null] }, 'regions: regions has a member that is null: remove it.'],
  [
    'svc_tcp_monitor',
    { otlp_headers: { a: null } },
    'otlp_headers.[object Object]: otlp_headers has a member that is null: remove it.',
  ],
  [
    'svc_status_page',
    { auth_email_domains: [null] },
    'auth_email_domains.0: auth_email_domains[0] has a member that is null: remove it.',
  ],
  [
    'svc_http_monitor',
    { headers: [{ key: 'X-A', value: null }] },
    'headers.0.value: headers[0].value is required, but it is null.',
  ],
  [
    'svc_notification',
    channel('webhook', { endpoint: 'https://a', headers: [{ key: 'X-A', value: null }] }),
    'webhook.0.headers.0.value: webhook[0].headers[0].value is required, but it is null.',
  ],
])('a null in %s that Terraform lets pass is refused: %j', (kind, members, expected) => {
  expect(found(kind, members)).toEqual([expected]);
});

describe.each(RESOURCE_KINDS)('of %s', (kind) => {
  const definition = DEFINITIONS[kind];

  test('no message repeats a secret, however wrong the secret is', () => {
    fc.assert(
      fc.property(configurations(kind), anyText(), (config, garbage) => {
        const secret = `${garbage}hunter2${garbage}`;
        const blocks = Object.entries(definition.blocks).map(([name, block]) => [
          name,
          (config[name] as TerraformObject[]).map((member) => spoilt(block.attributes, member, secret)),
        ]);
        const spoiltConfig = {
          ...spoilt(definition.attributes, config, secret),
          ...Object.fromEntries(blocks),
        };
        const told = validateConfig(definition, spoiltConfig, CLIENT);
        for (const { summary, detail } of told) expect(summary + detail).not.toContain('hunter2');
      }),
    );
  });

  test('for any values, the diagnostics point at members', () => {
    const schema = resourceSchema(definition);
    fc.assert(
      fc.property(anyConfiguration(kind), (config) => {
        for (const { path, summary, detail } of validateConfig(definition, config, CLIENT)) {
          expect(summary).not.toBe('');
          expect(detail).toMatch(/[.?]$/);
          const first = path?.[0];
          if (first !== undefined)
            expect({ ...schema.attributes, ...schema.blocks }).toHaveProperty([String(first)]);
        }
      }),
    );
  });
});

/** The object with all secrets replaced. */
function spoilt(attributes: Attributes, object: TerraformObject, secret: string): TerraformObject {
  const entries = Object.entries(object).map(([name, value]): [string, TerraformValue] => {
    const attribute = attributes[name];
    if (attribute === undefined || value === null) return [name, value];
    const { value: type } = attribute;
    if (type.attributes !== undefined) {
      const members = value as readonly TerraformObject[];
      return [name, members.map((member) => spoilt(type.attributes!, member, secret))];
    }
    if (!attribute.secret) return [name, value];
    return [name, type.type === 'map' ? { Authorization: secret, [secret]: secret } : secret];
  });
  return Object.fromEntries(entries);
}

/** Any values of the right types. */
function anyConfiguration(kind: ResourceKind): fc.Arbitrary<TerraformObject> {
  const { attributes, blocks } = DEFINITIONS[kind];
  const members = (of: Attributes): fc.Arbitrary<TerraformObject> =>
    fc.record(Object.fromEntries(Object.entries(of).map(([name, { value }]) => [name, anyValue(value)])));
  const blockLists = Object.entries(blocks).map(([name, block]) => [
    name,
    fc.oneof(fc.array(members(block.attributes), { maxLength: 2 }), fc.constant(UNKNOWN)),
  ]);
  return fc
    .tuple(members(attributes), fc.record(Object.fromEntries(blockLists)))
    .map(([one, other]) => ({ ...one, ...(other as TerraformObject) }));
}

function anyValue(value: Value): fc.Arbitrary<TerraformValue> {
  const text = fc.oneof(anyText(), fc.constant(null), fc.constant(UNKNOWN));
  const exact = fc.bigInt().map((integer) => new ExactNumber(String(integer)));
  const types: Record<Value['type'], fc.Arbitrary<TerraformValue>> = {
    string: text,
    bool: fc.boolean(),
    number: fc.oneof(fc.double({ noNaN: true }), exact, fc.constant(UNKNOWN)),
    set: fc.array(text),
    list: fc.array(text),
    map: fc.dictionary(fc.string(), text),
    objects: fc.array(
      fc.oneof(fc.record({ key: text, value: text }), fc.constant(null), fc.constant(UNKNOWN)),
    ),
  };
  return fc.oneof({ weight: 5, arbitrary: types[value.type] }, fc.constantFrom(null, UNKNOWN));
}
