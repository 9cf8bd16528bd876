import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { encode } from '@msgpack/msgpack';
import type { Identity } from './client-identity.ts';
import type { Diagnostic } from './diagnostic.ts';
import { decodeAnswer, encodeRequest, type Method, pathOf } from './protocol-definition.ts';
import type { Body } from './runner.ts';
import { type ProviderSchema, schemaOf, type WireSchema } from './wire-schema.ts';

type WireValue = { msgpack: Uint8Array };
type WireStep = { attributeName?: string; elementKeyString?: string; elementKeyInt?: string };
type WirePath = { steps: WireStep[] };
type WireDiagnostic = { severity?: number; summary?: string; detail?: string; attribute?: WirePath };
type WireAnswer = { diagnostics: WireDiagnostic[] };

const CAPABILITIES = { deferralAllowed: false, writeOnlyAttributesAllowed: true };
/** Maximum size of a message, bytes. Terraform's own limit is as high that it does not matter (256 MiB). */
const MAXIMUM_MESSAGE_BYTES = 256 * 1024 ** 2;

/** A listening plug-in, with the credentials of its client. */
export type ServedPlugin = {
  /** Address for gRPC: `unix:/path` or `host:port`. */
  readonly target: string;
  readonly serverCertificate: string;
  readonly client: Identity;
  /** Resolves when the plug-in has stopped. */
  readonly ended: Promise<unknown>;
};

/**
 * A client of the plug-in protocol, for tests that need no Terraform: the messages of refusals, and the
 * imports of a package. The flows of `test/e2e/terraform/` run with the real one.
 */
export class ProtocolClient<P extends ServedPlugin = ServedPlugin> {
  readonly running: P;
  readonly #client: Client;

  constructor(running: P) {
    this.running = running;
    const { serverCertificate, client } = running;
    this.#client = new Client(
      running.target,
      credentials.createSsl(
        Buffer.from(serverCertificate),
        Buffer.from(client.key),
        Buffer.from(client.certificate),
      ),
      {
        'grpc.ssl_target_name_override': 'localhost',
        'grpc.default_authority': 'localhost',
        'grpc.max_receive_message_length': MAXIMUM_MESSAGE_BYTES,
      },
    );
  }

  async schema(): Promise<ProviderSchema> {
    const answer = await this.#call<
      WireAnswer & {
        provider: WireSchema;
        resourceSchemas?: Record<string, WireSchema>;
        dataSourceSchemas?: Record<string, WireSchema>;
      }
    >('GetProviderSchema', {});
    return {
      provider: schemaOf(answer.provider),
      resources: schemas(answer.resourceSchemas),
      dataSources: schemas(answer.dataSourceSchemas),
    };
  }

  async configure(config: Body) {
    const request = {
      terraformVersion: '1.11.4',
      config: wire(config),
      clientCapabilities: CAPABILITIES,
    };
    return diagnosticsOf(await this.#call<WireAnswer>('ConfigureProvider', request));
  }

  async validateResource(typeName: string, config: Body) {
    const request = { typeName, config: wire(config), clientCapabilities: CAPABILITIES };
    return diagnosticsOf(await this.#call<WireAnswer>('ValidateResourceConfig', request));
  }

  async readData(typeName: string, config: Body) {
    const request = { typeName, config: wire(config), clientCapabilities: CAPABILITIES };
    return diagnosticsOf(await this.#call<WireAnswer>('ReadDataSource', request));
  }

  /** Resolves when the plug-in has ended. */
  async close(): Promise<void> {
    // The plug-in may be gone before its answer has arrived.
    await this.#call('Shutdown', {}).catch(() => {});
    await this.running.ended;
    this.#client.close();
  }

  #call<T>(method: Method, message: object): Promise<T> {
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: unknown) =>
        error === null ? resolve(answer as T) : reject(asTerraformSays(method, error));
      this.#client.makeUnaryRequest(
        pathOf(method),
        (request: object) => encodeRequest(method, request),
        (bytes: Buffer) => decodeAnswer(method, bytes),
        message,
        done,
      );
    });
  }
}

function asTerraformSays(method: Method, { code, details }: ServiceError): Error {
  return new Error(`Plugin error: ${method}: rpc error: code = ${code} desc = ${details}`);
}

function schemas(wired: Record<string, WireSchema> = {}) {
  return Object.fromEntries(Object.entries(wired).map(([type, schema]) => [type, schemaOf(schema)]));
}

function wire(value: Body): WireValue {
  return { msgpack: encode(value) };
}

function diagnosticsOf({ diagnostics }: WireAnswer): Diagnostic[] {
  return diagnostics.map(({ severity, summary = '', detail = '', attribute }) => {
    if (severity !== 1 && severity !== 2) throw new Error(`diagnostic "${summary}": severity ${severity}`);
    return {
      severity: severity === 1 ? 'error' : 'warning',
      summary,
      detail,
      ...(attribute === undefined ? {} : { path: pathFrom(attribute) }),
    };
  });
}

function pathFrom({ steps }: WirePath): (string | number)[] {
  return steps.map(({ attributeName, elementKeyString, elementKeyInt }) => {
    const step =
      attributeName ?? elementKeyString ?? (elementKeyInt === undefined ? undefined : Number(elementKeyInt));
    if (step === undefined) throw new Error('a step of a path without a selector');
    return step;
  });
}
