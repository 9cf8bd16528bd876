/**
 * Measures the floor: opens as many bare sockets a second as the probes do, with the same request and
 * response, and does nothing else. Arguments: port, rate, seconds, `http` or `tcp`. Prints a line when it
 * starts.
 */
import { connect } from 'node:net';
import { pace } from './pace.ts';

const [port, rate, seconds, kind] = process.argv.slice(2);
const request = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`;
let answered = 0;

function probe(): void {
  const socket = connect({ host: '127.0.0.1', port: Number(port) });
  socket.on('error', () => socket.destroy());
  if (kind === 'tcp') {
    socket.once('connect', () => {
      answered += 1;
      socket.destroy();
    });
    return;
  }
  socket.once('connect', () => socket.write(request));
  socket.once('data', () => {
    answered += 1;
    socket.destroy();
  });
}

process.stdout.write('started\n');
process.on('disconnect', () => process.exit(0));
await pace(Number(rate), Number(seconds), probe);
if (answered < Number(rate) * Number(seconds) * 0.99)
  process.stderr.write(`only ${answered} were answered\n`);
