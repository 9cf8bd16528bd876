import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, MONITOR_KINDS } from '@svc/shared/resources/registry.ts';
import { masked } from '@svc/shared/resources/secrets.ts';
import { openSettings, sealSettings } from '../store/channels.ts';
import type { ResourceTable, Row } from '../store/resources.ts';
import type { SealPurpose, Secrets } from '../store/secrets.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds.ts';
import { joinSecrets, type SecretParts, splitSecrets } from './secret-parts.ts';

/*
 * The layout of normalized attributes in rows. Each attribute is stored once: in a column when the database
 * must see it, sealed when it is secret, otherwise in the JSON of `attributes`.
 */

type Json = { [name: string]: unknown };

/** Whether secrets are opened, or shown as a mask without being opened. */
export type SecretsShown = 'open' | 'masked';

/** The attributes of every kind, as users see them. */
export type Metadata = {
  readonly id: number;
  readonly workspaceId: number;
  /** Grows with every write: the ETag. */
  readonly rowVersion: number;
  /** 'file': declared in the file under `localName`, and read-only for the API. */
  readonly owner: 'file' | null;
  readonly localName: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
};

export function metadataOf(
  row: Pick<
    Row<ResourceTable>,
    'id' | 'workspace_id' | 'row_version' | 'owner' | 'local_name' | 'created_at' | 'updated_at'
  >,
): Metadata {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    rowVersion: row.row_version,
    owner: row.owner === 'file' ? 'file' : null,
    localName: row.local_name,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export const SEAL = {
  status_pages: 'status_pages.secrets',
} as const satisfies Record<string, SealPurpose>;

function monitorSeal(type: string): SealPurpose {
  return `monitors.${type}`;
}

export function monitorKindOf(row: Pick<Row<'monitors'>, 'type'>): MonitorKind {
  return MONITOR_KINDS[row.type];
}

export function monitorColumns(secrets: Secrets, kind: MonitorKind, attributes: AttributesOf<MonitorKind>) {
  const { type, name, active, ...rest } = attributes;
  const { plain, parts } = splitSecrets(kind, rest);
  return {
    type,
    name,
    active: active ? 1 : 0,
    attributes: JSON.stringify(plain),
    secrets_sealed: sealed(secrets, monitorSeal(type), parts),
  };
}

export function monitorAttributes(
  secrets: Secrets,
  row: Pick<Row<'monitors'>, 'type' | 'name' | 'active' | 'attributes' | 'secrets_sealed'>,
  shown: SecretsShown,
): AttributesOf<MonitorKind> {
  const kind = monitorKindOf(row);
  const all = {
    ...absentAs(kind),
    ...revealed(secrets, kind, monitorSeal(row.type), row.attributes, row.secrets_sealed, shown),
    type: row.type,
    name: row.name,
    active: row.active === 1,
  };
  return all as unknown as AttributesOf<MonitorKind>;
}

/** Settings are sealed as a whole: addresses of most channels are secrets themselves. */
export function notificationColumns(secrets: Secrets, attributes: AttributesOf<'svc_notification'>) {
  return {
    name: attributes.name,
    provider_type: attributes.provider_type,
    settings_sealed: sealSettings(secrets, attributes.settings),
  };
}

/** @param monitorIds the linked monitors, ascending */
export function notificationAttributes(
  secrets: Secrets,
  row: Pick<Row<'notifications'>, 'name' | 'provider_type' | 'settings_sealed'>,
  monitorIds: readonly number[],
  shown: SecretsShown,
): AttributesOf<'svc_notification'> {
  const type = row.provider_type;
  const settings = openSettings(secrets, row.settings_sealed).reveal();
  const block: Json =
    shown === 'open' ? { [type]: settings } : masked('svc_notification', { [type]: settings });
  const all = {
    name: row.name,
    provider_type: type,
    monitor_ids: monitorIds.map(String),
    settings: block[type],
  };
  return all as AttributesOf<'svc_notification'>;
}

export function pageColumns(secrets: Secrets, attributes: AttributesOf<'svc_status_page'>) {
  const { slug, custom_domain, ...rest } = attributes;
  const { plain, parts } = splitSecrets('svc_status_page', rest);
  return {
    slug,
    custom_domain,
    attributes: JSON.stringify(plain),
    secrets_sealed: sealed(secrets, SEAL.status_pages, parts),
  };
}

export function pageAttributes(
  secrets: Secrets,
  row: Pick<Row<'status_pages'>, 'slug' | 'custom_domain' | 'attributes' | 'secrets_sealed'>,
  shown: SecretsShown,
): AttributesOf<'svc_status_page'> {
  const all = {
    ...absentAs('svc_status_page'),
    ...revealed(secrets, 'svc_status_page', SEAL.status_pages, row.attributes, row.secrets_sealed, shown),
    slug: row.slug,
    custom_domain: row.custom_domain,
  };
  return all as unknown as AttributesOf<'svc_status_page'>;
}

export function groupColumns({ page_id, ...rest }: AttributesOf<'svc_status_page_component_group'>) {
  return { page_id: Number(page_id), attributes: JSON.stringify(rest) };
}

export function groupAttributes(
  row: Pick<Row<'component_groups'>, 'page_id' | 'attributes'>,
): AttributesOf<'svc_status_page_component_group'> {
  const all = {
    ...absentAs('svc_status_page_component_group'),
    ...(JSON.parse(row.attributes) as Json),
    page_id: String(row.page_id),
  };
  return all as unknown as AttributesOf<'svc_status_page_component_group'>;
}

export function componentColumns(attributes: AttributesOf<'svc_status_page_component'>) {
  const { page_id, group_id, monitor_id, ...rest } = attributes;
  return {
    page_id: Number(page_id),
    group_id: group_id === null ? null : Number(group_id),
    monitor_id: monitor_id === null ? null : Number(monitor_id),
    attributes: JSON.stringify(rest),
  };
}

export function componentAttributes(
  row: Pick<Row<'components'>, 'page_id' | 'group_id' | 'monitor_id' | 'attributes'>,
): AttributesOf<'svc_status_page_component'> {
  const all = {
    ...absentAs('svc_status_page_component'),
    ...(JSON.parse(row.attributes) as Json),
    page_id: String(row.page_id),
    group_id: row.group_id === null ? null : String(row.group_id),
    monitor_id: row.monitor_id === null ? null : String(row.monitor_id),
  };
  return all as unknown as AttributesOf<'svc_status_page_component'>;
}

function sealed(secrets: Secrets, purpose: SealPurpose, parts: SecretParts): Uint8Array | null {
  return parts.length === 0 ? null : secrets.seal(purpose, JSON.stringify(parts));
}

function revealed(
  secrets: Secrets,
  kind: ResourceKind,
  purpose: SealPurpose,
  text: string,
  bytes: Uint8Array | null,
  shown: SecretsShown,
): Json {
  const plain = JSON.parse(text) as Json;
  if (bytes === null) return plain;
  if (shown === 'masked') return masked(kind, plain);
  return joinSecrets(plain, JSON.parse(secrets.open(purpose, bytes).reveal()) as SecretParts);
}

/** The normalized values of missing attributes: rows written before an attribute existed lack it. */
const ABSENT = Object.fromEntries(
  Object.entries(DEFINITIONS).map(([kind, definition]) => [kind, absentIn(definition)]),
) as Readonly<Record<ResourceKind, Json>>;

function absentAs(kind: ResourceKind): Json {
  return ABSENT[kind];
}

function absentIn({ attributes, blocks }: ResourceDefinition): Json {
  const optional = Object.entries(attributes).filter(
    ([, { presence }]) => presence === 'optional' || presence === 'default',
  );
  return {
    ...Object.fromEntries(optional.map(([name, attribute]) => [name, attribute.default ?? null])),
    ...Object.fromEntries(
      Object.entries(blocks).map(([name, { nesting }]) => [name, nesting === 'list' ? [] : null]),
    ),
  };
}
