import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { actInPool, type Acted } from '../../../activities/disruption-budget/claim.ts';
import type { DisruptionClaims } from '../../../activities/disruption-budget/disruption-claims.ts';
import { ActRefused } from '../../../kubernetes/errors.ts';
import { aPool, aVm, aVmi } from '../../decisions/fixtures/fleets.ts';

test.each<[what: string, come: Acted<null> | Error, given: (string | undefined)[]]>([
  ['was done', { isDone: true, value: null }, []],
  ['was not done', { isDone: false, value: null }, [undefined]],
  ['changes a VMI that runs', { isDone: 'live', value: null }, ['pool']],
  ['was refused', new ActRefused('Conflict', 'it has changed'), [undefined]],
  ['may have been done', new Error('a timeout'), []],
])('of an act that %s, the places that it does not use are given back', async (_what, come, given) => {
  const released: (string | undefined)[] = [];
  const claim = {
    pool: aPool(),
    isFresh: () => true,
    covers: () => true,
    release: async (only?: 'pool') => void released.push(only),
  };
  const claims = { claim: () => Promise.resolve(claim) } as unknown as DisruptionClaims;
  const vm = aVm('web-1');
  const target = {
    vm,
    vmi: aVmi(vm),
    reason: 'Rollout',
    pool: { namespace: 'shop', name: 'web', uid: 'pool-uid' },
  } as const;
  const act = async (): Promise<Acted<null>> => {
    if (come instanceof Error) throw come;
    return come;
  };
  const acted = () => actInPool(claims, target, act).catch((error: unknown) => error);
  expect(await new MockActivityEnvironment().run(acted)).toBe(come instanceof Error ? come : null);
  expect(released).toEqual(given);
});
