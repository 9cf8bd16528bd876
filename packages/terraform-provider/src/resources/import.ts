import { isId } from '@svc/shared/ids.ts';
import { failure } from '../api-diagnostics.ts';
import type { Outcome } from '../provider.ts';
import type { Schema } from '../schema.ts';
import type { TerraformObject } from '../value.ts';
import type { ResourceAtApi } from './resource-at-api.ts';

/** A state that contains only the ids of an import. Terraform then reads the object. */
export function importedState(kind: ResourceAtApi, schema: Schema, id: string): Outcome {
  const names = kind.idAttributes;
  const parts = id.split('/');
  if (parts.length !== names.length || !parts.every(isId)) {
    const example = names.map((_name, index) => 12 + 22 * index).join('/');
    const got = id.length > 100 ? `${id.slice(0, 100)}…` : id;
    const detail = `The import id is ${JSON.stringify(got)}. Give ${kind.importShape}, each a decimal number, like "${example}".`;
    return { state: null, diagnostics: [failure(`Cannot import the ${kind.definition.kind}`, detail)] };
  }
  const given = Object.fromEntries(names.map((name, index) => [name, parts[index] ?? null]));
  return { state: { ...emptyState(schema), ...given }, diagnostics: [] };
}

function emptyState({ attributes, blocks }: Schema): TerraformObject {
  return {
    ...Object.fromEntries(Object.keys(attributes).map((name) => [name, null])),
    ...Object.fromEntries(Object.keys(blocks).map((name) => [name, []])),
  };
}
