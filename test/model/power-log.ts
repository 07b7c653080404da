import { formatEdit } from '../../clients/changes/planned-groups.ts';
import { changesOf } from '../../decisions/changes/change-record.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { PowerProgress } from '../../decisions/power/progress.ts';
import { activityNow, isByWorker, isDeletion, isReady } from './facts.ts';
import type { Write } from './world/api-server.ts';
import type { Call } from './world/model-client.ts';
import type { Onlooker } from './world/onlooker.ts';
import type { World } from './world/world.ts';

/** Path of a request to KubeVirt: the VM's name, and what is asked. */
const REQUEST = /^\/apis\/subresources\.kubevirt\.io\/.*\/virtualmachines\/([^/]+)\/(start|stop|restart)$/;

/** Activities by which a pool restarts its VMs. */
const OF_POOLS = new Set(['updateVms']);

/**
 * Writes down a run that starts, stops or restarts VMs as text: what users did, what workers asked of KubeVirt, and
 * what came of each VM. Times are whole seconds; what was asked in the same one is told together, in the order of
 * names.
 */
export class PowerLog implements Onlooker {
  readonly #world: World;
  readonly #lines: string[] = [];
  /** Names of the VMs of this second, by what was done to them. */
  readonly #done = new Map<string, Set<string>>();
  readonly #starts = new Map<string, number>();
  #seconds = -1;
  #told = -1;

  constructor(world: World) {
    this.#world = world;
    world.onlookers.push(this);
  }

  get text(): string {
    this.#tellDone();
    return `${this.#lines.join('\n')}\n`;
  }

  person(words: string): void {
    this.#tellDone();
    this.#seconds = this.#world.seconds;
    this.#tell('people', words);
  }

  onCall(call: Call): void {
    const [, name, verb] = REQUEST.exec(call.key.name ?? '') ?? [];
    if (name !== undefined && isByWorker(call)) this.#note(`${verb} VM`, name);
  }

  onWrite({ resource, before, after }: Write, by: Call | null): void {
    if (resource.plural === 'virtualmachines' && after !== undefined && isByWorker(by)) this.#onChange(before, after);
    if (resource.plural !== 'virtualmachineinstances') return;
    const { name } = (after ?? before)!.metadata;
    if (before === undefined) this.#starts.set(name, (this.#starts.get(name) ?? 0) + 1);
    else if (isByWorker(by) && isDeletion(before, after))
      this.#note(OF_POOLS.has(activityNow() ?? '') ? 'restart VM for the rollout' : 'restart VM', name);
  }

  #onChange(before: Write['before'], { metadata }: NonNullable<Write['after']>): void {
    const [note] = changesOf(metadata.annotations);
    if (note === undefined || note.id === changesOf(before?.metadata.annotations)[0]?.id) return;
    this.#note(`change VM (${note.edits.map(formatEdit).join(', ')})`, metadata.name);
  }

  /** `events`: about how many events the history has. */
  end({ phase, done, failed, open, skipped, full }: PowerProgress, events: number): void {
    this.person(`it is ${phase}: ${done} done, ${open} to go, about ${events} events`);
    for (const { vm, message: why } of failed) this.#lines.push(`  failed: ${vm}: ${why}`);
    for (const { vms, message: why } of skipped) this.#lines.push(`  skipped: ${formatNames(vms)}: ${why}`);
    for (const why of full) this.#lines.push(`  full: ${why}`);
    for (const { metadata } of this.#world.vms) {
      const { name } = metadata;
      const vmi = this.#world.vmi(name);
      const state = vmi === undefined ? 'stopped' : isReady(vmi) ? 'ready' : 'not ready';
      this.#lines.push(`  ${name}: ${state}, started ${this.#starts.get(name) ?? 0} times since`);
    }
  }

  #note(what: string, name: string): void {
    if (this.#world.seconds !== this.#seconds) this.#tellDone();
    this.#seconds = this.#world.seconds;
    this.#done.set(what, (this.#done.get(what) ?? new Set()).add(name));
  }

  #tellDone(): void {
    for (const [what, names] of this.#done) this.#tell('writes', `${what}: ${formatNames([...names].sort())}`);
    this.#done.clear();
  }

  #tell(column: 'people' | 'writes', words: string): void {
    const time = this.#seconds === this.#told ? '' : `${this.#seconds} s`;
    this.#lines.push(`${time.padStart(7)}  ${column.padEnd(6)}  ${words}`);
    this.#told = this.#seconds;
  }
}
