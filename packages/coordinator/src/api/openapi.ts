import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind, resourceSchema } from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import type { Access, Documented, DocumentedSchema, Endpoint } from './endpoint.ts';
import { PROBLEMS, type ProblemCode, problem } from './problem.ts';

type Json = { [name: string]: unknown };

const VERSION = '1';

/** OpenAPI 3.1 of these endpoints, from the schemas that validate. Its schemas are JSON Schema 2020-12 as zod writes it. */
export function openApi(endpoints: readonly Endpoint[], publicUrl: string): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: operation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version: VERSION,
      description:
        'Uptime monitoring. Ids are decimal numbers as text; instants are epoch milliseconds, but for created_at and updated_at of declared resources and tokens (RFC 3339). POST and PUT accept what GET answers: read-only members are ignored, null equals omitted, otherwise unknown members are refused.',
    },
    servers: [{ url: publicUrl }],
    security: [{ token: [] }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
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

function operation(endpoint: Endpoint): Json {
  const { tag, summary, access, path, method, query, headers = [], body, answers } = endpoint;
  return {
    tags: [tag],
    summary: access === 'operator' ? `${summary} (operator's token only)` : summary,
    operationId: operationId(method, path),
    ...(access === 'public' ? { security: [] } : {}),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: 'path',
        required: true,
        schema: { type: 'string', pattern: '^[1-9][0-9]{0,14}$' },
      })),
      ...(query === undefined ? [] : queryParameters(query)),
      ...headers.map((name) => ({ name, in: 'header', schema: { type: 'string' } })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(body, 'input') } },
          },
        }),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, documented]) => [status, answer(endpoint, documented)]),
      ),
      ...problems(access, body !== undefined || query !== undefined, path.includes('{')),
    },
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

function answer({ method, path }: Endpoint, { description, schema }: Documented): Json {
  if (schema === undefined) return { description };
  const member = schemaOf(schema, 'output');
  // A collection's list: the envelope is the same for all.
  const isList = method === 'GET' && 'resource' in schema && !path.endsWith('}');
  return { description, content: { 'application/json': { schema: isList ? listSchema(member) : member } } };
}

function listSchema(member: Json): Json {
  const whole = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    properties: { data: { type: 'array', items: member }, total: whole, limit: whole, offset: whole },
    required: ['data', 'total', 'limit', 'offset'],
  };
}

function problems(access: Access, isParsed: boolean, hasId: boolean): Json {
  const codes: ProblemCode[] = [
    ...(isParsed ? (['malformed-request', 'invalid'] as const) : []),
    ...(access === 'public' ? [] : (['unauthorized', 'forbidden', 'rate-limited'] as const)),
    ...(hasId ? (['not-found'] as const) : []),
    'internal-error',
  ];
  return Object.fromEntries(
    codes.map((code) => [
      PROBLEMS[code].status,
      {
        description: PROBLEMS[code].title,
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  );
}

function schemaOf(schema: DocumentedSchema, io: 'input' | 'output'): Json {
  if (!('resource' in schema)) return jsonSchema(schema, io);
  const kinds: readonly ResourceKind[] =
    typeof schema.resource === 'string' ? [schema.resource] : schema.resource;
  const references = kinds.map((kind) => ({
    $ref: `#/components/schemas/${io === 'input' ? inputName(kind) : kind}`,
  }));
  return references.length === 1 ? (references[0] ?? {}) : { oneOf: references };
}

function inputName(kind: ResourceKind): string {
  return `${kind}_input`;
}

function inputSchemaOf(kind: ResourceKind): Json {
  const schema = jsonSchema(resourceSchema(kind, 'api'), 'input');
  const constants = Object.keys(DEFINITIONS[kind].constants);
  return { ...schema, required: [...constants, ...((schema.required as string[] | undefined) ?? [])] };
}

/** What is answered: the input's members, all there, with the computed ones. */
function answerSchemaOf(kind: ResourceKind): Json {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const { properties } = jsonSchema(resourceSchema(kind, 'api'), 'input') as {
    properties: Record<string, Json>;
  };
  const computed = Object.entries(definition.attributes)
    .filter(([, { presence }]) => presence === 'computed')
    .map(([name, { value, description }]) => [
      name,
      { ...jsonSchema(value.schema, 'input'), description, readOnly: true },
    ]);
  const all: Record<string, Json> = { ...properties, ...Object.fromEntries(computed) };
  const required = Object.keys(all).filter((name) => !(name in definition.blocks) || name === 'headers');
  return { type: 'object', description: definition.description, properties: all, required };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((step) => step !== '' && step !== 'v1');
  return [method.toLowerCase(), ...words.map((step) => step.replace(/[{}]/g, '').replace(/\W/g, '_'))].join(
    '_',
  );
}
