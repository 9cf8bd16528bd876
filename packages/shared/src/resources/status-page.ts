import { LIMITS } from '../limits.ts';
import { marked } from '../not-yet.ts';
import {
  computed,
  type Normalized,
  optional,
  type ResourceDefinition,
  type Rule,
  required,
  withDefault,
} from './definition.ts';
import { contactUrl, customDomain, emailDomain, httpUrl, oneLine, slug } from './texts.ts';
import { bool, choice, text, textList } from './values.ts';

export const ACCESS_TYPES = ['public', 'password', 'email-domain'] as const;
export const THEMES = ['system', 'light', 'dark'] as const;

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
  title: 'Status page',
  description: marked('svc_status_page', 'A page that publishes the state of monitors.'),
  constants: {},
  attributes: {
    title: required(text({ min: 1, max: LIMITS.pageText, check: oneLine }), 'Title of the page.'),
    slug: required(
      text({ min: 1, max: LIMITS.pageText, check: slug, form: 'a–z, 0–9, hyphens between them' }),
      'Part of its address, `/status/{slug}`; unique.',
    ),
    description: optional(text({ max: LIMITS.pageDescription }), 'Text below the title.'),
    homepage_url: optional(link, 'Link to the homepage.'),
    contact_url: optional(
      text({ min: 1, max: LIMITS.target, check: contactUrl, form: 'http(s) or mailto URL' }),
      'Link to the contact page.',
    ),
    icon: optional(link, 'URL of the icon.'),
    custom_domain: optional(
      text({ min: 1, max: 253, check: customDomain, form: 'domain name' }),
      'Domain under which it is served too; its DNS must point to the service first. Unique.',
    ),
    access_type: withDefault(choice(ACCESS_TYPES), 'public', 'Who may see it.'),
    password: optional(
      text({ min: 1, max: LIMITS.pageText }),
      'Password of the page; required when `access_type` is `password`.',
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
      'Whoever has an address at one of these domains may see it; required when `access_type` is `email-domain`.',
    ),
    id: computed(text(), 'Id, a decimal number as text.'),
    published: computed(bool, 'Whether it is served; true at creation, changed in the dashboard.'),
    theme: computed(choice(THEMES), 'Its colours; `system` at creation, changed in the dashboard.'),
    created_at: computed(text(), 'When it was created (RFC 3339).'),
    updated_at: computed(text(), 'When it was last changed (RFC 3339).'),
  },
  blocks: {},
  rules: [passwordOfAccess, domainsOfAccess],
  apiMembers: ['warnings'],
} satisfies ResourceDefinition;

export type StatusPage = Normalized<typeof statusPage>;
