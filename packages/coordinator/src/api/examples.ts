import { parseResource, presented, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { notYet } from '@svc/shared/settings/not-yet.ts';
import { HIDDEN_USER_INFO } from '@svc/shared/url-secrets.ts';

type Json = Readonly<Record<string, unknown>>;

/**
 * For each kind, the body of a request that creates a resource (`sent`),
 * and the members that the service adds to the answer (`added`).
 */
const RESOURCES: { readonly [K in ResourceKind]: { readonly sent: Json; readonly added: Json } } = {
  svc_http_monitor: {
    sent: {
      type: 'http',
      name: 'Shop',
      url: 'https://shop.example.com/health',
      periodicity: '1m',
      active: true,
      regions: ['hosta-fra', 'hosta-iad', 'hosta-sin'],
      headers: [{ key: 'Accept', value: 'application/json' }],
      status_code_assertions: [{ target: 200, comparator: 'eq' }],
    },
    added: { ...monitorMembers('12'), [HIDDEN_USER_INFO]: null },
  },
  svc_tcp_monitor: {
    sent: { type: 'tcp', name: 'Mail', uri: 'mail.example.com:25', periodicity: '5m', active: true },
    added: monitorMembers('13'),
  },
  svc_dns_monitor: {
    sent: {
      type: 'dns',
      name: 'Name servers',
      uri: 'example.com',
      periodicity: '10m',
      active: true,
      record_assertions: [{ record: 'A', target: '192.0.2.10', comparator: 'eq' }],
    },
    added: monitorMembers('14'),
  },
  svc_notification: {
    sent: {
      name: 'On call',
      provider_type: 'webhook',
      monitor_ids: ['12', '13'],
      webhook: {
        endpoint: 'https://alerts.example.com/svc',
        headers: [{ key: 'X-Shared-Secret', value: 's3cret' }],
      },
    },
    added: { ...created('3'), state: 'ok', state_reason: null, stopped_at: null },
  },
  svc_status_page: {
    sent: { title: 'Example status', slug: 'example', homepage_url: 'https://www.example.com' },
    added: {
      ...created('5'),
      published: true,
      theme: 'system',
      latency: 'none',
      warnings: notYet('svc_status_page', {}),
    },
  },
  svc_status_page_component_group: { sent: { page_id: '5', name: 'Shops' }, added: created('6') },
  svc_status_page_component: {
    sent: { page_id: '5', type: 'monitor', monitor_id: '12', name: 'Shop', order: 1, group_id: '6' },
    added: { ...created('7'), warnings: [] },
  },
};

function created(id: string): Json {
  return { id, created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' };
}

function monitorMembers(id: string): Json {
  const voted = {
    region: 'hosta-fra',
    vote: 'passed',
    slot: 1_767_225_600_000,
    at: 1_767_225_600_412,
    age_ms: 21_300,
  };
  return { ...created(id), status: 'active', regions_status: [voted], warnings: [] };
}

export function inputExample(kind: ResourceKind): Json {
  return RESOURCES[kind].sent;
}

/**
 * Makes the example of the answer to {@link inputExample}. The code for real
 * answers parses and presents the attributes, so the attributes cannot differ from
 * those of real answers. The members that the service adds are written by hand.
 */
export function answerExample(kind: ResourceKind): Json {
  const { sent, added } = RESOURCES[kind];
  const parsed = parseResource(kind, sent, 'api');
  if (!parsed.ok)
    throw new TypeError(`the example of ${kind} is not valid: ${JSON.stringify(parsed.issues)}`);
  return { ...presented(kind, parsed.value), ...added };
}
