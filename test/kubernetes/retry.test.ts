import { expect, test } from 'vitest';
import { KubeError } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';

const conflict = new KubeError(409, 'Conflict', 'it has changed');
const missing = new KubeError(404, 'NotFound', 'it is gone');

/** Fails with each of the errors, and then succeeds; counts its calls. */
function failing(...errors: Error[]): { act: () => Promise<string>; calls: () => number } {
  let calls = 0;
  const act = (): Promise<string> => {
    const error = errors[calls++];
    return error === undefined ? Promise.resolve('done') : Promise.reject(error);
  };
  return { act, calls: () => calls };
}

test('an act is retried after a conflict, up to its limit', async () => {
  const twice = failing(conflict, conflict);
  await expect(retryOnConflict(twice.act, { tries: 3 })).resolves.toBe('done');
  const thrice = failing(conflict, conflict, conflict);
  await expect(retryOnConflict(thrice.act, { tries: 3 })).rejects.toBe(conflict);
  expect([twice.calls(), thrice.calls()]).toEqual([3, 3]);
});

test('any other error is thrown at once, unless the caller treats it as a race', async () => {
  const gone = failing(conflict, missing);
  await expect(retryOnConflict(gone.act, { tries: 9 })).rejects.toBe(missing);
  expect(gone.calls()).toBe(2);
  await expect(retryOnConflict(failing(missing).act, { tries: 2, isRace: () => true })).resolves.toBe('done');
});

test('a retry waits as long as the caller asks for', async () => {
  const waits: number[] = [];
  const pauseMs = (tries: number): number => (waits.push(tries), 0);
  await retryOnConflict(failing(conflict, conflict).act, { tries: 5, pauseMs });
  expect(waits).toEqual([1, 2]);
});

test('an act gets the number of its attempt, to look again after the first', async () => {
  const tries: number[] = [];
  const act = (count: number): Promise<void> => (
    tries.push(count),
    count < 3 ? Promise.reject(conflict) : Promise.resolve()
  );
  await retryOnConflict(act);
  expect(tries).toEqual([1, 2, 3]);
});
