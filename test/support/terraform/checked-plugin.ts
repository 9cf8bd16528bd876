import { incompatibilities, planBreaches } from './consistency.ts';
import { type Diagnostic, failure, hasErrors } from './diagnostic.ts';
import type { Answer, Plugin, Private } from './plugin.ts';
import { proposedState } from './proposed-state.ts';
import { isObjectValue, isWhollyKnown, type ObjectValue, UNKNOWN, type Value } from './value.ts';
import { conforming, isEqual, type Path, shownPath } from './value-type.ts';
import { type ProviderSchema, type ResourceSchema, typeOf } from './wire-schema.ts';

export type PlannedAction = 'no-op' | 'create' | 'update' | 'replace';

export type ResourcePlan = {
  readonly action: PlannedAction;
  readonly prior: Value;
  readonly planned: Value;
  readonly kept: Private;
};

export type Held = { readonly state: Value; readonly kept: Private };

const NO_PRIVATE: Private = new Uint8Array();

/** An error that Terraform reports when the provider itself is wrong, in the words that users search for. */
const SUMMARIES = {
  invalidPlan: 'Provider produced invalid plan',
  invalidObject: 'Provider produced invalid object',
  inconsistentResult: 'Provider produced inconsistent result after apply',
  inconsistentFinalPlan: 'Provider produced inconsistent final plan',
  invalidResult: 'Provider returned invalid result object after apply',
} as const;

/** Calls of a provider with the checks that Terraform makes on every answer. */
export class CheckedPlugin {
  readonly #plugin: Plugin;
  readonly schema: ProviderSchema;

  private constructor(plugin: Plugin, schema: ProviderSchema) {
    this.#plugin = plugin;
    this.schema = schema;
  }

  static async over(plugin: Plugin): Promise<CheckedPlugin> {
    return new CheckedPlugin(plugin, await plugin.schema());
  }

  resource(type: string): ResourceSchema {
    const schema = this.schema.resources[type];
    if (schema === undefined) throw new Error(`The provider does not support resource type "${type}".`);
    return schema;
  }

  data(type: string): ResourceSchema {
    const schema = this.schema.dataSources[type];
    if (schema === undefined) throw new Error(`The provider does not support data source "${type}".`);
    return schema;
  }

  async configure(config: ObjectValue): Promise<Diagnostic[]> {
    const found = checkedPaths(await this.#plugin.validateProvider(config), this.schema.provider);
    if (hasErrors(found)) return found;
    return [...found, ...checkedPaths(await this.#plugin.configure(config), this.schema.provider)];
  }

  async validateProvider(config: ObjectValue): Promise<Diagnostic[]> {
    return checkedPaths(await this.#plugin.validateProvider(config), this.schema.provider);
  }

  async validateResource(type: string, config: ObjectValue): Promise<Diagnostic[]> {
    return checkedPaths(await this.#plugin.validateResource(type, config), this.resource(type));
  }

  async validateData(type: string, config: ObjectValue): Promise<Diagnostic[]> {
    return checkedPaths(await this.#plugin.validateData(type, config), this.data(type));
  }

  /** Reads a stored object again; state null when it is gone. */
  async refreshed(
    type: string,
    stored: { json: string; version: bigint; kept: Private },
  ): Promise<Answer<Held>> {
    const upgraded = await this.#plugin.upgrade(type, stored.version, stored.json);
    if (hasErrors(upgraded.diagnostics))
      return { state: null, kept: stored.kept, diagnostics: upgraded.diagnostics };
    const state = this.#wellFormed(type, upgraded.state, 'upgrade');
    if ('breach' in state) return { state: null, kept: stored.kept, diagnostics: [state.breach] };
    return this.read(type, { state: state.value, kept: stored.kept });
  }

  async read(type: string, { state, kept }: Held): Promise<Answer<Held>> {
    const answer = await this.#plugin.read(type, state, kept);
    const diagnostics = checkedPaths(answer.diagnostics, this.resource(type));
    if (hasErrors(diagnostics)) return { state, kept, diagnostics };
    const read = this.#wellFormed(type, answer.state, 'refresh');
    if ('breach' in read) return { state, kept, diagnostics: [...diagnostics, read.breach] };
    return { state: read.value, kept: answer.kept, diagnostics };
  }

  /** @param prior null: there is none, or it is to be replaced whatever the configuration says */
  async plan(type: string, prior: Held | null, config: ObjectValue): Promise<Answer<{ plan: ResourcePlan }>> {
    const schema = this.resource(type);
    const first = await this.#plannedOnce(type, prior, config);
    const { planned, diagnostics } = first;
    const before = prior?.state ?? null;
    if (before === null || hasErrors(diagnostics)) {
      return { plan: { action: 'create', prior: before, planned, kept: first.kept }, diagnostics };
    }
    if (isEqual(before, planned, typeOf(schema))) {
      return { plan: { action: 'no-op', prior: before, planned, kept: first.kept }, diagnostics };
    }
    if (!first.replaces.some((path) => !isSameAt(schema, before, planned, path))) {
      return { plan: { action: 'update', prior: before, planned, kept: first.kept }, diagnostics };
    }
    const anew = await this.#plannedOnce(type, null, config);
    return {
      plan: { action: 'replace', prior: before, planned: anew.planned, kept: anew.kept },
      diagnostics: [...diagnostics, ...anew.diagnostics],
    };
  }

  async #plannedOnce(type: string, prior: Held | null, config: ObjectValue) {
    const schema = this.resource(type);
    const before = prior?.state ?? null;
    const proposed = proposedState(schema, before, config);
    const answer = await this.#plugin.plan(type, {
      prior: before,
      proposed,
      config,
      kept: prior?.kept ?? NO_PRIVATE,
    });
    const diagnostics = checkedPaths(answer.diagnostics, schema);
    const nothing = { planned: null as Value, kept: answer.kept, replaces: [] as readonly Path[] };
    if (hasErrors(diagnostics)) return { ...nothing, diagnostics };
    const { value: planned, breach } = typed(answer.planned, schema);
    if (breach !== undefined) {
      return { ...nothing, diagnostics: [...diagnostics, failure(SUMMARIES.invalidPlan, breach)] };
    }
    const breaches = [
      ...planBreaches(schema, { prior: before, config, planned }).map(
        (each) => `planned an invalid value for ${type}${each}`,
      ),
      ...(before === null ? [] : answer.replaces)
        .filter((path) => !pathExists(before, path) && !pathExists(planned, path))
        .map(
          (path) =>
            `has indicated "requires replacement" for a non-existent attribute path ${shownPath(path)}`,
        ),
    ];
    const wrong = breaches.map((each) => failure(SUMMARIES.invalidPlan, each));
    return { planned, kept: answer.kept, replaces: answer.replaces, diagnostics: [...diagnostics, ...wrong] };
  }

  /** The faults of a second plan, which was made when more values were known. */
  finalPlanBreaches(type: string, planned: Value, final: Value): Diagnostic[] {
    return incompatibilities(this.resource(type), planned, final).map((each) =>
      failure(SUMMARIES.inconsistentFinalPlan, `produced an invalid new value for ${type}${each}`),
    );
  }

  /** Creates (prior null), changes, or removes (planned null). */
  async apply(
    type: string,
    request: { prior: Value; planned: Value; config: Value; kept: Private },
  ): Promise<Answer<Held & { isTainted: boolean }>> {
    const schema = this.resource(type);
    const isCreation = request.prior === null;
    const answer = await this.#plugin.apply(type, request);
    const diagnostics = checkedPaths(answer.diagnostics, schema);
    const { value, breach } = typed(answer.state, schema);
    if (breach !== undefined) {
      const lost = failure(SUMMARIES.invalidObject, breach);
      return {
        state: request.prior,
        kept: answer.kept,
        isTainted: false,
        diagnostics: [...diagnostics, lost],
      };
    }
    if (hasErrors(diagnostics)) {
      // Terraform keeps what it had when a change or removal failed without an answer.
      const kept = value ?? (isCreation ? null : request.prior);
      return {
        state: knownOnly(kept),
        kept: answer.kept,
        isTainted: isCreation && kept !== null,
        diagnostics,
      };
    }
    const wrong = resultBreaches(type, schema, request.planned, value);
    return {
      state: knownOnly(value),
      kept: answer.kept,
      isTainted: isCreation && wrong.length > 0,
      diagnostics: [...diagnostics, ...wrong],
    };
  }

  async import(type: string, id: string): Promise<Answer<{ held: Held | null }>> {
    const answer = await this.#plugin.import(type, id);
    const diagnostics = [...answer.diagnostics];
    if (hasErrors(diagnostics)) return { held: null, diagnostics };
    const [first] = answer.imported;
    if (first === undefined || first.type !== type) {
      const detail = `The provider returned ${first === undefined ? 'no' : 'another'} resource for id ${id}`;
      return { held: null, diagnostics: [...diagnostics, failure('Import returned no resources', detail)] };
    }
    const state = this.#wellFormed(type, first.state, 'import');
    if ('breach' in state) return { held: null, diagnostics: [...diagnostics, state.breach] };
    const read = await this.read(type, { state: state.value, kept: first.kept });
    if (hasErrors(read.diagnostics))
      return { held: null, diagnostics: [...diagnostics, ...read.diagnostics] };
    if (read.state === null) {
      const detail = `the provider detected that no object exists with the given id (${type} ${id})`;
      return { held: null, diagnostics: [failure('Cannot import non-existent remote object', detail)] };
    }
    return { held: read, diagnostics: [...diagnostics, ...read.diagnostics] };
  }

  async readData(type: string, config: ObjectValue): Promise<Answer<{ state: Value }>> {
    const answer = await this.#plugin.readData(type, config);
    const diagnostics = checkedPaths(answer.diagnostics, this.data(type));
    if (hasErrors(diagnostics)) return { state: null, diagnostics };
    const { value, breach } = typed(answer.state, this.data(type));
    const wrong =
      breach ??
      (value === null ? 'null object' : isWhollyKnown(value) ? undefined : 'unknown values after read');
    if (wrong === undefined) return { state: value, diagnostics };
    return { state: null, diagnostics: [...diagnostics, failure(SUMMARIES.invalidObject, wrong)] };
  }

  stop(): Promise<void> {
    return this.#plugin.stop();
  }

  close(): Promise<void> {
    return this.#plugin.close();
  }

  /** Read, imported and upgraded objects: of their type, wholly known, blocks never null. */
  #wellFormed(type: string, answered: Value, when: string): { value: Value } | { breach: Diagnostic } {
    const schema = this.resource(type);
    const { value, breach } = typed(answered, schema);
    if (breach !== undefined)
      return { breach: failure(SUMMARIES.invalidObject, `${type} during ${when}${breach}`) };
    if (!isWhollyKnown(value)) {
      return { breach: failure(SUMMARIES.invalidObject, `${type} has unknown values during ${when}`) };
    }
    const block = nullBlock(schema, value);
    if (block === null) return { value };
    return { breach: failure(SUMMARIES.invalidObject, `${type}.${block} must be empty, not null (${when})`) };
  }
}

function resultBreaches(type: string, schema: ResourceSchema, planned: Value, actual: Value): Diagnostic[] {
  if (planned === null && actual === null) return [];
  if (planned === null) {
    return [failure(SUMMARIES.invalidResult, `${type}: there was still an object after its removal`)];
  }
  const unknown = isWhollyKnown(actual)
    ? []
    : [failure(SUMMARIES.invalidResult, `${type}: the provider still indicated an unknown value`)];
  const changed = incompatibilities(schema, planned, actual).map((each) =>
    failure(SUMMARIES.inconsistentResult, `produced an unexpected new value for ${type}${each}`),
  );
  return [...unknown, ...changed];
}

function typed(answered: Value, schema: ResourceSchema): { value: Value; breach?: string } {
  try {
    return { value: conforming(answered, typeOf(schema)) };
  } catch (error) {
    return { value: null, breach: (error as Error).message };
  }
}

function nullBlock(schema: ResourceSchema, value: Value): string | null {
  if (!isObjectValue(value)) return null;
  return Object.keys(schema.blocks).find((name) => value[name] === null) ?? null;
}

function knownOnly(value: Value): Value {
  if (value === UNKNOWN) return null;
  if (Array.isArray(value)) return value.map(knownOnly);
  if (!isObjectValue(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, knownOnly(member)]));
}

function at(value: Value, path: Path): Value | undefined {
  return path.reduce<Value | undefined>((found, step) => {
    if (Array.isArray(found) && typeof step === 'number') return found[step];
    return isObjectValue(found) && Object.hasOwn(found, step) ? found[String(step)] : undefined;
  }, value);
}

function pathExists(value: Value, path: Path): boolean {
  return path.length > 0 && at(value, path) !== undefined;
}

function isSameAt(schema: ResourceSchema, before: Value, planned: Value, path: Path): boolean {
  const type = schema.attributes[String(path[0])]?.type ?? 'string';
  return isEqual(at(before, path) ?? null, at(planned, path) ?? null, type);
}

/** A diagnostic that points nowhere would be shown without a line. */
function checkedPaths(diagnostics: readonly Diagnostic[], schema: ResourceSchema): Diagnostic[] {
  const astray = diagnostics.filter(({ path = [] }) => path.length > 0 && !isInSchema(schema, path));
  return [
    ...diagnostics,
    ...astray.map(({ path = [], summary }) =>
      failure('Diagnostic without a place', `${summary} at ${shownPath(path)}`),
    ),
  ];
}

function isInSchema(schema: ResourceSchema, [name, ...rest]: Path): boolean {
  if (typeof name !== 'string') return false;
  if (Object.hasOwn(schema.attributes, name)) return true;
  const block = schema.blocks[name];
  if (block === undefined) return false;
  const [index, ...further] = rest;
  if (index === undefined) return true;
  if (typeof index !== 'number') return false;
  return further.length === 0 || isInSchema({ version: 0n, ...block }, further);
}
