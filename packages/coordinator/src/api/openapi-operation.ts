import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import type { z } from 'zod';
import { id } from './answers.ts';
import type { Documented, DocumentedSchema, Endpoint, RequestHeader } from './endpoint.ts';
import { answerExample } from './examples.ts';
import { inputName, type Json, jsonSchema } from './openapi-schemas.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';

const REQUEST_HEADERS: { readonly [H in RequestHeader]: Json } = {
  'If-Match': {
    description:
      'The request is carried out only if the version of the object is that of one of these entity tags. Otherwise the answer is 412.',
    schema: { type: 'string' },
    example: '"3-x5Zb0aVv1KqYw2Rt"',
  },
  'If-None-Match': {
    description: 'The answer is 304 if it would have one of these entity tags.',
    schema: { type: 'string' },
    example: '"3-x5Zb0aVv1KqYw2Rt"',
  },
  'Idempotency-Key': {
    description:
      'A request that is repeated with the same key within 24 hours creates nothing twice. Another request with the same key is refused (409).',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
    example: '4f5c1f6e-6f0e-4b0e-9a53-0f6b6d1f0a51',
  },
};

/** One operation of the OpenAPI document, with all its answers. */
export function operation(endpoint: Endpoint): Json {
  const { tag, summary, description, access, path, method, query, headers = [], body } = endpoint;
  return {
    tags: [tag],
    summary: access === 'operator' ? `${summary} (operator's token only)` : summary,
    ...(description === undefined ? {} : { description }),
    operationId: operationId(method, path),
    // These are names of roles. OpenAPI 3.1 allows them for any scheme.
    security: access === 'public' ? [] : [{ token: [access] }],
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: jsonSchema(id, 'input'),
      })),
      ...(query === undefined ? [] : queryParameters(query)),
      ...headers.map((name) => ({ name, in: 'header', ...REQUEST_HEADERS[name] })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(body, 'input') } },
          },
        }),
    responses: { ...ownAnswers(endpoint), ...problemAnswers(endpoint) },
  };
}

/** The problems that an endpoint may report: those that follow from its definition, and its own. */
function problemCodes({ access, path, headers = [], body, problems = [] }: Endpoint): ProblemCode[] {
  const isPublic = access === 'public';
  return [
    'malformed-request',
    'misdirected',
    ...(isPublic ? [] : (['unauthorized'] as const)),
    ...(isPublic || access === 'read' ? [] : (['forbidden'] as const)),
    ...(path.includes('{') ? (['not-found'] as const) : []),
    // These come after `not-found`, which has the same status.
    ...problems,
    ...(headers.includes('If-Match') ? (['precondition-failed'] as const) : []),
    ...(body === undefined ? [] : (['too-large', 'unsupported-media-type', 'invalid'] as const)),
    ...(isPublic ? [] : (['rate-limited'] as const)),
    'internal-error',
    ...(isPublic ? [] : (['unavailable'] as const)),
  ];
}

function problemAnswers(endpoint: Endpoint): Json {
  const references = problemCodes(endpoint).map((code) => [
    PROBLEMS[code].status,
    { $ref: `#/components/responses/${code}` },
  ]);
  return Object.fromEntries(references);
}

function ownAnswers(endpoint: Endpoint): Json {
  const own = Object.entries(endpoint.answers).map(([status, one]) => [status, answer(endpoint, one)]);
  const notModified = {
    description: 'The object has not changed since the answer with one of these entity tags.',
    headers: { ETag: { $ref: '#/components/headers/ETag' } },
  };
  return {
    ...Object.fromEntries(own),
    ...(endpoint.headers?.includes('If-None-Match') === true ? { 304: notModified } : {}),
  };
}

function answer({ access }: Endpoint, documented: Documented): Json {
  const { description, schema, contentType, headers = [] } = documented;
  const common = ['X-Request-Id', ...(access === 'public' ? [] : ['Svc-Workspace'])];
  const references = [...common, ...headers].map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const shared = { description, headers: Object.fromEntries(references) };
  if (contentType !== undefined)
    return { ...shared, content: { [contentType]: { schema: { type: 'string' } } } };
  if (schema === undefined) return shared;
  return { ...shared, content: { 'application/json': { schema: schemaOf(schema, 'output') } } };
}

/** A page of a list of resources. Its envelope is the same for all kinds. */
function listSchema(kinds: readonly ResourceKind[]): Json {
  const whole = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    properties: {
      data: { type: 'array', items: schemaOf({ resource: kinds }, 'output') },
      total: { ...whole, description: 'Number of items on all pages.' },
      limit: whole,
      offset: whole,
    },
    required: ['data', 'total', 'limit', 'offset'],
    additionalProperties: false,
    examples: [{ data: kinds.map(answerExample), total: kinds.length, limit: 50, offset: 0 }],
  };
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = jsonSchema(query, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}

function schemaOf(schema: DocumentedSchema, io: 'input' | 'output'): Json {
  if ('resources' in schema) return listSchema(schema.resources);
  if (!('resource' in schema)) return jsonSchema(schema, io);
  const references = ([schema.resource].flat() as ResourceKind[]).map((kind) => ({
    $ref: `#/components/schemas/${io === 'input' ? inputName(kind) : kind}`,
  }));
  return references.length === 1 ? (references[0] ?? {}) : { oneOf: references };
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((step) => step !== '' && step !== 'v1');
  return [method.toLowerCase(), ...words.map((step) => step.replace(/[{}]/g, '').replace(/\W/g, '_'))].join(
    '_',
  );
}
