import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { waitForTermination } from '../../../activities/cache/wait-for-termination.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aVm } from '../../decisions/fixtures/fleets.ts';

const MEMBER = { name: 'web-1', uid: aVm('web-1').uid };

/** Waits while the cache shows these one after the other; returns how many it took. */
async function shownUntil(keepDisks: boolean, views: (VmView | undefined)[]): Promise<number> {
  let at = 0;
  const changes = new EventEmitter();
  const cache = {
    vms: { get: () => views[at], relist: () => Promise.reject(new Error('not shown')) },
    subscribe: (listener: () => void) => {
      changes.on('change', listener);
      return () => void changes.off('change', listener);
    },
  };
  let isOver = false;
  const waited = waitForTermination(cache as never, 'shop', 'vms', [MEMBER], keepDisks).then(() => (isOver = true));
  for (;;) {
    await new Promise(setImmediate);
    if (isOver || at === views.length - 1) break;
    at++;
    changes.emit('change');
  }
  await waited;
  return at + 1;
}

test('a VM that is terminating is known to leave, and one that is held for its disks once they are let go', async () => {
  const staying = aVm('web-1');
  const held = aVm('web-1', { deleting: true, keepsDisks: true });
  const free = aVm('web-1', { deleting: true, keepsDisks: false });
  expect(await shownUntil(false, [staying, held, free, undefined])).toBe(2);
  expect(await shownUntil(true, [staying, held, free, undefined])).toBe(3);
  expect(await shownUntil(true, [staying, held, undefined])).toBe(3);
  expect(await shownUntil(true, [staying, held, { ...staying, uid: 'of the next' }])).toBe(3);
});
