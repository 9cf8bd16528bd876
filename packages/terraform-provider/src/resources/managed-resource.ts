import { randomUUID } from 'node:crypto';
import { ApiError, foreignAnswer } from '@svc/shared/api/api-error.ts';
import type { ApiAnswer } from '@svc/shared/api/client.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { isId } from '@svc/shared/ids.ts';
import { isFixedRegion } from '@svc/shared/regions.ts';
import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { wrongRegion } from '@svc/shared/resources/wording.ts';
import { userInfoJoined } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import { apiDiagnostics, failure, sentence } from '../api-diagnostics.ts';
import type { Connection } from '../connection.ts';
import { diagnosticOf } from '../planning/diagnostic-text.ts';
import { planResource } from '../planning/plan.ts';
import { requestBody } from '../planning/request-body.ts';
import { resourceSchema } from '../planning/resource-schema.ts';
import { stateAfterApply, stateAfterRead } from '../planning/state.ts';
import { validateConfig } from '../planning/validate.ts';
import { definitionForm, terraformDefinition } from '../planning/write-only.ts';
import type {
  Diagnostic,
  ManagedResource,
  Outcome,
  Plan,
  PlanRequest,
  TerraformClient,
} from '../provider.ts';
import type { Schema } from '../schema.ts';
import type { TerraformObject, TerraformValue } from '../value.ts';
import { importedState } from './import.ts';
import { type Answered, idsOf, listPath, type ResourceAtApi } from './resource-at-api.ts';

function isOwnRegion(region: TerraformValue): region is string {
  return typeof region === 'string' && !isFixedRegion(region);
}

const NOT_COMPARED = {
  severity: 'warning',
  summary: 'Regions not compared with those of the API',
  detail: 'The API does not list its regions now, so only the apply shows whether it has these:',
  path: ['regions'],
} as const satisfies Diagnostic;

const answeredObject = z.looseObject({ id: z.string().refine(isId) });

/**
 * A resource that is managed over the HTTP API. Its definition describes the
 * attributes, and its {@link ResourceAtApi} describes how the API serves the resource.
 */
export class ResourceOverApi implements ManagedResource {
  readonly schema: Schema;
  /** The definition in Terraform's form, with write-only attributes (write-only.ts). */
  readonly #form: ResourceDefinition;
  readonly #kind: ResourceAtApi;
  readonly #connection: Connection;

  constructor(kind: ResourceAtApi, connection: Connection) {
    this.#form = terraformDefinition(kind.definition);
    this.schema = resourceSchema(this.#form);
    this.#kind = kind;
    this.#connection = connection;
  }

  validate(config: TerraformObject, client: TerraformClient): readonly Diagnostic[] {
    return validateConfig(this.#kind.definition, config, client);
  }

  plan(request: PlanRequest): Plan {
    return planResource(this.#form, request);
  }

  async obstacles(planned: TerraformObject, isCreation: boolean): Promise<readonly Diagnostic[]> {
    const refused = isCreation ? await this.#connection.refusedToken() : null;
    if (refused !== null)
      return apiDiagnostics(refused, this.#operation(`create the ${this.#kind.definition.kind}`));
    return this.#regionObstacles(planned);
  }

  /**
   * Compares regions of one's own with those that the API lists. An API that cannot be asked may still be
   * created before the apply, so that is only a warning.
   */
  async #regionObstacles({ regions }: TerraformObject): Promise<readonly Diagnostic[]> {
    const own = Array.isArray(regions) ? regions.filter(isOwnRegion) : [];
    if (own.length === 0) return [];
    const known = await this.#connection.regions();
    if (known === null) return [{ ...NOT_COMPARED, detail: `${NOT_COMPARED.detail} ${own.join(', ')}.` }];
    return own
      .filter((region) => !known.includes(region))
      .map((region) => diagnosticOf({ path: ['regions'], message: wrongRegion(region, known) }));
  }

  /**
   * Creates the object. Because of the idempotency key, the API answers a repeated request with the object of
   * the first attempt, so that no attempt leaves an orphan.
   */
  create(planned: TerraformObject, config = planned): Promise<Outcome> {
    const { definition } = this.#kind;
    return this.#guarded(`create the ${definition.kind}`, null, async () => {
      const path = this.#collection(planned);
      const body = requestBody(definition, definitionForm(definition, planned, config));
      const answer = await this.#connection
        .create(path, body, randomUUID())
        .catch((error: unknown) => this.#notCreated(planned, error));
      if ('state' in answer) return answer;
      const answered = answeredObject.safeParse(answer.body);
      if (!answered.success) return this.#createdUnseen(planned, foreignAnswer(`POST ${path}`, answer));
      const state = stateAfterApply(this.#form, planned, answered.data);
      return { state, diagnostics: this.#warnings(answered.data), workspace: workspaceOf(answer) };
    });
  }

  async read(state: TerraformObject, workspace: string | null = null): Promise<Outcome> {
    const { definition, noun } = this.#kind;
    return this.#guarded(`read the ${definition.kind}`, state, async () => {
      const found = await this.#found(state);
      if ('gone' in found) return this.#gone(state, workspace, workspaceOf(found.gone));
      const { answer, answered } = found;
      const mismatch = this.#kind.mismatch?.(answered) ?? null;
      if (mismatch !== null) {
        return {
          state,
          diagnostics: [failure(`Cannot read the ${definition.kind}`, `The ${noun} ${mismatch}.`)],
        };
      }
      return {
        state: stateAfterRead(this.#form, state, answered),
        diagnostics: [...this.#warnings(answered), ...this.#declaredWarning(answer, answered)],
        workspace: workspaceOf(answer),
      };
    });
  }

  async update(prior: TerraformObject, planned: TerraformObject, config = planned): Promise<Outcome> {
    const { definition, noun } = this.#kind;
    const what = `update the ${definition.kind}`;
    return this.#guarded(what, prior, async () => {
      const path = this.#member(prior);
      try {
        const body = requestBody(definition, definitionForm(definition, planned, config));
        const answer = await this.#connection.replace(path, body);
        const answered = this.#object(`PUT ${path}`, answer, prior);
        const state = stateAfterApply(this.#form, planned, answered);
        return { state, diagnostics: this.#warnings(answered), workspace: workspaceOf(answer) };
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await this.#connection.confirmApi();
        const detail = `The ${noun} ${String(prior.id)} was deleted in the meantime. Plan again: Terraform then creates it again.`;
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
        // An object that no longer exists counts as removed.
        if (!isNotFound(error)) throw error;
      }
      return { state: null, diagnostics: [] };
    });
  }

  import(id: string): Outcome {
    return importedState(this.#kind, this.schema, id);
  }

  /**
   * Reads the object. With `gone`, the object does not exist. `gone` is the
   * API's answer to another request, which proves that the API answers.
   */
  async #found(
    state: TerraformObject,
  ): Promise<{ answer: ApiAnswer; answered: Answered } | { gone: ApiAnswer }> {
    const path = this.#member(state);
    try {
      const answer = await this.#connection.read(path);
      return { answer, answered: this.#object(`GET ${path}`, answer, state) };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { gone: await this.#connection.confirmApi() };
    }
  }

  /**
   * Handles an object that is not found. If the state and the token belong to different workspaces, this
   * is an error: the token finds no object of the state, and Terraform would create all of them again.
   */
  #gone(state: TerraformObject, kept: string | null, asked: string | null): Outcome {
    if (kept === null || asked === null || kept === asked) return { state: null, diagnostics: [] };
    const { definition, noun } = this.#kind;
    const source = this.#connection.settings?.token.source ?? 'the configuration';
    const detail = `The ${noun} ${String(state.id)} belongs to workspace ${kept}, and the token, which comes from ${source}, to workspace ${asked}. Use a token of workspace ${kept}, or begin with an empty state to create everything in workspace ${asked}.`;
    return { state, diagnostics: [failure(`Cannot read the ${definition.kind}`, detail)] };
  }

  /** Warns during a read that the API would refuse every change of the object. */
  #declaredWarning({ headers }: ApiAnswer, { id }: Answered): Diagnostic[] {
    const name = headers.get('svc-declared-as');
    if (name === null) return [];
    const file = fileNamed(headers.get('svc-declared-in'));
    const { definition, noun } = this.#kind;
    return [
      {
        severity: 'warning',
        summary: `A ${noun} belongs to the declared file`,
        detail: `${sentence(`${noun} ${id}`).slice(0, -1)} is declared in ${file} as "${name}", and every change by Terraform will be refused. Keep it in one place: remove it there, or take it out of Terraform with a removed block for ${definition.kind}.`,
      },
    ];
  }

  /** @throws ApiError when the answer is not an object, or is another object */
  #object(request: string, answer: ApiAnswer, state: TerraformObject): Answered {
    const answered = answeredObject.safeParse(answer.body);
    if (!answered.success || answered.data.id !== state.id) throw foreignAnswer(request, answer);
    return userInfoJoined(answered.data);
  }

  /** Handles a creation that failed, or that succeeded with an unusable answer. */
  async #notCreated(planned: TerraformObject, error: unknown): Promise<Outcome> {
    if (!isNotFound(error)) return this.#createdUnseen(planned, error);
    // Either the parent does not exist, or the address is wrong and finds nothing.
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
   * Handles a creation that succeeded with an unusable answer. If the header `Location` contains the id, the
   * object stays in the state, and Terraform marks the object as tainted.
   *
   * @throws the error, if the creation did not succeed or the id is not known
   */
  #createdUnseen(planned: TerraformObject, error: unknown): Outcome {
    const { definition } = this.#kind;
    const answered = error instanceof ApiError ? error.answered : null;
    const id = answered?.headers.get('location')?.split('/').at(-1) ?? '';
    if (answered === null || answered.status < 200 || answered.status > 299 || !isId(id)) throw error;
    return {
      state: stateAfterApply(this.#form, planned, { id }),
      diagnostics: apiDiagnostics(
        error,
        this.#operation(`use the answer to the creation of the ${definition.kind}`),
      ),
    };
  }

  /** @throws ExplainedError for an invalid id */
  #collection(values: TerraformObject): string {
    const names = this.#kind.idAttributes.filter((name) => name !== 'id');
    return listPath(this.#kind.definition, this.#ids(names, values));
  }

  /** @throws ExplainedError for an invalid id */
  #member(state: TerraformObject): string {
    const ids = this.#ids(this.#kind.idAttributes, state);
    return `${listPath(this.#kind.definition, ids)}/${ids.id}`;
  }

  #ids(names: readonly string[], values: TerraformObject): Readonly<Record<string, string>> {
    const ids = idsOf(names, values);
    if (typeof ids === 'string') throw new ExplainedError(`The state cannot be used: ${ids}`);
    return ids;
  }

  /**
   * The warnings in an answer. All warnings of a kind have the same summary, so that Terraform shows many of
   * them as one warning with their number.
   */
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

  /** @param state the state in the outcome if the operation fails */
  async #guarded(what: string, state: TerraformObject | null, run: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await run();
    } catch (error) {
      return {
        state,
        diagnostics: apiDiagnostics(error, { ...this.#operation(what), isChange: state !== null }),
      };
    }
  }
}

/** An error whose message is shown to the user unchanged. */
class ExplainedError extends SvcError {
  constructor(message: string) {
    super('explained', message);
  }
}

/** The workspace of the token; null: this version of the API does not state the workspace. */
function workspaceOf({ headers }: ApiAnswer): string | null {
  return headers.get('svc-workspace');
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'not-found';
}

/**
 * Name of the file that declares the object. Coordinators before 0.2 send
 * no name, and another program may send a header that cannot be decoded.
 */
function fileNamed(header: string | null): string {
  try {
    return header === null ? 'the declared file' : decodeURIComponent(header);
  } catch {
    return 'the declared file';
  }
}
