import type { CheckedPlugin, Held } from './checked-plugin.ts';
import { declaredIn, typeIn, walk } from './declarations.ts';
import { type Diagnostic, failure, hasErrors } from './diagnostic.ts';
import { evaluated } from './expressions.ts';
import {
  judgedBody,
  linksOf,
  located,
  type Step,
  type Stored,
  storedObject,
  type WholePlan,
} from './protocol-state.ts';
import type { Configuration } from './runner.ts';
import { type ObjectValue, plain, stateJson, type Value } from './value.ts';

type ExecutionParts = {
  readonly plugin: CheckedPlugin;
  /** The state, which the execution changes. */
  readonly stored: Map<string, Stored>;
  readonly configuration: Configuration;
};

/** Carries one plan without errors out as Terraform does: it removes, creates and changes, each after what it needs. */
export class PlanExecution {
  readonly #plan: WholePlan;
  readonly #plugin: CheckedPlugin;
  readonly #stored: Map<string, Stored>;
  readonly #configuration: Configuration;
  readonly #diagnostics: Diagnostic[];
  readonly #data = new Map<string, Value>();
  #outputs: Readonly<Record<string, unknown>> = {};

  constructor(plan: WholePlan, { plugin, stored, configuration }: ExecutionParts) {
    this.#plan = plan;
    this.#plugin = plugin;
    this.#stored = stored;
    this.#configuration = configuration;
    this.#diagnostics = [...plan.diagnostics];
  }

  /** Those of the plan among them. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics;
  }

  /** Of data sources. */
  get data(): ReadonlyMap<string, Value> {
    return this.#data;
  }

  get outputs(): Readonly<Record<string, unknown>> {
    return this.#outputs;
  }

  /** Call it once. */
  async run(): Promise<void> {
    const plan = this.#plan;
    for (const address of [...this.#stored.keys()]) {
      if (!plan.held.has(address)) this.#stored.delete(address);
    }
    for (const [address, held] of plan.held) {
      const step = plan.steps.get(address);
      const stored = this.#stored.get(address);
      if (stored !== undefined)
        this.#stored.set(address, { ...stored, json: stateJson(held.state), kept: held.kept });
      else if (step !== undefined) this.#stored.set(address, storedObject(this.#plugin, step.declared, held));
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
    const kept = await this.#remove(old, early);
    await this.#carryOut(kept);
    await this.#remove(old, late);
  }

  /** Dependents first. @returns addresses that could not be removed */
  async #remove(
    old: ReadonlyMap<string, Stored>,
    addresses: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const left = new Set(addresses);
    const nodes = new Map([...old].filter(([address]) => left.has(address)));
    const dependents = (address: string) =>
      [...nodes].filter(([, { dependencies }]) => dependencies.includes(address)).map(([each]) => each);
    await walk(
      nodes,
      (_stored, address) => dependents(address),
      async (stored, address) => {
        const object = this.#plan.held.get(address);
        if (object === undefined) return true;
        const answer = await this.#plugin.apply(typeIn(address), {
          prior: object.state,
          planned: null,
          config: null,
          kept: object.kept,
        });
        this.#diagnostics.push(...located(answer.diagnostics, address));
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

  async #carryOut(notRemoved: ReadonlySet<string>): Promise<void> {
    const plan = this.#plan;
    const values = new Map<string, Value>();
    const scope = (address: string): Value => values.get(address) ?? null;
    const nodes = new Map(declaredIn(this.#configuration).map((one) => [one.address, one]));
    const isDestroy = plan.steps.size === 0 && plan.changes.length === 0;
    if (isDestroy) nodes.clear();
    await walk(
      nodes,
      ({ dependencies }) => dependencies,
      async (one, address) => {
        if (notRemoved.has(address)) return false;
        // As in Terraform, a change waits for the removal of what the object depended on so far.
        const before = this.#stored.get(address)?.dependencies ?? [];
        if (before.some((each) => notRemoved.has(each))) return false;
        const { config, diagnostics: found } = await judgedBody(this.#plugin, one, scope);
        this.#diagnostics.push(...found.filter(({ severity }) => severity === 'error'));
        if (hasErrors(found)) return false;
        if (one.mode === 'data') {
          const read = await this.#plugin.readData(one.type, config);
          this.#diagnostics.push(...located(read.diagnostics, address));
          values.set(address, read.state);
          this.#data.set(address, read.state);
          return !hasErrors(read.diagnostics);
        }
        const step = plan.steps.get(address);
        if (step === undefined) return false;
        const { state, isDone } = await this.#carryOutStep(step, plan.held.get(address) ?? null, config);
        values.set(address, state);
        return isDone;
      },
    );
    if (isDestroy || hasErrors(this.#diagnostics)) return;
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
  async #carryOutStep(step: Step, held: Held | null, config: ObjectValue) {
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
    this.#diagnostics.push(...located(breaches, address));
    if (hasErrors(breaches)) return { state: null, isDone: false };
    if (again.plan.action === 'no-op') return { state: again.plan.planned, isDone: true };
    const answer = await this.#plugin.apply(type, {
      prior: prior?.state ?? null,
      planned: again.plan.planned,
      config,
      kept: again.plan.kept,
    });
    this.#diagnostics.push(...located(answer.diagnostics, address));
    if (answer.state === null) this.#stored.delete(address);
    else this.#stored.set(address, storedObject(this.#plugin, declared, answer, answer.isTainted));
    return { state: answer.state, isDone: !hasErrors(answer.diagnostics) };
  }
}
