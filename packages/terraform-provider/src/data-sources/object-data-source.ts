import { ApiError, foreignAnswer } from '@svc/shared/api/api-error.ts';
import { identifier } from '@svc/shared/resources/texts.ts';
import { z } from 'zod';
import { apiDiagnostics, failure } from '../api-diagnostics.ts';
import type { Connection } from '../connection.ts';
import { diagnosticOf } from '../planning/diagnostic-text.ts';
import type { DataSource, Diagnostic, Outcome } from '../provider.ts';
import type { Schema } from '../schema.ts';
import { type TerraformObject, UNKNOWN } from '../value.ts';
import { type ShownAttributes, shownSchema, shownValues } from './data-source-schema.ts';

export type ObjectKind = {
  /** Name of the data source, such as `svc_monitor`. */
  readonly name: string;
  readonly noun: string;
  readonly description: string;
  /** Path of the list that contains the object. */
  readonly collection: string;
  /** All attributes that the data source returns, except the id. */
  readonly shown: ShownAttributes;
};

/** A data source that returns one object of the API by its id. */
export class ObjectDataSource implements DataSource {
  readonly schema: Schema;
  readonly #kind: ObjectKind;
  readonly #connection: Connection;

  constructor(kind: ObjectKind, connection: Connection) {
    this.#kind = kind;
    this.#connection = connection;
    this.schema = {
      version: 0,
      description: kind.description,
      attributes: {
        id: {
          type: 'string',
          setting: 'required',
          sensitive: false,
          description: `Id of the ${kind.noun}: a decimal number as a string.`,
        },
        ...shownSchema(kind.shown),
      },
      blocks: {},
    };
  }

  validate({ id = null }: TerraformObject): readonly Diagnostic[] {
    if (id === UNKNOWN) return [];
    const message = typeof id === 'string' ? identifier(id) : 'is required, but it is null';
    return message === null ? [] : [diagnosticOf({ path: ['id'], message })];
  }

  async read(config: TerraformObject): Promise<Outcome> {
    const wrong = this.validate(config);
    if (wrong.length > 0) return { state: null, diagnostics: wrong };
    const path = `${this.#kind.collection}/${String(config.id)}`;
    try {
      const answer = await this.#connection.read(path);
      const answered = z.looseObject({ id: z.literal(String(config.id)) }).safeParse(answer.body);
      if (!answered.success) throw foreignAnswer(`GET ${path}`, answer);
      const state: TerraformObject = {
        id: answered.data.id,
        ...shownValues(this.#kind.shown, answered.data),
      };
      return { state, diagnostics: [] };
    } catch (error) {
      return { state: null, diagnostics: this.#diagnostics(error, String(config.id)) };
    }
  }

  #diagnostics(error: unknown, id: string): Diagnostic[] {
    const { name, noun } = this.#kind;
    if (error instanceof ApiError && error.code === 'not-found') {
      const address = this.#connection.settings?.baseUrl.value;
      const detail = `There is no ${noun} ${id} in the workspace of the token at ${address}.`;
      return [{ ...failure(`Cannot read the ${name}`, detail), path: ['id'] }];
    }
    const operation = { what: `read the ${name}`, schema: this.schema, settings: this.#connection.settings };
    return apiDiagnostics(error, operation);
  }
}
