import { DO_NOT_DISRUPT_ANNOTATION, REMOVE_VMS_ANNOTATION } from '../../api/names.ts';
import { controllerOf, type Stored } from '../../api/objects.ts';
import type { PoolStatus } from '../../api/pool/pool.ts';
import { DataVolumes, VirtualMachines } from '../../api/resources.ts';
import type { PowerAction } from '../../decisions/power/action.ts';
import { OWNER_WORKFLOWS } from '../../workflows/ids.ts';
import type { MachineTypeTransitionInput } from '../../workflows/machine-types/machine-type-transition.ts';
import { healVmIdOf, progress } from '../../workflows/messages.ts';
import type { PowerVmsInput } from '../../workflows/power/power-vms.ts';
import { coresOf, isRegular } from './facts.ts';
import { watched } from './guarantees/watch.ts';
import { createSet, happenToSet, settleSets } from './play-sets.ts';
import { aTemplate } from './pools.ts';
import type { Happening, SetHappening } from './random/happenings.ts';
import type { Scenario } from './random/scenarios.ts';
import { endRefusals, refuseFor } from './refusals/refuse.ts';
import { NAMESPACE, refOf } from './world/names.ts';
import { World } from './world/world.ts';

const HOUR_MS = 3_600_000;
const POOLS = ['web', 'db'];
/** Machine type of VMs that no pool owns. */
const OLD_TYPE = 'pc-q35-rhel8.6.0';
/** Types of workflows that run as long as what they are about is there. */
const LASTING = new Set(['watch', ...Object.values(OWNER_WORKFLOWS).map(({ type }) => type)]);
/** A VM that all transitions exclude. */
export const EXCLUDED = 'lone-1';

/**
 * Plays a scenario, ends all its faults, and checks that every pool then reaches its desired state. Throws `Broken` if
 * a guarantee is broken.
 */
export async function play(scenario: Scenario, off: readonly string[] = []): Promise<World> {
  const { seed, lag, longHistory, delays, specs, sets, ownerless, happenings } = scenario;
  const setKinds = sets.map(({ kind }) => kind);
  const owners = ['VirtualMachinePool', ...setKinds] as const;
  const world = new World({ seed, lag, longHistory, delays, owners });
  const live = async (): Promise<void> => {
    const names = POOLS.slice(0, specs.length);
    for (let number = 1; number <= ownerless; number++) await world.people.createVm(`lone-${number}`, OLD_TYPE);
    for (const [index, name] of names.entries()) await world.people.createPool(name, specs[index]!);
    for (const set of sets) await createSet(world, set);
    await world.wait(world.time.chance() < 0.5 ? 20_000 : 500);
    for (const { after, ...happening } of happenings) {
      await world.wait(after);
      if ('set' in happening) await happenToSet(world, setKinds, happening);
      else await happen(world, names, happening);
    }
    await world.wait(world.time.between(0, 60_000));
    endFaults(world);
    await settleSets(world, setKinds);
    await settle(world, names);
  };
  await world.run(8 * HOUR_MS, watched(world, live, off));
  return world;
}

async function happen(
  world: World,
  names: readonly string[],
  happening: Exclude<Happening, SetHappening>,
): Promise<void> {
  if ('pool' in happening) return happenToPool(world, names[happening.pool % names.length]!, happening);
  if (happening.what === 'refuse') return refuse(world, happening);
  if ('vm' in happening) return happenToVm(world, names, happening);
  if (happening.what === 'machine types') return changeMachineTypes(world, happening);
  const worker = world.workers[happening.worker % world.workers.length]!;
  if (worker.process.state !== 'running' || worker.process.isCutOff) return;
  switch (happening.what) {
    case 'kill':
      world.kill(worker);
      void world.wait(15_000).then(() => world.addWorker());
      return;
    case 'freeze':
      world.freeze(worker);
      void world.wait(happening.ms).then(() => world.thaw(worker));
      return;
    case 'cut off':
      world.cutOff(worker, true);
      void world.wait(happening.ms).then(() => world.cutOff(worker, false));
  }
}

function refuse(world: World, { call, vm, isOfAll, ms }: Extract<Happening, { what: 'refuse' }>): void {
  const all = world.server.all(VirtualMachines);
  const name = isOfAll || all.length === 0 ? null : all[vm % all.length]!.metadata.name;
  refuseFor(world, { what: call, name, ms });
}

async function happenToPool(
  world: World,
  name: string,
  happening: Extract<Happening, { pool: number }>,
): Promise<void> {
  const pool = world.pool(name);
  if (pool === undefined) return;
  const disk = pool.spec.template.spec.dataVolumeTemplates?.[0]?.metadata.name;
  switch (happening.what) {
    case 'scale':
      return world.people.changePool(name, { replicas: happening.replicas });
    case 'template': {
      const { version, neverReady, power: runStrategy = 'Always', sockets } = happening;
      const more = { ...(disk === undefined ? {} : { disk }), ...(sockets === undefined ? {} : { sockets }) };
      return world.people.changePool(name, { template: aTemplate({ version, neverReady, runStrategy, ...more }) });
    }
    case 'rules':
      return world.people.changePool(name, happening.spec);
    case 'renew': {
      await world.people.deletePool(name, happening.isOrphaned);
      const isGone = await world.until(() => world.pool(name) === undefined, 600_000);
      if (isGone) await world.people.createPool(name, pool.spec);
      else if (world.workers.some(({ process }) => process.state === 'running' && !process.isCutOff))
        world.break(`G12: pool ${name} was deleted ten minutes ago, and is not gone`);
      return;
    }
    case 'restarts':
      return changePower(world, pool, 'Restart', happening.maxUnavailable);
    case 'start all':
    case 'stop all':
      return changePower(world, pool, happening.what === 'start all' ? 'Start' : 'Stop', happening.atOnce);
    case 'set right':
      return setRight(world, name);
    case 'healNow':
    case 'healSkip':
    case 'cancel attempt':
    case 'terminate attempt':
      return happenToCycle(world, name, pool, happening.what);
    case 'promote':
      return world.people.signal(name, 'promote', { full: true });
    case 'pause':
    case 'resume':
    case 'abort':
    case 'healPause':
    case 'healResume':
      world.people.signal(name, happening.what, { by: 'ann' });
  }
}

/** Starts what `drover vm start|stop|restart` starts for all VMs of a pool. */
function changePower(world: World, { metadata }: Stored, action: PowerAction, atOnce: number): void {
  const vms = world.vmsOf(metadata.uid);
  const chosen = Object.fromEntries(
    vms.flatMap((vm) => {
      const uid = (action === 'Restart' ? world.vmi(vm.metadata.name) : vm)?.metadata.uid;
      return uid === undefined ? [] : [[vm.metadata.name, uid]];
    }),
  );
  world.say(`-- drover vm ${action.toLowerCase()} of all VMs of ${metadata.name}, ${atOnce} at a time`);
  world.temporal.start('powerVms', `power/model/${world.time.now}`, [
    {
      action,
      chosen: { [NAMESPACE]: chosen },
      atOnce,
      maxFailures: 2,
      deadlineMs: 60_000,
      requestedBy: 'ann',
      reason: null,
    },
  ]);
}

function happenToCycle(
  world: World,
  name: string,
  { status }: { status?: PoolStatus },
  what: 'healNow' | 'healSkip' | 'cancel attempt' | 'terminate attempt',
): void {
  const [cycle] = status?.healing?.cycles ?? [];
  if (cycle === undefined) return;
  const { vm, attempt } = cycle;
  const id = healVmIdOf(refOf(name), vm, attempt);
  if (what === 'healNow' || what === 'healSkip') return world.people.signal(name, what, { vm, by: 'ann' });
  world.say(`-- ${what}: ${id}`);
  if (what === 'cancel attempt') world.temporal.cancel(id);
  else world.temporal.terminate(id);
}

function changeMachineTypes(world: World, happening: Extract<Happening, { what: 'machine types' }>): void {
  const { glob, to, restartNow, maxRestarts } = happening;
  const scope = {
    glob,
    namespaces: null,
    labelSelector: null,
    names: [],
    exclude: [EXCLUDED],
    only: null,
    undoes: null,
  };
  const how = { maxFailures: 2, deadlineMs: 60_000, windows: [], force: false };
  world.people.startTransition({ scope, to, restartNow, maxRestarts, ...how, requestedBy: 'ann', reason: null });
}

async function happenToVm(
  world: World,
  names: readonly string[],
  happening: Exclude<Extract<Happening, { vm: number }>, { what: 'refuse' }>,
): Promise<void> {
  const all = world.server.all(VirtualMachines);
  if (all.length === 0) return;
  const { what } = happening;
  const { name } = all[happening.vm % all.length]!.metadata;
  switch (what) {
    case 'evict':
      return world.kubevirt.evict(name, happening.fails);
    case 'delete':
      return world.people.deleteVm(name);
    case 'detach':
      return world.people.detach(name);
    case 'adopt': {
      for (const { metadata } of all) {
        const pool = names.find((pool) => metadata.name.startsWith(`${pool}-`));
        if (pool !== undefined && metadata.ownerReferences === undefined) await world.people.adopt(metadata.name, pool);
      }
      return;
    }
    case 'stop':
    case 'start':
    case 'restart':
    case 'migrate':
      return world.people.power(name, what);
    case 'abort migration':
      return world.people.abortMigration(name);
    case 'crash':
      return world.kubevirt.crash(name);
    case 'shut down':
      return world.kubevirt.crash(name, 'Succeeded');
    case 'pause VMI':
    case 'unpause VMI':
      return world.people.pauseVmi(name, what === 'pause VMI');
    case 'corrupt':
      await corrupt(world, name);
      return world.kubevirt.crash(name);
    case 'opt out':
      return optOut(world, name, true);
    case 'edit':
      return edit(world, name, 50 + happening.vm);
    case 'protect':
    case 'unprotect':
      return protect(world, name, what === 'protect');
    case 'remove':
      return remove(world, name);
  }
}

/** Tries what a person does by a command, which may be refused, as some requests are here. */
async function tried(world: World, words: string, command: () => Promise<unknown>): Promise<void> {
  try {
    await command();
    world.say(`-- ${words}`);
  } catch (error) {
    world.say(`-- ${words}: ${String(error)}`);
  }
}

const protect = (world: World, name: string, on: boolean): Promise<void> =>
  tried(world, `drover ${on ? 'protect' : 'unprotect'} ${name}`, async () => {
    const { setProtection } = await import('../../clients/power/protect.ts');
    await setProtection(
      world.people.client.asClient,
      [name],
      { namespace: NAMESPACE, protect: on, dryRun: 'none' },
      () => {},
    );
  });

const edit = (world: World, name: string, cores: number): Promise<void> =>
  tried(world, `${name} gets ${cores} cores`, async () => {
    const spec = { template: { spec: { domain: { cpu: { cores } } } } };
    await world.people.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { spec });
  });

const setRight = (world: World, pool: string): Promise<void> =>
  tried(world, `drover rollout restart pool ${pool} --drifted`, async () => {
    const { orderSetRight } = await import('../../clients/drift/set-right.ts');
    const stored = world.pool(pool);
    if (stored !== undefined) await orderSetRight(world.people.client.asClient, stored, { by: 'ann', dryRun: 'none' });
  });

async function remove(world: World, name: string): Promise<void> {
  const vm = world.vm(name);
  const owner = vm === undefined ? undefined : controllerOf(vm);
  if (owner === undefined) return;
  await tried(world, `drover scale pool ${owner.name} --remove ${name}`, async () => {
    const { removeVms } = await import('../../clients/pool/remove-vms.ts');
    await removeVms(
      world.people.client.asClient,
      { namespace: NAMESPACE, name: owner.name },
      { remove: [name], dryRun: 'none' },
    );
  });
}

async function corrupt(world: World, name: string): Promise<void> {
  const templates =
    (world.vm(name)?.['spec'] as { dataVolumeTemplates?: { metadata: { name: string } }[] } | undefined)
      ?.dataVolumeTemplates ?? [];
  for (const { metadata } of templates) await corruptDisk(world, metadata.name, true);
}

/** Makes VMs that boot from the disk fail to start, or start again. */
export async function corruptDisk(world: World, name: string, isCorrupt = true): Promise<void> {
  if (isCorrupt) world.say(`-- disk ${name} is corrupt`);
  await world.people.client
    .patch(DataVolumes, { namespace: NAMESPACE, name }, 'merge', {
      metadata: { annotations: { 'sim.drover.dev/corrupt': isCorrupt ? 'true' : null } },
    })
    .catch(() => {});
}

async function optOut(world: World, name: string, isOut: boolean): Promise<void> {
  if (isOut) world.say(`-- ${name} is not to be disrupted`);
  await world.people.client
    .patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', {
      metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: isOut ? 'true' : null } },
    })
    .catch(() => {});
}

function endFaults(world: World): void {
  world.say('-- all faults end');
  endRefusals(world);
  for (const worker of world.workers) {
    world.thaw(worker);
    if (worker.process.isCutOff) world.cutOff(worker, false);
  }
}

/** Ends all pauses and opt-outs, and gives pools a good template: every pool must then reach its desired state. */
async function settle(world: World, names: readonly string[]): Promise<void> {
  await endStops(world);
  for (const disk of world.server.all(DataVolumes)) await corruptDisk(world, disk.metadata.name, false);
  for (const name of names) {
    const pool = world.pool(name);
    if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) continue;
    for (const { metadata } of world.vmsOf(pool.metadata.uid)) {
      await optOut(world, metadata.name, false);
      await protect(world, metadata.name, false);
      await world.people.pauseVmi(metadata.name, false);
      await world.people.power(metadata.name, 'start');
    }
    const disk = pool.spec.template.spec.dataVolumeTemplates?.[0]?.metadata.name;
    const template = aTemplate({ version: 9, ...(disk === undefined ? {} : { disk }) });
    const { autohealing } = pool.spec;
    await world.people.changePool(name, {
      template,
      paused: false,
      rollout: { progressDeadlineSeconds: 60, onFailure: 'Continue', steps: [] },
      updateStrategy: { proactive: {} },
      scaleInStrategy: { proactive: {} },
      ...(autohealing === undefined ? {} : { autohealing: { ...autohealing, maxUnhealthy: '100%' } }),
    });
    world.people.signal(name, 'resume', { by: 'ann' });
    world.people.signal(name, 'healResume', { by: 'ann' });
  }
  // Nobody restarts VMs as their owners here, so these transitions would wait forever.
  for (const { id, args } of openTransitions(world))
    if (!args[0].transition.restartNow) world.temporal.signal(id, 'abort', [{ by: 'ann' }]);
  for (const name of names) {
    if (!(await world.until(() => isAsWanted(world, name) || lacksDisks(world, name), 2 * HOUR_MS)))
      world.break(`G12: ${name} does not get as it is wanted: ${inWords(world, name)}`);
  }
  for (const name of names) if (isAsWanted(world, name)) await untilSetRight(world, name);
  // A healing cycle waits while another pool has its VM's disk.
  const isHeldUp = (id: string): boolean =>
    names.some((name) => id.includes(`/${name}/heal/`) && lacksDisks(world, name));
  const running = [...world.temporal.runs.values()].filter(
    ({ isOpen, type, id }) => isOpen && !LASTING.has(type) && !isHeldUp(id),
  );
  if (!(await world.until(() => running.every(({ isOpen }) => !isOpen), HOUR_MS)))
    world.break(
      `G12: workflows do not end: ${running
        .filter(({ isOpen }) => isOpen)
        .map(({ id }) => `${id}: ${JSON.stringify(world.temporal.query(id, progress.name))}`)
        .join(', ')}`,
    );
}

/** Ends what stops VMs: whoever starts them afterwards has the last word. */
async function endStops(world: World): Promise<void> {
  const stops = [...world.temporal.runs.values()].filter(
    ({ isOpen, type, args }) => isOpen && type === 'powerVms' && (args[0] as PowerVmsInput).action === 'Stop',
  );
  for (const { id } of stops) world.temporal.signal(id, 'abort', [{ by: 'ann' }]);
  if (!(await world.until(() => stops.every(({ isOpen }) => !isOpen), HOUR_MS)))
    world.break(`G12: stops do not end: ${stops.map(({ id }) => id).join(', ')}`);
}

/** Has a person change a VM, and ask that this is set right. */
async function untilSetRight(world: World, name: string): Promise<void> {
  const [vm] = world.vmsOf(world.pool(name)!.metadata.uid);
  if (vm === undefined) return;
  await edit(world, vm.metadata.name, 50);
  await setRight(world, name);
  // Nothing is done to a VM that has failed before.
  world.people.signal(name, 'resume', { by: 'ann' });
  const isRight = (): boolean =>
    Number(coresOf(world.vm(vm.metadata.name)) ?? 0) < 50 && (isAsWanted(world, name) || lacksDisks(world, name));
  if (!(await world.until(isRight, HOUR_MS)))
    world.break(`G12: ${vm.metadata.name} of ${name} is not set right: ${inWords(world, name)}`);
}

const openTransitions = (world: World): { id: string; args: [MachineTypeTransitionInput] }[] =>
  [...world.temporal.runs.values()].flatMap(({ isOpen, type, id, args }) =>
    isOpen && type === 'machineTypeTransition' ? [{ id, args: args as [MachineTypeTransitionInput] }] : [],
  );

function isAsWanted(world: World, name: string): boolean {
  const pool = world.pool(name);
  if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return pool === undefined;
  const { status, spec } = pool;
  const { replicas } = spec;
  const vms = world.vmsOf(pool.metadata.uid);
  const standby = vms.filter((vm) => !isRegular(vm)).length;
  return (
    vms.length - standby === replicas &&
    standby === (spec.standby?.replicas ?? 0) &&
    (status?.standbyReplicas ?? 0) === standby &&
    status?.readyReplicas === replicas &&
    status.updatedReplicas === replicas &&
    status.replicas === replicas &&
    // Whatever was to be removed by name is gone.
    pool.metadata.annotations?.[REMOVE_VMS_ANNOTATION] === undefined &&
    (status.healing?.cycles ?? []).length === 0 &&
    !status.conditions?.some(({ type }) => type === 'Draining')
  );
}

function inWords(world: World, name: string): string {
  const pool = world.pool(name);
  const { replicas, readyReplicas, updatedReplicas, conditions, healing } = (pool?.['status'] ?? {}) as PoolStatus;
  const vms =
    pool === undefined
      ? []
      : world
          .vmsOf(pool.metadata.uid)
          .map(
            (vm) =>
              `${vm.metadata.name} ${(vm['status'] as { printableStatus?: string } | undefined)?.printableStatus}`,
          );
  return JSON.stringify({
    wanted: pool?.spec.replicas,
    replicas,
    readyReplicas,
    updatedReplicas,
    conditions: conditions?.map(({ type, status, reason, message }) => `${type}=${status}/${reason}: ${message}`),
    cycles: healing?.cycles,
    vms,
  });
}

/** Reports whether another pool has the disks that this pool's VMs need, according to the pool's status. */
function lacksDisks(world: World, name: string): boolean {
  const { status } = (world.pool(name) ?? {}) as { status?: { conditions?: { type: string; message?: string }[] } };
  return (status?.conditions ?? []).some(
    ({ type, message = '' }) => type === 'ReplicaFailure' && message.includes('is not created: '),
  );
}
