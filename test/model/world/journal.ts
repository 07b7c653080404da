import { canonical } from '../../../decisions/lib/canonical-json.ts';
import { isByWorker } from '../facts.ts';
import type { Write } from './api-server.ts';
import type { Call } from './model-client.ts';
import type { Onlooker } from './onlooker.ts';
import type { Seen } from './worker.ts';
import type { World } from './world.ts';

/** Notes every plan and every write of the workers, in their order and with their times. */
export class Journal implements Onlooker {
  readonly lines: string[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  onPlan(planned: Seen): void {
    this.#note('plan', planned);
  }

  onWrite({ resource, before, after }: Write, by: Call | null): void {
    if (isByWorker(by)) this.#note(`${by!.process.name} ${by!.verb} ${resource.plural}`, after ?? before);
  }

  #note(what: string, value: unknown): void {
    this.lines.push(`${this.#world.time.now} ${what} ${canonical(value)}`);
  }
}
