import { expect, test } from 'vitest';
import { conditionOf } from '../../../api/objects.ts';
import type { PoolStatus } from '../../../api/pool/pool.ts';
import { planPool } from '../../../decisions/pool/plan.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi, quiet } from '../fixtures/fleets.ts';

const REFUSED = 'Failure while starting VMI: denied: VMIs need the label team';
const NOT_THERE = { hasVmi: false, ready: false, state: 'Stopped' };
const NO_NODE = { ready: false, phase: 'Scheduling', whyNotReady: '0/3 nodes are available' };

const statusOf = (vms: VmView[], vmi: Partial<VmiView> = {}, stored?: PoolStatus, now = quiet.now): PoolStatus => {
  const pool = { ...aPool({ replicas: vms.length }), ...(stored === undefined ? {} : { status: stored }) };
  const vmiOf = (vm: VmView): VmiView | undefined => (vm.hasVmi ? aVmi(vm, vmi) : undefined);
  return planPool({ pool, ...quiet, vms, vmiOf, burst: 10, now }).status ?? stored!;
};

test.each<[string, Partial<VmView>, Partial<VmiView>, string | null]>([
  ['a VMI that is refused', { ...NOT_THERE, failure: REFUSED }, {}, REFUSED],
  ['a VMI that finds no node', { ready: false, state: 'ErrorUnschedulable' }, NO_NODE, NO_NODE.whyNotReady],
  ['a claim that is not there', { ...NOT_THERE, state: 'ErrorPvcNotFound' }, {}, 'ErrorPvcNotFound'],
  ['a VM that starts', { ready: false, state: 'Starting' }, { ready: false, phase: 'Scheduled' }, null],
  ['a disk that is filled', { ...NOT_THERE, state: 'Provisioning' }, {}, null],
  ['an old failure of a VM that runs', { failure: REFUSED }, {}, null],
  ['a VM that a user has stopped', { ...NOT_THERE, runStrategy: 'Halted', failure: REFUSED }, {}, null],
])('ReplicaFailure says what keeps VMs from starting: %s', (_what, fields, vmi, expected) => {
  const status = statusOf([aVm('web-1', fields), aVm('web-2', fields)], vmi);
  const condition = conditionOf(status, 'ReplicaFailure');
  expect(condition?.reason).toBe(expected === null ? undefined : 'FailedStart');
  if (expected === null) return;
  expect(condition!.message).toMatch(/^2 VMs cannot start; web-1, web-2: /);
  expect(condition!.message).toContain(expected);
});

test('a pool whose VMs have not started for progressDeadlineSeconds is stalled, so that who waits for it learns why', () => {
  const vms = [aVm('web-1', { ...NOT_THERE, failure: REFUSED })];
  const first = statusOf(vms);
  expect(conditionOf(first, 'Stalled')).toBeUndefined();
  const later = statusOf(vms, {}, first, quiet.now + 600_000);
  expect(conditionOf(later, 'Stalled')).toMatchObject({ reason: 'FailedStart' });
  expect(conditionOf(later, 'Stalled')!.message).toContain(REFUSED);
});
