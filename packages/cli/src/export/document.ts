import { SvcError } from '@svc/shared/errors.ts';
import { compareRegions, isFixedRegion, type Region } from '@svc/shared/regions.ts';
import type { Attribute, Attributes, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { isMask, secretAt } from '@svc/shared/resources/secrets.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { LiveResource } from './declared-resources.ts';
import { identifier, localNames, UniqueNames } from './names.ts';

/** A reference to another resource of the document. It is written instead of that resource's id. */
export class ExportedReference {
  readonly kind: ResourceKind;
  readonly name: string;

  constructor(kind: ResourceKind, name: string) {
    this.kind = kind;
    this.name = name;
  }
}

/**
 * The part of a resource that Terraform hides by itself because of a secret: the
 * attribute, the mapping that contains the secret, or nothing. Terraform does not
 * hide the values of headers, because the definition does not mark them as sensitive.
 */
export type Hiding = 'attribute' | 'mapping' | 'nothing';

/** A secret of the document. Its value is written only if the user asks for it. */
export class ExportedSecret {
  /**
   * Name of the secret: a lower-case identifier, unique in the
   * document, like `notification_ops_incident_a_integration_key`.
   */
  readonly name: string;
  /** The resource and the attribute of the secret, for people. */
  readonly where: string;
  /** The value; null when the token may not read the secret. */
  readonly value: Secret | null;
  readonly hiding: Hiding;

  constructor(name: string, where: string, value: string | null, hiding: Hiding) {
    this.name = name;
    this.where = where;
    this.value = value === null ? null : new Secret(value);
    this.hiding = hiding;
  }

  /**
   * Reveals the value of the secret.
   *
   * @throws SvcError when the token may not read the secret
   */
  shown(): string {
    if (this.value !== null) return this.value.reveal();
    throw new SvcError(
      'secrets-hidden',
      `${this.where} is hidden from this token: use a token of scope write`,
    );
  }
}

/** A value as the document has it. */
export type Written =
  | string
  | number
  | boolean
  | ExportedReference
  | ExportedSecret
  | readonly Written[]
  | { readonly [name: string]: Written };

export type Members = { readonly [name: string]: Written };

export type ExportedResource = {
  readonly kind: ResourceKind;
  readonly name: string;
  /** The resource's id in the form that `terraform import` takes. */
  readonly importId: string;
  readonly attributes: Members;
  /** Blocks that may occur once. */
  readonly singleBlocks: Readonly<Record<string, Members>>;
  /** Blocks that may repeat; none of the lists is empty. */
  readonly blocks: Readonly<Record<string, readonly Members[]>>;
};

/**
 * A configuration in the form of a declaration. Resources have names and refer
 * to each other by them. Computed attributes and default values are left out.
 */
export type ExportedDocument = {
  readonly resources: readonly ExportedResource[];
  /** All secrets, in the order of the resources. */
  readonly secrets: readonly ExportedSecret[];
  /** The regions of one's own that monitors name, in the order in which they are shown. */
  readonly ownRegions: readonly Region[];
  /** Notes about what the document cannot express, one line each. */
  readonly notes: readonly string[];
};

/**
 * Makes the document from the resources that the API returned.
 *
 * @param live resources in the order that `liveConfiguration` gives them
 */
export function exportDocument(live: readonly LiveResource[]): ExportedDocument {
  const nameOf = localNames(live);
  const secrets = new SecretNames();
  const notes = live.filter(showsNothing).map(({ id, answered }) => {
    return `component ${id} of status page ${String(answered.page_id)} is not exported: the monitor that it showed was removed`;
  });
  const declared = live.filter((resource) => !showsNothing(resource));
  const resources = declared.map((resource): ExportedResource => {
    const { kind, id, answered } = resource;
    const name = nameOf(kind, id) ?? id;
    notes.push(...appearanceNotes(kind, name, answered));
    return {
      kind,
      name,
      importId: typeof answered.page_id === 'string' ? `${answered.page_id}/${id}` : id,
      ...membersOf(resource, {
        secretAt: (path, value) => secrets.at(kind, name, path, answered, value),
        reference(kinds, to) {
          const target = kinds.find((candidate) => nameOf(candidate, to) !== null);
          if (target !== undefined) return new ExportedReference(target, nameOf(target, to) ?? '');
          notes.push(`${kind}.${name} refers to ${to}, which no longer exists: export again`);
          return to;
        },
      }),
    };
  });
  return { resources, secrets: secrets.all, ownRegions: ownRegionsIn(declared), notes };
}

function ownRegionsIn(live: readonly LiveResource[]): Region[] {
  const named = live.flatMap(({ answered }) => (Array.isArray(answered.regions) ? answered.regions : []));
  const own = named.filter((region) => !isFixedRegion(region));
  return [...new Set(own)].sort(compareRegions);
}

/**
 * Whether this is a component of a status page whose monitor was
 * removed. Such a component has nothing to show and cannot be declared.
 */
function showsNothing({ kind, answered }: LiveResource): boolean {
  if (kind !== 'svc_status_page_component') return false;
  return answered.type === 'monitor' && (answered.monitor_id ?? null) === null;
}

type Answered = Readonly<Record<string, unknown>>;

type Replacements = {
  /** The reference to the resource with this id; the id itself when there is no such resource. */
  reference(kinds: readonly ResourceKind[], id: string): Written;
  /** The secret at this place; null when the value is not a secret. */
  secretAt(path: readonly (string | number)[], value: string): ExportedSecret | null;
};

type Place = readonly (string | number)[];

function membersOf({ kind, answered }: LiveResource, replacements: Replacements) {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const singleBlocks: Record<string, Members> = {};
  const blocks: Record<string, readonly Members[]> = {};
  const attributes = writtenMembers(definition.attributes, answered, [], replacements);
  for (const [name, block] of Object.entries(definition.blocks)) {
    const given = answered[name] ?? null;
    const written = (members: unknown, place: Place) =>
      writtenMembers(block.attributes, members as Answered, place, replacements);
    if (block.nesting === 'list') {
      const several = ((given ?? []) as unknown[]).map((members, index) => written(members, [name, index]));
      if (several.length > 0) blocks[name] = several;
    } else if (given !== null) singleBlocks[name] = written(given, [name]);
  }
  return { attributes, singleBlocks, blocks };
}

function writtenMembers(
  attributes: Attributes,
  given: Answered,
  place: Place,
  replacements: Replacements,
): Members {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, attribute]) => {
      const value = given[name] ?? null;
      if (isUnsaid(attribute, value)) return [];
      return [[name, writtenValue(attribute, value, [...place, name], replacements)]];
    }),
  );
}

/** Whether an attribute is left out: it is computed by the service, not set, or equal to its default. */
function isUnsaid(attribute: Attribute, value: unknown): boolean {
  if (attribute.presence === 'computed' || value === null) return true;
  return attribute.presence === 'default' && JSON.stringify(value) === JSON.stringify(attribute.default);
}

function writtenValue(
  { value: type }: Attribute,
  value: unknown,
  place: Place,
  replacements: Replacements,
): Written {
  const { attributes, references } = type;
  if (Array.isArray(value)) {
    return value.map((member, index) =>
      attributes === undefined
        ? leaf(member, [...place, index], references, replacements)
        : writtenMembers(attributes, member, [...place, index], replacements),
    );
  }
  if (typeof value !== 'object') return leaf(value, place, references, replacements);
  return Object.fromEntries(
    Object.entries(value ?? {}).map(([name, member]) => [
      name,
      leaf(member, [...place, name], references, replacements),
    ]),
  );
}

function leaf(
  value: unknown,
  place: Place,
  references: readonly string[] | undefined,
  { reference, secretAt }: Replacements,
): Written {
  if (typeof value !== 'string') return value as number | boolean;
  return references === undefined
    ? (secretAt(place, value) ?? value)
    : reference(references as readonly ResourceKind[], value);
}

/** Finds the secrets of the document and gives each a name. */
class SecretNames {
  readonly all: ExportedSecret[] = [];
  readonly #names = new UniqueNames();

  at(
    kind: ResourceKind,
    resource: string,
    place: Place,
    answered: Answered,
    value: string,
  ): ExportedSecret | null {
    const found = secretAt(kind, place, value);
    if (found === null) return null;
    const words = [kind.replace(/^svc_/, ''), resource, ...spoken(place, answered)];
    const base = words.map((word) => identifier(word, 'x')).join('_');
    const name = this.#names.free(base);
    const where = [kind, resource, ...place].join('.');
    const secret = new ExportedSecret(name, where, isMask(found) ? null : value, hidingOf(kind, place));
    this.all.push(secret);
    return secret;
  }
}

function hidingOf(kind: ResourceKind, place: Place): Hiding {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const [first, second] = place.filter((step) => typeof step === 'string');
  const block = definition.blocks[first ?? ''];
  const attribute = block?.attributes[second ?? ''] ?? definition.attributes[first ?? ''];
  if (attribute?.sensitive !== true) return 'nothing';
  return attribute.value.type === 'map' ? 'mapping' : 'attribute';
}

/**
 * The words that name a place. A member of a list is named by
 * its `key`: `headers authorization`, not `headers 0 value`.
 */
function spoken(place: Place, answered: Answered): string[] {
  const index = place.findIndex((step) => typeof step === 'number');
  if (index === -1) return place.map(String);
  const list = place.slice(0, index).reduce<unknown>((value, step) => {
    return (value as Answered)[step];
  }, answered) as readonly { readonly key?: unknown }[];
  const key = list[place[index] as number]?.key;
  return [...place.slice(0, index).map(String), String(key ?? place[index])];
}

/**
 * Returns a note if the appearance of a status page is not the default. A declaration cannot
 * say whether a page is published, which theme it has, and whether it shows latencies.
 */
function appearanceNotes(kind: ResourceKind, name: string, answered: Answered): string[] {
  const { id, published, theme, latency = 'none' } = answered;
  if (kind !== 'svc_status_page' || (published === true && theme === 'system' && latency === 'none'))
    return [];
  const now = `published is ${published}, theme is ${theme}, latency is ${latency}`;
  return [
    `${kind}.${name}: ${now}; a declaration cannot contain this, and a page made from it is published, has the theme system and shows no latencies (change it with PATCH /v1/status-pages/${id}/appearance)`,
  ];
}
