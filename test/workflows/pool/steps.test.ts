import '../../own-modules.ts';
import { beforeEach, expect, test, vi } from 'vitest';
import type { PoolStep } from '../../../decisions/owners/steps.ts';
import { readConfig } from '../../../workers/config.ts';
import { FailureBackoff } from '../../../workflows/owners/failure-backoff.ts';
import { InFlight } from '../../../workflows/owners/in-flight.ts';
import { begin, type StepContext } from '../../../workflows/pool/steps.ts';

/** The activities that were started. None of them ends. */
const { begun, inputs, proxyActivities } = vi.hoisted(() => {
  const begun: string[] = [];
  const inputs: unknown[] = [];
  const hangs =
    (activity: string) =>
    (_options: object, args: unknown): Promise<never> => {
      begun.push(activity);
      inputs.push(args);
      return new Promise(() => {});
    };
  const get = (_: object, activity: string) => ({ executeWithOptions: hangs(activity) });
  return { begun, inputs, proxyActivities: () => new Proxy({}, { get }) };
});
vi.mock('@temporalio/workflow', async (original) => ({ ...(await original<object>()), proxyActivities }));
beforeEach(() => void [begun, inputs].map((all) => all.splice(0)));

const reason = 'a test';
const revisions: Record<string, PoolStep> = {
  createRevision: { kind: 'createRevision', reason },
  deleteRevisions: { kind: 'deleteRevisions', revisions: [], reason },
};
const notes: Record<string, PoolStep> = {
  annotateRuns: { kind: 'annotateRuns', vms: [], reason },
  unlabelKeptDisks: { kind: 'unlabelKeptDisks', claims: [], reason },
};
const members: Record<string, PoolStep> = {
  addLabels: { kind: 'addLabels', vms: [], reason },
  removeLabels: { kind: 'removeLabels', vms: [], reason },
  removeDiskFinalizers: { kind: 'removeDiskFinalizers', vms: [], reason },
  changeMembers: { kind: 'changeMembers', reason },
};
/** What activities are called, if not as their steps. */
const ACTIVITIES: Record<string, string> = { addLabels: 'labelVms', removeLabels: 'unlabelVms' };
const steps = { ...revisions, ...notes, ...members };
const pairs = Object.keys(steps).flatMap((one) => Object.keys(steps).map((other) => [one, other] as const));

test.each(pairs.filter(([one, other]) => one !== other))('a step %s that hangs does not delay %s', (a, b) => {
  const context = {
    key: { namespace: 'shop', name: 'web', uid: 'web-uid' },
    inProgress: new InFlight(),
    failureBackoff: new FailureBackoff(),
  } as StepContext;
  begin(steps[a]!, context);
  begin(steps[b]!, context);
  expect(begun).toEqual([a, b].map((kind) => ACTIVITIES[kind] ?? kind));
});

test('the deletion of as many VMs as may be in progress takes a quarter of what Temporal accepts at once', () => {
  expect(() => readConfig({ DROVER_BURST: '1001' })).toThrow('from 1 to 1000');
  const vms = Array.from({ length: 1_000 }, (_, n) => ({ name: `${'x'.repeat(59)}${n + 1_000}`, uid: 'u'.repeat(36) }));
  const context = {
    key: { namespace: 'shop', name: 'web', uid: 'web-uid' },
    generation: 1,
    leaving: vms.map(({ name }) => name),
    minVersions: {},
    journal: { begin: () => () => {} },
    inProgress: new InFlight(),
    failureBackoff: new FailureBackoff(),
  } as unknown as StepContext;
  begin({ kind: 'delete', vms, keepDisks: false, because: 'Surplus', reason } as PoolStep, context);
  expect(begun.length).toBeGreaterThan(5);
  expect(JSON.stringify(inputs).length).toBeLessThan(1024 * 1024);
});
