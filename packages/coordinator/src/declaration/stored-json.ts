import { masked } from '@svc/shared/resources/secrets.ts';
import { parseStored } from '@svc/shared/resources/stored-form.ts';
import type { z } from 'zod';
import type { SealPurpose, Secrets } from '../store/declaration/secrets.ts';
import { StoreError } from '../store/errors.ts';
import type { AttributesOf, ResourceKind } from './kinds/kinds.ts';
import { areSecretParts, joinSecrets, splitSecrets } from './secret-parts.ts';
import type { SecretsShown } from './stored.ts';

/*
 * The attributes that a row keeps as JSON, because the database need not see them. Their secret parts are
 * sealed in a column beside it.
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
 * The attributes of a row.
 *
 * @param columns the attributes that have columns of their own
 * @throws StoreError `store-unreadable`
 */
export function attributesOf<K extends ResourceKind>(kind: K, row: JsonRow, columns: Json): AttributesOf<K> {
  return formed(kind, row.id, parsedObject(kind, row.id, row.attributes), columns);
}

/**
 * As {@link attributesOf}, with secrets opened or masked.
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
 * Normalized attributes, as they were stored.
 *
 * @param json is changed
 * @param id of the resource, for the error
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
    // Without the cause: the parser's message repeats the text, which may be a secret.
    throw unreadable(kind, id, null);
  }
}

/** Names places, and no values: they may be secret. */
function unreadable(kind: ResourceKind, id: number, error: z.ZodError | null): StoreError {
  const [issue] = error?.issues ?? [];
  const at = issue === undefined ? '' : ` at ${issue.path.join('.')}`;
  return new StoreError(
    'store-unreadable',
    `database: what it keeps of the ${kind} ${id} is not what this version of svc writes${at}`,
  );
}
