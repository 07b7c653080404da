import { REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import type { Condition } from '../../api/pool/status.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { isByWorker, isGoing, isReady, isRemoved, runs } from './facts.ts';
import type { Write } from './world/api-server.ts';
import type { Call } from './world/model-client.ts';
import type { Onlooker } from './world/onlooker.ts';
import type { Seen } from './world/worker.ts';
import type { World } from './world/world.ts';

type Column = 'people' | 'sees' | 'plans' | 'waits' | 'writes' | 'says';

/** Kinds of objects whose writes are told, by the words for them. */
const TOLD: Record<string, string> = {
  virtualmachines: 'VM',
  virtualmachineinstances: 'VMI',
  datavolumes: 'DataVolume',
  persistentvolumeclaims: 'claim',
};

/** Conditions of the pool that are told if they change. */
const CONDITIONS = new Set(['Progressing', 'ReplicaFailure', 'Stalled', 'Healing']);

const inWords = ({ type, status, reason, message }: Condition): string =>
  `${type} is ${status}: ${[reason, message].filter(Boolean).join(', ')}`;

const specOf = (vm: Stored): Record<string, unknown> => vm['spec'] as Record<string, unknown>;

/**
 * Writes down a rollout as text: what each turn of the pool's workflow saw, what it planned and why, and what workers
 * wrote. What is as it was in the turn before is left out. Revisions are letters, times whole seconds.
 */
export class RolloutLog implements Onlooker {
  readonly #world: World;
  readonly #lines: string[] = [];
  readonly #letters = new Map<string, string>();
  /** The last text of each column, and of each condition. */
  readonly #last = new Map<string, string>();
  /** Writes that wait to be told together: the names of objects, by what was done to them. */
  #writes = new Map<string, string[]>();
  #time = '';

  constructor(world: World, pool: string) {
    this.#world = world;
    const status = world.pool(pool)?.status;
    for (const condition of status?.conditions ?? []) this.#last.set(condition.type, inWords(condition));
    world.onlookers.push(this);
  }

  get text(): string {
    this.#tellWrites();
    return `${this.#lines.join('\n')}\n`;
  }

  person(words: string): void {
    this.#tellWrites();
    this.#tell('people', words);
  }

  onPlan(planned: Seen): void {
    if (planned.gone) return;
    this.#tellWrites();
    this.#tellOnce('sees', this.#seen(planned.key.uid));
    for (const { reason } of planned.steps) this.#tell('plans', reason);
    this.#tellOnce('waits', planned.rollout?.waits.map(({ message: words }) => words).join('; ') ?? '');
    for (const condition of planned.status?.conditions ?? []) {
      if (CONDITIONS.has(condition.type)) this.#tellOnce('says', inWords(condition), condition.type);
    }
  }

  onWrite({ resource, before, after }: Write, by: Call | null): void {
    const kind = TOLD[resource.plural];
    if (kind === undefined || !isByWorker(by)) return;
    const what = this.#whatIsDone(kind, before, after);
    const { name } = (after ?? before)!.metadata;
    this.#writes.set(what, [...(this.#writes.get(what) ?? []), name]);
  }

  #whatIsDone(kind: string, before: Stored | undefined, after: Stored | undefined): string {
    if (before === undefined) return `create ${kind} of ${this.#letter(after!)}`;
    if (after === undefined || (isGoing(after) && !isGoing(before))) return `delete ${kind}`;
    if (kind === 'VM' && before.metadata.labels?.[REVISION_LABEL] !== after.metadata.labels?.[REVISION_LABEL])
      return `change ${kind} from ${this.#letter(before)} to ${this.#letter(after)}`;
    if (kind === 'VM' && specOf(before)['runStrategy'] !== specOf(after)['runStrategy'])
      return `set ${kind} to ${String(specOf(after)['runStrategy'])}`;
    return `write metadata of ${kind}`;
  }

  /** The pool's VMs by their state. */
  #seen(uid: string): string {
    const groups = Map.groupBy(this.#world.vmsOf(uid), (vm) => this.#stateOf(vm));
    const told = [...groups].sort(([one], [other]) => one.localeCompare(other, 'en'));
    return (
      told.map(([state, vms]) => `${state}: ${formatNames(vms.map(({ metadata }) => metadata.name))}`).join('; ') ||
      'no VM'
    );
  }

  #stateOf(vm: Stored): string {
    const vmi = this.#world.vmi(vm.metadata.name);
    const own = this.#letter(vm);
    if (isGoing(vm)) return `${own} terminating`;
    if (isRemoved(vm)) return `${own} being removed`;
    if (vmi === undefined) return `${own} ${runs(vm) ? 'down' : 'stopped'}`;
    const running = this.#letter(vmi);
    const revision = running === own ? own : `${own} (runs ${running})`;
    if (isGoing(vmi)) return `${revision} stopping`;
    return `${revision} ${isReady(vmi) ? 'ready' : 'not ready'}`;
  }

  #letter({ metadata }: Stored): string {
    return this.#letterOf(metadata.labels?.[REVISION_LABEL] ?? '?');
  }

  #letterOf(revision: string): string {
    if (revision === '?') return '?';
    if (!this.#letters.has(revision)) this.#letters.set(revision, String.fromCodePoint(65 + this.#letters.size));
    return this.#letters.get(revision)!;
  }

  #tellWrites(): void {
    const writes = this.#writes;
    this.#writes = new Map();
    for (const [what, names] of writes) this.#tell('writes', `${what}: ${formatNames([...new Set(names)])}`);
  }

  #tellOnce(column: Column, words: string, key: string = column): void {
    if (this.#last.get(key) === words) return;
    this.#last.set(key, words);
    this.#tell(column, words || 'for nothing');
  }

  #tell(column: Column, words: string): void {
    const time = `${this.#world.seconds} s`;
    this.#lines.push(`${(time === this.#time ? '' : time).padStart(7)}  ${column.padEnd(6)}  ${this.#plain(words)}`);
    this.#time = time;
  }

  /** Without what differs between runs of the same story: hashes and dates. */
  #plain(words: string): string {
    return words
      .replaceAll(/\b[0-9a-f]{10}\b/g, (revision) => this.#letterOf(revision))
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (time) => `${this.#world.secondsAt(Date.parse(time))} s`);
  }
}
