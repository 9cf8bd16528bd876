import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { Endpoint } from './endpoint.ts';
import { operation } from './openapi-operation.ts';
import { answerSchemaOf, inputName, inputSchemaOf, type Json, jsonSchema } from './openapi-schemas.ts';
import { PROBLEMS, type ProblemCode, problem } from './problem.ts';

const VERSION = '1';

const DESCRIPTION = `Uptime monitoring.

Ids are decimal numbers as text; instants are epoch milliseconds, but for created_at and updated_at of declared resources, tokens and workspaces (RFC 3339). POST and PUT accept what GET answers: read-only members are ignored, null equals omitted, otherwise unknown members are refused. Tokens of scope read are shown secrets as ********.

Every failure is a problem (RFC 9457) with a stable \`type\`. Any path answers 405 with \`Allow\` to a method that it does not have, and 404 to an id that is none of the token's workspace; in a body too, then as \`reference-not-found\` with its place.`;

const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': { description: "The request's, or a new one; the log has it.", schema: { type: 'string' } },
  ETag: {
    description: 'Version of the row and a digest of what is shown.',
    schema: { type: 'string', pattern: '^"\\d+-[\\w-]+"$' },
  },
  Location: { description: 'Path of what was created.', schema: { type: 'string', format: 'uri-reference' } },
  'Idempotency-Replayed': {
    description: '`true`: an earlier request with this key had created it.',
    schema: { const: 'true' },
  },
  'Svc-Declared-As': {
    description: 'Name under which the declared file has it; the API then refuses to change it.',
    schema: { type: 'string' },
  },
  'Svc-Workspace': { description: "The token's workspace.", schema: { type: 'string', pattern: '^\\d+$' } },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'string', pattern: '^\\d+$' } },
  'WWW-Authenticate': { description: 'The scheme: Bearer.', schema: { type: 'string' } },
};

const PROBLEM_HEADERS: { readonly [C in ProblemCode]?: string } = {
  unauthorized: 'WWW-Authenticate',
  'rate-limited': 'Retry-After',
  unavailable: 'Retry-After',
};

/** OpenAPI 3.1 of these endpoints, from the schemas that validate. */
export function openApi(endpoints: readonly Endpoint[], publicUrl: string): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version: VERSION, description: DESCRIPTION },
    servers: [{ url: publicUrl }],
    security: [{ token: [] }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      headers: HEADERS,
      responses: Object.fromEntries(
        (Object.keys(PROBLEMS) as ProblemCode[])
          .filter((code) => code !== 'method-not-allowed')
          .map((code) => [code, problemResponse(code)]),
      ),
      schemas: {
        ...Object.fromEntries(
          (Object.keys(DEFINITIONS) as ResourceKind[]).flatMap((kind) => [
            [inputName(kind), inputSchemaOf(kind)],
            [kind, answerSchemaOf(kind)],
          ]),
        ),
        Problem: jsonSchema(problem, 'output'),
      },
    },
  };
}

/** A body may name what is not there where the path does too: one answer stands for both. */
function codesOf(code: ProblemCode): string[] {
  const codes = code === 'reference-not-found' ? ['not-found', code] : [code];
  return codes.map((one) => `urn:svc:problem:${one}`);
}

function problemResponse(code: ProblemCode): Json {
  const { status, title } = PROBLEMS[code];
  const named = ['X-Request-Id', PROBLEM_HEADERS[code] ?? []].flat();
  return {
    description: code === 'reference-not-found' ? `Not found, or: ${title}` : title,
    headers: Object.fromEntries(named.map((name) => [name, { $ref: `#/components/headers/${name}` }])),
    content: {
      'application/problem+json': {
        schema: {
          allOf: [{ $ref: '#/components/schemas/Problem' }],
          properties: { type: { enum: codesOf(code) }, status: { const: status } },
        },
      },
    },
  };
}
