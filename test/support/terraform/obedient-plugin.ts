import type { Diagnostic } from './diagnostic.ts';
import type { Answer, Imported, Plugin, Private } from './plugin.ts';
import { Decimal, isObjectValue, type ObjectValue, UNKNOWN, type Value } from './value.ts';
import type { Path } from './value-type.ts';
import type { ProviderSchema, ResourceSchema, SchemaAttribute } from './wire-schema.ts';

const attribute = (more: Partial<SchemaAttribute>): SchemaAttribute => ({
  type: 'string',
  required: false,
  optional: false,
  computed: false,
  sensitive: false,
  writeOnly: false,
  ...more,
});

const THING: ResourceSchema = {
  version: 0n,
  attributes: {
    name: attribute({ required: true }),
    place: attribute({ optional: true }),
    note: attribute({ optional: true }),
    secret: attribute({ optional: true, sensitive: true }),
    size: attribute({ type: 'number', optional: true, computed: true }),
    tags: attribute({ type: ['set', 'string'], optional: true }),
    id: attribute({ computed: true }),
  },
  blocks: {
    part: { attributes: { key: attribute({ required: true }) }, blocks: {}, minimum: 0, maximum: 3 },
  },
};

const NO_PRIVATE: Private = new Uint8Array();

/**
 * A provider in memory that keeps every rule, for the tests of the rules: each test overrides one method to
 * break one rule. A `svc_thing` is replaced when its `place` changes.
 */
export class ObedientPlugin implements Plugin {
  readonly objects = new Map<string, ObjectValue>();
  #made = 0;

  async schema(): Promise<ProviderSchema> {
    return {
      provider: { version: 0n, attributes: {}, blocks: {} },
      resources: { svc_thing: THING },
      dataSources: {
        svc_thing: { ...THING, attributes: { ...THING.attributes, id: attribute({ required: true }) } },
      },
    };
  }

  async validateProvider(): Promise<Diagnostic[]> {
    return [];
  }

  async configure(): Promise<Diagnostic[]> {
    return [];
  }

  async validateResource(_type: string, _config: ObjectValue): Promise<Diagnostic[]> {
    return [];
  }

  async validateData(): Promise<Diagnostic[]> {
    return [];
  }

  async upgrade(_type: string, _version: bigint, json: string): Promise<Answer<{ state: Value }>> {
    const state = JSON.parse(json) as ObjectValue;
    const size = state.size as unknown as number | null;
    return { state: { ...state, size: size === null ? null : new Decimal(String(size)) }, diagnostics: [] };
  }

  async read(_type: string, state: Value, kept: Private): Promise<Answer<{ state: Value; kept: Private }>> {
    const id = isObjectValue(state) ? String(state.id) : '';
    return { state: this.objects.get(id) ?? null, kept, diagnostics: [] };
  }

  async plan(
    _type: string,
    { prior, proposed }: { prior: Value; proposed: Value; config: Value; kept: Private },
  ): Promise<Answer<{ planned: Value; replaces: readonly Path[]; kept: Private }>> {
    const nothing = { kept: NO_PRIVATE, diagnostics: [] };
    if (!isObjectValue(proposed)) return { planned: null, replaces: [], ...nothing };
    const before = isObjectValue(prior) ? prior : null;
    const isUnset = proposed.size === null;
    const planned = {
      ...proposed,
      ...(isUnset ? { size: UNKNOWN } : {}),
      id: before?.id ?? UNKNOWN,
    };
    const replaces = before !== null && before.place !== proposed.place ? [['place']] : [];
    return { planned, replaces, ...nothing };
  }

  async apply(
    _type: string,
    { prior, planned }: { prior: Value; planned: Value; config: Value; kept: Private },
  ): Promise<Answer<{ state: Value; kept: Private }>> {
    if (!isObjectValue(planned)) {
      if (isObjectValue(prior)) this.objects.delete(String(prior.id));
      return { state: null, kept: NO_PRIVATE, diagnostics: [] };
    }
    const id = isObjectValue(prior) ? String(prior.id) : String(++this.#made);
    const known = {
      ...planned,
      id,
      size: planned.size === UNKNOWN ? new Decimal('3') : (planned.size ?? null),
    };
    this.objects.set(id, known);
    return { state: known, kept: NO_PRIVATE, diagnostics: [] };
  }

  async import(type: string, id: string): Promise<Answer<{ imported: readonly Imported[] }>> {
    const state = { name: null, place: null, note: null, secret: null, size: null, tags: null, id, part: [] };
    return { imported: [{ type, state, kept: NO_PRIVATE }], diagnostics: [] };
  }

  async readData(_type: string, config: ObjectValue): Promise<Answer<{ state: Value }>> {
    return { state: this.objects.get(String(config.id)) ?? null, diagnostics: [] };
  }

  async stop(): Promise<void> {}

  async close(): Promise<void> {}
}
