import { RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { shown, VALID } from '../support/resources.ts';

/** A way to declare a resource. */
export type Door = 'api' | 'file' | 'terraform';

/**
 * The expected messages, each `path: message`, with the path of the API in dots. A regular expression stands for
 * Terraform's own words: it refuses what breaks the schema without asking the provider. Null: no message, because
 * this door accepts the value or cannot be given it.
 */
export type Said = string | readonly string[] | RegExp | null;

/**
 * One resource, or several, each with members that replace those of the smallest valid resource; `undefined`
 * removes a member.
 */
export type Row = readonly [
  of: ResourceKind | readonly ResourceKind[],
  members: Readonly<Record<string, unknown>>,
  says: string | readonly string[],
  /** Doors that say something else. */
  elsewhere?: Readonly<Partial<Record<Door, Said>>>,
];

/** A resource that is refused, with what each door says of it. */
export type Refusal = {
  readonly kind: ResourceKind;
  /** For the names of tests. */
  readonly name: string;
  /** The form of the API and of the declared file: a single block is a mapping. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly says: Readonly<Record<Door, readonly string[] | RegExp>>;
};

/** What each door says of a region that resembles none of the known ones. */
export const NOT_A_REGION =
  'is not a region: see GET /v1/regions; SVC_EXTRA_REGIONS of the coordinator adds your own';

export const MONITORS = RESOURCE_KINDS.filter((kind) => kind.endsWith('_monitor'));

export function refusalsOf(rows: readonly Row[]): Refusal[] {
  return rows.flatMap(([of, members, says, elsewhere = {}]) =>
    [of].flat().map((kind) => {
      const saidAt = (door: Door) => listed(elsewhere[door] === undefined ? says : elsewhere[door]);
      return {
        kind,
        name: shown(members),
        body: bodyOf(kind, members),
        says: { api: saidAt('api'), file: saidAt('file'), terraform: saidAt('terraform') },
      };
    }),
  );
}

function listed(said: Said): readonly string[] | RegExp {
  if (said === null) return [];
  return typeof said === 'string' ? [said] : said;
}

function bodyOf(kind: ResourceKind, members: Readonly<Record<string, unknown>>) {
  const entries = Object.entries({ ...VALID[kind], ...members });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Terraform's own words for a required argument that is not there. */
export function terraformRequires(name: string): { readonly terraform: RegExp } {
  return { terraform: new RegExp(`The argument "${name}" is required`) };
}

/** The messages about a member that the service sets. The API ignores it, so that an answer can be sent back. */
export const IGNORED_BY_THE_API = { api: null };

export const OF_THE_CONNECTION = 'names a header that the connection itself sets';
export const MASK_SENT = 'is the mask that read tokens see: write the secret itself';

/** The path and the text of a message. The path of the resource itself is empty. */
export function split(said: string): [path: string, message: string] {
  const at = said.indexOf(': ');
  return [said.slice(0, at), said.slice(at + 2)];
}
