import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import type { Identity } from './client-identity.ts';
import type { Diagnostic } from './diagnostic.ts';
import { decode, encode } from './msgpack.ts';
import type { Answer, Imported, Plugin, Private } from './plugin.ts';
import { decodeAnswer, encodeRequest, type Method, pathOf } from './protocol-definition.ts';
import type { ObjectValue, Value } from './value.ts';
import type { Path } from './value-type.ts';
import { type ProviderSchema, schemaOf, type WireSchema } from './wire-schema.ts';

type WireValue = { msgpack?: Uint8Array; json?: Uint8Array };
type WireStep = { attributeName?: string; elementKeyString?: string; elementKeyInt?: string };
type WirePath = { steps: WireStep[] };
type WireDiagnostic = { severity?: number; summary?: string; detail?: string; attribute?: WirePath };
type WireAnswer = { diagnostics: WireDiagnostic[] };

const NOTHING = new Uint8Array();
const CAPABILITIES = { deferralAllowed: false, writeOnlyAttributesAllowed: true };
/** Terraform sets none that matters (256 MiB). */
const MAXIMUM_MESSAGE_BYTES = 256 * 1024 ** 2;

/** A listening plug-in, with the credentials of its client. */
export type ServedPlugin = {
  /** For gRPC: `unix:/path` or `host:port`. */
  readonly target: string;
  readonly serverCertificate: string;
  readonly client: Identity;
  /** Resolves when it has stopped. */
  readonly ended: Promise<unknown>;
};

/** A plug-in, called as Terraform 1.11 calls it. */
export class ProtocolClient<P extends ServedPlugin = ServedPlugin> implements Plugin {
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

  async validateProvider(config: ObjectValue) {
    return diagnosticsOf(await this.#call<WireAnswer>('ValidateProviderConfig', { config: wire(config) }));
  }

  async configure(config: ObjectValue) {
    const request = {
      terraformVersion: '1.11.4',
      config: wire(config),
      clientCapabilities: CAPABILITIES,
    };
    return diagnosticsOf(await this.#call<WireAnswer>('ConfigureProvider', request));
  }

  async validateResource(typeName: string, config: ObjectValue) {
    const request = { typeName, config: wire(config), clientCapabilities: CAPABILITIES };
    return diagnosticsOf(await this.#call<WireAnswer>('ValidateResourceConfig', request));
  }

  async validateData(typeName: string, config: ObjectValue) {
    return diagnosticsOf(
      await this.#call<WireAnswer>('ValidateDataResourceConfig', { typeName, config: wire(config) }),
    );
  }

  async upgrade(typeName: string, version: bigint, json: string) {
    const answer = await this.#call<WireAnswer & { upgradedState?: WireValue }>('UpgradeResourceState', {
      typeName,
      version: String(version),
      rawState: { json: Buffer.from(json) },
    });
    return { state: valueIn(answer.upgradedState), diagnostics: diagnosticsOf(answer) };
  }

  async read(typeName: string, state: Value, kept: Private) {
    const answer = await this.#call<WireAnswer & { newState?: WireValue; private?: Uint8Array }>(
      'ReadResource',
      {
        typeName,
        currentState: wire(state),
        private: kept,
        clientCapabilities: CAPABILITIES,
      },
    );
    return {
      state: valueIn(answer.newState),
      kept: answer.private ?? NOTHING,
      diagnostics: diagnosticsOf(answer),
    };
  }

  async plan(typeName: string, request: { prior: Value; proposed: Value; config: Value; kept: Private }) {
    const answer = await this.#call<
      WireAnswer & {
        plannedState?: WireValue;
        requiresReplace: WirePath[];
        plannedPrivate?: Uint8Array;
        legacyTypeSystem?: boolean;
      }
    >('PlanResourceChange', {
      typeName,
      priorState: wire(request.prior),
      proposedNewState: wire(request.proposed),
      config: wire(request.config),
      priorPrivate: request.kept,
      clientCapabilities: CAPABILITIES,
    });
    if (answer.legacyTypeSystem === true) throw new Error('legacy_type_system would switch the rules off');
    return {
      planned: valueIn(answer.plannedState),
      replaces: answer.requiresReplace.map(pathFrom),
      kept: answer.plannedPrivate ?? NOTHING,
      diagnostics: diagnosticsOf(answer),
    };
  }

  async apply(typeName: string, request: { prior: Value; planned: Value; config: Value; kept: Private }) {
    const answer = await this.#call<
      WireAnswer & { newState?: WireValue; private?: Uint8Array; legacyTypeSystem?: boolean }
    >('ApplyResourceChange', {
      typeName,
      priorState: wire(request.prior),
      plannedState: wire(request.planned),
      config: wire(request.config),
      plannedPrivate: request.kept,
    });
    if (answer.legacyTypeSystem === true) throw new Error('legacy_type_system would switch the rules off');
    return {
      state: valueIn(answer.newState),
      kept: answer.private ?? NOTHING,
      diagnostics: diagnosticsOf(answer),
    };
  }

  async import(typeName: string, id: string): Promise<Answer<{ imported: Imported[] }>> {
    const answer = await this.#call<
      WireAnswer & { importedResources: { typeName: string; state: WireValue; private?: Uint8Array }[] }
    >('ImportResourceState', { typeName, id, clientCapabilities: CAPABILITIES });
    const imported = answer.importedResources.map((one) => ({
      type: one.typeName,
      state: valueIn(one.state),
      kept: one.private ?? NOTHING,
    }));
    return { imported, diagnostics: diagnosticsOf(answer) };
  }

  async readData(typeName: string, config: ObjectValue) {
    const answer = await this.#call<WireAnswer & { state?: WireValue }>('ReadDataSource', {
      typeName,
      config: wire(config),
      clientCapabilities: CAPABILITIES,
    });
    return { state: valueIn(answer.state), diagnostics: diagnosticsOf(answer) };
  }

  async stop(): Promise<void> {
    const { error } = await this.#call<{ error?: string }>('StopProvider', {});
    if (error) throw new Error(`StopProvider: ${error}`);
  }

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

function wire(value: Value): WireValue {
  return { msgpack: encode(value) };
}

/** Absent values are null; JSON is not sent by providers of protocol 6. */
function valueIn(value: WireValue | undefined): Value {
  if (value?.json !== undefined && value.json.length > 0) throw new Error('a value in JSON');
  return value?.msgpack === undefined || value.msgpack.length === 0 ? null : decode(value.msgpack);
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

function pathFrom({ steps }: WirePath): Path {
  return steps.map(({ attributeName, elementKeyString, elementKeyInt }) => {
    const step =
      attributeName ?? elementKeyString ?? (elementKeyInt === undefined ? undefined : Number(elementKeyInt));
    if (step === undefined) throw new Error('a step of a path without a selector');
    return step;
  });
}
