import { beforeEach, expect, test } from 'vitest';
import './virtual-pauses.ts';
import { KUBEVIRT_REVISION_LABEL, POOL_FINALIZER } from '../../../api/names.ts';
import { controllerOf, type KubeObject, type Stored } from '../../../api/objects.ts';
import { ControllerRevisions, KubeVirtPools, VirtualMachinePools, VirtualMachines } from '../../../api/resources.ts';
import { wantedReplicas } from '../../../api/wanted-replicas.ts';
import type { Pool } from '../../../clients/cli/objects.ts';
import { pausedPoolOf, type KubeVirtPool } from '../../../clients/membership/takeover/kubevirt-pool.ts';
import { revisionFor } from '../../../clients/membership/takeover/kubevirt-revisions.ts';
import { release } from '../../../clients/membership/takeover/release.ts';
import { takeOver } from '../../../clients/membership/takeover/takeover.ts';
import { membershipChangeOf } from '../../../decisions/membership/change.ts';
import { Cluster, key, options, silence } from './cluster.ts';

beforeEach(silence);

/**
 * Plays the command once for each of its calls, and has something else happen right before that call. Whether the
 * command succeeds is its own affair: `check` looks at what it leaves.
 */
async function beforeEachCall({
  given,
  command,
  happens,
  check,
}: {
  given: () => Cluster | Promise<Cluster>;
  command: (cluster: Cluster) => Promise<void>;
  happens: (cluster: Cluster) => Promise<unknown>;
  check: (cluster: Cluster, call: string) => void;
}): Promise<void> {
  for (let number = 1; ; number++) {
    const cluster = await given();
    let met: string | undefined;
    cluster.before = async ({ verb, resource, name }) => {
      if (cluster.calls !== number) return;
      cluster.before = async () => {};
      met = `call ${number}: ${verb} ${resource.plural}.${resource.group} ${name}`;
      await happens(cluster).catch(() => {});
    };
    await command(cluster).catch(() => {});
    if (met === undefined) return;
    check(cluster, met);
  }
}

const poolIn = (cluster: Cluster): Stored<Pool> => cluster.find<Pool>(VirtualMachinePools)!;

/** The pool wants as many VMs as it has. */
function expectBalance(cluster: Cluster, call: string): void {
  const pool = poolIn(cluster);
  expect({ call, replicas: pool.spec.replicas }).toEqual({ call, replicas: cluster.membersOf(pool).length });
}

/** Given a pool of KubeVirt that another command has begun to take over: web-0 is drover's. */
async function halfTaken(): Promise<Cluster> {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1', 'web-2');
  cluster.before = async ({ verb, resource, name }) => {
    if (verb === 'patch' && resource.plural === 'virtualmachines' && name === 'web-1') throw new Error('killed');
  };
  await takeOver(cluster.session(), key, options).catch(() => {});
  cluster.before = async () => {};
  cluster.calls = 0;
  // As a worker does: a pool that is deleted stays until its VMs are gone.
  const finalizers = [POOL_FINALIZER];
  cluster.server.write(VirtualMachinePools, key, (pool) => ({ ...pool, metadata: { ...pool.metadata, finalizers } }));
  expect(cluster.membersOf(poolIn(cluster))).toEqual(['web-0']);
  return cluster;
}

/** Each VM has a controller that is there: else the garbage collector would delete the VM. */
function expectOwners(cluster: Cluster, call: string): void {
  const pools = [...cluster.server.all(VirtualMachinePools), ...cluster.server.all(KubeVirtPools)];
  const uids = new Set(pools.map(({ metadata }) => metadata.uid));
  const lost = cluster.server.all(VirtualMachines).filter((vm) => !uids.has(controllerOf(vm)?.uid ?? ''));
  expect({ call, lost: lost.map(({ metadata }) => metadata.name) }).toEqual({ call, lost: [] });
}

test('a takeover that was frozen while somebody took it back gives no VM to the pool that is gone', async () => {
  await beforeEachCall({
    given: halfTaken,
    command: (cluster) => takeOver(cluster.session(), key, options),
    happens: (cluster) => release(cluster.session(), key, options),
    check: expectOwners,
  });
});

/** KubeVirt would rewrite and restart a VM whose revision is gone. */
function expectRevisions(cluster: Cluster, call: string): void {
  const names = new Set(cluster.server.all(ControllerRevisions).map(({ metadata }) => metadata.name));
  const labels = cluster.server.all(VirtualMachines).map(({ metadata }) => metadata.labels?.[KUBEVIRT_REVISION_LABEL]);
  const lost = labels.filter((label) => label !== undefined && !names.has(label));
  expect({ call, lost }).toEqual({ call, lost: [] });
}

test('a takeover that was frozen while a release gave VMs back, and was killed, takes nothing from them', async () => {
  await beforeEachCall({
    given: async () => {
      const cluster = await halfTaken();
      // An earlier release has made it.
      const theirs = cluster.find<KubeVirtPool>(KubeVirtPools)!;
      await revisionFor(await cluster.session().kube(), KubeVirtPools, theirs);
      cluster.calls = 0;
      return cluster;
    },
    command: (cluster) => takeOver(cluster.session(), key, options),
    happens: async (cluster) => {
      cluster.before = async ({ verb, resource }) => {
        if (verb === 'delete' && resource.group === VirtualMachinePools.group) throw new Error('killed');
      };
      await release(cluster.session(), key, options).catch(() => {});
      cluster.before = async () => {};
    },
    check: (cluster, call) => {
      expectOwners(cluster, call);
      expectRevisions(cluster, call);
    },
  });
});

test('a release that was frozen resumes no pool of KubeVirt that another command has paused since', async () => {
  await beforeEachCall({
    given: halfTaken,
    command: (cluster) => release(cluster.session(), key, options),
    happens: async (cluster) => {
      await release(cluster.session(), key, options);
      cluster.before = async ({ verb, resource, name }) => {
        if (verb === 'patch' && resource.plural === 'virtualmachines' && name === 'web-1') throw new Error('killed');
      };
      await takeOver(cluster.session(), key, options).catch(() => {});
      cluster.before = async () => {};
    },
    check: (cluster, call) => {
      expectOwners(cluster, call);
      const pool = cluster.find<Pool>(VirtualMachinePools);
      const isTaking = pool !== undefined && membershipChangeOf(pool) !== null;
      const theirs = cluster.find<KubeVirtPool>(KubeVirtPools)!;
      const isPaused = theirs.spec.paused === true && pausedPoolOf(theirs) !== null;
      expect({ call, isTaking, isPaused }).toEqual({ call, isTaking, isPaused: isTaking });
    },
  });
});

const ofKubeVirt = (): Cluster => {
  const cluster = new Cluster();
  cluster.kubeVirtPool('web-0', 'web-1');
  return cluster;
};
const takeOverIn = (cluster: Cluster) => takeOver(cluster.session(), key, options);

test('two takeovers at once take over each VM', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: takeOverIn,
    happens: takeOverIn,
    check: (cluster, call) => {
      expect({ call, vms: cluster.membersOf(poolIn(cluster)) }).toEqual({ call, vms: ['web-0', 'web-1'] });
      expectBalance(cluster, call);
      expect(cluster.find(KubeVirtPools)).toBeUndefined();
      expect(membershipChangeOf(poolIn(cluster))).toBeNull();
    },
  });
});

/** A person has the pool, which has ended its takeover, want two more VMs. */
function edit(cluster: Cluster): void {
  cluster.server.write(VirtualMachinePools, key, (pool) => ({
    ...pool,
    spec: { ...(pool['spec'] as object), replicas: 4 },
  }));
}

test('a takeover that was frozen while another one ended changes nothing of what people have made of the pool since', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: takeOverIn,
    happens: async (cluster) => {
      await takeOverIn(cluster).catch(() => {});
      edit(cluster);
    },
    check: (cluster, call) => {
      const pool = cluster.find<Pool>(VirtualMachinePools)!;
      const isEdited = cluster.find(KubeVirtPools) === undefined && pool.spec.replicas === 4;
      expect({ call, isEdited, change: membershipChangeOf(pool) }).toEqual({ call, isEdited: true, change: null });
    },
  });
});

test('a takeover that was frozen while another one ended and was taken back leaves no pool that would make VMs', async () => {
  await beforeEachCall({
    given: ofKubeVirt,
    command: takeOverIn,
    happens: async (cluster) => {
      await takeOverIn(cluster);
      await release(cluster.session(), key, options);
    },
    check: (cluster, call) => {
      expectOwners(cluster, call);
      const pool = cluster.find<Pool>(VirtualMachinePools);
      const goesOn = pool !== undefined && cluster.membersOf(pool).length < wantedReplicas(pool);
      expect({ call, goesOn }).toEqual({ call, goesOn: false });
    },
  });
});

test('what KubeVirt does until its pool is paused is taken over too', async () => {
  const refused: string[] = [];
  await beforeEachCall({
    given: ofKubeVirt,
    command: takeOverIn,
    happens: async (cluster) => {
      const theirs = cluster.find<KubeObject & { spec: { paused?: boolean } }>(KubeVirtPools);
      if (theirs === undefined || theirs.spec.paused === true) return;
      cluster.server.write(KubeVirtPools, key, (pool) => ({ ...pool, spec: { ...theirs.spec, replicas: 3 } }));
      cluster.vm('web-2', theirs);
    },
    check: (cluster, call) => {
      if (cluster.find(VirtualMachinePools) !== undefined) return expectBalance(cluster, call);
      refused.push(call);
      // It noticed in time, and has left KubeVirt's pool as it was.
      expect({ call, spec: cluster.find(KubeVirtPools)?.['spec'] }).not.toMatchObject({ spec: { paused: true } });
    },
  });
  // Only what happens before it has looked at VMs does not fit what it has read.
  expect(refused.filter((call) => call.includes('patch'))).toEqual([]);
});

test('no takeover gives a pool that is being deleted another VM', async () => {
  let late: string[] = [];
  await beforeEachCall({
    given: halfTaken,
    command: takeOverIn,
    happens: async (cluster) => {
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
