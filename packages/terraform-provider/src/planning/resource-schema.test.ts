import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { describe, expect, test } from 'vitest';
import { EXPECTED_SETTINGS } from '../../../../test/support/channel-samples.ts';
import type { SchemaAttribute } from '../schema.ts';
import { resourceSchema } from './resource-schema.ts';

/**
 * The attributes in the format of declarations: `name: type setting [sensitive] [replaces]`. An attribute
 * with a default is optional+computed.
 */
const MONITOR = `
  name: string required
  periodicity: string required
  timeout: number optional+computed
  degraded_at: number optional+computed
  retry: number optional+computed
  active: bool optional+computed
  public: bool optional+computed
  description: string optional
  regions: set(string) optional
  quorum: string optional+computed
  confirm_after: number optional+computed
  recover_after: number optional+computed
  otlp_endpoint: string optional
  otlp_headers: map(string) optional sensitive
  id: string computed
  status: string computed`;
const STAMPS = `
  id: string computed
  created_at: string computed
  updated_at: string computed`;

const ATTRIBUTES: Record<ResourceKind, string> = {
  svc_http_monitor: `${MONITOR}
    url: string required
    method: string optional+computed
    body: string optional+computed
    follow_redirects: bool optional+computed
    certificate_expiry_days: number optional+computed`,
  svc_tcp_monitor: `${MONITOR}
    uri: string required`,
  svc_dns_monitor: `${MONITOR}
    uri: string required`,
  svc_notification: `${STAMPS}
    name: string optional
    provider_type: string required
    monitor_ids: set(string) optional+computed
    group_alerts: bool optional+computed
    notify_unknown: bool optional+computed
    remind_every: string optional`,
  svc_status_page: `${STAMPS}
    title: string required
    slug: string required
    description: string optional
    homepage_url: string optional
    contact_url: string optional
    icon: string optional
    custom_domain: string optional
    access_type: string optional+computed
    password: string optional sensitive
    auth_email_domains: list(string) optional
    published: bool computed
    theme: string computed`,
  svc_status_page_component: `${STAMPS}
    page_id: string required replaces
    type: string required replaces
    monitor_id: string optional
    name: string optional
    description: string optional
    order: number optional
    group_id: string optional
    group_order: number optional`,
  svc_status_page_component_group: `${STAMPS}
    page_id: string required replaces
    name: string required`,
};

const BLOCKS: Partial<Record<ResourceKind, Record<string, readonly [maximum: number, attributes: string]>>> =
  {
    svc_http_monitor: {
      headers: [20, 'key: string required\n value: string required'],
      status_code_assertions: [10, 'target: number required\n comparator: string required'],
      body_assertions: [10, 'target: string required\n comparator: string required'],
      header_assertions: [10, 'key: string required\n target: string required\n comparator: string required'],
    },
    svc_dns_monitor: {
      record_assertions: [
        10,
        'record: string required\n target: string required\n comparator: string required',
      ],
    },
    svc_notification: Object.fromEntries(
      Object.entries(EXPECTED_SETTINGS).map(([kind, settings]) => [kind, [1, settingsMarked(settings)]]),
    ),
  };

/** The settings in the form in which {@link EXPECTED_SETTINGS} lists them. */
function settingsMarked(settings: string): string {
  const marked = settings.split(' ').map((text) => {
    const [, name, presence, secrecy] = /^(\w+)([!?])([*+]?)$/.exec(text) ?? [];
    const type = name === 'headers' ? 'list(object({key=string,value=string}))' : 'string';
    const setting = presence === '!' ? 'required' : 'optional';
    return `${name}: ${type} ${setting}${secrecy === '*' ? ' sensitive' : ''}`;
  });
  return marked.join('\n');
}

/** The type as Terraform's documentation writes it. */
function written(type: SchemaAttribute['type']): string {
  if (typeof type === 'string') return type;
  if (type[0] !== 'object') return `${type[0]}(${written(type[1])})`;
  const members = Object.entries(type[1]).map(([name, member]) => `${name}=${written(member)}`);
  return `object({${members.join(',')}})`;
}

function marks(
  attributes: Readonly<Record<string, SchemaAttribute>>,
  replaces: (name: string) => boolean = () => false,
): string[] {
  return Object.entries(attributes)
    .map(([name, { type, setting, sensitive }]) =>
      [
        `${name}: ${written(type)} ${setting.replace('-', '+')}`,
        ...(sensitive ? ['sensitive'] : []),
        ...(replaces(name) ? ['replaces'] : []),
      ].join(' '),
    )
    .sort();
}

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .sort();

describe.each(RESOURCE_KINDS)('%s has the attributes and blocks of the format', (kind) => {
  const definition = DEFINITIONS[kind];
  const schema = resourceSchema(definition);

  test('attributes', () => {
    const replaces = (name: string) => definition.attributes[name]?.replaces === true;
    expect(marks(schema.attributes, replaces)).toEqual(lines(ATTRIBUTES[kind]));
  });

  test('blocks', () => {
    const expected = Object.entries(BLOCKS[kind] ?? {}).map(([name, [maximum, attributes]]) => [
      name,
      [maximum, lines(attributes)],
    ]);
    const actual = Object.entries(schema.blocks).map(([name, block]) => [
      name,
      [block.maximumItems, marks(block.attributes)],
    ]);
    expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
  });

  test('everything is described', () => {
    const described = [
      schema,
      ...Object.values(schema.attributes),
      ...Object.values(schema.blocks).flatMap((block) => [block, ...Object.values(block.attributes)]),
    ];
    for (const { description } of described) expect(description).toMatch(/^\S.*\.$/);
  });
});

describe('a description says', () => {
  const http = resourceSchema(DEFINITIONS.svc_http_monitor).attributes;
  const component = resourceSchema(DEFINITIONS.svc_status_page_component).attributes;
  const webhook = resourceSchema(DEFINITIONS.svc_notification).blocks.webhook?.attributes;

  test.each([
    ['the choices', http.periodicity, 'One of `30s`, `1m`, `5m`, `10m`, `30m`, `1h`.'],
    ['the range and the default', http.timeout, '0 to 120000 ms. Default: `45000`.'],
    ['an empty default', http.body, 'Default: `""`.'],
    ['the length', http.name, '1 to 256 characters.'],
    ['what it refers to', component.group_id, 'Refers to `svc_status_page_component_group`.'],
    ['that a change makes a new one', component.page_id, 'A change replaces the resource.'],
    ['the members of an object', webhook?.headers, '`key`: Header name.'],
  ])('%s', (_what, attribute, sentence) => {
    expect(attribute?.description).toContain(sentence);
  });
});
