import { once } from 'node:events';
import { connect } from 'node:net';

/**
 * Publishes one message with these headers, which may be malformed, and waits until the server has it.
 *
 * @param url `nats://host:port` of a server that asks for no credentials
 */
export async function publishRaw(url: string, subject: string, headers: string, data: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const length = Buffer.byteLength(headers);
  const total = length + Buffer.byteLength(data);
  socket.write('CONNECT {"headers":true,"verbose":false,"no_responders":false}\r\n');
  socket.write(`HPUB ${subject} ${length} ${total}\r\n${headers}${data}\r\nPING\r\n`);
  let answer = '';
  for await (const chunk of socket) {
    answer += String(chunk);
    if (answer.includes('PONG') || answer.includes('-ERR')) break;
  }
  socket.destroy();
  if (!answer.includes('PONG')) throw new Error(`the server answered ${answer}`);
}
