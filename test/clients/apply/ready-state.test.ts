import { expect, test } from 'vitest';
import { readyStateOf } from '../../../clients/apply/ready-state.ts';
import { Pools } from '../../../clients/cli/kinds.ts';
import { URGENCY } from '../../../decisions/notices/urgency.ts';
import { setWith, VmSets } from '../replica-sets/sets.ts';
import { hashOf, poolWith, type UserRequest } from '../rollout/pools.ts';

type Conditions = NonNullable<NonNullable<UserRequest['status']>['conditions']>;

const condition = (type: string, reason: string, status: 'True' | 'False' = 'True'): Conditions[number] => ({
  type,
  status,
  reason,
  message: 'so it is',
});

/** A pool whose rollout is complete, and what else its status says. */
const complete = (more: UserRequest['status'] = {}, others: Conditions = []) =>
  poolWith({
    status: {
      currentRevision: hashOf(2),
      updatedReplicas: 10,
      readyReplicas: 10,
      unavailableReplicas: 0,
      conditions: [condition('Progressing', 'Complete', 'False'), condition('UpToDate', 'UpToDate'), ...others],
      ...more,
    },
  });
const readyState = (pool: ReturnType<typeof poolWith>) => readyStateOf(Pools, pool);

const stuck = (pool: ReturnType<typeof poolWith>): string | null => {
  const told = readyState(pool);
  return told.state === 'stuck' ? told.message : null;
};

test('a pool is ready once all VMs are updated and available, for the newest spec', () => {
  expect(readyState(complete())).toEqual({ state: 'there' });
  expect(readyState({ ...complete(), metadata: { ...complete().metadata, generation: 3 } })).toMatchObject({
    state: 'going',
    phase: 'Pending',
  });
  expect(readyState(complete({ unavailableReplicas: 2 }))).toMatchObject({
    state: 'going',
    message: '2 of 10 VMs are not available',
  });
  expect(readyState(complete({ replicas: 8, unavailableReplicas: 2 }))).toMatchObject({ state: 'going' });
});

test('a problem that may pass is reported, and waited for', () => {
  const refused = condition('ReplicaFailure', 'FailedCreate');
  expect(readyState(complete({ replicas: 8, unavailableReplicas: 2 }, [refused]))).toMatchObject({
    state: 'going',
    notes: ['FailedCreate: so it is'],
  });
  // All that the table of urgency has, but for what the state says itself.
  const types = Object.keys(URGENCY).filter((type) => !['Stalled', 'Degraded', 'Progressing', 'Paused'].includes(type));
  const others = types.filter((type) => type !== 'ScaleInBlocked').map((type) => condition(type, type));
  expect(readyState(complete({ unavailableReplicas: 2 }, others))).toMatchObject({
    state: 'going',
    notes: others.map(({ type }) => `${type}: so it is`),
  });
  for (const reason of ['RollingOut', 'WaitingForApproval', 'WaitingForWindow', 'ProgressDeadlineExceeded'])
    expect(readyState(poolWith({ progressing: [reason, 'True'] }))).toMatchObject({ state: 'going', phase: reason });
});

test('a problem that does not pass by itself ends the wait', () => {
  const halted = { kind: 'Failed', by: 'drover', at: '2026-01-01T00:00:00Z', reason: '1 VM failed' } as const;
  expect(stuck(poolWith({ rollout: { halted }, progressing: ['Failed', 'False', '1 VM failed'] }))).toContain(
    'pool web: the rollout of this template has failed, and was stopped, by drover: 1 VM failed',
  );
  expect(stuck(poolWith({ spec: { paused: true }, progressing: ['Paused', 'False'] }))).toBe(
    'it is paused by spec.paused',
  );
  expect(stuck(poolWith({ progressing: ['OutdatedVms', 'False', 'web-1: it runs'] }))).toContain(
    'leaves VMs to others',
  );
  expect(stuck(complete({ replicas: 11 }, [condition('ScaleInBlocked', 'Protected')]))).toBe('Protected: so it is');
  expect(stuck(complete({}, [condition('Stalled', 'InvalidTemplate')]))).toBe('InvalidTemplate: so it is');
});

test('a replica set is ready once it has all its members, and enough are available', () => {
  const set = setWith({ replicas: 3 });
  const with_ = (replicas: number, reason: string, available: 'True' | 'False', from = set) =>
    readyStateOf(VmSets, {
      ...from,
      status: {
        observedGeneration: set.metadata.generation ?? 0,
        replicas,
        conditions: [
          condition('Progressing', reason, 'False'),
          condition('Available', 'MinimumReplicasAvailable', available),
        ],
      },
    });
  expect(with_(3, 'Complete', 'True')).toEqual({ state: 'there' });
  expect(with_(3, 'Complete', 'False')).toMatchObject({ state: 'going', message: 'so it is' });
  const { template } = set.spec;
  const halted = setWith({ replicas: 3, template: { ...template, spec: { ...template.spec, runStrategy: 'Halted' } } });
  expect(with_(3, 'Complete', 'False', halted)).toEqual({ state: 'there' });
  expect(with_(2, 'ScalingOut', 'False')).toMatchObject({ state: 'going', phase: 'ScalingOut' });
  expect(with_(2, 'Paused', 'False')).toMatchObject({ state: 'stuck' });
});
