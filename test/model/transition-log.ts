import { MACHINE_TYPE_RESTART_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { field } from '../../decisions/lib/json.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import type { TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { activityNow, isByWorker, isDeletion } from './facts.ts';
import type { Write } from './world/api-server.ts';
import type { Call } from './world/model-client.ts';
import type { Onlooker } from './world/onlooker.ts';
import type { World } from './world/world.ts';

const PATH = ['template', 'spec', 'domain', 'machine', 'type'];
const inWords = (type: unknown): string => (typeof type === 'string' ? type : 'the default');
const typeOf = (vm: Stored): string => inWords(field(vm['spec'], ...PATH));
const templateTypeOf = (pool: Stored): string => inWords(field(pool['spec'], 'template', 'spec', ...PATH));
const isMarked = ({ metadata }: Stored): boolean => metadata.labels?.[MACHINE_TYPE_RESTART_LABEL] !== undefined;

/**
 * Writes down a machine type transition as text: what users did, what workers wrote to pools, VMs and VMIs, and what
 * came of each VM. Times are whole seconds; what was written in the same one is told together, in the order of names.
 */
export class TransitionLog implements Onlooker {
  readonly #world: World;
  readonly #lines: string[] = [];
  /** Names of the objects of this second, by what was done to them. */
  readonly #writes = new Map<string, Set<string>>();
  readonly #starts = new Map<string, number>();
  #seconds = -1;
  #told = -1;

  constructor(world: World) {
    this.#world = world;
    world.onlookers.push(this);
  }

  get text(): string {
    this.#tellWrites();
    return `${this.#lines.join('\n')}\n`;
  }

  person(words: string): void {
    this.#tellWrites();
    this.#seconds = this.#world.seconds;
    this.#tell('people', words);
  }

  onWrite({ resource, before, after }: Write, by: Call | null): void {
    if (resource.plural === 'virtualmachineinstances' && before === undefined) {
      const { name } = after!.metadata;
      this.#starts.set(name, (this.#starts.get(name) ?? 0) + 1);
    }
    if (!isByWorker(by)) return;
    const what = this.#whatIsDone(resource.plural, before, after);
    if (what === null) return;
    if (this.#world.seconds !== this.#seconds) this.#tellWrites();
    this.#seconds = this.#world.seconds;
    const names = this.#writes.get(what) ?? new Set();
    this.#writes.set(what, names.add((after ?? before)!.metadata.name));
  }

  end({ phase, patched, restarted, failed, counts, skipped }: TransitionProgress): void {
    this.person(`it is ${phase}: ${patched} changed, ${restarted} restarted`);
    for (const { vm, message: why } of failed) this.#lines.push(`  failed: ${vm}: ${why}`);
    for (const { vms, message: why } of skipped) this.#lines.push(`  skipped: ${formatNames(vms)}: ${why}`);
    this.#lines.push(`  ${counts.done} done`);
    for (const vm of this.#world.vms) {
      const { name } = vm.metadata;
      const runs = this.#world.vmi(name)?.status?.machine?.type ?? 'nothing';
      const starts = `started ${this.#starts.get(name) ?? 0} times since`;
      this.#lines.push(`  ${name}: ${typeOf(vm)}, runs ${runs}, ${starts}${isMarked(vm) ? ', marked' : ''}`);
    }
  }

  #whatIsDone(plural: string, before: Stored | undefined, after: Stored | undefined): string | null {
    if (before === undefined) return null;
    if (plural === 'virtualmachineinstances')
      return isDeletion(before, after)
        ? `restart VM${activityNow() === 'followTransition' ? '' : ' as its pool does'}`
        : null;
    if (after === undefined) return null;
    if (plural === 'virtualmachinepools') {
      const [old, to] = [templateTypeOf(before), templateTypeOf(after)];
      return old === to ? null : `change pool from ${old} to ${to}`;
    }
    if (plural !== 'virtualmachines') return null;
    const mark = isMarked(after) ? ', and mark it' : '';
    if (typeOf(before) !== typeOf(after)) return `change VM from ${typeOf(before)} to ${typeOf(after)}${mark}`;
    if (isMarked(before) === isMarked(after)) return null;
    return isMarked(after) ? 'mark VM' : 'clear the label of VM';
  }

  #tellWrites(): void {
    for (const [what, names] of this.#writes) this.#tell('writes', `${what}: ${formatNames([...names].sort())}`);
    this.#writes.clear();
  }

  #tell(column: 'people' | 'writes', words: string): void {
    const time = this.#seconds === this.#told ? '' : `${this.#seconds} s`;
    this.#lines.push(`${time.padStart(7)}  ${column.padEnd(6)}  ${words}`);
    this.#told = this.#seconds;
  }
}
