import { parseResource, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { clashes } from './clashes.ts';
import { type Address, addressOf, type DeclaredEntry, type RawEntry } from './declaration.ts';
import { interpolate, type Sources } from './interpolate.ts';
import { isLocalName } from './local-name.ts';
import { plainJsonEntries } from './plain-json.ts';
import { plainYamlEntries } from './plain-yaml.ts';
import { referenceIn, referenceProblem, referencesOf } from './references.ts';

/**
 * Reads the entries of a declaration without errors, in order of dependency, without keeping the position of
 * every value. It returns null for any other text; reading that with positions finds the errors, or finds
 * that there are none.
 */
export function plainEntries(text: string, sources: Sources): DeclaredEntry[] | null {
  const raw = plainJsonEntries(text) ?? plainYamlEntries(text);
  return raw === null ? null : validEntries(raw, sources);
}

function validEntries(raw: readonly RawEntry[], sources: Sources): DeclaredEntry[] | null {
  const declared = new Set(raw.map(addressOf));
  const entries: DeclaredEntry[] = [];
  for (const one of raw) {
    const entry = validEntry(one, declared, sources);
    if (entry === null) return null;
    entries.push(entry);
    // There are many entries: the written form is dropped once it was read.
    one.value = null;
  }
  if (clashes(entries).length > 0) return null;
  const rank = ({ kind }: DeclaredEntry) => RESOURCE_KINDS.indexOf(kind);
  return entries.sort((a, b) => rank(a) - rank(b));
}

function validEntry(
  { value: written, ...head }: RawEntry,
  declared: ReadonlySet<Address>,
  sources: Sources,
): DeclaredEntry | null {
  const { kind } = head;
  if (!isLocalName(head.name)) return null;
  const inserting = new Inserting(sources);
  const value = inserting.inserted(written);
  if (inserting.hasFailed) return null;
  const references = isMapping(value) ? referencesOf(kind, value) : [];
  // Otherwise a reference stands where none is allowed.
  if (references.length !== inserting.references) return null;
  if (references.some((reference) => referenceProblem(kind, reference, declared) !== null)) return null;
  const parsed = parseResource(kind, value ?? {}, 'file');
  return parsed.ok ? ({ ...head, attributes: parsed.value } as DeclaredEntry) : null;
}

/** Inserts settings and files into the texts of a value. */
class Inserting {
  hasFailed = false;
  /** Number of strings that are references. */
  references = 0;
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  inserted(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return value.map((item) => this.inserted(item));
    if (!isMapping(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.inserted(item)]));
  }

  #text(text: string): string {
    const inserted = interpolate(text, this.#sources);
    if (!inserted.ok) {
      this.hasFailed = true;
      return text;
    }
    if (referenceIn(inserted.text) === null) return inserted.text;
    if (text === inserted.text) this.references += 1;
    // Whether inserted text is a reference depends on its place, which the numbers do not tell.
    else this.hasFailed = true;
    return inserted.text;
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
