import { regionsWith } from '@svc/shared/regions.ts';
import {
  DEFINITIONS,
  parseResource,
  presented,
  RESOURCE_KINDS,
  type ResourceKind,
} from '@svc/shared/resources/registry.ts';
import { masked } from '@svc/shared/resources/secrets.ts';
import { MASK } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HTTP_MONITOR_DEFAULTS } from '../../../../test/support/resources.ts';
import { configurations } from '../../../../test/support/terraform/arbitrary-configurations.ts';
import { type TerraformObject, UNKNOWN } from '../value.ts';
import { planResource } from './plan.ts';
import { requestBody } from './request-body.ts';
import { resourceSchema } from './resource-schema.ts';
import { hasUnknown } from './same-value.ts';
import { stateAfterApply, stateAfterRead } from './state.ts';

type Answer = Record<string, unknown>;

/** The regions of the API, one of them its own. */
const REGIONS_THERE = regionsWith([{ id: 'office-berlin', name: null }]);

/** The API's answer to a body, after its own validation and normalization, through JSON. */
function answer(kind: ResourceKind, body: unknown): Answer {
  const parsed = parseResource(kind, JSON.parse(JSON.stringify(body)), 'api', REGIONS_THERE);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const computed = {
    id: '7',
    status: 'unknown',
    regions_status: [],
    published: true,
    theme: 'system',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-02T00:00:00.000Z',
    warnings: [],
  };
  return JSON.parse(JSON.stringify({ ...computed, ...presented(kind, parsed.value) }));
}

function plan(kind: ResourceKind, prior: TerraformObject | null, config: TerraformObject): TerraformObject {
  return planResource(DEFINITIONS[kind], { prior, proposed: config, config }).planned!;
}

function apply(kind: ResourceKind, prior: TerraformObject | null, config: TerraformObject) {
  const planned = plan(kind, prior, config);
  const answered = answer(kind, requestBody(DEFINITIONS[kind], planned));
  return { planned, answered, state: stateAfterApply(DEFINITIONS[kind], planned, answered) };
}

describe.each(RESOURCE_KINDS)('the state of %s', (kind) => {
  const definition = DEFINITIONS[kind];
  const configs = configurations(kind);
  const { attributes, blocks } = resourceSchema(definition);
  const names = [...Object.keys(attributes), ...Object.keys(blocks)].sort();

  test('after an apply is the plan, complete and without unknown values', () => {
    fc.assert(
      fc.property(configs, (config) => {
        const { planned, state } = apply(kind, null, config);
        expect(Object.keys(state).sort()).toEqual(names);
        expect(hasUnknown(state)).toBe(false);
        for (const name of names) {
          if (planned[name] !== UNKNOWN) expect(state[name]).toEqual(planned[name]);
        }
      }),
    );
  });

  test('is the same after a read with a token of any scope', () => {
    fc.assert(
      fc.property(configs, configs, (first, second) => {
        const { state, answered } = apply(kind, apply(kind, null, first).state, second);
        expect(stateAfterRead(definition, state, answered)).toEqual(state);
        expect(stateAfterRead(definition, state, masked(kind, answered))).toEqual(state);
      }),
    );
  });

  test('after a read gives a plan without changes', () => {
    fc.assert(
      fc.property(configs, (config) => {
        const { state, answered } = apply(kind, null, config);
        const read = stateAfterRead(definition, state, answered);
        expect(plan(kind, read, config)).toBe(read);
      }),
    );
  });

  test('after an import gives a plan without changes', () => {
    fc.assert(
      fc.property(configs, (config) => {
        // The service does not distinguish an empty set of regions from no set.
        fc.pre(!(Array.isArray(config.regions) && config.regions.length === 0));
        const { answered } = apply(kind, null, config);
        const empty = Object.fromEntries(names.map((name) => [name, name in blocks ? [] : null]));
        const imported = stateAfterRead(definition, { ...empty, id: '7' }, answered);
        expect(plan(kind, imported, config)).toBe(imported);
      }),
    );
  });

  test('follows changes that were made elsewhere', () => {
    fc.assert(
      fc.property(configs, configs, (first, second) => {
        const { state } = apply(kind, null, first);
        const elsewhere = apply(kind, state, second);
        const read = stateAfterRead(definition, state, elsewhere.answered);
        // A configuration with the read values gives the same answer as the one that made the change.
        expect(answer(kind, requestBody(definition, read))).toEqual(elsewhere.answered);
      }),
    );
  });
});

const emptyMonitor = (members: TerraformObject): TerraformObject => {
  const { attributes, blocks } = resourceSchema(DEFINITIONS.svc_http_monitor);
  const attributeNulls = Object.keys(attributes).map((name) => [name, null]);
  const noBlocks = Object.keys(blocks).map((name) => [name, []]);
  const needed = { name: 'a', url: 'https://example.com', periodicity: '1m' };
  return { ...Object.fromEntries([...attributeNulls, ...noBlocks]), ...needed, ...members };
};

test('the body of a monitor has everything that can be set, and its type', () => {
  const planned = plan('svc_http_monitor', null, emptyMonitor({ headers: [{ key: 'X-A', value: 'b' }] }));
  expect(requestBody(DEFINITIONS.svc_http_monitor, planned)).toEqual({
    type: 'http',
    name: 'a',
    url: 'https://example.com',
    periodicity: '1m',
    ...HTTP_MONITOR_DEFAULTS,
    headers: [{ key: 'X-A', value: 'b' }],
  });
});

test('the body of a channel has its settings under the name of its kind', () => {
  const channel = {
    name: null,
    provider_type: 'push_a',
    monitor_ids: ['3'],
    group_alerts: false,
    notify_unknown: true,
    remind_every: null,
  };
  const planned = { ...channel, email: [] };
  const settings = { topic: 'a', server_url: null, token: null };
  expect(requestBody(DEFINITIONS.svc_notification, { ...planned, push_a: [settings] })).toEqual({
    ...channel,
    push_a: settings,
  });
});

test('an unknown value is not sent', () => {
  const planned = emptyMonitor({ headers: [{ key: 'X-A', value: UNKNOWN }] });
  expect(() => requestBody(DEFINITIONS.svc_http_monitor, planned)).toThrow(
    'headers.value is unknown and cannot be sent',
  );
});

describe('a read keeps', () => {
  const kind = 'svc_http_monitor';
  const state = (members: TerraformObject) => apply(kind, null, emptyMonitor(members));

  test.each<[what: string, members: TerraformObject, expected: TerraformObject]>([
    ['no regions as they were written', { regions: [] }, { regions: [] }],
    [
      'the order of regions',
      { regions: ['hostb-par', 'hosta-fra'] },
      { regions: ['hostb-par', 'hosta-fra'] },
    ],
    ['no export headers apart from none at all', { otlp_headers: {} }, { otlp_headers: {} }],
    ['a fraction', { degraded_at: 0.1 }, { degraded_at: 0.1 }],
  ])('%s', (_what, members, expected) => {
    const { state: before, answered } = state(members);
    expect(stateAfterRead(DEFINITIONS[kind], before, answered)).toMatchObject(expected);
  });

  test.each<[what: string, elsewhere: Answer, expected: TerraformObject]>([
    ['another region', { regions: ['hosta-ams'] }, { regions: ['hosta-ams'] }],
    ['regions taken out', { regions: null }, { regions: null }],
    ['a description', { description: 'new' }, { description: 'new' }],
    ['the empty description', { description: '' }, { description: '' }],
    ['a zero', { retry: 0 }, { retry: 0 }],
    ['blocks taken out', { headers: [] }, { headers: [] }],
    [
      'a block put before the others',
      {
        headers: [
          { key: 'X-B', value: 'b' },
          { key: 'X-A', value: 'a' },
        ],
      },
      {
        headers: [
          { key: 'X-B', value: 'b' },
          { key: 'X-A', value: 'a' },
        ],
      },
    ],
    [
      'a block put before the others, secrets masked',
      {
        headers: [
          { key: 'X-B', value: MASK },
          { key: 'X-A', value: MASK },
        ],
      },
      {
        headers: [
          { key: 'X-B', value: null },
          { key: 'X-A', value: 'a' },
        ],
      },
    ],
    [
      'a URL that became another one, its user information masked',
      { url: `https://${MASK}@example.org` },
      { url: `https://${MASK}@example.org` },
    ],
    ['a URL that lost its user information', { url: 'https://example.com' }, { url: 'https://example.com' }],
    [
      'an export header, masked',
      { otlp_headers: { a: MASK, b: MASK } },
      { otlp_headers: { a: '1', b: null } },
    ],
    [
      'a value of another type',
      { name: 7, active: 'yes', timeout: '1' },
      { name: null, active: null, timeout: null },
    ],
  ])('not %s', (_what, elsewhere, expected) => {
    const { state: before, answered } = state({
      url: 'https://user:secret@example.com',
      regions: ['hosta-fra', 'hosta-ams'],
      headers: [{ key: 'X-A', value: 'a' }],
      otlp_headers: { a: '1' },
    });
    expect(stateAfterRead(DEFINITIONS[kind], before, { ...answered, ...elsewhere })).toMatchObject(expected);
  });

  test('the secret of a channel whose other settings changed', () => {
    const settings = { api_key: 'secret', region: 'us' };
    const prior: TerraformObject = { provider_type: 'incident_b', incident_b: [settings] };
    const answered = { provider_type: 'incident_b', incident_b: { api_key: MASK, region: 'eu' } };
    expect(stateAfterRead(DEFINITIONS.svc_notification, prior, answered)).toMatchObject({
      incident_b: [{ api_key: 'secret', region: 'eu' }],
      email: [],
    });
  });

  test('no secret of a channel whose kind changed', () => {
    const prior: TerraformObject = { provider_type: 'email', email: [{ email: 'a@example.com' }] };
    const answered = { provider_type: 'sms', sms: { phone_number: '+4915112345678' } };
    expect(stateAfterRead(DEFINITIONS.svc_notification, prior, answered)).toMatchObject({
      email: [],
      sms: [{ phone_number: '+4915112345678' }],
    });
  });
});

test('an imported secret that the token may not see is null, not the mask', () => {
  const read = stateAfterRead(DEFINITIONS.svc_status_page, { id: '7' }, { id: '7', password: MASK });
  expect(read.password).toBe(null);
});
