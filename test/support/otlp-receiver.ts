import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { endServer } from './loopback-server.ts';

/** OpenTelemetry's own definitions of OTLP, as protobufjs made them from the `.proto` files. */
const definitions = createRequire(import.meta.url)('otlp-definitions/build/src/generated/root.js') as {
  opentelemetry: { proto: { collector: { metrics: { v1: { ExportMetricsServiceRequest: MessageType } } } } };
};
type MessageType = {
  verify(message: object): string | null;
  decode(bytes: Uint8Array): object;
  fromObject(object: object): object;
  toObject(message: object, options: object): object;
};
const REQUEST = definitions.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;

type Attribute = { key: string; value: { stringValue?: string; intValue?: string; boolValue?: boolean } };

export type OtlpPoint = {
  attributes: Attribute[];
  startTimeUnixNano?: string;
  timeUnixNano: string;
  asInt?: string;
  asDouble?: number;
  count?: string;
  sum?: number;
  scale?: number;
  zeroCount?: string;
  positive?: { offset: number; bucketCounts: string[] };
  bucketCounts?: string[];
  explicitBounds?: number[];
};

type Points = { dataPoints: OtlpPoint[]; aggregationTemporality?: string; isMonotonic?: boolean };

export type OtlpMetric = {
  name: string;
  unit: string;
  description: string;
  sum?: Points;
  gauge?: Points;
  histogram?: Points;
  exponentialHistogram?: Points;
};

export type OtlpRequest = {
  resourceMetrics?: {
    resource: { attributes: Attribute[] };
    scopeMetrics: { scope: { name: string; version: string }; metrics: OtlpMetric[] }[];
  }[];
};

/** A time series with its last point. */
export type OtlpSeries = { name: string; attributes: Record<string, string>; point: OtlpPoint };

/** A request as OpenTelemetry's definitions read it: 64-bit integers are texts, enums have their names. */
export function decodeOtlp(body: Uint8Array, contentType: string): OtlpRequest {
  const message = contentType === 'application/json' ? readJson(body) : REQUEST.decode(body);
  const wrong = REQUEST.verify(message);
  if (wrong !== null) throw new Error(`no request of OTLP: ${wrong}`);
  return REQUEST.toObject(message, { longs: String, enums: String, arrays: false }) as OtlpRequest;
}

function readJson(body: Uint8Array): object {
  const object = JSON.parse(Buffer.from(body).toString()) as object;
  const message = REQUEST.fromObject(object);
  // The definitions silently ignore unknown members. So the
  // names of all members are compared, to notice a lost member.
  const read = REQUEST.toObject(message, { longs: String, arrays: false });
  const known = namesIn(read);
  for (const name of namesIn(object)) if (!known.has(name)) throw new Error(`no member of OTLP: ${name}`);
  return message;
}

/** The names of all members with a value, at any depth. */
function namesIn(value: unknown, names = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return names;
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) {
      if (Array.isArray(member) && member.length === 0) continue;
      names.add(name);
    }
    namesIn(member, names);
  }
  return names;
}

export function metricsOf(request: OtlpRequest): OtlpMetric[] {
  // A request that asks for protobuf has nothing.
  return (request.resourceMetrics ?? []).flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics),
  );
}

export function attributesOf(point: Pick<OtlpPoint, 'attributes'>): Record<string, string> {
  return Object.fromEntries(
    point.attributes.map(({ key, value }) => [
      key,
      String(value.stringValue ?? value.intValue ?? value.boolValue),
    ]),
  );
}

export type Received = { headers: IncomingHttpHeaders; path: string; request: OtlpRequest | null };

/** An endpoint of OTLP on loopback, which reads every request with OpenTelemetry's definitions. */
export class OtlpReceiver {
  readonly requests: Received[] = [];
  /** Called before the receiver reads the request; true: the function has answered. */
  intercept: (message: IncomingMessage, response: ServerResponse) => boolean = () => false;
  /** The requests that could not be read. */
  readonly errors: string[] = [];
  #port = 0;
  #server = this.#create();
  readonly #waiting = new Set<() => void>();

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await receiver.#listen();
    return receiver;
  }

  /** The base URL of the receiver. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The last point of each time series. */
  get series(): OtlpSeries[] {
    const found = new Map<string, OtlpSeries>();
    for (const { request } of this.requests) {
      for (const { name, ...metric } of request === null ? [] : metricsOf(request)) {
        const { dataPoints } = metric.sum ??
          metric.gauge ??
          metric.histogram ??
          metric.exponentialHistogram ?? { dataPoints: [] };
        for (const point of dataPoints) {
          const attributes = attributesOf(point);
          found.set(JSON.stringify([name, attributes]), { name, attributes, point });
        }
      }
    }
    return [...found.values()];
  }

  /** Resolves when the condition holds; it is checked after each request. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Stops listening until {@link restart}. */
  async close(): Promise<void> {
    if (this.#server.listening) await endServer(this.#server);
  }

  /** Listens again on the same port. */
  async restart(): Promise<void> {
    this.#server = this.#create();
    await this.#listen();
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #create() {
    return createServer((message, response) => void this.#handle(message, response));
  }

  async #handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.intercept(message, response)) {
      this.#keep(message, null);
      return;
    }
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of message) chunks.push(chunk as Buffer);
      const sent = Buffer.concat(chunks);
      const body = message.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      const type = message.headers['content-type'] ?? '';
      this.#keep(message, decodeOtlp(body, type));
      response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
    } catch (error) {
      this.errors.push(String(error));
      response.writeHead(400).end();
    }
  }

  #keep({ headers, url = '' }: IncomingMessage, request: OtlpRequest | null): void {
    this.requests.push({ headers, path: url, request });
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
