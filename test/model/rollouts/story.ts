import type { PoolSpec, PoolStatus } from '../../../api/pool/pool.ts';
import { aTemplate, type Shape } from '../pools.ts';
import type { RolloutLog } from '../rollout-log.ts';
import type { World, WorldOptions } from '../world/world.ts';

export interface Stage {
  world: World;
  log: RolloutLog;
}

/** A rollout that is played and written down. */
export interface Story {
  /** The pool, in words. */
  about: string;
  spec: Partial<PoolSpec>;
  live: (stage: Stage) => Promise<void>;
  options?: Partial<WorldOptions>;
}

/** The stories of a folder, by their names. */
export type Stories = Record<string, Story>;

export const MINUTE = 60_000;

const statusOf = (world: World): PoolStatus | undefined => world.pool('web')?.status;

/** Gives the pool another template, in the words of `Shape`. */
export async function roll(
  { world, log }: Stage,
  shape: Shape,
  words = `template ${JSON.stringify(shape)}`,
): Promise<void> {
  log.person(words);
  await world.people.changePool('web', { template: aTemplate(shape) });
}

export async function change(
  { world, log }: Stage,
  spec: Partial<PoolSpec>,
  words = JSON.stringify(spec),
): Promise<void> {
  log.person(words);
  await world.people.changePool('web', spec);
}

export function signal({ world, log }: Stage, name: string, payload: object = {}): void {
  log.person(`signal ${name} ${JSON.stringify(payload)}`);
  world.people.signal('web', name, { by: 'ann', ...payload });
}

/** Asks something of the rollout. */
export async function ask({ world, log }: Stage, ...asked: Asked): Promise<void> {
  log.person(`request ${asked.map((one) => JSON.stringify(one)).join(' ')}`);
  await world.people.rollout('web', ...asked);
}
type Asked = Parameters<World['people']['rollout']> extends [string, ...infer Rest extends unknown[]] ? Rest : never;

/** Waits until the rollout of the template is complete, at most for so long. */
export async function completed({ world }: Stage, ms = 30 * MINUTE): Promise<void> {
  const isComplete = (): boolean => {
    const { observedGeneration, currentRevision, updateRevision, readyReplicas } = statusOf(world) ?? {};
    const { metadata, spec } = world.pool('web')!;
    const isNow = observedGeneration === metadata.generation;
    return isNow && currentRevision === updateRevision && readyReplicas === spec.replicas;
  };
  if (!(await world.until(isComplete, ms))) world.break('the rollout does not complete');
  await world.wait(2_000);
}

/** Waits until so many VMs are of the pool's template. */
export const updated = (world: World, count: number): Promise<boolean> =>
  world.until(() => {
    const { observedGeneration, updatedReplicas = 0 } = statusOf(world) ?? {};
    return observedGeneration === world.pool('web')!.metadata.generation && updatedReplicas >= count;
  }, 10 * MINUTE);

/** The first VM that is down. */
const downVm = (world: World): string =>
  world
    .vmsOf(world.pool('web')!.metadata.uid)
    .map(({ metadata }) => metadata.name)
    .find((name) => world.vmi(name)?.status?.phase !== 'Running') ?? 'web-1';

export async function someDown({ world }: Stage): Promise<string> {
  await world.until(() => (statusOf(world)?.readyReplicas ?? 0) < (statusOf(world)?.replicas ?? 0), MINUTE);
  return downVm(world);
}

/** A rollout of a template whose VMs restart for it, and nothing else. */
export const regular = (about: string, spec: Partial<PoolSpec>, shape: Shape = { version: 2 }): Story => ({
  about,
  spec,
  live: async (stage) => {
    await roll(stage, shape);
    await completed(stage);
  },
});

/** Something happens to a pool of five, two at a time, while the first batch is down. */
export const amid = (
  about: string,
  happen: (stage: Stage, down: string) => Promise<void> | void,
  spec: Partial<PoolSpec> = {},
): Story => ({
  about,
  spec: { replicas: 5, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }), ...spec },
  live: async (stage) => {
    await roll(stage, { version: 2, bootMs: 5_000 });
    await happen(stage, await someDown(stage));
    await completed(stage);
  },
});
