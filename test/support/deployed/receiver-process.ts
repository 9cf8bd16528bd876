/**
 * A receiver of OTLP and of alerts on port 4318 of a network of the test's own. `GET
 * /received` lists the regions that sent points, and the alerts that were posted to `/alerts`.
 */
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { decodeOtlp, metricsOf, type OtlpPoint } from '../otlp-receiver.ts';

const regions = new Set<string>();
const alerts: unknown[] = [];

createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ regions: [...regions].sort(), alerts }));
    return;
  }
  const body = await buffer(request);
  if (request.url === '/alerts') {
    alerts.push(JSON.parse(body.toString()));
    response.end();
    return;
  }
  const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
  const message = decodeOtlp(plain, request.headers['content-type'] ?? '');
  const points = metricsOf(message).flatMap(({ sum, gauge, histogram, exponentialHistogram }) =>
    [sum, gauge, histogram, exponentialHistogram].flatMap((kind) => kind?.dataPoints ?? []),
  );
  // Points of svc's own metrics may have no attributes.
  for (const { attributes = [] } of points as Partial<OtlpPoint>[]) {
    const region = attributes.find(({ key }) => key === 'svc.region')?.value.stringValue;
    if (region !== undefined) regions.add(region);
  }
  // The answer has the encoding of the request. An empty message of protobuf has no bytes.
  const type = request.headers['content-type'] ?? '';
  response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
}).listen(4318, '127.0.0.1', () => process.stdout.write('ready\n'));
