import { httpUrl, type TextCheck } from '../resources/texts.ts';

/** Path of metrics below a base URL (OTLP 1.10, "OTLP/HTTP Request"). */
const METRICS_PATH = '/v1/metrics';
/** The usual port of OTLP over gRPC. The usual port over HTTP is 4318. */
const GRPC_PORT = '4317';

/**
 * Checks that a text is an endpoint of OTLP over HTTP. The message about an address of gRPC says what to use
 * instead.
 */
export const otlpEndpoint: TextCheck = (text) => {
  if (/^grpcs?:\/\//i.test(text)) return useHttp('is an address of gRPC');
  const wrong = httpUrl(text);
  if (wrong !== null) return wrong;
  const url = new URL(text);
  // A URL with a path is accepted at this port: only HTTP has paths, so an HTTP receiver listens there.
  if (url.port === GRPC_PORT && url.pathname === '/') return useHttp(`has port ${GRPC_PORT}, which is gRPC`);
  return null;
};

function useHttp(what: string): string {
  return `${what}: metrics go out by OTLP over HTTP only. Use the HTTP endpoint of the same receiver, most often port 4318, like https://collector.example.com:4318`;
}

/**
 * The URL to which metrics are posted. `/v1/metrics` is appended to a base URL, which has no path or a path
 * that ends with `/`. Any other URL is used unchanged.
 *
 * @param endpoint a URL in which {@link otlpEndpoint} finds no fault
 */
export function metricsUrlOf(endpoint: string): string {
  return new URL(endpoint).pathname.endsWith('/') ? belowBase(endpoint) : endpoint;
}

/** The URL of metrics below a base URL, which the value of `OTEL_EXPORTER_OTLP_ENDPOINT` always is. */
export function belowBase(base: string): string {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${METRICS_PATH}`;
  return url.href;
}
