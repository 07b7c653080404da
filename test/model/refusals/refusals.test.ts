import '../world/real-code.ts';
import { describe, expect, test } from 'vitest';
import { ROLE_LABEL } from '../../../api/labels-and-annotations.ts';
import type { Stored } from '../../../api/objects.ts';
import { OWNER_KINDS } from '../../../api/owner-kinds.ts';
import { KubeError } from '../../../kubernetes/errors.ts';
import { isRemoved } from '../facts.ts';
import { aSpec, aTemplate } from '../pools.ts';
import { aSetSpec, SETS } from '../sets.ts';
import { crashLoop } from '../stories/crash-loop.ts';
import { begun, play, statusOf } from '../stories/story.ts';
import type { Call } from '../world/model-client.ts';
import type { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
/** Tries within a minute of delays that double from a second on, and one for the answer to the change itself. */
const MAX_TRIES = 9;

const denied = new KubeError(403, 'Forbidden', 'admission webhook "protection" denied the request');
const isOf =
  (verb: Call['verb'], plural: string) =>
  (call: Call): boolean =>
    call.verb === verb && call.resource?.plural === plural;
const createsVm = isOf('create', 'virtualmachines');
const deletesVm = isOf('delete', 'virtualmachines');

/** Has the API server refuse such calls of workers, and returns how often it has. */
function refusing(world: World, isRefused: (call: Call) => boolean): () => number {
  let count = 0;
  world.refuse = (call) => {
    if (!isRefused(call)) return null;
    count++;
    return denied;
  };
  return () => count;
}

const failureOf = (world: World, name = 'web') =>
  statusOf(world, name)?.conditions?.find(({ type }) => type === 'ReplicaFailure');
const vmsOf = (world: World) => world.vmsOf(world.pool('web')!.metadata.uid);

/** Checks that what is refused from now on is tried less and less often and told of, and done once it may be. */
async function triedWithDelays(
  world: World,
  count: () => number,
  reason: string,
  isDone: () => boolean,
): Promise<void> {
  if (!(await world.until(() => count() > 0, 5 * MINUTE_MS))) world.break('G25: it is never tried');
  const before = count();
  await world.wait(MINUTE_MS);
  if (count() - before > MAX_TRIES) world.break(`G25: it is tried ${count() - before} times in a minute`);
  if (!(await world.until(() => failureOf(world)?.reason === reason, 5_000)))
    world.break(`G25: ${reason} is not told: ${JSON.stringify(failureOf(world))}`);
  expect(failureOf(world)?.message).toContain('denied the request');
  world.refuse = () => null;
  if (!(await world.until(() => isDone() && failureOf(world) === undefined, 2 * MINUTE_MS)))
    world.break(`G25: it is not done once it may be, and the status says ${JSON.stringify(failureOf(world))}`);
}

const readyStandby = (world: World, count: number) => (): boolean => statusOf(world)?.readyStandbyReplicas === count;
test('a surplus standby VM', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, standby: { replicas: 1 } });
    await world.until(readyStandby(world, 1), MINUTE_MS);
    const count = refusing(world, deletesVm);
    await world.people.changePool('web', { standby: { replicas: 0 } });
    await triedWithDelays(world, count, 'FailedDelete', () => vmsOf(world).length === 2);
  }));

test('an extra VM that no update needs', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, maxUnavailable: 0, maxSurge: 1 });
    const count = refusing(world, deletesVm);
    await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
    await triedWithDelays(world, count, 'FailedDelete', () => vmsOf(world).length === 2);
  }));

test('a VM that would be halted first, and runs as long as its deletion is refused', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, scaleInStrategy: { proactive: { statePreservation: 'Offline' } } });
    const count = refusing(world, deletesVm);
    await world.people.changePool('web', { replicas: 1 });
    await world.wait(MINUTE_MS);
    if (vmsOf(world).some(isRemoved)) world.break('G25: a VM is halted although its deletion is refused');
    await triedWithDelays(world, count, 'FailedDelete', () => vmsOf(world).length === 1);
  }));

test('a VM that was halted to leave a pool that wants as many again', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, scaleInStrategy: { proactive: { statePreservation: 'Offline' } } });
    await world.people.changePool('web', { replicas: 1 });
    await world.until(() => vmsOf(world).some(isRemoved), MINUTE_MS);
    const count = refusing(world, deletesVm);
    await world.people.changePool('web', { replicas: 2 });
    const isDone = (): boolean => statusOf(world)?.readyReplicas === 2 && !vmsOf(world).some(isRemoved);
    await triedWithDelays(world, count, 'FailedDelete', isDone);
  }));

test('an unhealthy VM that leaves with its disks kept', () =>
  play(async (world) => {
    const autohealing = { startupFailureThreshold: 1, maxUnhealthy: '100%', preserveStorage: true };
    await begun(world, { replicas: 3, autohealing, template: aTemplate({ disk: 'root' }) });
    const uid = world.vm('web-2')!.metadata.uid;
    // Healing refuses to halt a VM that may not be deleted: the refusal comes once it has begun.
    const count = refusing(world, (call) => deletesVm(call) && vmsOf(world).some(isRemoved));
    crashLoop(world, 'web-2');
    await world.until(() => vmsOf(world).some(isRemoved), MINUTE_MS);
    const isDone = (): boolean => vmsOf(world).every(({ metadata }) => metadata.uid !== uid);
    await triedWithDelays(world, count, 'FailedDelete', isDone);
  }));

test('a standby VM that is to be paused', () =>
  play(async (world) => {
    const count = refusing(world, ({ key }) => key.name?.endsWith('/pause') === true);
    await world.people.createPool('web', aSpec({ replicas: 1, standby: { replicas: 1, state: 'Paused' } }));
    const isPaused = (): boolean =>
      world.vmi('web-2')?.status?.conditions?.some(({ type }) => type === 'Paused') === true;
    await triedWithDelays(world, count, 'FailedStandby', isPaused);
  }));

test('a kept disk that the next VM of its number cannot use', () =>
  play(async (world) => {
    const offline = { proactive: { statePreservation: 'Offline' } } as const;
    await begun(world, { replicas: 2, scaleInStrategy: offline, template: aTemplate({ disk: 'root' }) });
    await world.people.changePool('web', { replicas: 1 });
    await world.until(() => statusOf(world)?.keptDisks === 1, MINUTE_MS);
    const count = refusing(world, ({ verb, resource }) => verb === 'delete' && resource?.plural !== 'virtualmachines');
    await world.people.changePool('web', { replicas: 2, scaleInStrategy: { proactive: {} } });
    await triedWithDelays(world, count, 'FailedCreate', () => statusOf(world)?.readyReplicas === 2);
  }));

const scaledOut = async (world: World, standby: number): Promise<void> => {
  await begun(world, { replicas: 2, standby: { replicas: standby, state: 'Paused' } });
  await world.until(readyStandby(world, standby), MINUTE_MS);
  const timeout = new KubeError(500, 'InternalError', 'Internal error occurred: dial tcp 10.0.0.7:8186: i/o timeout');
  world.refuse = ({ key }) => (key.name?.endsWith('/web-3/unpause') === true ? timeout : null);
  await world.people.changePool('web', { replicas: 3 });
  if (!(await world.until(() => statusOf(world)?.readyReplicas === 3, 10_000)))
    world.break(`G25: ${statusOf(world)?.readyReplicas} of 3 VMs are ready: ${failureOf(world)?.message}`);
};

describe('a paused standby VM that cannot resume, since its node does not answer KubeVirt,', () => {
  test('lets another be promoted', () =>
    play(async (world) => {
      await scaledOut(world, 2);
      expect(world.vm('web-4')?.metadata.labels).not.toHaveProperty([ROLE_LABEL]);
    }));

  test('lets a VM be created, if there is no other', () =>
    play(async (world) => {
      await scaledOut(world, 1);
      expect(world.vm('web-3')?.metadata.labels).toHaveProperty([ROLE_LABEL], 'Standby');
    }));
});

test('VMs of a surplus delay no missing VM', () =>
  play(async (world) => {
    await begun(world, { replicas: 2, standby: { replicas: 4 } });
    await world.until(readyStandby(world, 4), MINUTE_MS);
    const count = refusing(world, deletesVm);
    await world.people.changePool('web', { standby: { replicas: 0 } });
    await world.until(() => count() >= 3, MINUTE_MS);
    await world.wait(MINUTE_MS);
    // The standby is used up first.
    await world.people.changePool('web', { replicas: 40 });
    if (!(await world.until(() => statusOf(world)?.readyReplicas === 40, MINUTE_MS)))
      world.break(`G25: ${statusOf(world)?.readyReplicas} of 40 VMs are ready a minute later`);
  }));

/** By the finalizer of its owner. */
const writesOwner = ({ verb, key, subresource }: Call): boolean =>
  verb === 'patch' && key.name === 'web' && subresource === undefined;

test('the finalizer of a new pool, without which no VM is made', () =>
  play(
    async (world) => {
      const count = refusing(world, writesOwner);
      await world.people.createPool('web', aSpec({ replicas: 2 }));
      await triedWithDelays(world, count, 'FailedFinalizer', () => statusOf(world)?.readyReplicas === 2);
    },
    // The workflow ends its run in the meantime.
    { longHistory: 40 },
  ));

test('the finalizer of a deleted pool without VMs', () =>
  play(
    async (world) => {
      await begun(world, { replicas: 2 });
      const count = refusing(world, writesOwner);
      await world.people.deletePool('web');
      await triedWithDelays(world, count, 'FailedFinalizer', () => world.pool('web') === undefined);
    },
    { longHistory: 40 },
  ));

test('a surplus VM of a replica set', () =>
  play(
    async (world) => {
      const kind = 'VirtualMachineReplicaSet';
      await world.people.createOwner(kind, SETS[kind], aSetSpec(kind, 3));
      const { uid } = world.owner(kind, SETS[kind])!.metadata;
      const members = (): number => world.membersOf(kind, uid).length;
      await world.until(() => members() === 3, MINUTE_MS);
      await world.wait(5_000);
      const count = refusing(world, deletesVm);
      await world.people.changeOwner(kind, SETS[kind], { replicas: 2 });
      await world.wait(MINUTE_MS);
      if (count() > MAX_TRIES) world.break(`G25: it is tried ${count()} times in a minute`);
      world.refuse = () => null;
      if (!(await world.until(() => members() === 2, 2 * MINUTE_MS)))
        world.break('G25: it is not deleted once it may be');
    },
    { owners: ['VirtualMachinePool', 'VirtualMachineReplicaSet'] },
  ));

test('one number that is refused blocks no other', () =>
  play(async (world) => {
    refusing(world, (call) => createsVm(call) && call.key.name === 'web-3');
    await world.people.createPool('web', aSpec({ replicas: 20 }));
    if (!(await world.until(() => vmsOf(world).length >= 19, 600_000)))
      world.break('G11: VMs of other numbers than the one that is refused are not made');
  }));

test('forty lower numbers that are refused hold up the others for seconds', () =>
  play(async (world) => {
    refusing(world, (call) => createsVm(call) && Number(call.key.name!.slice('web-'.length)) <= 40);
    await world.people.createPool('web', aSpec({ replicas: 60 }));
    const areMade = await world.until(() => vmsOf(world).length >= 20, 120_000);
    if (!areMade) world.break('G11: VMs of other numbers than those that are refused are not made');
  }));

describe.each(['VirtualMachineReplicaSet', 'VirtualMachineInstanceReplicaSet'] as const)(
  'a refusal of a %s',
  (kind) => {
    const { plural } = OWNER_KINDS[kind].members.resource;
    const name = SETS[kind];

    test.each(['create', 'delete', 'patch'] as const)('of one kind without end stops no other: %s', (verb) =>
      play(
        async (world) => {
          await world.people.createOwner(kind, name, aSetSpec(kind, 3));
          const { uid } = world.owner(kind, name)!.metadata;
          const members = (): Stored[] =>
            world.membersOf(kind, uid).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
          const has = (count: number) => (): boolean => members().length === count;
          await world.until(has(3), MINUTE_MS);
          await world.wait(5_000);
          refusing(world, isOf(verb, plural));
          const within = async (what: string, isDone: () => boolean): Promise<void> => {
            if (!(await world.until(isDone, 2 * MINUTE_MS))) world.break(`G25: ${what} while ${verb} is refused`);
          };
          // Something of the refused kind is due all the while.
          const stray = members()[0]!.metadata.name;
          if (verb === 'create') await world.people.changeOwner(kind, name, { replicas: 4 });
          if (verb === 'delete') await world.people.changeOwner(kind, name, { replicas: 2 });
          if (verb === 'patch') await world.people.relabel(kind, stray, 'debug');
          await world.wait(MINUTE_MS);
          if (verb !== 'patch') {
            await world.people.relabel(kind, stray, 'debug');
            await within('none is released', () => members().every(({ metadata }) => metadata.name !== stray));
          }
          if (verb !== 'create') {
            await world.people.changeOwner(kind, name, { replicas: 6 });
            await within('none is made', () => members().length >= 6);
          }
          if (verb !== 'delete') {
            await world.people.changeOwner(kind, name, { replicas: 1 });
            await within('none is deleted', () => members().length <= 2);
          }
        },
        { owners: ['VirtualMachinePool', kind] },
        1,
      ),
    );
  },
);
