import { expect, test } from 'vitest';
import { watchParent } from './parent.ts';

test('a new parent is noticed once; the watch keeps no process alive', () => {
  let parent = 10;
  let isUnreferenced = false;
  let check = (): void => {};
  let told = 0;
  watchParent(
    () => {
      told += 1;
    },
    {
      parentId: () => parent,
      every: (_interval, given) => {
        check = given;
        return {
          unref: () => {
            isUnreferenced = true;
          },
        };
      },
    },
  );
  expect(isUnreferenced).toBe(true);

  check();
  expect(told).toBe(0);
  parent = 1;
  check();
  check();
  expect(told).toBe(1);
});
