import { deniedHost, type EgressGuard } from '@svc/shared/egress.ts';
import { attributeWarnings, type StatusPage } from '@svc/shared/resources/registry.ts';

/**
 * Warnings about a status page, for the API and for the declared file.
 * @param guard decides to which addresses svc may connect
 */
export function pageWarnings(attributes: StatusPage, guard: EgressGuard): string[] {
  const { icon } = attributes;
  const denied = icon === null ? null : deniedHost(guard, icon);
  return [
    ...attributeWarnings('svc_status_page', attributes),
    ...(denied === null ? [] : [`icon ${denied}`]),
  ];
}
