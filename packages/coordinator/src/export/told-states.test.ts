import { expect, test } from 'vitest';
import type { EndpointState } from './protocol.ts';
import { ToldStates } from './told-states.ts';

function endpoint(bufferedPoints: number, key = 'k'): EndpointState {
  return {
    key,
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
  states.told([], [endpoint(5), endpoint(7, 'l')], { taken: 100, rejected: 1, dropped: 2 });
  states.told([], [], { taken: 110, rejected: 1, dropped: 2 });
  expect(states.points).toEqual({ taken: 110, rejected: 1, dropped: 2 });
  states.ended();
  expect(states.points).toEqual({ taken: 110, rejected: 1, dropped: 14 });
  expect(states.endpoints).toEqual([]);
  states.told([], [endpoint(0)], { taken: 4, rejected: 0, dropped: 0 });
  expect(states.points).toEqual({ taken: 114, rejected: 1, dropped: 14 });
  states.ended();
  states.ended();
  expect(states.points).toEqual({ taken: 114, rejected: 1, dropped: 14 });
});

test('an endpoint stays as it was told last until it is gone, and may come again', () => {
  const states = new ToldStates();
  const none = { taken: 0, rejected: 0, dropped: 0 };
  states.told([], [endpoint(1), endpoint(2, 'l')], none);
  states.told([], [endpoint(3)], none);
  expect(states.endpoints).toEqual([endpoint(3), endpoint(2, 'l')]);
  states.told(['k', 'l'], [endpoint(4, 'l')], none);
  expect(states.endpoints).toEqual([endpoint(4, 'l')]);
});
