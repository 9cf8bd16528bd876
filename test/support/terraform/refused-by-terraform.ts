import { header, times } from '../resources.ts';
import { channel, type RefusedRow } from './configuration-case.ts';

const status = { target: 200, comparator: 'eq' };
const body = { target: 'a', comparator: 'eq' };
const headerAssertion = { key: 'Server', target: 'a', comparator: 'eq' };
const record = { record: 'A', target: 'a', comparator: 'eq' };

/** What Terraform finds by itself in the schema; the texts are its own. */
export const REFUSED_BY_TERRAFORM: readonly RefusedRow[] = [
  ['svc_http_monitor', 'too many headers', { headers: times(21, header) }, /Too many headers blocks/],
  [
    'svc_http_monitor',
    'too many assertions on the status code',
    { status_code_assertions: times(11, status) },
    /Too many status_code_assertions blocks/,
  ],
  [
    'svc_http_monitor',
    'too many assertions on the body',
    { body_assertions: times(11, body) },
    /Too many body_assertions blocks/,
  ],
  [
    'svc_http_monitor',
    'too many assertions on headers',
    { header_assertions: times(11, headerAssertion) },
    /Too many header_assertions blocks/,
  ],
  [
    'svc_dns_monitor',
    'too many assertions on records',
    { record_assertions: times(11, record) },
    /Too many record_assertions blocks/,
  ],
  [
    'svc_notification',
    'the same block twice',
    channel('email', { email: 'a@example.com' }, { email: 'b@example.com' }),
    /Too many email blocks/,
  ],
  ['svc_http_monitor', 'no URL', { url: undefined }, /The argument "url" is required/],
  ['svc_http_monitor', 'no name', { name: undefined }, /The argument "name" is required/],
  ['svc_tcp_monitor', 'no periodicity', { periodicity: undefined }, /The argument "periodicity" is required/],
  ['svc_dns_monitor', 'no name to resolve', { uri: undefined }, /The argument "uri" is required/],
  [
    'svc_http_monitor',
    'a header without a value',
    { headers: [{ key: 'X-A' }] },
    /The argument "value" is required/,
  ],
  [
    'svc_http_monitor',
    'an assertion without a target',
    { body_assertions: [{ comparator: 'empty' }] },
    /The argument "target" is required/,
  ],
  [
    'svc_notification',
    'no kind of channel',
    { provider_type: undefined },
    /The argument "provider_type" is required/,
  ],
  ['svc_status_page', 'no slug', { slug: undefined }, /The argument "slug" is required/],
  ['svc_status_page_component', 'no page', { page_id: undefined }, /The argument "page_id" is required/],
  ['svc_status_page_component', 'no type', { type: undefined }, /The argument "type" is required/],
  ['svc_status_page_component_group', 'no name', { name: undefined }, /The argument "name" is required/],
  ['svc_http_monitor', 'a time-out as a text', { timeout: '45s' }, /a number is required/],
  ['svc_tcp_monitor', 'a text for yes or no', { active: 'maybe' }, /a bool is required/],
  ['svc_http_monitor', 'one region for a set', { regions: 'hosta-fra' }, /set of string required/],
  [
    'svc_http_monitor',
    'a status code as a text',
    { status_code_assertions: [{ target: 'ok', comparator: 'eq' }] },
    /a number is required/,
  ],
  ['svc_tcp_monitor', 'an argument of another kind', { url: 'https://example.com' }, /url/],
  ['svc_http_monitor', 'an argument misspelt', { periodicty: '1m' }, /periodicty/],
  ['svc_tcp_monitor', 'a block of another kind', { headers: [header] }, /headers/],
];
