import type { Attribute, Attributes, ResourceDefinition, Value } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { type TerraformObject, type TerraformValue, UNKNOWN } from '@svc/terraform-provider/value.ts';
import fc from 'fast-check';
import { CHANNEL_SAMPLES } from '../channel-samples.ts';

/** Valid texts, by attribute. If the kind decides the form of the text, by kind and attribute. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  regions: ['hosta-fra', 'hostb-par', 'hostc-us-west2', 'office-berlin'],
  quorum: ['majority', 'any', 'all', '1', '28'],
  name: ['a', 'Prüfung – 検査', ' with blanks '],
  title: ['a', 'Status'],
  slug: ['a', 'a-b--c', '1'],
  url: ['https://example.com', 'http://[::1]:8080/a?b#c'],
  'svc_tcp_monitor.uri': ['example.com:443', '[::1]:1'],
  'svc_dns_monitor.uri': ['example.com', '_dmarc.example.com.'],
  description: ['', 'a', 'two\nlines'],
  body: ['', '{"a":1}'],
  homepage_url: ['https://example.com'],
  contact_url: ['mailto:ops@example.com', 'https://example.com'],
  icon: ['https://example.com/icon.png'],
  custom_domain: ['status.example.com'],
  password: ['correct horse', 'a'],
  auth_email_domains: ['example.com', 'example.org', 'example.net'],
  otlp_endpoint: ['http://localhost:4318/v1/metrics'],
  otlp_headers: ['Bearer a', '', 'b'],
  key: ['X-A', 'x-a', 'Accept'],
  value: ['', 'a', 'Bearer b'],
  target: ['', 'a', '192.0.2.1'],
  ...channelTexts(),
};
const IDS = ['1', '3', '12', '999999999999999'];

/** Texts of the settings of channels, by their names. */
function channelTexts(): Record<string, string[]> {
  const texts: Record<string, string[]> = {};
  for (const samples of Object.values(CHANNEL_SAMPLES)) {
    for (const [name, values] of Object.entries(samples)) {
      const isText = values.every((value: unknown) => typeof value === 'string');
      if (isText) texts[name] = [...(texts[name] ?? []), ...(values as readonly string[])];
    }
  }
  return texts;
}

/** Configurations of a kind that Terraform and the provider accept, with nothing unknown. */
export function configurations(kind: ResourceKind): fc.Arbitrary<TerraformObject> {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const members: Record<string, fc.Arbitrary<TerraformValue>> = attributeMembers(definition.attributes, kind);
  for (const [name, block] of Object.entries(definition.blocks)) {
    const one = record(attributeMembers(block.attributes, kind));
    members[name] =
      block.nesting === 'single' ? one.map((member) => [member]) : fc.array(one, { maxLength: 3 });
  }
  return record(members).map((config) => withinRules(definition, config));
}

/** Like {@link configurations}, with unknown attributes, members and blocks. */
export function partlyUnknown(kind: ResourceKind): fc.Arbitrary<TerraformObject> {
  return configurations(kind).chain((config) => blurred(config) as fc.Arbitrary<TerraformObject>);
}

function blurred(value: TerraformValue): fc.Arbitrary<TerraformValue> {
  const unknown = { weight: 1, arbitrary: fc.constant<TerraformValue>(UNKNOWN) };
  // An omitted member is known to be absent. At the top of an object, such a member never becomes unknown.
  if (value === null) return fc.constant(null);
  if (Array.isArray(value)) {
    const members = fc.tuple(...(value as TerraformValue[]).map(blurred));
    return fc.oneof({ weight: 4, arbitrary: members }, unknown);
  }
  if (typeof value === 'object') {
    return record(
      Object.fromEntries(
        Object.entries(value as TerraformObject).map(([name, member]) => [name, blurred(member)]),
      ),
    );
  }
  return fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, unknown);
}

function record(members: Record<string, fc.Arbitrary<TerraformValue>>): fc.Arbitrary<TerraformObject> {
  return fc.record(members, { noNullPrototype: true });
}

function attributeMembers(
  attributes: Attributes,
  kind: string,
): Record<string, fc.Arbitrary<TerraformValue>> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, attributeValues(attribute, name, kind)]),
  );
}

function attributeValues(
  { presence, value }: Attribute,
  name: string,
  kind: string,
): fc.Arbitrary<TerraformValue> {
  if (presence === 'computed') return fc.constant(null);
  const values = valuesOf(value, name, kind);
  return presence === 'required' ? values : fc.option(values, { nil: null });
}

function valuesOf(value: Value, name: string, kind: string): fc.Arbitrary<TerraformValue> {
  switch (value.type) {
    case 'string':
      return fc.constantFrom(...textsFor(value, name, kind));
    case 'bool':
      return fc.boolean();
    case 'number':
      return numbers(value);
    case 'set':
      return fc.shuffledSubarray([...textsFor(value, name, kind)]);
    case 'list':
      return fc.array(fc.constantFrom(...textsFor(value, name, kind)), { maxLength: 4 });
    case 'map':
      return fc
        .dictionary(
          fc.constantFrom('Authorization', 'x-tenant'),
          fc.constantFrom(...textsFor(value, name, kind)),
        )
        .map((members) => ({ ...members }));
    case 'objects':
      return fc.array(record(attributeMembers(value.attributes ?? {}, kind)), { maxLength: 3 });
    default:
      return value.type satisfies never;
  }
}

function textsFor({ oneOf, references }: Value, name: string, kind: string): readonly string[] {
  const texts = oneOf ?? (references === undefined ? (TEXTS[`${kind}.${name}`] ?? TEXTS[name]) : IDS);
  if (texts === undefined) throw new Error(`no valid texts are known for ${kind}.${name}`);
  return texts;
}

/** Generates numbers in a range. A range without an upper end is in milliseconds, and allows fractions. */
function numbers({ minimum = 0, maximum }: Value): fc.Arbitrary<number> {
  if (maximum === undefined) return fc.constantFrom(0, 0.1, 0.5, 1_000, Number.MAX_SAFE_INTEGER);
  return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: minimum, max: maximum }));
}

/** Changes a configuration so that it obeys the rules over several attributes. */
function withinRules({ kind, blocks }: ResourceDefinition, config: TerraformObject): TerraformObject {
  switch (kind) {
    case 'svc_notification': {
      const foreign = Object.keys(blocks).filter((name) => name !== config.provider_type);
      return { ...config, ...Object.fromEntries(foreign.map((name) => [name, []])) };
    }
    case 'svc_status_page': {
      const { access_type, password, auth_email_domains: domains } = config;
      const hasDomains = Array.isArray(domains) && domains.length > 0;
      return {
        ...config,
        password: access_type === 'password' ? (password ?? 'a') : (password ?? null),
        auth_email_domains:
          access_type === 'email-domain' && !hasDomains ? ['example.com'] : (domains ?? null),
      };
    }
    case 'svc_status_page_component':
      return { ...config, monitor_id: config.type === 'static' ? null : (config.monitor_id ?? '7') };
    default:
      return config;
  }
}
