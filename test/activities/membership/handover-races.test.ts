import { expect, test } from 'vitest';
import './virtual-pauses.ts';
import { KUBEVIRT_REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { ControllerRevisions, KubeVirtPools, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { pausedPoolOf, type KubeVirtPool } from '../../../decisions/membership/kubevirt-pool.ts';
import { Cluster, key } from './handover-cluster.ts';

/**
 * Has a worker carry something out once for each of its calls, and has something else happen right before that call.
 * Whether it succeeds is its own affair: `check` looks at what it leaves.
 */
async function beforeEachCall({
  given,
  command,
  happens,
  check,
}: {
  given: () => Cluster | Promise<Cluster>;
  command: 'takeOver' | 'release';
  happens: (cluster: Cluster) => unknown;
  check: (cluster: Cluster, call: string) => unknown;
}): Promise<void> {
  for (let number = 1; ; number++) {
    const cluster = await given();
    let met: string | undefined;
    cluster.calls = 0;
    cluster.before = async ({ verb, resource, name }) => {
      if (cluster.calls !== number) return;
      cluster.before = async () => {};
      met = `call ${number}: ${verb} ${resource.plural}.${resource.group} ${name}`;
      await happens(cluster);
    };
    await cluster[command]().catch(() => {});
    if (met === undefined) return;
    await check(cluster, met);
  }
}

const kill = (): never => {
  throw new Error('killed');
};

const poolIn = (cluster: Cluster): Stored => cluster.find(VirtualMachinePools)!;
const theirsIn = (cluster: Cluster): Stored<KubeVirtPool> | undefined => cluster.find<KubeVirtPool>(KubeVirtPools);
const ofKubeVirt = (): Cluster => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1');
  return cluster;
};

/** Each VM has a controller that is there: else the garbage collector would delete the VM. */
function expectOwners(cluster: Cluster, call: string): void {
  const pools = [...cluster.server.all(VirtualMachinePools), ...cluster.server.all(KubeVirtPools)];
  const uids = new Set(pools.map(({ metadata }) => metadata.uid));
  const lost = cluster.server.all(VirtualMachines).filter((vm) => !uids.has(controllerOf(vm)?.uid ?? ''));
  expect({ call, lost: lost.map(({ metadata }) => metadata.name) }).toEqual({ call, lost: [] });
}

/** KubeVirt would rewrite and restart a VM whose revision is gone. */
function expectRevisions(cluster: Cluster, call: string): void {
  const names = new Set(cluster.server.all(ControllerRevisions).map(({ metadata }) => metadata.name));
  const labels = cluster.server.all(VirtualMachines).map(({ metadata }) => metadata.labels?.[KUBEVIRT_REVISION_LABEL]);
  const lost = labels.filter((label) => label !== undefined && !names.has(label));
  expect({ call, lost }).toEqual({ call, lost: [] });
}

/** Two pools of which neither is held or paused would both make VMs. */
function expectOneThatGoesOn(cluster: Cluster, call: string): void {
  const theirs = theirsIn(cluster);
  const pool = cluster.find(VirtualMachinePools);
  const isHeld = pool === undefined || membershipChangeOf(pool) !== null;
  const isPaused = theirs === undefined || theirs.spec.paused === true;
  const isEmpty = pool === undefined || cluster.membersOf(pool).length === 0;
  expect({ call, isSafe: isPaused || (isHeld && isEmpty) }).toEqual({ call, isSafe: true });
}

test('a takeover that is cut short before any call leaves each VM with an owner, and the next one completes it', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: kill,
    check: async (cluster, call) => {
      expectOwners(cluster, call);
      expectOneThatGoesOn(cluster, call);
      await cluster.takeOver();
      expect({ call, vms: cluster.membersOf(poolIn(cluster)) }).toEqual({ call, vms: ['web-0', 'web-1'] });
      expect({ call, theirs: theirsIn(cluster), change: membershipChangeOf(poolIn(cluster)) }).toEqual({
        call,
        theirs: undefined,
        change: null,
      });
    },
  });
});

test('a takeover that is cut short before any call is taken back, and KubeVirt continues with what it had', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: kill,
    check: async (cluster, call) => {
      await cluster.release();
      expectOwners(cluster, call);
      expectRevisions(cluster, call);
      const theirs = theirsIn(cluster)!;
      expect({ call, vms: cluster.membersOf(theirs) }).toEqual({ call, vms: ['web-0', 'web-1'] });
      expect({ call, paused: theirs.spec.paused ?? false, by: pausedPoolOf(theirs) }).toEqual({
        call,
        paused: false,
        by: null,
      });
    },
  });
});

test('a release that is cut short before any call leaves each VM with an owner, and the next one completes it', async () => {
  await beforeEachCall({
    given: () => {
      const cluster = new Cluster();
      cluster.pool('web-1', 'web-2');
      return cluster;
    },
    command: 'release',
    happens: kill,
    check: async (cluster, call) => {
      expectOwners(cluster, call);
      expectRevisions(cluster, call);
      expectOneThatGoesOn(cluster, call);
      await cluster.release();
      expect({ call, vms: cluster.membersOf(theirsIn(cluster)!) }).toEqual({ call, vms: ['web-1', 'web-2'] });
      expect({ call, own: cluster.membersOf(poolIn(cluster)) }).toEqual({ call, own: [] });
      expectRevisions(cluster, call);
    },
  });
});

test("KubeVirt's changes before its pool is paused stay; later, it does nothing to surplus VMs", async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: (cluster) => {
      const theirs = theirsIn(cluster);
      if (theirs === undefined) return;
      cluster.server.write(KubeVirtPools, key, (pool) => ({ ...pool, spec: { ...theirs.spec, replicas: 3 } }));
      cluster.vm('web-2', theirs);
    },
    check: (cluster, call) => {
      expectOwners(cluster, call);
      expectOneThatGoesOn(cluster, call);
      const pool = poolIn(cluster);
      const isHeld = membershipChangeOf(pool) !== null;
      expect({ call, isHeld: isHeld || cluster.membersOf(pool).length <= 2 }).toEqual({ call, isHeld: true });
    },
  });
});

test('a KubeVirt pool that a user unpauses in the middle of a takeover is not deleted under the VMs that it makes', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: (cluster) => {
      const theirs = theirsIn(cluster);
      if (theirs?.spec.paused !== true) return;
      cluster.server.write(KubeVirtPools, key, (pool) => ({ ...pool, spec: { ...theirs.spec, paused: false } }));
      cluster.vm('web-7', theirs);
    },
    check: expectOwners,
  });
});

test('no takeover gives another VM to a pool that is being deleted', async () => {
  let late: string[] = [];
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: (cluster) => {
      late = [];
      const { uid } = poolIn(cluster).metadata;
      cluster.server.delete(VirtualMachinePools, key);
      cluster.onVm = (vm) => {
        if (controllerOf(vm)?.uid === uid) late.push(vm.metadata.name);
      };
    },
    // What is under way at that moment ends.
    check: (_cluster, call) =>
      expect({ call, late: late.length > 0 && !call.includes('patch') }).toEqual({ call, late: false }),
  });
});

test('a request that is taken back in the middle moves no more VMs', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: 'takeOver',
    happens: (cluster) => {
      cluster.server.write(VirtualMachinePools, key, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, annotations: { ...membershipHold(metadata) } },
      }));
    },
    check: (cluster, call) => {
      expectOwners(cluster, call);
      expectOneThatGoesOn(cluster, call);
    },
  });
});

/** The annotations without the request. */
const membershipHold = ({ annotations = {} }: Stored['metadata']): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => !name.includes('membership-request')));
