import type { PoolSpec } from '../../api/pool/pool.ts';
import {
  ClusterVirtualMachineDisruptionBudgets,
  KubeVirts,
  Namespaces,
  VirtualMachineDisruptionBudgets,
  VirtualMachineInstanceReplicaSets,
  VirtualMachineOperationSchedules,
  VirtualMachinePools,
  VirtualMachineReplicaSets,
  VirtualMachines,
} from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { aStep } from '../decisions/fixtures/rollout-pools.ts';
import { waitFor } from '../wait-for.ts';
import { NAMESPACE } from './seen-world.ts';

/** Machine types that operations change to and fro. */
export const TYPES = ['pc-q35-rhel8.6.0', 'pc-q35-rhel9.6.0'] as const;
const DISK = {
  metadata: { name: 'disk', annotations: { 'sim.drover.dev/provision-time': '200ms' } },
  spec: { storage: { resources: { requests: { storage: '1Gi' } } }, source: { blank: {} } },
};

/** What a VM is made from. The grace period makes a revision of a number: it requires a restart. */
const vmi = (revision: number) => ({
  metadata: {
    annotations: {
      'sim.drover.dev/boot-time': '800ms',
      'sim.drover.dev/stop-time': '200ms',
      'sim.drover.dev/migration-time': '2s',
    },
  },
  spec: { domain: { devices: {}, memory: { guest: '64Mi' } }, terminationGracePeriodSeconds: 30 + revision },
});

/** A patch of a pool that gives it the template of this number. */
export const revised = (revision: number) => ({
  spec: { template: { spec: { template: { spec: { terminationGracePeriodSeconds: 30 + revision } } } } },
});

const plain: PoolSpec['template'] = { spec: { runStrategy: 'Always', template: vmi(0) } };
const withDisk: PoolSpec['template'] = {
  spec: {
    runStrategy: 'Always',
    dataVolumeTemplates: [DISK],
    template: { ...vmi(0), spec: { ...vmi(0).spec, volumes: [{ name: 'root', dataVolume: { name: 'disk' } }] } },
  },
};

/** Replicas of most pools. */
export const REPLICAS = 15;

/** Of the VMs that are under one budget. */
const SHOP = { app: 'shop' };

/** Pools by their names: one for each kind of work. */
const POOLS: Record<string, PoolSpec> = {
  web: {
    replicas: 50,
    maxUnavailable: 4,
    template: { ...plain, metadata: { labels: SHOP } },
    rollout: {
      onFailure: 'Continue',
      steps: [aStep('10%', { wait: '2s' }), aStep('50%')],
    },
  },
  surge: { replicas: 20, maxUnavailable: 0, maxSurge: 3, template: plain, rollout: { onFailure: 'Continue' } },
  replaced: {
    replicas: REPLICAS,
    maxUnavailable: 3,
    template: plain,
    updateStrategy: { proactive: { disruption: 'Replace' } },
    rollout: { onFailure: 'Continue' },
  },
  sick: {
    replicas: REPLICAS,
    template: plain,
    autohealing: { startupFailureThreshold: 2, maxUnhealthy: '100%', backoff: { initial: '1s', jitter: 0 } },
  },
  drained: { replicas: REPLICAS, maxUnavailable: 2, template: plain, drain: {}, rollout: { onFailure: 'Continue' } },
  disks: {
    replicas: REPLICAS,
    template: withDisk,
    scaleInStrategy: { proactive: { statePreservation: 'Offline' } },
  },
};

/** Replica sets by their names. */
export const SETS = { runners: VirtualMachineReplicaSets, front: VirtualMachineInstanceReplicaSets } as const;
export const SET_REPLICAS = 12;
/** VMs of no owner. */
export const ALONE: readonly string[] = Array.from({ length: 60 }, (_, index) => `db-${index + 1}`);
/** These are stopped and started; the others run. */
export const SWITCHED = ALONE.slice(0, 10);
export const SCHEDULED = ALONE.slice(10, 14);

function setOf(name: keyof typeof SETS): object {
  const labels = { app: name };
  const template =
    name === 'front'
      ? { metadata: { ...vmi(0).metadata, labels }, spec: vmi(0).spec }
      : { metadata: { labels }, spec: { runStrategy: 'Always', template: vmi(0) } };
  return { replicas: SET_REPLICAS, selector: { matchLabels: labels }, template };
}

/** Makes all of it, and the schedule, which has a time each minute. */
export async function makeFleet(kube: KubeClient): Promise<void> {
  const namespace = NAMESPACE;
  await kube.create(Namespaces, { metadata: { name: namespace } });
  // KubeVirt's delays between starts are minutes.
  const annotations = { 'sim.drover.dev/backoff-factor': '0.01' };
  await waitFor(
    () => kube.patch(KubeVirts, { namespace: 'kubevirt', name: 'kubevirt' }, 'merge', { metadata: { annotations } }),
    60_000,
  );
  // Both are smaller than what asks for room in them: the pool `web` and VMs of no owner, and drains of nodes.
  const [selector, metadata] = [{ matchLabels: SHOP }, { namespace, name: 'shop' }];
  await kube.create(VirtualMachineDisruptionBudgets, { metadata, spec: { selector, maxUnavailable: 5 } });
  const migrations = { metadata: { name: 'migrations' }, spec: { selector: {}, maxMigrating: 1 } };
  await kube.create(ClusterVirtualMachineDisruptionBudgets, migrations);
  for (const [name, spec] of Object.entries(POOLS))
    await kube.create(VirtualMachinePools, { metadata: { namespace, name }, spec });
  for (const name of Object.keys(SETS) as (keyof typeof SETS)[])
    await kube.create(SETS[name], { metadata: { namespace, name }, spec: setOf(name) });
  for (const name of ALONE) {
    const { metadata, spec: guest } = vmi(0);
    const domain = { ...guest.domain, machine: { type: TYPES[0] } };
    const template = { metadata, spec: { ...guest, domain } };
    const spec = { runStrategy: 'Always', template };
    await kube.create(VirtualMachines, { metadata: { namespace, name, labels: SHOP }, spec });
  }
  const restart = { action: 'Restart', vms: { names: SCHEDULED }, atOnce: 1 };
  await kube.create(VirtualMachineOperationSchedules, {
    metadata: { namespace, name: 'minutely' },
    spec: { schedule: '* * * * *', operationTemplate: { spec: restart } },
  });
}
