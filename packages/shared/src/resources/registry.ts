import type { z } from 'zod';
import { MOST_REGIONS, REGIONS, type Region } from '../regions.ts';
import { notYet } from '../settings/not-yet.ts';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind, type Resources } from './definitions.ts';
import { type Issue, inputSchema, issuesOf, type Surface } from './input.ts';
import { maskIssues } from './secrets.ts';
import { NOT_A_REGION, wrongRegion } from './wording.ts';

export type { StatusPageComponent } from './component.ts';
export type { StatusPageComponentGroup } from './component-group.ts';
export type { ResourceKind, Resources } from './definitions.ts';
export { DEFINITIONS, isResourceKind, RESOURCE_KINDS } from './definitions.ts';
export type { Issue, Surface } from './input.ts';
export type { Monitor } from './monitors.ts';
export type { Notification } from './notification.ts';
export type { StatusPage } from './status-page.ts';

type Schemas = { readonly [K in ResourceKind]: z.ZodType<Resources[K]> };

const schemas = {
  api: schemasFor('api'),
  file: schemasFor('file'),
};

function schemasFor(surface: Surface): Schemas {
  const each = RESOURCE_KINDS.map((kind) => [kind, inputSchema(DEFINITIONS[kind], surface)]);
  return Object.fromEntries(each) as Schemas;
}

/** The zod schema that validates and normalizes a resource. OpenAPI shows its input side. */
export function resourceSchema<K extends ResourceKind>(kind: K, surface: Surface): z.ZodType<Resources[K]> {
  return schemas[surface][kind];
}

type Parsed<T> = { ok: true; value: T } | { ok: false; issues: Issue[] };

/**
 * Validates and normalizes a user's input. All faults are reported at once. A mask in the place of a secret
 * is a fault on every surface, because the mask would replace the secret.
 *
 * @param regions the regions of the installation; default: the 28
 */
export function parseResource<K extends ResourceKind>(
  kind: K,
  input: unknown,
  surface: Surface,
  regions: readonly Region[] = REGIONS,
): Parsed<Resources[K]> {
  const parsed = resourceSchema(kind, surface).safeParse(input);
  const found = [...maskIssues(kind, input), ...regionIssues(input, regions)];
  if (parsed.success) {
    return found.length === 0 ? { ok: true, value: parsed.data } : { ok: false, issues: found };
  }
  const places = new Set(found.map(({ path }) => path.join()));
  const others = issuesOf(parsed.error).filter(({ path }) => !places.has(path.join()));
  return { ok: false, issues: [...others, ...found] };
}

/** The issues of the regions in an input that the installation does not have. */
function regionIssues(input: unknown, regions: readonly Region[]): Issue[] {
  const given = isObject(input) && Array.isArray(input.regions) ? input.regions : [];
  // A longer list is refused as a whole.
  if (given.length > MOST_REGIONS) return [];
  return given.flatMap((region: unknown, index): Issue[] => {
    if (typeof region !== 'string' || regions.includes(region)) return [];
    const message = wrongRegion(region, regions);
    return [{ path: ['regions', index], message, unquoted: NOT_A_REGION }];
  });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Warnings about the attributes of a normalized resource, without a full stop. */
export function attributeWarnings<K extends ResourceKind>(kind: K, attributes: Resources[K]): string[] {
  return [...notYet(kind, attributes), ...(DEFINITIONS[kind].warnings?.({ ...attributes }) ?? [])];
}

/**
 * Normalized attributes as users write and read them. The settings of a channel are under the name of its
 * kind. All other members are unchanged.
 */
export function presented<K extends ResourceKind>(
  kind: K,
  attributes: Resources[K],
): Record<string, unknown> {
  const members = { ...attributes };
  return DEFINITIONS[kind].present?.(members) ?? members;
}
