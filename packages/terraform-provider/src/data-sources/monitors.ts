import { foreignAnswer } from '@svc/shared/api/api-error.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { z } from 'zod';
import { apiDiagnostics } from '../api-diagnostics.ts';
import type { Connection } from '../connection.ts';
import { diagnosticOf } from '../planning/diagnostic-text.ts';
import type { DataSource, Diagnostic, Outcome } from '../provider.ts';
import type { Schema } from '../schema.ts';
import { type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';

/** Maximum offset that the API accepts. */
const OFFSET_MAXIMUM = 999_999_999_999_999;

const list = z.looseObject({
  total: z.number().int(),
  data: z.array(z.looseObject({ id: z.string(), name: z.string(), type: z.string() })),
});

const number = (description: string) =>
  ({ type: 'number', setting: 'optional-computed', sensitive: false, description }) as const;

/** The data source `svc_monitors`: a page of the list of monitors, by ascending id. */
export class MonitorsDataSource implements DataSource {
  readonly schema: Schema = {
    version: 0,
    description: 'A page of the list of all monitors, by ascending id.',
    attributes: {
      limit: number(
        `Number of monitors to return, 1 to ${LIMITS.listMaximum}. Default: \`${LIMITS.listDefault}\`.`,
      ),
      offset: number('Number of monitors to skip. Default: `0`.'),
      monitors: {
        type: ['list', ['object', { id: 'string', name: 'string', type: 'string' }]],
        setting: 'computed',
        sensitive: false,
        description: `The monitors: \`id\`, \`name\` and \`type\` (one of ${MONITOR_TYPES.map((type) => `\`${type}\``).join(', ')}).`,
      },
      total: {
        type: 'number',
        setting: 'computed',
        sensitive: false,
        description: 'Number of all monitors.',
      },
    },
    blocks: {},
  };
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  validate(config: TerraformObject): readonly Diagnostic[] {
    return [
      ...outside('limit', config.limit, 1, LIMITS.listMaximum),
      ...outside('offset', config.offset, 0, OFFSET_MAXIMUM),
    ];
  }

  async read(config: TerraformObject): Promise<Outcome> {
    const wrong = this.validate(config);
    if (wrong.length > 0) return { state: null, diagnostics: wrong };
    const limit = typeof config.limit === 'number' ? config.limit : LIMITS.listDefault;
    const offset = typeof config.offset === 'number' ? config.offset : 0;
    try {
      const answer = await this.#connection.read('/v1/monitors', { limit, offset });
      const answered = list.safeParse(answer.body);
      if (!answered.success) throw foreignAnswer('GET /v1/monitors', answer);
      const monitors = answered.data.data.map(({ id, name, type }) => ({ id, name, type }));
      return { state: { limit, offset, monitors, total: answered.data.total }, diagnostics: [] };
    } catch (error) {
      const settings = this.#connection.settings;
      const operation = { what: 'read the svc_monitors', schema: this.schema, settings };
      return { state: null, diagnostics: apiDiagnostics(error, operation) };
    }
  }
}

function outside(
  name: string,
  value: TerraformValue | undefined,
  minimum: number,
  maximum: number,
): Diagnostic[] {
  if (value === undefined || value === null || value === UNKNOWN) return [];
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return [];
  const bounds = maximum === OFFSET_MAXIMUM ? `from ${minimum}` : `from ${minimum} to ${maximum}`;
  return [diagnosticOf({ path: [name], message: `must be a whole number ${bounds}` })];
}
