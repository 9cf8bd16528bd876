import { bodyOf, type InvalidConfiguration } from './configuration-case.ts';
import { INVALID_CHANNELS } from './invalid-channels.ts';
import { INVALID_MONITORS } from './invalid-monitors.ts';
import { INVALID_PAGES } from './invalid-pages.ts';
import { REFUSED_BY_TERRAFORM } from './refused-by-terraform.ts';

const refusedByProvider = [...INVALID_MONITORS, ...INVALID_CHANNELS, ...INVALID_PAGES].map(
  ([type, name, members, path, text]): InvalidConfiguration => ({
    of: 'resource',
    type,
    name,
    body: bodyOf(type, members),
    by: 'provider',
    ...(path === undefined ? {} : { path }),
    text,
  }),
);

const refusedByTerraform = REFUSED_BY_TERRAFORM.map(
  ([type, name, members, text]): InvalidConfiguration => ({
    of: 'resource',
    type,
    name,
    body: bodyOf(type, members),
    by: 'terraform',
    text,
  }),
);

const dataSource = { of: 'data', by: 'provider' } as const;
const provider = { of: 'provider', type: 'svc', by: 'provider' } as const;

const elsewhere: readonly InvalidConfiguration[] = [
  {
    ...dataSource,
    type: 'svc_monitors',
    name: 'a limit of 0',
    body: { limit: 0 },
    path: ['limit'],
    text: /1 to 100/,
  },
  {
    ...dataSource,
    type: 'svc_monitors',
    name: 'a limit of 101',
    body: { limit: 101 },
    path: ['limit'],
    text: /1 to 100/,
  },
  {
    ...dataSource,
    type: 'svc_monitors',
    name: 'half a limit',
    body: { limit: 1.5 },
    path: ['limit'],
    text: 'whole number',
  },
  {
    ...dataSource,
    type: 'svc_monitors',
    name: 'an offset of -1',
    body: { offset: -1 },
    path: ['offset'],
    text: /^Invalid offset .*\b0\b/,
  },
  {
    ...dataSource,
    type: 'svc_monitor',
    name: 'an id that is none',
    body: { id: 'api' },
    path: ['id'],
    text: 'is not an id',
  },
  {
    ...dataSource,
    type: 'svc_notification',
    name: 'an empty id',
    body: { id: '' },
    path: ['id'],
    text: 'is not an id',
  },
  {
    ...dataSource,
    type: 'svc_status_page',
    name: 'no id',
    body: {},
    by: 'terraform',
    text: /The argument "id" is required/,
  },
  {
    ...provider,
    name: 'a base URL that is none',
    body: { api_token: 'a', base_url: 'example.com' },
    path: ['base_url'],
    text: 'must be a URL that starts with http:// or https://',
  },
  {
    ...provider,
    name: 'an empty token',
    body: { api_token: '' },
    path: ['api_token'],
    text: 'The argument api_token of the provider block is empty',
  },
  {
    ...provider,
    name: 'an argument that the provider does not have',
    body: { api_token: 'a', token: 'a' },
    by: 'terraform',
    text: /token/,
  },
];

/** Configurations that must be refused before anything is changed, each by one diagnostic. */
export const INVALID_CONFIGURATIONS: readonly InvalidConfiguration[] = [
  ...refusedByProvider,
  ...refusedByTerraform,
  ...elsewhere,
];
