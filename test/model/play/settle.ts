import { POOL_LABEL } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Stored } from '../../../api/objects.ts';
import { DataVolumes, VirtualMachines } from '../../../api/resources.ts';
import type { TransitionRunInput } from '../../../decisions/operations/run-input.ts';
import { progress } from '../../../workflows/lib/messages.ts';
import { coresOf, inputOf, transitionInputOf, diskOf, isGoing, lacksDisks } from '../facts.ts';
import { hold, whyHeld } from '../holds/hold.ts';
import { aTemplate } from '../pools.ts';
import type { World } from '../world/world.ts';
import { steer } from './operate.ts';
import { isPoolAsWanted, LASTING } from './wanted.ts';

const HOUR_MS = 3_600_000;
/** Longer than a claim counts if nobody acts on it. */
const CLAIMS_MS = 90_000;

/** Ends all pauses and opt-outs, and gives pools a good template: every pool must then reach its desired state. */
export async function settle(world: World, names: readonly string[]): Promise<void> {
  await endStops(world);
  world.kubevirt.takeBackEvictions();
  for (const disk of world.server.all(DataVolumes)) await world.people.corruptDisk(disk.metadata.name, false);
  // Those that have lost what they name continue naming it.
  for (const { metadata } of world.server.all(VirtualMachines))
    if (whyHeld(world, metadata.name) !== null)
      for (const what of ['end snapshot', 'end backup'] as const) hold(world, metadata.name, what);
  for (const name of names) {
    const pool = world.pool(name);
    if (pool === undefined || isGoing(pool)) continue;
    const isComing = (vm: Stored): boolean =>
      controllerOf(vm) === undefined && vm.metadata.labels?.[POOL_LABEL] === name;
    const coming = world.server.all(VirtualMachines).filter(isComing);
    for (const { metadata } of [...world.vmsOf(pool.metadata.uid), ...coming]) {
      await world.people.optOut(metadata.name, false);
      await world.people.protect(metadata.name, false);
      await world.people.pauseVmi(metadata.name, false);
      await world.people.power(metadata.name, 'start');
    }
    const template = aTemplate({ version: 9, ...diskOf(pool) });
    const { autohealing } = pool.spec;
    await world.people.changePool(name, {
      template,
      paused: false,
      rollout: { progressDeadlineSeconds: 60, onFailure: 'Continue', steps: [] },
      updateStrategy: { proactive: {} },
      scaleInStrategy: { proactive: {} },
      ...(autohealing === undefined ? {} : { autohealing: { ...autohealing, maxUnhealthy: '100%' } }),
    });
    await endPauses(world, name);
  }
  // Nobody restarts VMs as their owners here, so these transitions would wait forever.
  for (const { id, input } of openTransitions(world)) if (!input.transition.restartNow) steer(world, id, 'abort');
  for (const name of names) {
    if (!(await world.until(() => isAsWanted(world, name) || lacksDisks(world.pool(name)), 2 * HOUR_MS)))
      world.break(`G12: ${name} does not get as it is wanted: ${inWords(world, name)}`);
  }
  for (const name of names) if (isAsWanted(world, name)) await untilSetRight(world, name);
  // A healing cycle waits while another pool has its VM's disk.
  const isHeldUp = (id: string): boolean =>
    names.some((name) => id.includes(`/${name}/heal/`) && lacksDisks(world.pool(name)));
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
  const claimed = (): string[] => names.filter((name) => (world.pool(name)?.status?.disruptedVMs ?? []).length > 0);
  if (!(await world.until(() => claimed().length === 0, CLAIMS_MS)))
    world.break(`G12: the status lists claims although nothing disrupts VMs: ${claimed().join(', ')}`);
}

/** Ends pauses by signals and by requests, and has VMs tried again. That is refused where nothing is to be resumed. */
async function endPauses(world: World, name: string): Promise<void> {
  world.people.signal(name, 'resume', { by: 'ann' });
  await world.people.rollout(name, 'resume');
  await world.people.heal(name, { action: 'resume' });
}

/** Ends what stops VMs: whoever starts them afterwards has the last word. */
async function endStops(world: World): Promise<void> {
  const stops = [...world.temporal.runs.values()].filter((run) => run.isOpen && inputOf(run)?.action === 'Stop');
  for (const { id } of stops) steer(world, id, 'abort');
  if (!(await world.until(() => stops.every(({ isOpen }) => !isOpen), HOUR_MS)))
    world.break(`G12: stops do not end: ${stops.map(({ id }) => id).join(', ')}`);
}

/** Has a user change a VM, and ask that this is corrected. */
async function untilSetRight(world: World, name: string): Promise<void> {
  const [vm] = world.vmsOf(world.pool(name)!.metadata.uid);
  if (vm === undefined) return;
  await world.people.edit(vm.metadata.name, 50);
  await world.people.correctDrift(name);
  // Nothing is done to a VM that has failed before.
  await world.people.rollout(name, 'resume');
  const isRight = (): boolean =>
    Number(coresOf(world.vm(vm.metadata.name)) ?? 0) < 50 && (isAsWanted(world, name) || lacksDisks(world.pool(name)));
  if (!(await world.until(isRight, HOUR_MS)))
    world.break(`G12: ${vm.metadata.name} of ${name} is not set right: ${inWords(world, name)}`);
}

export const openTransitions = (world: World): { id: string; input: TransitionRunInput }[] =>
  [...world.temporal.runs.values()].flatMap((run) => {
    const input = run.isOpen ? transitionInputOf(run) : undefined;
    return input === undefined ? [] : [{ id: run.id, input }];
  });

function isAsWanted(world: World, name: string): boolean {
  const pool = world.pool(name);
  return pool === undefined || (!isGoing(pool) && isPoolAsWanted(pool, world.vmsOf(pool.metadata.uid)));
}

function inWords(world: World, name: string): string {
  const pool = world.pool(name);
  const { replicas, readyReplicas, updatedReplicas, conditions, healing } = pool?.status ?? {};
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
