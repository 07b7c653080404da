import { REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import { VirtualMachineInstances, VirtualMachines } from '../../../../api/resources.ts';
import { aTemplate } from '../../pools.ts';
import type { Process } from '../../world/virtual-time.ts';
import type { Worker } from '../../world/worker.ts';
import type { World } from '../../world/world.ts';
import { completed, roll, type Stories, type Story } from '../story.ts';
import { lostAfter } from './between-steps.ts';

/** Returns a function that finds the worker that was the last to write a VM or VMI; the first one if none was. */
function lastAtWork(world: World): () => Worker {
  let last: Process | undefined;
  world.onlookers.push({
    onWrite: ({ resource }, call) => {
      if (resource === VirtualMachines || resource === VirtualMachineInstances) last = call?.process ?? last;
    },
  });
  return () => world.workers.find(({ process }) => process === last) ?? world.workers[0]!;
}

const workerAmid = (what: 'kill' | 'freeze' | 'cut off', after: number): Story => ({
  about: '4 VMs, maxUnavailable 2, 2 workers',
  spec: { replicas: 4, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
  live: async (stage) => {
    const { world, log } = stage;
    const atWork = lastAtWork(world);
    await roll(stage, { version: 2, bootMs: 5_000 });
    await world.wait(after);
    const worker = atWork();
    log.person(`the worker that acted last: ${what}, for 30 s`);
    if (what === 'kill') world.kill(worker);
    else if (what === 'freeze') world.freeze(worker);
    else world.cutOff(worker, true);
    await world.wait(30_000);
    if (what === 'kill') await world.addWorker();
    else if (what === 'freeze') world.thaw(worker);
    else world.cutOff(worker, false);
    await completed(stage);
  },
});

export const stories: Stories = {
  'a worker dies as the rollout begins': workerAmid('kill', 100),
  'a worker dies while VMs restart': workerAmid('kill', 3_000),
  'a worker is frozen as the rollout begins': workerAmid('freeze', 100),
  'a worker is frozen while VMs restart': workerAmid('freeze', 3_000),
  'a worker is cut off as the rollout begins': workerAmid('cut off', 100),
  'a worker is cut off while VMs restart': workerAmid('cut off', 3_000),
  'lost between a plan and its batch': lostAfter(
    (step) => 'planned' in step && step.planned.steps.some(({ kind }) => kind === 'update'),
  ),
  'lost between the change of a VM and its restart': lostAfter(
    (step) =>
      'write' in step &&
      step.write.resource === VirtualMachines &&
      step.write.before?.metadata.labels?.[REVISION_LABEL] !== step.write.after?.metadata.labels?.[REVISION_LABEL],
  ),
  'lost between the restart of a VM and its answer': lostAfter(
    (step) => 'write' in step && step.write.resource === VirtualMachineInstances,
  ),
};
