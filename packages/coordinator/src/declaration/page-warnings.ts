import { deniedHost, type EgressGuard } from '@svc/shared/egress.ts';
import { attributeWarnings, type StatusPage } from '@svc/shared/resources/registry.ts';

/** Warnings about a status page, over the API and of the declared file. @param guard of what svc fetches */
export function pageWarnings(attributes: StatusPage, guard: EgressGuard): string[] {
  const { icon } = attributes;
  const denied = icon === null ? null : deniedHost(guard, icon);
  return [
    ...attributeWarnings('svc_status_page', attributes),
    ...(denied === null ? [] : [`icon ${denied}`]),
  ];
}
