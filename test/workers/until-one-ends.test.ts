import { expect, test } from 'vitest';
import { untilOneEnds } from '../../workers/ending/until-one-ends.ts';

test('the error that ends all parts is told, and not a failure that another part has because of it', async () => {
  const stopping = new AbortController();
  const drained = Promise.withResolvers<void>();
  const serving = drained.promise.then(() => {
    throw new Error('Temporal refuses a worker that ends');
  });
  const watch = Promise.reject(new Error('the namespace was deleted'));
  await expect(untilOneEnds(stopping, [serving, watch], () => drained.resolve())).rejects.toThrow(
    'the namespace was deleted',
  );
  expect(stopping.signal.aborted).toBe(true);
});

test('a part that ends well ends the others', async () => {
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));
  await untilOneEnds(stopping, [stopped, Promise.resolve()], () => {});
});
