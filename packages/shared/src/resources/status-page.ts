import { LIMITS } from '../limits.ts';
import { marked } from '../settings/not-yet.ts';
import {
  computed,
  type Normalized,
  optional,
  type ResourceDefinition,
  type Rule,
  required,
  withDefault,
} from './definition.ts';
import { contactUrl, customDomain, emailDomain, httpUrl, lines, oneLine, slug } from './texts.ts';
import { bool, choice, text, textList } from './values.ts';

const ACCESS_TYPES = ['public', 'password', 'email-domain'] as const;
export const THEMES = ['system', 'light', 'dark'] as const;
/** The time ranges for which pages can show latencies; `none`: the page shows no latencies. */
export const PAGE_LATENCIES = ['none', '24h', '7d'] as const;

/** Length below which a page's password gets a warning, in characters. */
const FEWEST_OF_PASSWORD = 8;

const passwordOfAccess: Rule = {
  description: '`password` is required when `access_type` is `password`.',
  check: ({ access_type, password }) =>
    access_type === 'password' && (password ?? null) === null
      ? [{ path: ['password'], message: 'is required when access_type is password' }]
      : [],
};

const domainsOfAccess: Rule = {
  description:
    '`auth_email_domains` is required, with at least one domain, when `access_type` is `email-domain`.',
  check: ({ access_type, auth_email_domains: domains }) =>
    access_type === 'email-domain' && (!Array.isArray(domains) || domains.length === 0)
      ? [
          {
            path: ['auth_email_domains'],
            message: 'needs at least one domain when access_type is email-domain',
          },
        ]
      : [],
};

const link = text({ min: 1, max: LIMITS.target, check: httpUrl, form: 'http(s) URL' });

export const statusPage = {
  kind: 'svc_status_page',
  noun: 'status page',
  path: '/v1/status-pages',
  title: 'Status page',
  description: marked('svc_status_page', 'A page that publishes the state of monitors.'),
  constants: {},
  attributes: {
    title: required(text({ min: 1, max: LIMITS.pageText, check: oneLine }), 'Title of the page.'),
    slug: required(
      text({ min: 1, max: LIMITS.pageText, check: slug, form: 'a–z, 0–9, hyphens between them' }),
      'Last part of the address of the page, `/status/{slug}`. It is unique over all workspaces.',
    ),
    description: optional(
      text({ max: LIMITS.pageDescription, check: lines, multiline: true }),
      'Text below the title.',
    ),
    homepage_url: optional(link, 'Link to the homepage.'),
    contact_url: optional(
      text({ min: 1, max: LIMITS.target, check: contactUrl, form: 'http(s) or mailto URL' }),
      'Link to the contact page.',
    ),
    icon: optional(link, 'URL of the icon.'),
    custom_domain: optional(
      text({ min: 1, max: 253, check: customDomain, form: 'domain name' }),
      'Domain under which the page is served too. The DNS of the domain must point to the service first. Of pages in several workspaces that declare one domain, the first that is found to be pointed to holds it, and the others get a warning.',
    ),
    access_type: withDefault(choice(ACCESS_TYPES), 'public', 'Who may see the page.', {
      label: 'Access',
    }),
    password: optional(
      text({ min: 1, max: LIMITS.pageText }),
      'Password of the page. It is required when `access_type` is `password`.',
      { sensitive: true },
    ),
    auth_email_domains: optional(
      textList({
        min: 1,
        max: 253,
        check: emailDomain,
        form: 'domain names',
        maximumItems: LIMITS.emailDomains,
      }),
      'E-mail domains: people with an address at one of them may see the page. They are required when `access_type` is `email-domain`.',
      { label: 'E-mail domains' },
    ),
    id: computed(text(), 'Id: a decimal number as a string.'),
    published: computed(
      bool,
      'Whether the page is served. It is `true` at creation, and `PATCH /v1/status-pages/{id}/appearance` changes it.',
    ),
    theme: computed(
      choice(THEMES),
      'Colours of the page. They are `system` at creation, and `PATCH /v1/status-pages/{id}/appearance` changes them.',
    ),
    created_at: computed(text(), 'When the page was created (RFC 3339).'),
    updated_at: computed(text(), 'When the page was last changed (RFC 3339).'),
  },
  blocks: {},
  rules: [passwordOfAccess, domainsOfAccess],
  apiMembers: ['latency', 'warnings'],
  warnings({ access_type, password, auth_email_domains: domains }) {
    const found: string[] = [];
    if (password !== null && access_type !== 'password') {
      found.push(`password has no effect: access_type is ${access_type}, not password`);
    }
    if (access_type === 'password' && [...String(password)].length < FEWEST_OF_PASSWORD) {
      found.push(`password is shorter than ${FEWEST_OF_PASSWORD} characters, so it is soon guessed`);
    }
    if (Array.isArray(domains) && domains.length > 0 && access_type !== 'email-domain') {
      found.push(`auth_email_domains has no effect: access_type is ${access_type}, not email-domain`);
    }
    return found;
  },
} satisfies ResourceDefinition;

export type StatusPage = Normalized<typeof statusPage>;
