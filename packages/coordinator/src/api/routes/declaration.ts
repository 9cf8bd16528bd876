import { z } from 'zod';
import type { ApiParts, DeclaredFileState } from '../api-parts.ts';
import { endpoint, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';

/**
 * Maximum number of errors in an answer, and maximum number of warnings.
 * The answer also has the number of all errors and of all warnings.
 */
const MOST_PLACES = 200;

const places = z.array(
  z.object({
    file: z.string().meta({ description: 'The declared file, or a file that it inserts.' }),
    line: z.number().int().min(1),
    column: z.number().int().min(1),
    message: z.string(),
  }),
);

const count = z.number().int().min(0);
const instant = z.number().int().nullable();

const declarationView = z
  .object({
    file: z.string().nullable().meta({
      description: 'Name of the declared file. Null where this workspace has none, or none that was read.',
    }),
    state: z.enum(['none', 'unread', 'applied', 'refused', 'waiting']).meta({
      description:
        '`none`: no file declares this workspace; `unread`: this coordinator has not read it, because it has just started, or another one leads; `applied`: its resources are as it declares them; `refused`: it has errors, and the declaration that was applied last goes on; `waiting`: the database does not accept it now.',
    }),
    applied_at: instant.meta({
      description: 'When it was last applied or found unchanged, since the start. Epoch ms.',
    }),
    digest: z.string().nullable().meta({ description: 'SHA-256 of the file that was applied last, in hex.' }),
    resources: count.meta({ description: 'Number of entries of the file that was applied last.' }),
    error_count: count,
    errors: places.meta({ description: `The first ${MOST_PLACES} errors of the file as it is now.` }),
    warning_count: count,
    warnings: places.meta({
      description: `The first ${MOST_PLACES} warnings: parts of the applied declaration that have no effect.`,
    }),
    waiting: z
      .object({ reason: z.string(), tries: count, next_at: z.number().int() })
      .nullable()
      .meta({ description: 'Why the file waits, and when it is tried again (epoch ms).' }),
  })
  .meta({
    examples: [
      {
        file: 'svc.yaml',
        state: 'refused',
        applied_at: 1_767_225_600_412,
        digest: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        resources: 12,
        error_count: 1,
        errors: [
          {
            file: 'svc.yaml',
            line: 7,
            column: 18,
            message: 'periodicity: "2m" is not one of 30s, 1m, 5m, 10m, 30m, 1h',
          },
        ],
        warning_count: 0,
        warnings: [],
        waiting: null,
      },
    ],
  });
export type DeclarationView = z.infer<typeof declarationView>;

export const declarationState = endpoint({
  method: 'GET',
  path: '/v1/declaration',
  access: 'read',
  tag: 'Declaration',
  summary: 'Read the state of the declared file, with its errors',
  answers: { 200: { description: 'The state of the file.', schema: declarationView } },
});

export function declarationEndpoints({
  declaredFile,
  declaration,
}: Pick<ApiParts, 'declaredFile' | 'declaration'>): ServedEndpoint[] {
  return [
    serve(declarationState, (request) => {
      if (declaredFile === undefined) return ok(view(null, 'none', null));
      const state = declaration();
      if (state === null) return ok(view(null, 'unread', null));
      // The state of a file that declares another workspace is not shown.
      if (state.workspaceId !== workspaceOf(request)) return ok(view(null, 'none', null));
      return ok(view(declaredFile, stateOf(state), state));
    }),
  ];
}

function stateOf({ errors, waiting, appliedAt }: DeclaredFileState): DeclarationView['state'] {
  if (errors.length > 0) return 'refused';
  if (waiting !== null) return 'waiting';
  return appliedAt === null ? 'unread' : 'applied';
}

function view(
  file: string | null,
  state: DeclarationView['state'],
  declared: DeclaredFileState | null,
): DeclarationView {
  const { appliedAt = null, digest = null, resources = 0, errors = [], warnings = [] } = declared ?? {};
  const waiting = declared?.waiting ?? null;
  return {
    file,
    state,
    applied_at: appliedAt,
    digest,
    resources,
    error_count: errors.length,
    errors: errors.slice(0, MOST_PLACES).map(placeOf),
    warning_count: warnings.length,
    warnings: warnings.slice(0, MOST_PLACES).map(placeOf),
    waiting: waiting === null ? null : waitOf(waiting),
  };
}

function placeOf({ file, line, column, message }: DeclaredFileState['errors'][number]) {
  return { file, line, column, message };
}

function waitOf({ reason, tries, nextAt }: NonNullable<DeclaredFileState['waiting']>) {
  return { reason, tries, next_at: nextAt };
}
