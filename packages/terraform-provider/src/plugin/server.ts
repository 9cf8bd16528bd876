import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { SvcError } from '@svc/shared/errors.ts';
import { createServerCertificate, type ServerCertificate } from './certificate.ts';
import { decodeMessage, encodeMessage, type MessageName } from './messages.ts';
import { type Calls, METHODS, type MethodName, type Request } from './methods.ts';
import { OpenCalls } from './open-calls.ts';

export type PluginServerParts = {
  readonly calls: Calls;
  /**
   * PEM of the only client certificate that may connect. Null: there
   * is no TLS, and any process that can reach the address may connect.
   */
  readonly clientCertificate: string | null;
  /** Called when Terraform wants this process to end, after the answer to its call Shutdown. */
  onShutdown(): void;
};

/** Answer to a health check: 1 is "SERVING" in the health protocol. */
const SERVING = { status: 1 };

/** Time to send the last answers, ms. */
const FLUSH_MS = 250;

type Handler = (request: Buffer) => Promise<Buffer>;

/** The gRPC server that Terraform talks to: provider, health, and the call that ends the process. */
export class PluginServer {
  readonly openCalls = new OpenCalls();
  readonly certificate: ServerCertificate | null;
  readonly #parts: PluginServerParts;
  readonly #server: Server;

  constructor(parts: PluginServerParts) {
    this.#parts = parts;
    this.certificate = parts.clientCertificate === null ? null : createServerCertificate();
    this.#server = new Server({
      // A state may have any size, and Terraform sets no bound on messages either.
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      'grpc.enable_channelz': 0,
    });
    this.#addServices();
  }

  /**
   * @param address `unix:/path` or `127.0.0.1:0`
   * @returns the port, for a TCP address
   */
  listen(address: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.bindAsync(address, this.#credentials(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  }

  /**
   * Accepts no more calls, and resolves when the open calls are answered.
   * After `limitMs`, calls that are still open are answered with an error.
   */
  async stop(limitMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    if (!(await isWithin(limitMs, closed))) {
      this.openCalls.fail(new SvcError('call-failed', 'the provider ended before the call was done'));
      await isWithin(FLUSH_MS, closed);
    }
    this.#server.forceShutdown();
  }

  #credentials(): ServerCredentials {
    const { clientCertificate } = this.#parts;
    if (clientCertificate === null || this.certificate === null) return ServerCredentials.createInsecure();
    const pair = {
      private_key: Buffer.from(this.certificate.key),
      cert_chain: Buffer.from(this.certificate.certificate),
    };
    return ServerCredentials.createSsl(Buffer.from(clientCertificate), [pair], true);
  }

  #addServices(): void {
    const { calls, onShutdown } = this.#parts;
    const methods = Object.keys(METHODS) as MethodName[];
    this.#addService(
      'tfplugin6.Provider',
      Object.fromEntries(methods.map((name) => [name, bound(calls, name)])),
    );
    this.#addService('plugin.GRPCController', {
      Shutdown: handler('Empty', 'Empty', async () => {
        setImmediate(onShutdown);
        return {};
      }),
    });
    this.#addService('grpc.health.v1.Health', {
      Check: handler('HealthRequest', 'HealthResponse', async () => SERVING),
    });
  }

  #addService(service: string, handlers: Readonly<Record<string, Handler>>): void {
    const definition: Record<string, MethodDefinition<Buffer, Buffer>> = {};
    const implementation: UntypedServiceImplementation = {};
    for (const [name, handle] of Object.entries(handlers)) {
      definition[name] = { path: `/${service}/${name}`, ...BYTES };
      implementation[name] = (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) =>
        this.openCalls.add(handle(call.request), (error, bytes) =>
          answer(error && { code: status.INTERNAL, details: error.message }, bytes),
        );
    }
    this.#server.addService(definition, implementation);
  }
}

const identity = (bytes: Buffer): Buffer => bytes;

/** The handlers decode and encode messages themselves, so that a failure still gets an answer. */
const BYTES = {
  requestStream: false,
  responseStream: false,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
};

function bound<M extends MethodName>(calls: Calls, name: M): Handler {
  const { request, response } = METHODS[name];
  return handler(request, response, (message) => calls[name](message as Request<M>));
}

function handler(
  request: MessageName,
  response: MessageName,
  answer: (message: unknown) => Promise<object>,
): Handler {
  return async (bytes) => encodeMessage(response, await answer(decodeMessage(request, bytes)));
}

async function isWithin(limitMs: number, event: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, limitMs, false);
  });
  const isIn = await Promise.race([event.then(() => true as const), tooLate]);
  clearTimeout(timer);
  return isIn;
}
