import type { StatusPage } from './status-page.ts';

/**
 * Warnings about attributes of a page that have no effect beside its other attributes, without a full stop.
 * Nobody who sets a password means a page that everybody can see.
 */
export function withoutEffect({ access_type, password, auth_email_domains: domains }: StatusPage): string[] {
  const found: string[] = [];
  if (password !== null && access_type !== 'password') {
    found.push(`password has no effect: access_type is ${access_type}, not password`);
  }
  if (domains !== null && domains.length > 0 && access_type !== 'email-domain') {
    found.push(`auth_email_domains has no effect: access_type is ${access_type}, not email-domain`);
  }
  return found;
}
