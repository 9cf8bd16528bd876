import { deniedHost, type EgressGuard } from '@svc/shared/egress.ts';
import { attributeWarnings, type StatusPage } from '@svc/shared/resources/registry.ts';

/**
 * Returns the warnings about a status page that the API and the declared file show.
 *
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
