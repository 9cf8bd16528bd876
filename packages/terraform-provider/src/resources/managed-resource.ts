import { randomUUID } from 'node:crypto';
import { ApiError, foreignAnswer } from '@svc/shared/api/api-error.ts';
import type { ApiAnswer } from '@svc/shared/api/client.ts';
import { z } from 'zod';
import { apiDiagnostics, failure, sentence } from '../api-diagnostics.ts';
import type { Connection } from '../connection.ts';
import { planResource } from '../planning/plan.ts';
import { requestBody } from '../planning/request-body.ts';
import { resourceSchema } from '../planning/resource-schema.ts';
import { stateAfterApply, stateAfterRead } from '../planning/state.ts';
import { validateConfig } from '../planning/validate.ts';
import type { Diagnostic, ManagedResource, Outcome, Plan, PlanRequest } from '../provider.ts';
import type { Schema } from '../schema.ts';
import type { TerraformObject } from '../value.ts';
import { importedState } from './import.ts';
import { type Answered, idsOf, isId, type ResourceAtApi } from './resource-at-api.ts';

const answeredObject = z.looseObject({ id: z.string().refine(isId) });

/** A resource over the HTTP API. What it means is in its definition, where it stands in its {@link ResourceAtApi}. */
export class ResourceOverApi implements ManagedResource {
  readonly schema: Schema;
  readonly #kind: ResourceAtApi;
  readonly #connection: Connection;

  constructor(kind: ResourceAtApi, connection: Connection) {
    this.schema = resourceSchema(kind.definition);
    this.#kind = kind;
    this.#connection = connection;
  }

  validate(config: TerraformObject): readonly Diagnostic[] {
    return validateConfig(this.#kind.definition, config);
  }

  plan(request: PlanRequest): Plan {
    return planResource(this.#kind.definition, request);
  }

  /** The key makes repetitions answer with what the first attempt made, so none leaves an orphan. */
  create(planned: TerraformObject): Promise<Outcome> {
    const { definition } = this.#kind;
    return this.#guarded(`create the ${definition.kind}`, null, async () => {
      const path = this.#collection(planned);
      const body = requestBody(definition, planned);
      const answer = await this.#connection
        .create(path, body, randomUUID())
        .catch((error: unknown) => this.#notCreated(planned, error));
      if ('state' in answer) return answer;
      const answered = answeredObject.safeParse(answer.body);
      if (!answered.success) return this.#createdUnseen(planned, foreignAnswer(`POST ${path}`, answer));
      const state = stateAfterApply(definition, planned, answered.data);
      return { state, diagnostics: this.#warnings(answered.data) };
    });
  }

  async read(state: TerraformObject): Promise<Outcome> {
    const { definition, noun } = this.#kind;
    return this.#guarded(`read the ${definition.kind}`, state, async () => {
      const answer = await this.#found(state);
      if (answer === null) return { state: null, diagnostics: [] };
      const mismatch = this.#kind.mismatch?.(answer) ?? null;
      if (mismatch !== null) {
        return {
          state,
          diagnostics: [failure(`Cannot read the ${definition.kind}`, `The ${noun} ${mismatch}.`)],
        };
      }
      return { state: stateAfterRead(definition, state, answer), diagnostics: this.#warnings(answer) };
    });
  }

  async update(prior: TerraformObject, planned: TerraformObject): Promise<Outcome> {
    const { definition, noun } = this.#kind;
    const what = `update the ${definition.kind}`;
    return this.#guarded(what, prior, async () => {
      const path = this.#member(prior);
      try {
        const answer = await this.#connection.replace(path, requestBody(definition, planned));
        const answered = this.#object(`PUT ${path}`, answer, prior);
        const state = stateAfterApply(definition, planned, answered);
        return { state, diagnostics: this.#warnings(answered) };
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await this.#connection.confirmApi();
        const detail = `The ${noun} ${String(prior.id)} was deleted in the meantime. Plan again: it will be created anew.`;
        return { state: prior, diagnostics: [failure(`Cannot ${what}`, detail)] };
      }
    });
  }

  async remove(prior: TerraformObject): Promise<Outcome> {
    const what = `remove the ${this.#kind.definition.kind}`;
    return this.#guarded(what, prior, async () => {
      const path = this.#member(prior);
      await this.#connection.confirmApi();
      try {
        await this.#connection.remove(path, this.#kind.removal);
      } catch (error) {
        // Already gone is as good.
        if (!isNotFound(error)) throw error;
      }
      return { state: null, diagnostics: [] };
    });
  }

  import(id: string): Outcome {
    return importedState(this.#kind, this.schema, id);
  }

  /** Null: it is gone. */
  async #found(state: TerraformObject): Promise<Answered | null> {
    const path = this.#member(state);
    try {
      return this.#object(`GET ${path}`, await this.#connection.read(path), state);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#connection.confirmApi();
      return null;
    }
  }

  /** @throws ApiError when the answer is no object, or another one */
  #object(request: string, answer: ApiAnswer, state: TerraformObject): Answered {
    const answered = answeredObject.safeParse(answer.body);
    if (!answered.success || answered.data.id !== state.id) throw foreignAnswer(request, answer);
    return answered.data;
  }

  /** A creation that failed, or succeeded unseen. */
  async #notCreated(planned: TerraformObject, error: unknown): Promise<Outcome> {
    if (!isNotFound(error)) return this.#createdUnseen(planned, error);
    // What it would belong to is not there; or nothing is, at a wrong address.
    await this.#connection.confirmApi();
    const parent = this.#kind.idAttributes.find((name) => name !== 'id');
    const problems = apiDiagnostics(error, this.#operation(`create the ${this.#kind.definition.kind}`));
    return {
      state: null,
      diagnostics: problems.map((problem) =>
        parent === undefined ? problem : { ...problem, path: [parent] },
      ),
    };
  }

  /**
   * A creation whose answer cannot be used although it succeeded: where the answer still tells the id, the
   * object is kept (Terraform marks it tainted) instead of being lost.
   */
  #createdUnseen(planned: TerraformObject, error: unknown): Outcome {
    const { definition } = this.#kind;
    const answered = error instanceof ApiError ? error.answered : null;
    const id = answered?.headers.get('location')?.split('/').at(-1) ?? '';
    if (answered === null || answered.status < 200 || answered.status > 299 || !isId(id)) throw error;
    return {
      state: stateAfterApply(definition, planned, { id }),
      diagnostics: apiDiagnostics(
        error,
        this.#operation(`use the answer to the creation of the ${definition.kind}`),
      ),
    };
  }

  /** @throws ExplainedError for an id that is none */
  #collection(values: TerraformObject): string {
    const names = this.#kind.idAttributes.filter((name) => name !== 'id');
    return this.#kind.collection(this.#ids(names, values));
  }

  /** @throws ExplainedError for an id that is none */
  #member(state: TerraformObject): string {
    const ids = this.#ids(this.#kind.idAttributes, state);
    return `${this.#kind.collection(ids)}/${ids.id}`;
  }

  #ids(names: readonly string[], values: TerraformObject): Readonly<Record<string, string>> {
    const ids = idsOf(names, values);
    if (typeof ids === 'string') throw new ExplainedError(`The state cannot be used: ${ids}`);
    return ids;
  }

  /** The summary is the same for all of a kind: Terraform then shows many as one with their number. */
  #warnings(answered: Answered): Diagnostic[] {
    const { noun } = this.#kind;
    return (this.#kind.warnings?.(answered) ?? []).map((warning) => ({
      severity: 'warning',
      summary: `A ${noun} is not in full effect`,
      detail: sentence(`${warning} (${noun} ${answered.id})`),
    }));
  }

  #operation(what: string) {
    return { what, schema: this.schema, settings: this.#connection.settings };
  }

  /** @param state what is known to be there when it fails */
  async #guarded(what: string, state: TerraformObject | null, run: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await run();
    } catch (error) {
      return { state, diagnostics: apiDiagnostics(error, this.#operation(what)) };
    }
  }
}

/** A message for the user as it stands. */
class ExplainedError extends Error {}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not-found';
}
