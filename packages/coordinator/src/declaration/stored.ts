import { masked, maskOf, secretsIn } from '@svc/shared/resources/secrets.ts';
import type { PAGE_LATENCIES } from '@svc/shared/resources/status-page.ts';
import { parseStored } from '@svc/shared/resources/stored-form.ts';
import type { z } from 'zod';
import type { ResourceTable, Row } from '../store/declaration/resources.ts';
import type { SealPurpose, Secrets } from '../store/declaration/secrets.ts';
import { StoreError } from '../store/errors.ts';
import type { AttributesOf, MonitorKind, ResourceKind } from './kinds/kind-tables.ts';

/** Whether secrets are decrypted (`open`), or replaced by a mask without being decrypted (`masked`). */
export type SecretsShown = 'open' | 'masked';

/** Members of every stored resource in addition to its attributes. */
export type Metadata = {
  readonly id: number;
  readonly workspaceId: number;
  /**
   * Version of the row. Every change of the attributes or the appearance adds 1, and so does a declared file that
   * takes the resource over or renames its entry. The version is a part of the API's ETag.
   */
  readonly rowVersion: number;
  /** 'file': the declared file declares the resource as `localName`, and the API cannot change it. */
  readonly owner: 'file' | null;
  readonly localName: string | null;
  /** When the resource was created, epoch ms. */
  readonly createdAt: number;
  /** When the resource was last changed, epoch ms. */
  readonly updatedAt: number;
};

/** A declared resource as it is stored. */
export type Stored<K extends ResourceKind> = Metadata & {
  readonly kind: K;
  readonly attributes: AttributesOf<K>;
};

export type StoredMonitor = { [K in MonitorKind]: Stored<K> }[MonitorKind];
export type StoredNotification = Stored<'svc_notification'> & {
  readonly state: 'ok' | 'failing';
  readonly stateReason: string | null;
  /** When deliveries to the channel were stopped, epoch ms; null: they are not stopped. */
  readonly stoppedAt: number | null;
};
export type StoredPage = Stored<'svc_status_page'> & {
  readonly published: boolean;
  readonly theme: 'system' | 'light' | 'dark';
  /** How far back the latency charts of the page reach. */
  readonly latency: (typeof PAGE_LATENCIES)[number];
};
export type StoredGroup = Stored<'svc_status_page_component_group'>;
export type StoredComponent = Stored<'svc_status_page_component'>;

interface StoredByTable {
  monitors: StoredMonitor;
  notifications: StoredNotification;
  status_pages: StoredPage;
  component_groups: StoredGroup;
  components: StoredComponent;
}

/** A stored resource of this table. */
export type StoredIn<T extends ResourceTable> = StoredByTable[T];
export type AnyStored = StoredIn<ResourceTable>;

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

/*
 * Attributes that no SQL statement uses are stored as JSON in one column.
 * The secret parts of attributes are encrypted in another column.
 */

type Json = { [name: string]: unknown };
type JsonRow = { readonly id: number; readonly attributes: string };
type SealedJson = JsonRow & { readonly secrets_sealed: Uint8Array | null };

export function sealedJson(secrets: Secrets, purpose: SealPurpose, kind: ResourceKind, attributes: Json) {
  const { plain, parts } = splitSecrets(kind, attributes);
  return {
    attributes: JSON.stringify(plain),
    secrets_sealed: parts.length === 0 ? null : secrets.seal(purpose, JSON.stringify(parts)),
  };
}

/**
 * Reads the attributes of a row without secrets.
 *
 * @param columns the attributes that have columns of their own
 * @throws StoreError `store-unreadable`
 */
export function attributesOf<K extends ResourceKind>(kind: K, row: JsonRow, columns: Json): AttributesOf<K> {
  return formed(kind, row.id, parsedObject(kind, row.id, row.attributes), columns);
}

/**
 * Like {@link attributesOf}, for a row with secrets, which are decrypted or masked.
 *
 * @throws StoreError `store-key`, `store-unreadable`
 */
export function openedAttributesOf<K extends ResourceKind>(
  { secrets, purpose, shown }: { secrets: Secrets; purpose: SealPurpose; shown: SecretsShown },
  kind: K,
  row: SealedJson,
  columns: Json,
): AttributesOf<K> {
  const { id, secrets_sealed: sealed } = row;
  const plain = parsedObject(kind, id, row.attributes);
  if (sealed === null) return formed(kind, id, plain, columns);
  if (shown === 'masked') return formed(kind, id, masked(kind, plain), columns);
  const parts = parsed(kind, id, secrets.open(purpose, sealed).reveal());
  if (!areSecretParts(parts)) throw unreadable(kind, id, null);
  return formed(kind, id, joinSecrets(plain, parts), columns);
}

/**
 * Joins the JSON and the columns of a row, and parses the result as normalized attributes.
 *
 * @param json the parsed JSON. The columns are added to it as members
 * @param id id of the resource, for the error
 * @throws StoreError `store-unreadable`
 */
export function formed<K extends ResourceKind>(
  kind: K,
  id: number,
  json: object,
  columns: Json,
): AttributesOf<K> {
  const attributes = parseStored(kind, Object.assign(json, columns));
  if (!attributes.success) throw unreadable(kind, id, attributes.error);
  return attributes.data;
}

function parsedObject(kind: ResourceKind, id: number, text: string): object {
  const json = parsed(kind, id, text);
  if (typeof json !== 'object' || json === null) throw unreadable(kind, id, null);
  return json;
}

function parsed(kind: ResourceKind, id: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error gets no `cause`, because the parser's message repeats the text, which may be secret.
    throw unreadable(kind, id, null);
  }
}

/**
 * Returns the error for an unreadable row. Its message names the
 * path of the wrong value, but not the value, which may be secret.
 */
function unreadable(kind: ResourceKind, id: number, error: z.ZodError | null): StoreError {
  const [issue] = error?.issues ?? [];
  const at = issue === undefined ? '' : ` at ${issue.path.join('.')}`;
  return new StoreError(
    'store-unreadable',
    `database: the stored ${kind} ${id} does not have the form that this version of svc writes${at}`,
  );
}

/** The path and the value of each secret in a resource. */
type SecretParts = readonly (readonly [path: Path, secret: unknown])[];

/** Whether a value has the form of the parts that {@link splitSecrets} returns. */
function areSecretParts(value: unknown): value is SecretParts {
  return (
    Array.isArray(value) &&
    value.every((part: unknown) => Array.isArray(part) && part.length === 2 && isPath(part[0]))
  );
}

function isPath(value: unknown): value is Path {
  return Array.isArray(value) && value.every((step) => typeof step === 'string' || typeof step === 'number');
}

type Path = readonly (string | number)[];

/**
 * Separates the secrets of a resource (`parts`) from the other values (`plain`). In `plain`, an empty
 * string stands in place of each secret. If only a part of a string is secret, the whole string is in
 * `parts`, and the string with the secret masked is in `plain`. A secret that is null stays in `plain`.
 */
export function splitSecrets(kind: ResourceKind, attributes: Json): { plain: Json; parts: SecretParts } {
  const plain = structuredClone(attributes);
  const secrets = secretsIn(kind, plain);
  for (const secret of secrets) set(plain, secret.path, secret.part === undefined ? '' : maskOf(secret));
  return { plain, parts: secrets.map(({ path, value }) => [path, value]) };
}

/** Puts the secrets that {@link splitSecrets} has separated back into `plain`, and returns `plain`. */
export function joinSecrets<T extends object>(plain: T, parts: SecretParts): T {
  for (const [path, secret] of parts) set(plain, path, secret);
  return plain;
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Json)[step], value);
}

function set(root: object, path: Path, value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const parent = at(root, path.slice(0, -1));
  if (typeof parent !== 'object' || parent === null) return;
  // Assignment would not create a member with the name `__proto__`, which a header may have.
  Object.defineProperty(parent, last, { value, writable: true, enumerable: true, configurable: true });
}
