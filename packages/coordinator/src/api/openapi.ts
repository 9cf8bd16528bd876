import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { Endpoint } from './endpoint.ts';
import { operation } from './openapi-operation.ts';
import { answerSchemaOf, inputName, inputSchemaOf, type Json, jsonSchema } from './openapi-schemas.ts';
import { PROBLEMS, type ProblemCode, problem } from './problem.ts';

const VERSION = '1';

const DESCRIPTION = `Uptime monitoring.

Ids are decimal numbers as strings. Instants are epoch milliseconds; those of declared resources, tokens and workspaces are RFC 3339 strings. POST and PUT accept what GET answers: read-only members are ignored, and null means the same as leaving a member out. All other unknown members are refused. Tokens of scope read see ******** in place of secrets.

Every failure is a problem (RFC 9457) with a stable \`type\`. A path answers 405 with \`Allow\` to a method that it does not have. An id that the workspace of the token does not have is answered 404; in a body the \`type\` is \`reference-not-found\`, with the place of the id.`;

const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': {
    description: 'Id of the request: the one that was sent, or a new one. The log has it too.',
    schema: { type: 'string' },
  },
  ETag: {
    description: 'Version of the object, and a digest of the answer.',
    schema: { type: 'string', pattern: '^"\\d+-[\\w-]+"$' },
  },
  Location: { description: 'Path of the new object.', schema: { type: 'string', format: 'uri-reference' } },
  'Idempotency-Replayed': {
    description: '`true`: an earlier request with this key created the object.',
    schema: { const: 'true' },
  },
  'Svc-Declared-As': {
    description: 'Name of the object in the declared file. The API refuses to change such an object.',
    schema: { type: 'string' },
  },
  'Svc-Declared-In': {
    description: 'Name of the declared file, percent-encoded.',
    schema: { type: 'string' },
  },
  'Svc-Workspace': { description: 'Workspace of the token.', schema: { type: 'string', pattern: '^\\d+$' } },
  'Retry-After': { description: 'Number of seconds to wait.', schema: { type: 'string', pattern: '^\\d+$' } },
  'WWW-Authenticate': { description: 'The scheme `Bearer`.', schema: { type: 'string' } },
};

const PROBLEM_HEADERS: { readonly [C in ProblemCode]?: string } = {
  unauthorized: 'WWW-Authenticate',
  'rate-limited': 'Retry-After',
  unavailable: 'Retry-After',
};

/** The OpenAPI 3.1 document of these endpoints, made from the schemas that validate. */
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

/**
 * The types of a problem. A missing object may be named by the path or by the body, and one answer documents
 * both.
 */
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
