import { REVISION_LABEL } from '../../../../api/labels-and-annotations.ts';
import { VirtualMachineInstances } from '../../../../api/resources.ts';
import { isByWorker, isReady } from '../../facts.ts';
import { aTemplate } from '../../pools.ts';
import type { Write } from '../../world/api-server.ts';
import type { Call } from '../../world/model-client.ts';
import type { Onlooker } from '../../world/onlooker.ts';
import type { Seen } from '../../world/worker.ts';
import type { World } from '../../world/world.ts';
import { completed, MINUTE, roll, type Stage, type Story } from '../story.ts';

/** What the worker has just done: it has made a plan, or the API server has carried out its write. */
type Step = { planned: Exclude<Seen, { gone: true }> } | { write: Write };

/** How a rollout has ended. */
export interface Ending {
  /** Steps of workers on the way. */
  steps: number;
  /** Each VM with its UID, its revision and that of its VMI, and how many VMIs it has had since. */
  vms: string[];
}

/** Kills the only worker after the first step that is meant, before the worker has heard of it. */
class Loss implements Onlooker {
  readonly #world: World;
  readonly #isMeant: (step: Step, count: number) => boolean;
  readonly #onLoss: () => void;
  readonly #starts = new Map<string, number>();
  steps = 0;
  isLost = false;

  constructor(world: World, isMeant: (step: Step, count: number) => boolean, onLoss: () => void) {
    this.#world = world;
    this.#isMeant = isMeant;
    this.#onLoss = onLoss;
    world.onlookers.push(this);
  }

  onPlan(planned: Seen): void {
    if (!planned.gone) this.#took({ planned });
  }

  onWrite(write: Write, call: Call | null): void {
    const { resource, before, after } = write;
    if (resource === VirtualMachineInstances && before === undefined) {
      const { name } = after!.metadata;
      this.#starts.set(name, (this.#starts.get(name) ?? 0) + 1);
    }
    if (isByWorker(call)) this.#took({ write });
  }

  get ending(): Ending {
    const vms = this.#world.vmsOf(this.#world.pool('web')!.metadata.uid).map(({ metadata: { name, uid, labels } }) => {
      const vmi = this.#world.vmi(name);
      const revisions = `${labels?.[REVISION_LABEL]}, runs ${vmi?.metadata.labels?.[REVISION_LABEL]}`;
      return `${name} ${uid}: ${revisions}, ${isReady(vmi) ? 'ready' : 'not ready'}, started ${this.#starts.get(name) ?? 0} times`;
    });
    return { steps: this.steps, vms: vms.sort() };
  }

  #took(step: Step): void {
    this.steps++;
    if (this.isLost || !this.#isMeant(step, this.steps)) return;
    this.isLost = true;
    this.#onLoss();
    this.#world.kill(this.#world.workers[0]!);
  }
}

/**
 * A rollout whose only worker is lost after the first step that is meant; another one starts 15 s later. `onEnd` is
 * given how the rollout has ended.
 */
export const lostAfter = (
  isMeant: (step: Step, count: number) => boolean,
  onEnd: (ending: Ending) => void = () => {},
): Story => ({
  about: '3 VMs, maxUnavailable 2, 1 worker; another one starts 15 s after it is lost',
  spec: { replicas: 3, maxUnavailable: 2, template: aTemplate({ bootMs: 5_000 }) },
  options: { workers: 1 },
  live: async (stage: Stage) => {
    const { world, log } = stage;
    const loss = new Loss(world, isMeant, () => log.person('the worker is lost'));
    await roll(stage, { version: 2, bootMs: 5_000 });
    await Promise.race([completed(stage), replaced(stage, loss)]);
    await completed(stage);
    onEnd(loss.ending);
  },
});

async function replaced({ world, log }: Stage, loss: Loss): Promise<void> {
  if (!(await world.until(() => loss.isLost, 10 * MINUTE))) return;
  await world.wait(15_000);
  log.person('another worker starts');
  await world.addWorker();
}
