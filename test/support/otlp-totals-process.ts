/**
 * A receiver of OTLP as a process that can be killed. It keeps the
 * newest point of each time series of checks, and reports their sums.
 *
 * PORT=4318 otlp-totals-process.ts
 */
import { createServer, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { metricsOf, type OtlpPoint, type OtlpRequest } from './otlp-receiver.ts';

/** Number of checks by `monitor region outcome`. */
export type OtlpTotals = Record<string, { checks: number; durations: number; seconds: number }>;

type Kept = { key: string; name: string; point: OtlpPoint };

const newest = new Map<string, Kept>();

function keep(request: OtlpRequest): void {
  for (const { name, sum, exponentialHistogram } of metricsOf(request)) {
    if (name !== 'svc.checks' && name !== 'svc.check.duration') continue;
    for (const point of (sum ?? exponentialHistogram)?.dataPoints ?? []) keepPoint(name, point);
  }
}

function keepPoint(name: string, point: OtlpPoint): void {
  const series = JSON.stringify([name, point.attributes]);
  const known = newest.get(series);
  if (known !== undefined && known.point.timeUnixNano > point.timeUnixNano) return;
  const textOf = (attribute: string) =>
    point.attributes.find(({ key }) => key === attribute)?.value.stringValue;
  const key = ['svc.monitor.id', 'svc.region', 'svc.check.outcome'].map(textOf).join(' ');
  newest.set(series, { key, name, point });
}

function totals(): OtlpTotals {
  const found: OtlpTotals = {};
  for (const { key, name, point } of newest.values()) {
    found[key] ??= { checks: 0, durations: 0, seconds: 0 };
    const total = found[key];
    if (name === 'svc.checks') total.checks += Number(point.asInt);
    else {
      total.durations += Number(point.count);
      total.seconds += point.sum ?? 0;
    }
  }
  return found;
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const server = createServer(async (message, response) => {
  if (message.method === 'GET') {
    response.end(JSON.stringify(totals()));
    return;
  }
  const body = await bodyOf(message);
  const type = message.headers['content-type'] ?? '';
  // The coordinator's own metrics come as protobuf, and those of monitors as JSON.
  if (type === 'application/json') keep(JSON.parse(gunzipSync(body).toString()) as OtlpRequest);
  response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
});
server.listen(Number(process.env.PORT), '127.0.0.1', () =>
  process.stderr.write(`${JSON.stringify({ level: 30, msg: 'ready', event: 'ready' })}\n`),
);
