import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { Handovers } from '../../../workers/metrics/handovers.ts';
import { aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

class Watched {
  readonly registry = new Registry();
  readonly #handovers = new Handovers(this.registry);
  readonly #vmis = new Map<string, VmiView>();
  isRollingOut = true;
  isOfPool = true;

  /** Changes the VMI of a VM at that many milliseconds; `null`: it is deleted. */
  at(now: number, vm: string, change: Partial<VmiView> | null): void {
    const before = this.#vmis.get(vm);
    const after = change === null ? undefined : { ...(before ?? aVmi(aVm(vm))), ...change };
    const of = { namespace: 'shop', pool: 'web', isRollingOut: this.isRollingOut };
    this.#handovers.change({ before, after }, () => (this.isOfPool ? of : null), now);
    if (after === undefined) this.#vmis.delete(vm);
    else this.#vmis.set(vm, after);
  }

  /** How many handovers there were, and how many seconds they took together. */
  async handovers(): Promise<[count: number, seconds: number]> {
    const text = await this.registry.metrics();
    const read = (what: string): number => Number(new RegExp(`_${what} (.*)`).exec(text)?.[1] ?? 0);
    return [read('count'), read('sum')];
  }
}

function rollout(watched = new Watched()): Watched {
  for (const vm of ['web-1', 'web-2', 'web-3']) watched.at(0, vm, { ready: true });
  return watched;
}

test('a handover lasts from a VM that is ready again until the next one goes down', async () => {
  const watched = rollout();
  // What was ready at first counts as free, so that the first to go down takes a place of that time.
  watched.isRollingOut = false;
  watched.at(1, 'web-1', { ready: false });
  watched.isRollingOut = true;
  watched.at(1_000, 'web-1', { ready: true });
  watched.at(1_200, 'web-2', { deleting: true });
  watched.at(1_300, 'web-2', null);
  watched.at(5_000, 'web-2', { ready: true, deleting: false, uid: 'new' });
  watched.at(5_300, 'web-3', null);
  expect(await watched.handovers()).toEqual([2, 0.5]);
});

test('VMs that go down together are no handover, nor are those of other owners', async () => {
  const watched = new Watched();
  watched.isOfPool = false;
  watched.at(0, 'web-1', { ready: true });
  watched.isOfPool = true;
  watched.at(10, 'web-1', { ready: false });
  expect(await watched.handovers()).toEqual([0, 0]);
});

test('a pool that rolls nothing out has none, and a place that was free for too long is not counted', async () => {
  const watched = rollout();
  watched.at(400_000, 'web-1', { ready: false });
  watched.isRollingOut = false;
  watched.at(500_000, 'web-1', { ready: true });
  watched.isRollingOut = true;
  watched.at(500_001, 'web-2', { ready: false });
  expect(await watched.handovers()).toEqual([0, 0]);
});
