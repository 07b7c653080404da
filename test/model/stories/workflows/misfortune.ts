import type { World } from '../../world/world.ts';

/** Something that happens to a worker, or to the workflow with this id. A frozen worker is thawed by `frozenMs`. */
export async function misfortune(world: World, workflowId: string, frozenMs: number): Promise<void> {
  const some = world.workers.filter(({ process }) => process.state === 'running');
  const worker = some[world.time.between(0, some.length - 1)]!;
  switch (world.time.between(0, 3)) {
    case 0:
      world.kill(worker);
      return void (await world.addWorker());
    case 1:
      world.freeze(worker);
      await world.wait(world.time.between(5_000, frozenMs));
      return world.thaw(worker);
    case 2:
      return world.temporal.terminate(workflowId);
    default:
      world.cutOff(worker, true);
      await world.wait(world.time.between(5_000, 60_000));
      return world.cutOff(worker, false);
  }
}
