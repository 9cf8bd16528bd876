import { CheckedPlugin, type Held } from './checked-plugin.ts';
import { decodedBody } from './configuration.ts';
import { type Declared, declaredIn, typeIn, walk } from './declarations.ts';
import { type Diagnostic, failure, hasErrors } from './diagnostic.ts';
import { PlanExecution } from './plan-execution.ts';
import type { Plugin } from './plugin.ts';
import { plannedData } from './proposed-state.ts';
import {
  inOrderOf,
  judgedBody,
  located,
  type Step,
  type Stored,
  storedObject,
  type WholePlan,
} from './protocol-state.ts';
import type { Applied, Body, Change, Configuration, Planned, State, Workspace } from './runner.ts';
import { isWhollyKnown, type ObjectValue, plain, UNKNOWN, type Value } from './value.ts';

/**
 * A configuration with its state, planned and applied over the plug-in protocol as Terraform does it: it plans twice,
 * orders by references, and refuses what Terraform refuses, in its words. Terraform may not be installed where the tests
 * run, and takes long to start for several hundred small cases.
 *
 * It shares no code with the provider. It knows literal values, references and templates of them, but no functions,
 * `for_each`, `count` or dynamic blocks. The flows of `test/e2e/terraform/` run with both; where the two disagree, this
 * one is wrong. `rules.test.ts` has a provider for each rule that breaks it and is caught.
 */
export class ProtocolWorkspace implements Workspace {
  readonly #plugin: CheckedPlugin;
  readonly #provider: Body;
  readonly #stored = new Map<string, Stored>();
  /** Of data sources read by the last apply. */
  #data: ReadonlyMap<string, Value> = new Map();
  #outputs: Readonly<Record<string, unknown>> = {};
  #configuration: Configuration = {};

  private constructor(plugin: CheckedPlugin, provider: Body) {
    this.#plugin = plugin;
    this.#provider = provider;
  }

  /** @param provider arguments of the provider block */
  static async over(plugin: Plugin, provider: Body): Promise<ProtocolWorkspace> {
    return new ProtocolWorkspace(await CheckedPlugin.over(plugin), provider);
  }

  async configure(configuration: Configuration): Promise<void> {
    this.#configuration = configuration;
  }

  /** Resolves no references: every reference is unknown. */
  async validate(): Promise<Diagnostic[]> {
    const found = [...(await this.#plugin.validateProvider(this.#providerConfig()))];
    const declared = declaredIn(this.#configuration);
    const known = new Set(declared.map(({ address }) => address));
    for (const one of declared) {
      const missing = one.dependencies.filter((address) => !known.has(address));
      found.push(...missing.map((address) => failure('Reference to undeclared resource', address)));
      if (missing.length === 0)
        found.push(...(await judgedBody(this.#plugin, one, () => UNKNOWN)).diagnostics);
    }
    return found;
  }

  async plan(): Promise<Planned> {
    const { changes, diagnostics } = await this.#planned();
    return { changes, diagnostics };
  }

  async apply(): Promise<Applied> {
    return this.#apply(await this.#planned());
  }

  async destroy(): Promise<Applied> {
    const refreshed = await this.#refreshed();
    return this.#apply({
      ...refreshed,
      steps: new Map(),
      removed: [...refreshed.held.keys()],
      data: new Map(),
      changes: [],
    });
  }

  async import(address: string, id: string): Promise<Diagnostic[]> {
    const diagnostics = await this.#configured();
    if (hasErrors(diagnostics)) return diagnostics;
    const declared = declaredIn(this.#configuration).find((one) => one.address === address);
    if (declared === undefined) {
      return [failure('resource address does not exist in the configuration', address, { address })];
    }
    if (this.#stored.has(address)) {
      return [failure('Resource already managed by Terraform', address, { address })];
    }
    const imported = await this.#plugin.import(declared.type, id);
    if (imported.held !== null)
      this.#stored.set(address, storedObject(this.#plugin, declared, imported.held));
    return [...diagnostics, ...located(imported.diagnostics, address)];
  }

  async state(): Promise<State> {
    const resources = [...this.#stored].map(([address, { json }]) => [address, JSON.parse(json)]);
    const data = [...this.#data].map(([address, value]) => [address, plain(value)]);
    return Object.fromEntries([...resources, ...data]) as State;
  }

  async tainted(): Promise<string[]> {
    return [...this.#stored].filter(([, { isTainted }]) => isTainted).map(([address]) => address);
  }

  async outputs(): Promise<Record<string, unknown>> {
    return this.#outputs;
  }

  dispose(): Promise<void> {
    return this.#plugin.close();
  }

  /** Ctrl-C, as far as the provider hears of it. */
  stop(): Promise<void> {
    return this.#plugin.stop();
  }

  #providerConfig(): ObjectValue {
    const body = { ...this.#provider, ...this.#configuration.provider?.svc };
    return decodedBody(body, this.#plugin.schema.provider, () => UNKNOWN);
  }

  async #configured(): Promise<Diagnostic[]> {
    return this.#plugin.configure(this.#providerConfig());
  }

  /** Reads every object of the state again, and leaves out those that are gone. */
  async #refreshed(): Promise<Pick<WholePlan, 'held' | 'diagnostics'>> {
    const diagnostics = await this.#configured();
    const held = new Map<string, Held>();
    if (hasErrors(diagnostics)) return { held, diagnostics };
    await walk(
      this.#stored,
      () => [],
      async (stored, address) => {
        const read = await this.#plugin.refreshed(typeIn(address), stored);
        diagnostics.push(...located(read.diagnostics, address));
        if (read.state !== null) held.set(address, read);
        return true;
      },
    );
    return { held: inOrderOf(this.#stored, held), diagnostics };
  }

  async #planned(): Promise<WholePlan> {
    const nothing = { held: new Map(), steps: new Map(), removed: [], data: new Map(), changes: [] };
    const invalid = await this.validate();
    if (hasErrors(invalid)) return { ...nothing, diagnostics: invalid };
    const refreshed = await this.#refreshed();
    const diagnostics = [...invalid, ...refreshed.diagnostics];
    if (hasErrors(diagnostics)) return { ...nothing, diagnostics };
    const held = new Map(refreshed.held);
    const declared = declaredIn(this.#configuration);
    const imported = new Set<string>();
    for (const { to, id } of this.#configuration.import ?? []) {
      if (held.has(to)) continue;
      const answer = await this.#plugin.import(typeIn(to), id);
      diagnostics.push(...located(answer.diagnostics, to));
      if (answer.held === null) return { ...nothing, diagnostics };
      held.set(to, answer.held);
      imported.add(to);
    }
    const { steps, data, changes } = await this.#plannedSteps(declared, held, imported, diagnostics);
    const wanted = new Set(declared.map(({ address }) => address));
    const removed = [...held.keys()].filter((address) => !wanted.has(address));
    const removals = removed.map((address): Change => ({ address, action: 'delete' }));
    return { held, steps, removed, data, changes: [...changes, ...removals], diagnostics };
  }

  async #plannedSteps(
    declared: readonly Declared[],
    held: ReadonlyMap<string, Held>,
    imported: ReadonlySet<string>,
    diagnostics: Diagnostic[],
  ) {
    const steps = new Map<string, Step>();
    const values = new Map<string, Value>();
    const changes: Change[] = [];
    const nodes = new Map(declared.map((one) => [one.address, one]));
    const scope = (address: string): Value => values.get(address) ?? UNKNOWN;
    await walk(
      nodes,
      ({ dependencies }) => dependencies,
      async (one, address) => {
        const { config, diagnostics: found } = await judgedBody(this.#plugin, one, scope);
        diagnostics.push(...found.filter(({ severity }) => severity === 'error'));
        if (hasErrors(found)) return false;
        if (one.mode === 'data')
          return this.#plannedData(one, config, steps, { values, changes, diagnostics });
        const prior = held.get(address) ?? null;
        const isTainted = this.#stored.get(address)?.isTainted ?? false;
        const { plan, diagnostics: planning } = await this.#plugin.plan(
          one.type,
          isTainted ? null : prior,
          config,
        );
        diagnostics.push(...located(planning, address));
        if (hasErrors(planning)) return false;
        const action = isTainted && prior !== null ? 'replace' : plan.action;
        steps.set(address, { declared: one, plan: { ...plan, action, prior: prior?.state ?? null } });
        values.set(address, plan.planned);
        if (action !== 'no-op') changes.push({ address, action });
        else if (imported.has(address)) changes.push({ address, action: 'import' });
        return true;
      },
    );
    const data = new Map(
      [...values].filter(([address, value]) => nodes.get(address)?.mode === 'data' && isWhollyKnown(value)),
    );
    return { steps, data, changes };
  }

  /** Read now where everything is known, at the apply otherwise. */
  async #plannedData(
    one: Declared,
    config: ObjectValue,
    steps: ReadonlyMap<string, Step>,
    into: { values: Map<string, Value>; changes: Change[]; diagnostics: Diagnostic[] },
  ): Promise<boolean> {
    const waits =
      Array.isArray(one.body.depends_on) &&
      one.body.depends_on.some((address) => (steps.get(String(address))?.plan.action ?? 'no-op') !== 'no-op');
    if (waits || !isWhollyKnown(config)) {
      into.values.set(one.address, plannedData(this.#plugin.data(one.type), config));
      into.changes.push({ address: one.address, action: 'read' });
      return true;
    }
    const read = await this.#plugin.readData(one.type, config);
    into.diagnostics.push(...located(read.diagnostics, one.address));
    into.values.set(one.address, read.state);
    return !hasErrors(read.diagnostics);
  }

  async #apply(plan: WholePlan): Promise<Applied> {
    if (hasErrors(plan.diagnostics)) return { diagnostics: plan.diagnostics };
    const execution = new PlanExecution(plan, {
      plugin: this.#plugin,
      stored: this.#stored,
      configuration: this.#configuration,
    });
    await execution.run();
    this.#data = execution.data;
    this.#outputs = execution.outputs;
    return { diagnostics: execution.diagnostics };
  }
}
