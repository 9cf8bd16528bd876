import type { Field, ResourceForm } from './fields.ts';

/** A part of a form with its fields, in the order in which people fill them in. */
export type Section = { readonly title: string; readonly fields: readonly Field[] };

/** The sections by the attributes that lie in them. Forms leave out what their resource does not have. */
const SECTIONS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: 'What is checked', names: ['url', 'uri', 'method', 'headers', 'body', 'follow_redirects'] },
  {
    title: 'What must hold',
    names: [
      'status_code_assertions',
      'body_assertions',
      'header_assertions',
      'record_assertions',
      'degraded_at',
      'certificate_expiry_days',
    ],
  },
  { title: 'When and where', names: ['active', 'periodicity', 'timeout', 'retry', 'regions'] },
  { title: 'Export of metrics', names: ['otlp_endpoint', 'otlp_headers'] },
  { title: 'Who may see it', names: ['public', 'access_type', 'password', 'auth_email_domains'] },
  { title: 'Links', names: ['homepage_url', 'contact_url', 'icon', 'custom_domain'] },
  { title: 'When', names: ['starts_at', 'ends_at', 'time_zone', 'repeat'] },
  { title: 'Alerts', names: ['monitor_ids', 'group_alerts'] },
  { title: 'Where visitors see it', names: ['page_ids', 'component_ids'] },
];

/** Title of the section for everything that has no other: names, descriptions, the settings of a channel. */
const GENERAL = 'General';

/** The sections of a form. Every field is in one of them; those that no section names come first. */
export function sectionsOf({ fields }: Pick<ResourceForm, 'fields'>): Section[] {
  const placed = new Set(SECTIONS.flatMap(({ names }) => names));
  const general = fields.filter(({ name }) => !placed.has(name));
  const others = SECTIONS.map(({ title, names }) => ({
    title,
    fields: names.flatMap((name) => fields.filter((field) => field.name === name)),
  }));
  return [{ title: GENERAL, fields: general }, ...others].filter((section) => section.fields.length > 0);
}
