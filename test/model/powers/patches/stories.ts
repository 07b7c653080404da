import type { Stored } from '../../../../api/objects.ts';
import { VirtualMachineOperations, VirtualMachines } from '../../../../api/resources.ts';
import { changesOf } from '../../../../decisions/changes/change-record.ts';
import type { StoredOperation } from '../../../../decisions/views/stored-operation.ts';
import type { OperationKey } from '../../../../workflows/lib/messages.ts';
import { refuseFor } from '../../refusals/refuse.ts';
import { NAMESPACE } from '../../world/names.ts';
import { begin, ended, losesWorker, MINUTE, type Stage, type Stories } from '../story.ts';

const label = { merge: JSON.stringify({ metadata: { labels: { tier: 'gold' } } }) };
const model = { merge: JSON.stringify({ spec: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } }) };

const changed = ({ world }: Stage): Stored[] =>
  world.vms.filter(({ metadata }) => changesOf(metadata.annotations).length > 0);

/** Waits until so many VMs tell of a change. */
async function untilChanged(stage: Stage, count: number): Promise<string> {
  const { world } = stage;
  if (!(await world.until(() => changed(stage).length >= count, MINUTE))) world.break(`not ${count} VMs are changed`);
  return changed(stage)[0]!.metadata.name;
}

/** Loses all workers as the first VM is changed, before they hear of the answer; another one starts 15 s later. */
async function losesAnswer({ world, log }: Stage): Promise<void> {
  const lost = Promise.withResolvers<void>();
  let isLost = false;
  world.onlookers.push({
    onWrite: ({ after }) => {
      if (isLost || changesOf(after?.metadata.annotations).length === 0) return;
      isLost = true;
      world.kill(world.workers[0]!);
      lost.resolve();
    },
  });
  await lost.promise;
  log.person('the worker is lost');
  await world.wait(15_000);
  log.person('another worker starts');
  await world.addWorker();
}

/** By kubectl. */
async function relabels({ world, log }: Stage, name: string, tier: string): Promise<void> {
  log.person(`kubectl label vm ${name} tier=${tier}`);
  const metadata = { labels: { tier } };
  await world.people.client.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', { metadata });
}

/** Two kinds of VMs, of which KubeVirt refuses the change of one. */
async function begunWithRefusal(stage: Stage, how: Parameters<typeof begin>[2] = {}): Promise<string> {
  await relabels(stage, 'lone-3', 'silver');
  await stage.world.wait(2_000);
  refuseFor(stage.world, { what: 'write', name: 'lone-3', ms: 30 * MINUTE });
  return begin(stage, 'Patch', how, { patch: label });
}

async function losesWorkerInDryRun({ world, log }: Stage): Promise<void> {
  const lost = Promise.withResolvers<void>();
  let isLost = false;
  world.onlookers.push({
    onCall: ({ verb, resource, process }) => {
      if (isLost || verb !== 'patch' || resource !== VirtualMachines || process !== world.workers[0]?.process) return;
      isLost = true;
      world.kill(world.workers[0]);
      lost.resolve();
    },
  });
  await lost.promise;
  log.person('the worker is lost');
  await world.wait(15_000);
  log.person('another worker starts');
  await world.addWorker();
}

async function refused({ world, log }: Stage, id: string): Promise<void> {
  const run = world.temporal.runs.get(id)!;
  if (!(await world.until(() => !run.isOpen, 5 * MINUTE))) return world.break(`run ${run.id} does not end`);
  const { name } = run.args[0] as OperationKey;
  const { status } = world.server.find(VirtualMachineOperations, { namespace: NAMESPACE, name }) as StoredOperation;
  const failed = status?.conditions?.find(({ type }) => type === 'Failed');
  log.person(`it is ${failed?.reason}: ${failed?.message}`);
  const changes = changed({ world, log }).map(({ metadata }) => metadata.name);
  if (changes.length > 0) world.break(`${changes.join(', ')}: changed though another change is refused`);
}

const nameOfLast = ({ world }: Stage): string => world.server.all(VirtualMachineOperations).at(-1)!.metadata.name;

export const stories: Stories = {
  'change labels two at a time': {
    about: '5 VMs that run, and 2 of a pool, whose template says what they are',
    lone: 5,
    pools: { web: { replicas: 2 } },
    live: async (stage) => ended(stage, begin(stage, 'Patch', {}, { patch: label })),
  },
  'change VMs that are stopped': {
    about: '3 VMs that are stopped',
    lone: 3,
    areStopped: true,
    live: async (stage) => ended(stage, begin(stage, 'Patch', {}, { patch: model })),
  },
  'change with a worker lost while a person undoes what was done': {
    about: '5 VMs that run, 1 worker; a VM that was changed is changed back while no worker runs',
    lone: 5,
    options: { workers: 1 },
    live: async (stage) => {
      const id = begin(stage, 'Patch', { atOnce: 1 }, { patch: label });
      const first = await untilChanged(stage, 1);
      await losesWorker(stage, () => relabels(stage, first, 'theirs'));
      await ended(stage, id);
    },
  },
  'change of two kinds, of which one is refused, with a worker lost in a dry run': {
    about: '3 VMs that run, 1 worker; one VM has another label before',
    lone: 3,
    options: { workers: 1 },
    live: async (stage) => {
      const [id] = await Promise.all([begunWithRefusal(stage), losesWorkerInDryRun(stage)]);
      await refused(stage, id);
    },
  },
  'change of two kinds, of which one is refused that may fail': {
    about: '3 VMs that run; one VM has another label before',
    lone: 3,
    live: async (stage) => ended(stage, await begunWithRefusal(stage, { maxFailures: 1 })),
  },
  'change and restart, one after the other': {
    about: '4 VMs that run; the restart is part of the change',
    lone: 4,
    live: async (stage) => ended(stage, begin(stage, 'Patch', { atOnce: 1 }, { patch: { ...model, restart: true } })),
  },
  'change and restart with a worker lost before the first restart': {
    about: '4 VMs that run, 1 worker, lost as a VM is changed, before it hears of the answer',
    lone: 4,
    options: { workers: 1 },
    live: async (stage) => {
      const id = begin(stage, 'Patch', { atOnce: 1, deadlineMs: 5 * MINUTE }, { patch: { ...model, restart: true } });
      await losesAnswer(stage);
      await ended(stage, id);
    },
  },
  'change, and undo what nobody has changed since': {
    about: '3 VMs that run; one gets another label by a person before the undo',
    lone: 3,
    live: async (stage) => {
      await ended(stage, begin(stage, 'Patch', {}, { patch: label }));
      const undo = nameOfLast(stage);
      await relabels(stage, 'lone-2', 'theirs');
      await ended(stage, begin(stage, 'Patch', {}, { patch: { undo } }));
    },
  },
};
