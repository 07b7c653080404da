import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { replicaSetGauges, type MeasuredSet } from '../../../workers/metrics/replica-set-gauges.ts';

const at = '2026-01-02T03:04:05Z';
const set: MeasuredSet = {
  kind: 'VirtualMachineReplicaSet',
  metadata: { namespace: 'ci', name: 'runners' },
  spec: { replicas: 5 },
  status: {
    replicas: 4,
    readyReplicas: 3,
    availableReplicas: 2,
    conditions: [
      { type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable', message: '', lastTransitionTime: at },
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota', lastTransitionTime: at },
      { type: 'Overlapping', status: 'True', reason: 'NamesTaken', message: '', lastTransitionTime: at },
      { type: 'Paused', status: 'True', reason: 'PausedBySpec', message: '', lastTransitionTime: at },
      { type: 'Stalled', status: 'False', reason: 'NotStalled', message: '', lastTransitionTime: at },
    ],
  },
};

const LABELS = 'namespace="ci",kind="VirtualMachineReplicaSet",set="runners"';

test('a set is measured by its spec and status, and each of its problems by its reason', async () => {
  const registry = new Registry();
  const gauges = replicaSetGauges(registry);
  gauges.look([set]);
  const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('drover_'));
  expect(lines).toEqual([
    `drover_replica_set_desired_replicas{${LABELS}} 5`,
    `drover_replica_set_current_replicas{${LABELS}} 4`,
    `drover_replica_set_ready_replicas{${LABELS}} 3`,
    `drover_replica_set_available_replicas{${LABELS}} 2`,
    `drover_replica_set_problem{${LABELS},type="ReplicaFailure",reason="FailedCreate"} 1`,
    `drover_replica_set_problem{${LABELS},type="Overlapping",reason="NamesTaken"} 1`,
  ]);
});

test('a set that is gone has no samples, and one without a status has no replicas', async () => {
  const registry = new Registry();
  const gauges = replicaSetGauges(registry);
  gauges.look([set]);
  const { status: _, ...fresh } = set;
  gauges.look([{ ...fresh, metadata: { namespace: 'ci', name: 'fresh' } }]);
  const text = await registry.metrics();
  expect(text).not.toContain('runners');
  expect(text).toContain(
    'drover_replica_set_current_replicas{namespace="ci",kind="VirtualMachineReplicaSet",set="fresh"} 0',
  );
});
