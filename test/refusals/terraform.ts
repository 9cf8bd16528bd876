import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { Body } from '../support/terraform/runner.ts';
import type { Refusal } from './refusal.ts';

/** A row under a name of its own in a configuration. */
export type Labelled = Pick<Refusal, 'kind' | 'body'> & { readonly label: string };

export const addressOf = ({ kind, label }: Labelled) => `${kind}.${label}`;

/** All rows in one configuration of Terraform's JSON syntax. */
export function terraformBodies(rows: readonly Labelled[]): Record<string, Record<string, Body>> {
  const bodies: Record<string, Record<string, Body>> = {};
  for (const { kind, label, body } of rows) {
    bodies[kind] = { ...bodies[kind], [label]: literal(withBlockLists(kind, body)) as Body };
  }
  return bodies;
}

/** Elsewhere a single block is a mapping. In Terraform it is a list like other blocks, so paths have its index. */
function withBlockLists(kind: ResourceKind, body: Refusal['body']): Refusal['body'] {
  const { blocks } = DEFINITIONS[kind];
  const isMapping = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    blocks[name]?.nesting === 'single' && isMapping(value) ? [value] : value,
  ]);
  return Object.fromEntries(entries);
}

/** Escapes texts, because Terraform takes `${` for a reference. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/([$%])\{/g, '$1$1{');
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, literal(member)]));
}

/**
 * The provider's path for a path of the API; undefined: the resource itself. A given single block is the first of a
 * list. A member of a set has no index, so the path is that of the set.
 */
export function terraformPath(
  { kind, body }: Labelled,
  path: string,
): readonly (string | number)[] | undefined {
  if (path === '') return undefined;
  const steps = path.split('.').map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const [first, ...rest] = steps as [string, ...(string | number)[]];
  const { attributes, blocks } = DEFINITIONS[kind];
  if (attributes[first]?.value.type === 'set') return [first];
  const isSingle = blocks[first]?.nesting === 'single' && (body[first] ?? null) !== null;
  return isSingle ? [first, 0, ...rest] : steps;
}

/** The end of the provider's message, as long as the expected words. This leaves out the subject of the message. */
export function wordsOf(detail: string, words: string): string {
  return detail.replace(/\.$/, '').slice(-words.length);
}
