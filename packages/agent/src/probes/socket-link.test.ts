import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { SocketLink, type SocketListener } from './socket-link.ts';

test('a link tells its listener what happens to the socket until it is cut, and errors never crash the process', () => {
  const heard: string[] = [];
  const listener: SocketListener = {
    onConnect: () => heard.push('connect'),
    onSecured: () => heard.push('secured'),
    onBytes: (count) => heard.push(`${count} bytes`),
    onEnd: () => heard.push('end'),
    onError: ({ message }) => heard.push(message),
  };
  const link = new SocketLink(listener);
  const socket = new Socket();
  const { callback } = link.onread();
  link.listenTo(socket);
  const happen = (): void => {
    socket.emit('connect');
    callback(3, Buffer.alloc(16));
    socket.emit('error', new Error('reset'));
    socket.emit('close');
  };
  happen();
  expect(heard).toEqual(['connect', '3 bytes', 'reset', 'end']);
  link.cut();
  happen();
  expect(heard).toHaveLength(4);
});
