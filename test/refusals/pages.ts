import { x } from '../support/resources.ts';
import { IGNORED_BY_THE_API, MASK_SENT, type Row, terraformRequires } from './refusal.ts';

const PAGE = 'svc_status_page';
const COMPONENT = 'svc_status_page_component';
const GROUP = 'svc_status_page_component_group';

const NO_URL = 'must be a URL that starts with https:// or http://';
const NO_ID = 'is not an id: use a decimal number as a string, like "12"';
const NO_REFERENCE = `is not a reference like \${svc_http_monitor.api.id}, nor an id like "12"`;
/** In the API the page stands in the path. */
const OF_THE_PATH = 'page_id: must be 1, the page in the path, or omitted';

/** A break of each rule of status pages, their components and groups. */
export const PAGE_ROWS: readonly Row[] = [
  [PAGE, { title: '' }, 'title: must not be empty'],
  [PAGE, { title: x(257) }, 'title: has 257 characters, but at most 256 are allowed'],
  [PAGE, { slug: undefined }, 'slug: is required', terraformRequires('slug')],
  [PAGE, { slug: '' }, 'slug: must not be empty'],
  [PAGE, { slug: x(257) }, 'slug: has 257 characters, but at most 256 are allowed'],
  ...['A', 'a b', '-a', 'a/b', 'ü'].map(
    (slug): Row => [
      PAGE,
      { slug },
      'slug: must consist of the letters a to z, digits, and hyphens between them',
    ],
  ),
  [PAGE, { description: 'a\u0000b' }, 'description: must be lines without control characters'],
  [
    PAGE,
    { description: 'a\n\u2066b' },
    'description: must not contain characters that change the direction of the text',
  ],
  [PAGE, { description: x(1_025) }, 'description: has 1025 characters, but at most 1024 are allowed'],
  [PAGE, { homepage_url: 'javascript:alert(1)' }, `homepage_url: ${NO_URL}`],
  [PAGE, { contact_url: 'tel:1' }, `contact_url: ${NO_URL} or mailto:`],
  [PAGE, { icon: 'icon.png' }, `icon: ${NO_URL}`],
  [
    PAGE,
    { custom_domain: 'https://a.example' },
    'custom_domain: must be a domain name without a scheme, like example.com',
  ],
  [PAGE, { custom_domain: 'Status.example.com' }, 'custom_domain: must be in lower case'],
  [PAGE, { access_type: 'private' }, 'access_type: "private" is not one of public, password, email-domain'],
  [
    PAGE,
    { access_type: 'email_domain' },
    'access_type: "email_domain" is not one of public, password, email-domain: did you mean "email-domain"?',
  ],
  [PAGE, { access_type: 'password' }, 'password: is required when access_type is password'],
  [PAGE, { access_type: 'password', password: '' }, 'password: must not be empty'],
  // A rule is told also where another member is wrong.
  [
    PAGE,
    { title: '', access_type: 'password' },
    ['title: must not be empty', 'password: is required when access_type is password'],
  ],
  [
    PAGE,
    { access_type: 'password', password: `hunter2${x(250)}` },
    'password: has 257 characters, but at most 256 are allowed',
  ],
  [PAGE, { access_type: 'password', password: '********' }, `password: ${MASK_SENT}`],
  [
    PAGE,
    { access_type: 'email-domain' },
    'auth_email_domains: needs at least one domain when access_type is email-domain',
  ],
  [
    PAGE,
    { access_type: 'email-domain', auth_email_domains: [] },
    'auth_email_domains: needs at least one domain when access_type is email-domain',
  ],
  [
    PAGE,
    { auth_email_domains: ['example.com', '@example.com'] },
    'auth_email_domains.1: must be the part after the @ only, like example.com',
  ],
  [PAGE, { theme: 'dark' }, 'theme: is set by the service: remove it', IGNORED_BY_THE_API],
  [COMPONENT, { page_id: undefined }, 'page_id: is required', { api: null, ...terraformRequires('page_id') }],
  [
    COMPONENT,
    { page_id: 'status' },
    `page_id: ${NO_ID}`,
    { api: OF_THE_PATH, file: `page_id: ${NO_REFERENCE}` },
  ],
  [COMPONENT, { type: undefined }, 'type: is required', terraformRequires('type')],
  [COMPONENT, { type: 'group' }, 'type: "group" is not one of monitor, static'],
  [COMPONENT, { type: 'monitor' }, 'monitor_id: is required when type is monitor'],
  [
    COMPONENT,
    { type: 'monitor', order: 1e12 },
    [
      'order: is 1000000000000, but must be from -2147483648 to 2147483647',
      'monitor_id: is required when type is monitor',
    ],
  ],
  [COMPONENT, { monitor_id: '1' }, 'monitor_id: is only for type monitor: remove it, or set type to monitor'],
  [
    COMPONENT,
    { type: 'monitor', monitor_id: '-7' },
    `monitor_id: ${NO_ID}`,
    { file: `monitor_id: ${NO_REFERENCE}` },
  ],
  [COMPONENT, { group_id: '' }, `group_id: ${NO_ID}`, { file: `group_id: ${NO_REFERENCE}` }],
  [COMPONENT, { name: x(257) }, 'name: has 257 characters, but at most 256 are allowed'],
  [COMPONENT, { description: x(1_025) }, 'description: has 1025 characters, but at most 1024 are allowed'],
  [COMPONENT, { order: 1.5 }, 'order: is 1.5, but must be a whole number'],
  [
    COMPONENT,
    { group_order: 2_147_483_648 },
    'group_order: is 2147483648, but must be from -2147483648 to 2147483647',
  ],
  [GROUP, { name: undefined }, 'name: is required', terraformRequires('name')],
  [GROUP, { name: '' }, 'name: must not be empty'],
  [GROUP, { name: x(257) }, 'name: has 257 characters, but at most 256 are allowed'],
  [GROUP, { page_id: '01' }, `page_id: ${NO_ID}`, { api: OF_THE_PATH, file: `page_id: ${NO_REFERENCE}` }],
  [
    GROUP,
    { updated_at: '2026-01-01T00:00:00Z' },
    'updated_at: is set by the service: remove it',
    IGNORED_BY_THE_API,
  ],
];
