import { expect, test } from 'vitest';
import { sharedCall } from '../../../activities/lib/shared-call.ts';

test('each caller gets the result of a call that started after its request, and concurrent callers share one call', async () => {
  const begun: PromiseWithResolvers<number>[] = [];
  const ask = sharedCall(() => {
    begun.push(Promise.withResolvers<number>());
    return begun.at(-1)!.promise;
  });
  const first = ask();
  await Promise.resolve();
  expect(begun).toHaveLength(1);
  const others = [ask(), ask(), ask()];
  await Promise.resolve();
  expect(begun).toHaveLength(1);
  begun[0]!.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => begun.length).toBe(2);
  begun[1]!.reject(new Error('away'));
  await expect(Promise.allSettled(others)).resolves.toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
    { status: 'rejected' },
  ]);
  const last = ask();
  await expect.poll(() => begun.length).toBe(3);
  begun[2]!.resolve(3);
  expect(await last).toBe(3);
});
