import { expect, test } from 'vitest';
import type { EndpointState } from './protocol.ts';
import { ToldStates } from './told-states.ts';

function endpoint(bufferedPoints: number): EndpointState {
  return {
    key: 'k',
    url: 'https://otlp.example.com/v1/metrics',
    workspaceId: 1,
    monitors: 1,
    encoding: 'json',
    lastSuccessAt: null,
    lastError: null,
    isFailing: false,
    taken: 0,
    rejected: 0,
    dropped: 0,
    bufferedRequests: 1,
    bufferedPoints,
    bufferedBytes: 10,
  };
}

test('what waited in a thread that has ended is dropped, and counts go on with the next', () => {
  const states = new ToldStates();
  states.told([endpoint(5), endpoint(7)], { taken: 100, rejected: 1, dropped: 2 });
  states.told(null, { taken: 110, rejected: 1, dropped: 2 });
  expect(states.points).toEqual({ taken: 110, rejected: 1, dropped: 2 });
  states.ended();
  expect(states.points).toEqual({ taken: 110, rejected: 1, dropped: 14 });
  expect(states.endpoints).toEqual([]);
  states.told([endpoint(0)], { taken: 4, rejected: 0, dropped: 0 });
  expect(states.points).toEqual({ taken: 114, rejected: 1, dropped: 14 });
  states.ended();
  states.ended();
  expect(states.points).toEqual({ taken: 114, rejected: 1, dropped: 14 });
});
