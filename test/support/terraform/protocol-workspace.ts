import { CheckedPlugin, type Held } from './checked-plugin.ts';
import { decodedBody } from './configuration.ts';
import { type Declared, declaredIn, typeIn, walk } from './declarations.ts';
import { type Diagnostic, failure, hasErrors } from './diagnostic.ts';
import { evaluated } from './expressions.ts';
import type { Plugin } from './plugin.ts';
import { plannedData } from './proposed-state.ts';
import { inOrderOf, linksOf, located, type Step, type Stored, type WholePlan } from './protocol-state.ts';
import type { Applied, Body, Change, Configuration, Planned, State, Workspace } from './runner.ts';
import { isWhollyKnown, type ObjectValue, plain, stateJson, UNKNOWN, type Value } from './value.ts';

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
  readonly #data = new Map<string, Value>();
  #outputs: Record<string, unknown> = {};
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
      if (missing.length === 0) found.push(...(await this.#decoded(one, () => UNKNOWN)).diagnostics);
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
    if (imported.held !== null) this.#store(declared, imported.held);
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

  /** The body by its schema, judged by the provider. */
  async #decoded({ mode, type, body, address }: Declared, scope: (address: string) => Value) {
    const schema = mode === 'data' ? this.#plugin.data(type) : this.#plugin.resource(type);
    const config = decodedBody(body, schema, scope);
    const judged =
      mode === 'data'
        ? await this.#plugin.validateData(type, config)
        : await this.#plugin.validateResource(type, config);
    return { config, diagnostics: located(judged, address) };
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
        const { config, diagnostics: found } = await this.#decoded(one, scope);
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
    const diagnostics = [...plan.diagnostics];
    if (hasErrors(diagnostics)) return { diagnostics };
    for (const address of [...this.#stored.keys()]) {
      if (!plan.held.has(address)) this.#stored.delete(address);
    }
    for (const [address, held] of plan.held) {
      const step = plan.steps.get(address);
      const stored = this.#stored.get(address);
      if (stored !== undefined)
        this.#stored.set(address, { ...stored, json: stateJson(held.state), kept: held.kept });
      else if (step !== undefined) this.#store(step.declared, held);
    }
    const replaced = [...plan.steps.values()].filter((step) => step.plan.action === 'replace');
    const leaving = [
      ...plan.removed.map((address) => ({ address, last: this.#stored.get(address)?.createsFirst ?? false })),
      ...replaced.map(({ declared }) => ({ address: declared.address, last: declared.createsFirst })),
    ];
    const early = leaving.filter(({ last }) => !last).map(({ address }) => address);
    const late = leaving.filter(({ last }) => last).map(({ address }) => address);
    const old = new Map(
      [...this.#stored].filter(([address]) => leaving.some((one) => one.address === address)),
    );
    const kept = await this.#remove(old, early, plan.held, diagnostics);
    await this.#carryOut(plan, kept, diagnostics);
    await this.#remove(old, late, plan.held, diagnostics);
    return { diagnostics };
  }

  /** Dependents first. @returns addresses that could not be removed */
  async #remove(
    old: ReadonlyMap<string, Stored>,
    addresses: readonly string[],
    held: ReadonlyMap<string, Held>,
    diagnostics: Diagnostic[],
  ): Promise<ReadonlySet<string>> {
    const left = new Set(addresses);
    const nodes = new Map([...old].filter(([address]) => left.has(address)));
    const dependents = (address: string) =>
      [...nodes].filter(([, { dependencies }]) => dependencies.includes(address)).map(([each]) => each);
    await walk(
      nodes,
      (_stored, address) => dependents(address),
      async (stored, address) => {
        const object = held.get(address);
        if (object === undefined) return true;
        const answer = await this.#plugin.apply(typeIn(address), {
          prior: object.state,
          planned: null,
          config: null,
          kept: object.kept,
        });
        diagnostics.push(...located(answer.diagnostics, address));
        if (hasErrors(answer.diagnostics)) return false;
        left.delete(address);
        // A replacement that was created before is here already.
        if (this.#stored.get(address) === stored || this.#stored.get(address)?.json === stored.json) {
          this.#stored.delete(address);
        }
        return true;
      },
    );
    return left;
  }

  async #carryOut(
    plan: WholePlan,
    notRemoved: ReadonlySet<string>,
    diagnostics: Diagnostic[],
  ): Promise<void> {
    const values = new Map<string, Value>();
    const scope = (address: string): Value => values.get(address) ?? null;
    const nodes = new Map(declaredIn(this.#configuration).map((one) => [one.address, one]));
    const isDestroy = plan.steps.size === 0 && plan.changes.length === 0;
    if (isDestroy) nodes.clear();
    this.#data.clear();
    this.#outputs = {};
    await walk(
      nodes,
      ({ dependencies }) => dependencies,
      async (one, address) => {
        if (notRemoved.has(address)) return false;
        // As in Terraform, a change waits for the removal of what the object depended on so far.
        const before = this.#stored.get(address)?.dependencies ?? [];
        if (before.some((each) => notRemoved.has(each))) return false;
        const { config, diagnostics: found } = await this.#decoded(one, scope);
        diagnostics.push(...found.filter(({ severity }) => severity === 'error'));
        if (hasErrors(found)) return false;
        if (one.mode === 'data') {
          const read = await this.#plugin.readData(one.type, config);
          diagnostics.push(...located(read.diagnostics, address));
          values.set(address, read.state);
          this.#data.set(address, read.state);
          return !hasErrors(read.diagnostics);
        }
        const step = plan.steps.get(address);
        if (step === undefined) return false;
        const { state, isDone } = await this.#carryOutStep(
          step,
          plan.held.get(address) ?? null,
          config,
          diagnostics,
        );
        values.set(address, state);
        return isDone;
      },
    );
    if (isDestroy || hasErrors(diagnostics)) return;
    this.#outputs = Object.fromEntries(
      Object.entries(this.#configuration.output ?? {}).map(([name, { value }]) => [
        name,
        plain(evaluated(value, scope)),
      ]),
    );
  }

  /**
   * Plans again with the values that are known now, as Terraform does, and compares the provider's plan with
   * its first one.
   */
  async #carryOutStep(step: Step, held: Held | null, config: ObjectValue, diagnostics: Diagnostic[]) {
    const { declared, plan } = step;
    const { address, type } = declared;
    if (plan.action === 'no-op') {
      const stored = this.#stored.get(address);
      if (stored !== undefined) this.#stored.set(address, { ...stored, ...linksOf(declared) });
      return { state: plan.planned, isDone: true };
    }
    const prior = plan.action === 'update' ? held : null;
    const again = await this.#plugin.plan(type, prior, config);
    const breaches = [
      ...again.diagnostics,
      ...this.#plugin.finalPlanBreaches(type, plan.planned, again.plan.planned),
      ...(again.plan.action === 'replace'
        ? [failure('Provider produced inconsistent final plan', 'changed the planned action to replace')]
        : []),
    ];
    diagnostics.push(...located(breaches, address));
    if (hasErrors(breaches)) return { state: null, isDone: false };
    if (again.plan.action === 'no-op') return { state: again.plan.planned, isDone: true };
    const answer = await this.#plugin.apply(type, {
      prior: prior?.state ?? null,
      planned: again.plan.planned,
      config,
      kept: again.plan.kept,
    });
    diagnostics.push(...located(answer.diagnostics, address));
    if (answer.state === null) this.#stored.delete(address);
    else this.#store(declared, answer, answer.isTainted);
    return { state: answer.state, isDone: !hasErrors(answer.diagnostics) };
  }

  #store(declared: Declared, { state, kept }: Held, isTainted = false): void {
    const { version } = this.#plugin.resource(declared.type);
    this.#stored.set(declared.address, {
      json: stateJson(state),
      version,
      kept,
      isTainted,
      ...linksOf(declared),
    });
  }
}
