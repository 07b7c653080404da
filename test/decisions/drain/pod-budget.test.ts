import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import {
  podBudgetCondition,
  podBudgetSteps,
  podBudgetView,
  podBudgetSpec,
  type PodBudgetView,
} from '../../../decisions/drain/pod-budget.ts';
import { canonical } from '../../../decisions/lib/canonical-json.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import { aPool, aVm, aVmi } from '../fixtures/fleets.ts';

const withStrategy = (evictionStrategy: string): PoolSpec['template'] => ({
  spec: { runStrategy: 'Always', template: { spec: { domain: {}, evictionStrategy } } },
});
const none = { drain: {}, template: withStrategy('None'), maxUnavailable: 2 };
const there = (minAvailable: number): PodBudgetView => ({
  namespace: 'shop',
  name: 'drover-web',
  pool: 'web',
  poolUid: 'pool-uid',
  isLabelled: false,
  spec: canonical(podBudgetSpec('web', minAvailable)),
});

const given = (spec: Partial<PoolSpec>, vms: VmView[], podBudget?: PodBudgetView, metadata = {}) => ({
  pool: aPool({ replicas: vms.length, ...spec }, metadata),
  vms,
  vmiOf: (vm: VmView) => (vm.runStrategy === 'Halted' ? undefined : aVmi(vm)),
  podBudget,
});
const steps = (...args: Parameters<typeof given>) =>
  podBudgetSteps(given(...args)).map(({ minAvailable }) => minAvailable);

const five = ['web-1', 'web-2', 'web-3', 'web-4', 'web-5'].map((name) => aVm(name));

describe('the PodDisruptionBudget of a pool', () => {
  test('is removed as the pool ends, also if the garbage collector has taken its owner off', () => {
    const going = { deletionTimestamp: '2026-01-02T03:04:05Z' };
    const orphaned = { ...there(3), poolUid: null, isLabelled: true };
    expect(steps(none, five, orphaned, going)).toEqual([null]);
    expect(steps(none, five, orphaned)).toEqual([]);
    expect(steps(none, five, { ...orphaned, isLabelled: false }, going)).toEqual([]);
  });

  test('lets as many of the pods that should run go as the pool allows', () => {
    expect(steps(none, five)).toEqual([3]);
    expect(steps(none, [...five.slice(1), aVm('web-1', { runStrategy: 'Halted' })])).toEqual([2]);
    expect(steps(none, [...five.slice(1), aVm('web-1', { deleting: true })])).toEqual([3]);
    expect(steps({ ...none, replicas: 9 }, five)).toEqual([7]);
    expect(steps({ ...none, maxUnavailable: 9 }, five)).toEqual([0]);
  });

  test('counts ready pods of replicas and of standby VMs, and not those of extra VMs, which stand in', () => {
    expect(steps({ ...none, replicas: 5 }, [...five, aVm('web-6', { role: 'Standby' })])).toEqual([4]);
    const paused = aVm('web-6', { role: 'Standby', ready: false, state: 'Paused' });
    expect(steps({ ...none, replicas: 5 }, [...five, paused])).toEqual([3]);
    const stopped = aVm('web-6', { role: 'Standby', runStrategy: 'Halted' });
    expect(steps({ ...none, replicas: 5 }, [...five, stopped])).toEqual([3]);
    expect(steps({ ...none, replicas: 5 }, [...five, aVm('web-6', { role: 'Surge' })])).toEqual([3]);
  });

  test('is written if it differs, and removed if it is no longer wanted', () => {
    expect(steps(none, five, there(3))).toEqual([]);
    expect(steps(none, five, there(4))).toEqual([3]);
    expect(steps({ ...none, drain: {}, template: withStrategy('External') }, five, there(3))).toEqual([null]);
    expect(steps({ template: withStrategy('None') }, five, there(3))).toEqual([null]);
    expect(steps(none, five, there(3), { deletionTimestamp: '2026-01-01T00:00:00Z' })).toEqual([null]);
  });

  test('does not exist in a pool whose VMs drover moves, or nothing moves', () => {
    expect(steps({ drain: {} }, five)).toEqual([]);
    expect(steps({ template: withStrategy('None') }, five)).toEqual([]);
  });

  test('is left alone, with a message, while it does not belong to this pool', () => {
    const theirs = { ...there(3), poolUid: null };
    for (const podBudget of [theirs, { ...theirs, poolUid: 'of-another' }, { ...theirs, spec: '{}' }]) {
      expect(steps(none, five, podBudget)).toEqual([]);
      expect(steps({ template: withStrategy('None') }, five, podBudget)).toEqual([]);
      expect(podBudgetCondition(given(none, five, podBudget))).toMatchObject([
        { type: 'EvictionsNotLimited', status: 'True', reason: 'NameTaken' },
      ]);
      expect(podBudgetCondition(given({ template: withStrategy('None') }, five, podBudget))).toEqual([]);
    }
    expect(podBudgetCondition(given(none, five, there(3)))).toEqual([]);
    expect(podBudgetCondition(given(none, five))).toEqual([]);
  });

  test.each<[object | undefined, boolean]>([
    [{ matchLabels: { tier: 'front' } }, true],
    [{ matchLabels: { 'drover.dev/pool': 'web' } }, true],
    [{ matchExpressions: [{ key: 'kubevirt.io', operator: 'Exists' }] }, true],
    [{}, true],
    [undefined, false],
    [{ matchLabels: { tier: 'back' } }, false],
  ])('is said to be of no use while another with the selector %j selects its pods: %j', (selector, expected) => {
    const template = withStrategy('None');
    const labelled = {
      spec: { ...template.spec, template: { ...template.spec.template, metadata: { labels: { tier: 'front' } } } },
    };
    const other = {
      namespace: 'shop',
      name: 'guard',
      pool: null,
      poolUid: null,
      isLabelled: false,
      spec: canonical({ selector }),
    };
    const conditionOf = (spec: Partial<PoolSpec>) =>
      podBudgetCondition({ ...given(spec, five, there(3)), otherPodBudgets: [other] });
    const { drain: _drain, ...withoutDrain } = { ...none, template: labelled };
    expect(conditionOf(withoutDrain)).toEqual([]);
    expect(conditionOf({ ...none, template: labelled })).toMatchObject(
      expected ? [{ reason: 'AnotherSelects', message: expect.stringContaining('guard') as string }] : [],
    );
  });

  test('is recognized by its name and its owner', () => {
    const owner = {
      apiVersion: 'drover.dev/v1alpha1',
      kind: 'VirtualMachinePool',
      name: 'web',
      uid: 'pool-uid',
      controller: true,
    };
    const metadata = { namespace: 'shop', name: 'drover-web', uid: 'u', resourceVersion: '1', creationTimestamp: '' };
    const spec = podBudgetSpec('web', 3);
    expect(podBudgetView({ metadata: { ...metadata, ownerReferences: [owner] }, spec })).toEqual(there(3));
    expect(podBudgetView({ metadata: { ...metadata, name: 'web' }, spec })).toMatchObject({ name: 'web', pool: null });
    const ofKubeVirt = { selector: { matchLabels: { 'kubevirt.io/created-by': 'vmi-uid' } } };
    expect(podBudgetView({ metadata: { ...metadata, name: 'kubevirt-1' }, spec: ofKubeVirt as never })).toBeNull();
    expect(podBudgetView({ metadata, spec })).toEqual({ ...there(3), poolUid: null });
    const theirs = { ...owner, apiVersion: 'pool.kubevirt.io/v1beta1' };
    expect(podBudgetView({ metadata: { ...metadata, ownerReferences: [theirs] }, spec })?.poolUid).toBeNull();
  });
});
