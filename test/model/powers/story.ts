import type { Stored } from '../../../api/objects.ts';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { vmiView, type VirtualMachineInstance } from '../../../decisions/from-object/vmi.ts';
import type { PowerRunInput } from '../../../decisions/operations/run-input.ts';
import type { PowerProgress } from '../../../decisions/power/progress.ts';
import { isAboutVmi, targetOfVmi } from '../../../decisions/power/target.ts';
import { isReady } from '../facts.ts';
import { operate, steer, type PowerGiven } from '../play/operate.ts';
import { aSpec, aTemplate } from '../pools.ts';
import type { PowerLog } from '../power-log.ts';
import { NAMESPACE } from '../world/names.ts';
import type { World, WorldOptions } from '../world/world.ts';

export const MINUTE = 60_000;

export interface Stage {
  world: World;
  log: PowerLog;
}

/** A run of `drover vm start|stop|restart|migrate` that is played and written down. */
export interface Story {
  /** The VMs, in words. */
  about: string;
  /** Pools, and how many VMs there are that no pool has. */
  pools?: Record<string, Partial<PoolSpec>>;
  lone?: number;
  /** Whether the VMs that no pool has are stopped as it begins, and with which run strategy. */
  areStopped?: boolean | 'Manual';
  live: (stage: Stage) => Promise<void>;
  options?: Partial<WorldOptions>;
}

export type Stories = Record<string, Story>;

const nameOf = ({ metadata }: { metadata: { name: string } }): string => metadata.name;

/** What the VM is chosen by. */
export function targetIn(world: World, action: PowerRunInput['action'], vm: Stored): string {
  if (!isAboutVmi(action)) return vm.metadata.uid;
  return targetOfVmi(action, vmiView(world.vmi(nameOf(vm)) as unknown as Stored<VirtualMachineInstance>));
}

/** Begins with all VMs that there are, or with all that have VMIs. Returns the workflow's id. */
export function begin(
  { world, log }: Stage,
  action: PowerRunInput['action'],
  how: Partial<Omit<PowerGiven, 'action' | 'chosen'>> = {},
  spec: Parameters<typeof operate>[2] = {},
): string {
  const command = action === 'Patch' ? 'change apply' : `vm ${action.toLowerCase()}`;
  log.person(`drover ${command} ${JSON.stringify({ ...spec, ...how })}`);
  // A VM between two VMIs has none that could be meant.
  const meant = world.vms.filter((vm) => !isAboutVmi(action) || world.vmi(nameOf(vm)) !== undefined);
  const chosen = meant.map((vm) => [nameOf(vm), targetIn(world, action, vm)] as const);
  const input = {
    action,
    chosen: { [NAMESPACE]: Object.fromEntries(chosen) },
    atOnce: 2,
    maxFailures: 0,
    deadlineMs: MINUTE,
    requestedBy: 'ann',
    reason: null,
    ...how,
  };
  return operate(world, input, spec);
}

export async function ended({ world, log }: Stage, id: string): Promise<void> {
  await world.wait(100);
  const run = world.temporal.runs.get(id)!;
  if (!(await world.until(() => !world.temporal.runs.get(id)!.isOpen, 60 * MINUTE)))
    return world.break(`run ${run.id} does not end`);
  await world.wait(2_000);
  log.end((await world.temporal.runs.get(id)!.result.promise) as PowerProgress, world.temporal.runs.get(id)!.events);
}

export function signal({ world, log }: Stage, id: string, name: 'pause' | 'resume' | 'abort'): void {
  log.person(name);
  steer(world, id, name);
}

/** By virtctl. */
export async function virtctl({ world, log }: Stage, verb: 'start' | 'stop' | 'restart', name: string): Promise<void> {
  log.person(`virtctl ${verb} ${name}`);
  await world.people.power(name, verb);
}

/** The VMs whose VMI is ready, or is not. */
export const vmsThatAre = (world: World, areReady: boolean): string[] =>
  world.vms.map(nameOf).filter((name) => isReady(world.vmi(name)) === areReady);

/** Waits until so many VMs are ready, or are not. */
export async function until({ world }: Stage, state: 'ready' | 'not ready', count: number): Promise<string[]> {
  const found = (): string[] => vmsThatAre(world, state === 'ready');
  if (!(await world.until(() => found().length >= count, 10 * MINUTE))) world.break(`not ${count} VMs are ${state}`);
  return found();
}

/** Loses all workers, lets users act meanwhile, and starts another one 15 s later. */
export async function losesWorker({ world, log }: Stage, meanwhile = async (): Promise<void> => {}): Promise<void> {
  log.person('the worker is lost');
  world.kill(world.workers[0]!);
  await world.wait(1_000);
  await meanwhile();
  await world.wait(14_000);
  log.person('another worker starts');
  await world.addWorker();
}

/**
 * Loses all workers as the first VM is asked to start, or to stop, before they hear of the answer; lets users act on
 * that VM once it has done so, and starts another worker then.
 */
export async function losesAnswer(
  stage: Stage,
  action: 'Start' | 'Stop',
  meanwhile: (name: string) => Promise<void>,
): Promise<void> {
  const { world } = stage;
  const asked = Promise.withResolvers<string>();
  world.onlookers.push({
    onCall: ({ verb, key }) => {
      const [, name] = /\/virtualmachines\/([^/]+)\/(?:start|stop)$/.exec(key.name ?? '') ?? [];
      const worker = world.workers.at(-1);
      if (verb !== 'request' || name === undefined || worker?.process.state !== 'running' || isKilled) return;
      isKilled = true;
      world.kill(worker);
      asked.resolve(name);
    },
  });
  let isKilled = false;
  const id = begin(stage, action, { atOnce: 1 });
  const name = await asked.promise;
  stage.log.person('the worker is lost');
  await world.until(() => (action === 'Start' ? isReady(world.vmi(name)) : world.vmi(name) === undefined), MINUTE);
  await meanwhile(name);
  await world.until(() => (action === 'Start' ? world.vmi(name) === undefined : isReady(world.vmi(name))), MINUTE);
  stage.log.person('another worker starts');
  await world.addWorker();
  await ended(stage, id);
}

/** The installation in which a story begins. */
export async function prepare(world: World, { pools = {}, lone = 0, areStopped = false }: Story): Promise<void> {
  const template = aTemplate({ bootMs: 5_000 });
  for (const [name, spec] of Object.entries(pools)) await world.people.createPool(name, aSpec({ template, ...spec }));
  const runStrategy = areStopped === 'Manual' ? areStopped : areStopped ? 'Halted' : 'Always';
  for (let number = 1; number <= lone; number++)
    await world.people.createVm(`lone-${number}`, { bootMs: 5_000, stopMs: 3_000, runStrategy });
  const inPools = Object.values(pools).reduce((sum, { replicas = 1 }) => sum + replicas, 0);
  const isPrepared = (): boolean => vmsThatAre(world, true).length === inPools + (areStopped ? 0 : lone);
  if (!(await world.until(isPrepared, 5 * MINUTE))) world.break('the VMs do not come up');
  await world.wait(2_000);
}
