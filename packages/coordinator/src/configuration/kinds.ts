/** Declared resources by the names that the declared file and Terraform use. */
export const RESOURCE_KINDS = [
  'svc_http_monitor',
  'svc_tcp_monitor',
  'svc_dns_monitor',
  'svc_notification',
  'svc_status_page',
  'svc_status_page_component_group',
  'svc_status_page_component',
] as const;
export type ResourceKind = (typeof RESOURCE_KINDS)[number];

/** Normalized attributes of one kind. */
export type AttributesOf<K extends ResourceKind> = Record<K, Record<string, unknown>>[K];
