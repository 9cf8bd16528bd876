import { isId } from '@svc/shared/ids.ts';
import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import type { TerraformObject } from '../value.ts';

/** What differs between the kinds of resource in the API. */
export type ResourceAtApi = {
  readonly definition: ResourceDefinition;
  /** Noun for messages, such as `monitor`. */
  readonly noun: string;
  /** Parts of an import's id, in their order and separated by slashes; the last one is `id`. */
  readonly idAttributes: readonly ['id'] | readonly ['page_id', 'id'];
  /** The form of an import's id, for messages: `<page_id>/<component_id>`. */
  readonly importShape: string;
  /** Why an object of the API cannot be this resource; null: it can. */
  mismatch?(answered: Answered): string | null;
  /** Warnings that the API sends beside the state, without a full stop. */
  warnings?(answered: Answered): readonly string[];
  /** Query parameters of a removal. */
  readonly removal?: Readonly<Record<string, string>>;
};

/** An object in an answer of the API. */
export type Answered = { readonly id: string; readonly [member: string]: unknown };

/** The ids in a state or plan, by name. A string is the problem with the ids. */
export function idsOf(
  names: readonly string[],
  values: TerraformObject,
): Readonly<Record<string, string>> | string {
  const ids: Record<string, string> = {};
  for (const name of names) {
    const value = values[name];
    if (typeof value !== 'string' || !isId(value)) {
      return `${name} is ${typeof value === 'string' ? JSON.stringify(value) : 'missing'}, not a decimal number like "12"`;
    }
    ids[name] = value;
  }
  return ids;
}

/**
 * The path of the list that contains a resource; each member is at `/{id}` below it.
 *
 * @param ids valid ids for the attributes that the path names
 */
export function listPath({ path }: ResourceDefinition, ids: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? '');
}

/** The member `warnings` of an answer. Monitors, components and status pages have it. */
export function warningsOf(answered: Answered): readonly string[] {
  const { warnings } = answered;
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : [];
}
