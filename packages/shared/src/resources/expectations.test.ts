import { describe, expect, test } from 'vitest';
import { EXPECTED_SETTINGS } from '../../../../test/support/channel-samples.ts';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from './registry.ts';

/**
 * The format of declarations, written out: names, limits, defaults and enums are literals here, so
 * that a change of a shared constant is noticed.
 */
type Row = [attribute: string, type: string, presence: string, fallback?: unknown];

const MONITOR: Row[] = [
  ['name', 'string', 'required'],
  ['periodicity', 'string', 'required'],
  ['timeout', 'number', 'default', 45000],
  ['degraded_at', 'number', 'default', 0],
  ['retry', 'number', 'default', 3],
  ['active', 'bool', 'default', false],
  ['public', 'bool', 'default', false],
  ['description', 'string', 'optional'],
  ['regions', 'set', 'optional'],
  // Additions to the format that declarations had at first.
  ['quorum', 'string', 'default', 'majority'],
  ['confirm_after', 'number', 'default', 1],
  ['recover_after', 'number', 'default', 1],
  ['otlp_endpoint', 'string', 'optional'],
  ['otlp_headers', 'map', 'optional'],
  ['id', 'string', 'computed'],
  ['status', 'string', 'computed'],
];
const STAMPS: Row[] = [
  ['id', 'string', 'computed'],
  ['created_at', 'string', 'computed'],
  ['updated_at', 'string', 'computed'],
];

const ATTRIBUTES: Record<ResourceKind, Row[]> = {
  svc_http_monitor: [
    ...MONITOR,
    ['url', 'string', 'required'],
    ['method', 'string', 'default', 'GET'],
    ['body', 'string', 'default', ''],
    ['follow_redirects', 'bool', 'default', true],
    ['certificate_expiry_days', 'number', 'default', 0],
  ],
  svc_tcp_monitor: [...MONITOR, ['uri', 'string', 'required']],
  svc_dns_monitor: [...MONITOR, ['uri', 'string', 'required']],
  svc_notification: [
    ...STAMPS,
    ['name', 'string', 'optional'],
    ['provider_type', 'string', 'required'],
    ['monitor_ids', 'set', 'default', []],
    // These attributes were added to the format later.
    ['group_alerts', 'bool', 'default', true],
    ['notify_unknown', 'bool', 'default', true],
    ['remind_every', 'string', 'optional'],
  ],
  svc_status_page: [
    ...STAMPS,
    ['title', 'string', 'required'],
    ['slug', 'string', 'required'],
    ['description', 'string', 'optional'],
    ['homepage_url', 'string', 'optional'],
    ['contact_url', 'string', 'optional'],
    ['icon', 'string', 'optional'],
    ['custom_domain', 'string', 'optional'],
    ['access_type', 'string', 'default', 'public'],
    ['password', 'string', 'optional'],
    ['auth_email_domains', 'list', 'optional'],
    ['published', 'bool', 'computed'],
    ['theme', 'string', 'computed'],
  ],
  svc_status_page_component: [
    ...STAMPS,
    ['page_id', 'string', 'required'],
    ['type', 'string', 'required'],
    ['monitor_id', 'string', 'optional'],
    ['name', 'string', 'optional'],
    ['description', 'string', 'optional'],
    ['order', 'number', 'optional'],
    ['group_id', 'string', 'optional'],
    ['group_order', 'number', 'optional'],
  ],
  svc_status_page_component_group: [
    ...STAMPS,
    ['page_id', 'string', 'required'],
    ['name', 'string', 'required'],
  ],
};

/** Marks of attributes: `name!` is required, `name?` optional, `*` sensitive, and `+` secret only. */
const BLOCKS: Partial<Record<ResourceKind, Record<string, [maximum: number, attributes: string]>>> = {
  svc_http_monitor: {
    headers: [20, 'key! value!+'],
    status_code_assertions: [10, 'target! comparator!'],
    body_assertions: [10, 'target! comparator!'],
    header_assertions: [10, 'key! target! comparator!'],
  },
  svc_dns_monitor: { record_assertions: [10, 'record! target! comparator!'] },
  svc_notification: Object.fromEntries(
    Object.entries(EXPECTED_SETTINGS).map(([kind, settings]) => [kind, [1, settings]]),
  ),
};

describe.each(RESOURCE_KINDS)('%s has what the format lists', (kind) => {
  const definition = DEFINITIONS[kind];

  test('attributes, types, presence and defaults', () => {
    const actual = Object.entries(definition.attributes).map(([name, attribute]) => [
      name,
      attribute.value.type,
      attribute.presence,
      ...(attribute.presence === 'default' ? [attribute.default] : []),
    ]);
    expect(sorted(actual)).toEqual(sorted(ATTRIBUTES[kind]));
  });

  test('blocks, their maxima and attributes', () => {
    const actual = Object.fromEntries(
      Object.entries(definition.blocks).map(([name, block]) => {
        const attributes = Object.entries(block.attributes).map(
          ([attribute, { presence, sensitive, secret }]) =>
            `${attribute}${presence === 'required' ? '!' : '?'}${sensitive ? '*' : secret ? '+' : ''}`,
        );
        return [name, [block.maximum, attributes.join(' ')]];
      }),
    );
    expect(actual).toEqual(BLOCKS[kind] ?? {});
  });

  test('what replaces and what is sensitive', () => {
    const named = (member: 'replaces' | 'sensitive' | 'secret') =>
      Object.keys(definition.attributes).filter((name) => definition.attributes[name]?.[member]);
    const replaces: Partial<Record<ResourceKind, string[]>> = {
      svc_status_page_component: ['page_id', 'type'],
      svc_status_page_component_group: ['page_id'],
    };
    const sensitive: Partial<Record<ResourceKind, string[]>> = {
      svc_http_monitor: ['otlp_headers'],
      svc_tcp_monitor: ['otlp_headers'],
      svc_dns_monitor: ['otlp_headers'],
      svc_status_page: ['password'],
    };
    expect(named('replaces')).toEqual(replaces[kind] ?? []);
    expect(named('sensitive')).toEqual(sensitive[kind] ?? []);
    expect(named('secret')).toEqual(sensitive[kind] ?? []);
  });
});

function sorted(rows: readonly (readonly unknown[])[]) {
  return [...rows].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
}
