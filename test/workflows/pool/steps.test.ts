import '../../own-modules.ts';
import { beforeEach, expect, test, vi } from 'vitest';
import type { PoolStep } from '../../../decisions/pool/steps.ts';
import { InFlight } from '../../../workflows/owners/in-flight.ts';
import { begin, type StepContext } from '../../../workflows/pool/steps.ts';

/** The activities that were started. None of them ends. */
const { begun, proxyActivities } = vi.hoisted(() => {
  const begun: string[] = [];
  const hangs = (activity: string) => (): Promise<never> => {
    begun.push(activity);
    return new Promise(() => {});
  };
  const get = (_: object, activity: string) => ({ executeWithOptions: hangs(activity) });
  return { begun, proxyActivities: () => new Proxy({}, { get }) };
});
vi.mock('@temporalio/workflow', async (original) => ({ ...(await original<object>()), proxyActivities }));
beforeEach(() => void begun.splice(0));

const reason = 'a test';
const revisions: Record<string, PoolStep> = {
  createRevision: { kind: 'createRevision', reason },
  deleteRevisions: { kind: 'deleteRevisions', revisions: [], reason },
};
const notes: Record<string, PoolStep> = {
  annotateRuns: { kind: 'annotateRuns', vms: [], reason },
  unmarkKeptDisks: { kind: 'unmarkKeptDisks', claims: [], reason },
};
const steps = { ...revisions, ...notes };
const bothWays = (one: string) =>
  Object.keys(notes).flatMap(
    (other) =>
      [
        [one, other],
        [other, one],
      ] as const,
  );

test.each(Object.keys(revisions).flatMap(bothWays))('while %s hangs, %s is begun all the same', (one, other) => {
  const context = {
    key: { namespace: 'shop', name: 'web', uid: 'web-uid' },
    inProgress: new InFlight(),
  } as StepContext;
  begin(steps[one]!, context);
  begin(steps[other]!, context);
  expect(begun).toEqual([one, other]);
});
