import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  configurations,
  partlyUnknown,
} from '../../../../test/support/terraform/arbitrary-configurations.ts';
import type { Plan } from '../provider.ts';
import { ExactNumber, isObject, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { planResource } from './plan.ts';
import { resourceSchema } from './resource-schema.ts';

function planned(kind: ResourceKind, prior: TerraformObject | null, config: TerraformObject): Plan {
  return planResource(DEFINITIONS[kind], { prior, proposed: config, config });
}

/** The computed attributes that no update through Terraform changes. */
const STABLE: ReadonlySet<string> = new Set(['id', 'created_at', 'published', 'theme']);
const schemas = Object.fromEntries(RESOURCE_KINDS.map((kind) => [kind, resourceSchema(DEFINITIONS[kind])]));

/** The state after an apply: the plan, with possible values of the service for computed attributes. */
function applied(plan: Plan): TerraformObject {
  const entries = Object.entries(plan.planned!).map(([name, value]) => [
    name,
    value === UNKNOWN ? (name === 'published' ? true : `set-${name}`) : value,
  ]);
  return Object.fromEntries(entries);
}

/** A text that is the same for all values that Terraform treats as equal. Unknown values have a text too. */
function text(value: TerraformValue | undefined, isSet = false): string {
  if (Array.isArray(value)) {
    const members = value.map((member) => text(member));
    return JSON.stringify(isSet ? members.sort() : members);
  }
  if (value !== undefined && isObject(value)) {
    const names = Object.keys(value).sort();
    return JSON.stringify(names.map((name) => [name, text(value[name])]));
  }
  return typeof value === 'symbol' ? 'unknown' : JSON.stringify(value);
}

/** The rules that a plan breaks, as Terraform checks them with the schema that it got. */
function broken(
  kind: ResourceKind,
  prior: TerraformObject | null,
  config: TerraformObject,
  plan: TerraformObject,
): string[] {
  const { attributes, blocks } = schemas[kind]!;
  const names = [...Object.keys(attributes), ...Object.keys(blocks)].sort();
  const wrong = text(Object.keys(plan).sort()) === text(names) ? [] : ['other members than the schema has'];
  for (const [name, { type, setting }] of Object.entries(attributes)) {
    const same = (other: TerraformValue | undefined) =>
      text(plan[name], type[0] === 'set') === text(other, type[0] === 'set');
    const isFree = config[name] === null && setting.includes('computed');
    const isPrior = config[name] !== null && prior !== null && same(prior[name]);
    if (!isFree && !isPrior && !same(config[name])) wrong.push(`${name} is not planned as configured`);
  }
  for (const name of Object.keys(blocks)) {
    if (text(plan[name]) !== text(config[name])) wrong.push(`blocks ${name} are not planned as configured`);
  }
  return wrong;
}

/** The text of a whole object, in which the order of sets does not count. */
function objectText(kind: ResourceKind, object: TerraformObject): string {
  const isSet = (name: string) => schemas[kind]!.attributes[name]?.type[0] === 'set';
  return JSON.stringify(Object.entries(object).map(([name, value]) => [name, text(value, isSet(name))]));
}

/** The same configuration, but the members of its sets are in another order. */
function turned(kind: ResourceKind, config: TerraformObject): TerraformObject {
  const entries = Object.entries(config).map(([name, value]) => {
    const isSet = schemas[kind]!.attributes[name]?.type[0] === 'set';
    return [name, isSet && Array.isArray(value) ? value.toReversed() : value];
  });
  return Object.fromEntries(entries);
}

const isComputed = (kind: ResourceKind) => (name: string) =>
  schemas[kind]!.attributes[name]?.setting === 'computed';

describe.each(RESOURCE_KINDS)('a plan of %s', (kind) => {
  const configs = configurations(kind);
  const computed = Object.keys(schemas[kind]!.attributes).filter(isComputed(kind));
  const replacing = Object.keys(DEFINITIONS[kind].attributes).filter(
    (name) => DEFINITIONS[kind].attributes[name]?.replaces,
  );

  test('for a creation keeps to the rules, and its computed attributes are unknown', () => {
    fc.assert(
      fc.property(fc.oneof(configs, partlyUnknown(kind)), (config) => {
        const { planned: plan, replaces } = planned(kind, null, config);
        expect(broken(kind, null, config, plan!)).toEqual([]);
        expect(replaces).toEqual([]);
        for (const name of computed) expect(plan![name]).toBe(UNKNOWN);
      }),
    );
  });

  test('for a change keeps to the rules, and names the attributes that require a new object', () => {
    fc.assert(
      fc.property(configs, fc.oneof(configs, partlyUnknown(kind)), (first, second) => {
        const prior = applied(planned(kind, null, first));
        const { planned: plan, replaces } = planned(kind, prior, second);
        expect(broken(kind, prior, second, plan!)).toEqual([]);
        const changed = replacing.filter((name) => second[name] !== prior[name]);
        expect(replaces).toEqual(changed.map((name) => [name]));
        if (plan === prior) return;
        for (const name of computed) {
          const isStable = changed.length === 0 && STABLE.has(name);
          expect(plan![name]).toBe(isStable ? prior[name] : UNKNOWN);
        }
      }),
    );
  });

  test('of the applied configuration changes nothing, whatever the order of sets', () => {
    fc.assert(
      fc.property(configs, configs, (first, second) => {
        const before = applied(planned(kind, null, first));
        const state = applied(planned(kind, before, second));
        for (const config of [second, turned(kind, second)]) {
          const again = planned(kind, state, config);
          expect(again.planned).toBe(state);
          expect(again.replaces).toEqual([]);
        }
      }),
    );
  });

  test('changes something exactly when the configurations differ', () => {
    fc.assert(
      fc.property(configs, configs, (first, second) => {
        const [one, other] = [first, second].map((config) => planned(kind, null, config).planned!);
        const prior = applied(planned(kind, null, first));
        const isKept = planned(kind, prior, second).planned === prior;
        expect(isKept).toBe(objectText(kind, one!) === objectText(kind, other!));
      }),
    );
  });

  test('for a removal is null', () => {
    const plan = planResource(DEFINITIONS[kind], { prior: {}, proposed: null, config: null });
    expect(plan).toEqual({ planned: null, replaces: [], diagnostics: [] });
  });
});

describe('an update', () => {
  const EMPTY = {
    name: 'a',
    uri: 'example.com:443',
    periodicity: '1m',
    timeout: null,
    degraded_at: null,
    retry: null,
    active: null,
    public: null,
    description: null,
    regions: null,
    quorum: null,
    confirm_after: null,
    recover_after: null,
    otlp_endpoint: null,
    otlp_headers: null,
    id: null,
    status: null,
  };
  const stateOf = (members: TerraformObject) =>
    applied(planned('svc_tcp_monitor', null, { ...EMPTY, ...members }));

  test.each<[what: string, before: TerraformObject, after: TerraformObject, expected: TerraformObject]>([
    ['resets a default', { timeout: 1_000 }, {}, { timeout: 45_000 }],
    ['resets the quorum', { quorum: '2' }, {}, { quorum: 'majority' }],
    ['keeps a zero apart from a default', { retry: 0 }, { retry: 3 }, { retry: 3 }],
    ['clears a description', { description: 'a' }, {}, { description: null }],
    ['tells the empty description from none', { description: 'a' }, { description: '' }, { description: '' }],
    ['tells no regions from none at all', {}, { regions: [] }, { regions: [] }],
    ['resets regions', { regions: ['hosta-fra'] }, {}, { regions: null }],
    ['takes over what is unknown', { timeout: 1 }, { timeout: UNKNOWN }, { timeout: UNKNOWN }],
    [
      'takes over a set that is unknown in part',
      { regions: ['hosta-fra'] },
      { regions: ['hosta-fra', UNKNOWN] },
      { regions: ['hosta-fra', UNKNOWN] },
    ],
    ['keeps the id, not the status', {}, { name: 'b' }, { id: 'set-id', status: UNKNOWN }],
  ])('%s', (_what, before, after, expected) => {
    const { planned: plan } = planned('svc_tcp_monitor', stateOf(before), { ...EMPTY, ...after });
    expect(plan).toMatchObject(expected);
    expect(plan!.status).toBe(UNKNOWN);
  });

  test.each([
    ['1000', 1_000],
    ['1000.00', 1_000],
    ['1e3', 1_000],
    ['0.10', 0.1],
    ['9007199254740993', new ExactNumber('9007199254740993.0')],
  ])('reads %s as the number that it is', (written, before) => {
    const prior = { ...stateOf({}), degraded_at: before };
    const config = { ...EMPTY, degraded_at: new ExactNumber(written) };
    expect(planned('svc_tcp_monitor', prior, config).planned).toBe(prior);
  });

  test('distinguishes numbers that are equal as doubles', () => {
    const prior = { ...stateOf({}), degraded_at: new ExactNumber('9007199254740993') };
    const config = { ...EMPTY, degraded_at: new ExactNumber('9007199254740992') };
    expect(planned('svc_tcp_monitor', prior, config).planned).toMatchObject({
      degraded_at: config.degraded_at,
    });
  });

  test('without an id, as after a failed creation, plans the id as unknown', () => {
    const prior = { ...stateOf({}), id: null };
    expect(planned('svc_tcp_monitor', prior, { ...EMPTY, name: 'b' }).planned).toMatchObject({ id: UNKNOWN });
  });
});

test('a component that moves to a page that does not exist yet is replaced', () => {
  const component = { page_id: '1', type: 'static', monitor_id: null, name: null, description: null };
  const config = { ...component, order: null, group_id: null, group_order: null };
  const prior = applied(planned('svc_status_page_component', null, config));
  const moved = planned('svc_status_page_component', prior, { ...config, page_id: UNKNOWN });
  expect(moved.replaces).toEqual([['page_id']]);
  expect(moved.planned).toMatchObject({ id: UNKNOWN, created_at: UNKNOWN, page_id: UNKNOWN });
});

test('a dynamic block over an unknown value stays unknown as a whole', () => {
  const config: TerraformObject = { name: 'a', url: 'https://a', periodicity: '1m', headers: UNKNOWN };
  expect(planned('svc_http_monitor', null, config).planned).toMatchObject({
    headers: UNKNOWN,
    body_assertions: [],
  });
});

test('the order of blocks and of lists counts', () => {
  const [first, second] = [
    { key: 'X-A', value: 'a' },
    { key: 'X-B', value: 'b' },
  ];
  const monitor = { name: 'a', url: 'https://a', periodicity: '1m' };
  const prior = applied(planned('svc_http_monitor', null, { ...monitor, headers: [first, second] }));
  const turnedBlocks = planned('svc_http_monitor', prior, { ...monitor, headers: [second, first] });
  expect(turnedBlocks.planned).toMatchObject({ headers: [second, first] });

  const page = { title: 'a', slug: 'a' };
  const domains = ['example.org', 'example.com'];
  const state = applied(planned('svc_status_page', null, { ...page, auth_email_domains: domains }));
  const turnedList = planned('svc_status_page', state, { ...page, auth_email_domains: domains.toReversed() });
  expect(turnedList.planned).toMatchObject({ auth_email_domains: ['example.com', 'example.org'] });
});
