import { appendFileSync } from 'node:fs';
import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { controllerOf, type KubeObject, type Stored } from '../../api/objects.ts';
import { OWNER_KINDS, type VmOwnerKind } from '../../api/owner-kinds.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines, type Resource } from '../../api/resources.ts';
import type { VirtualMachineInstance } from '../../simulator/objects/kubevirt.ts';
import { AnyVmGuarantees } from '../model/budgets/guarantee.ts';
import { isDeletion, type Pool } from '../model/facts.ts';
import { BudgetGuarantees } from '../model/guarantees/budget.ts';
import { CreatedVmGuarantees } from '../model/guarantees/created-vms.ts';
import { DiskGuarantees } from '../model/guarantees/disks.ts';
import { MigrationGuarantees } from '../model/guarantees/migrations.ts';
import { RemovedVmGuarantees } from '../model/guarantees/removed-vms.ts';
import { RunGuarantees, TransitionGuarantees } from '../model/guarantees/runs.ts';
import { SetGuarantees } from '../model/guarantees/sets.ts';
import { UpdateGuarantees } from '../model/guarantees/updates.ts';
import { PoolRecord } from '../model/pool-record.ts';
import type { Watched } from '../model/readings.ts';
import type { Call } from '../model/world/model-client.ts';
import type { Onlooker } from '../model/world/onlooker.ts';
import type { Run } from '../model/world/temporal/run.ts';
import type { SeenWrite } from './etcd-journal.ts';
import { LastingGuarantees } from './lasting.ts';
import { keyOf, type Request } from './requests.ts';

export const NAMESPACE = 'soak';
/** How many lines before a finding are kept with it. */
const TRAIL = 60;
/** Milliseconds after which a node that is schedulable again counts as not drained: an act may be on its way. */
const DRAINED_MS = 60_000;
/** For so long a worker may act on what it has read (G1), in milliseconds. */
const READ_MS = 1_000;

export interface Finding {
  at: number;
  words: string;
  before: readonly string[];
}

/** A run as the checks ask for it. */
type SeenRun = Pick<Run, 'id' | 'type' | 'args' | 'isOpen' | 'status'>;

/** The real servers as the guarantees of the model ask for them: each write in its order, with who made it and why. */
export class SeenWorld implements Watched {
  readonly findings: Finding[] = [];
  readonly runs = new Map<string, SeenRun>();
  readonly temporal = { runs: this.runs };
  /** Until when each node counts as drained. */
  readonly #drained = new Map<string, number>();
  readonly kubevirt = { isDrained: (node = ''): boolean => (this.#drained.get(node) ?? 0) > this.time.now };
  readonly #kinds = new Map<string, Map<string, Stored>>();
  readonly server: Watched['server'] = {
    all: <T extends KubeObject>(resource: Resource) => [...this.#kind(resource).values()] as Stored<T>[],
    find: <T extends KubeObject>(resource: Resource, key: { namespace?: string | undefined; name: string }) =>
      this.#kind(resource).get(`${key.namespace}/${key.name}`) as Stored<T> | undefined,
  };
  #due: { at: number; act: () => void }[] = [];
  readonly time = {
    now: 0,
    in: (ms: number, act: () => void): void => void this.#due.push({ at: this.time.now + ms, act }),
  };
  #trail: string[] = [];
  readonly #journal: string | undefined;
  /** What each attempt has read, the last of each object. */
  readonly #reads = new Map<string, Map<string, Request>>();
  readonly #checks: readonly Onlooker[];

  /** `journal`: path of a file for all that is said. */
  constructor(journal?: string) {
    this.#journal = journal;
    const record = new PoolRecord(this);
    const budget = new BudgetGuarantees(this, [], record);
    this.#checks = [
      record,
      new CreatedVmGuarantees(this, [], record),
      new RemovedVmGuarantees(this, [], record, budget),
      new MigrationGuarantees(this, []),
      budget,
      new AnyVmGuarantees(this, []),
      new DiskGuarantees(this, [], record),
      new UpdateGuarantees(this, [], record),
      new RunGuarantees(this, []),
      new TransitionGuarantees(this, []),
      new SetGuarantees(this, []),
      new LastingGuarantees(this, []),
    ];
  }

  // What happens.

  /** An attempt reads an object. */
  read(request: Request): void {
    const { attempt } = request.activity!;
    this.#reads.set(attempt, (this.#reads.get(attempt) ?? new Map<string, Request>()).set(request.key, request));
  }

  see(write: SeenWrite, by: Request | undefined): void {
    this.#goOn(write.at);
    const { resource, before, after } = write;
    const objects = this.#kind(resource);
    const { namespace, name } = (after ?? before)!.metadata;
    if (after === undefined) objects.delete(`${namespace}/${name}`);
    else objects.set(`${namespace}/${name}`, after);
    if (namespace !== NAMESPACE) return;
    const how = before === undefined ? 'creates' : isDeletion(before, after) ? 'deletes' : undefined;
    if (how !== undefined)
      this.say(`${by?.who ?? 'kubevirt'} ${by?.activity?.type ?? ''} ${how} ${resource.plural}/${name}`);
    const found = this.findings.length;
    this.#as(by, () => this.#checks.forEach((check) => check.onWrite?.({ resource, before, after }, callOf(by))));
    if (by?.end === 'answered' || by === undefined) return;
    for (const finding of this.findings.slice(found))
      finding.words += ' (the answer was lost: another client may have written it)';
  }

  drained(node: string, isDrained: boolean): void {
    this.#drained.set(node, isDrained ? Infinity : this.time.now + DRAINED_MS);
  }

  say(words: string): void {
    const line = `${new Date(this.time.now).toISOString()} ${words}`;
    if (this.#journal !== undefined) appendFileSync(this.#journal, `${line}\n`);
    this.#trail.push(line);
    if (this.#trail.length > 2 * TRAIL) this.#trail = this.#trail.slice(-TRAIL);
  }

  break(words: string): void {
    this.findings.push({ at: this.time.now, words, before: this.#trail.slice(-TRAIL) });
    this.say(`!! ${words}`);
  }

  /** Moves the time on, and does what is due by then. */
  #goOn(now: number): void {
    this.time.now = Math.max(now, this.time.now);
    const due = this.#due.filter(({ at }) => at <= now);
    if (due.length === 0) return;
    this.#due = this.#due.filter(({ at }) => at > now);
    for (const { act } of due) act();
  }

  /** Calls `act` as if within the activity that has asked: the checks ask which one that is, and what it has read. */
  #as(by: Request | undefined, act: () => void): void {
    if (by?.activity == null) return act();
    const { type, workflowId, attempt } = by.activity;
    const info = { activityType: type, workflowExecution: { workflowId } };
    const { now } = this.time;
    asyncLocalStorage.run({ info } as Context, () => {
      for (const read of this.#reads.get(attempt)?.values() ?? []) {
        // It acts on several VMs at once, and reads for each.
        this.time.now = Math.min(read.at, by.at - READ_MS);
        this.#checks.forEach((check) => check.onCall?.(callOf(read)));
      }
      this.time.now = now;
      act();
    });
  }

  // What exists.

  #kind({ group, plural }: Resource): Map<string, Stored> {
    const id = `${group}/${plural}`;
    const known = this.#kinds.get(id) ?? new Map<string, Stored>();
    this.#kinds.set(id, known);
    return known;
  }

  pool(name: string): Pool | undefined {
    return this.server.find(VirtualMachinePools, { namespace: NAMESPACE, name }) as Pool | undefined;
  }

  owner(kind: VmOwnerKind, name: string): Stored | undefined {
    return this.server.find(OWNER_KINDS[kind].resource, { namespace: NAMESPACE, name });
  }

  vm(name: string): Stored | undefined {
    return this.server.find(VirtualMachines, { namespace: NAMESPACE, name });
  }

  get vms(): Stored[] {
    return this.server.all(VirtualMachines);
  }

  vmi(name: string): Stored<VirtualMachineInstance> | undefined {
    return this.server.find<VirtualMachineInstance>(VirtualMachineInstances, { namespace: NAMESPACE, name });
  }

  vmsOf(uid: string): Stored[] {
    return this.membersOf('VirtualMachinePool', uid);
  }

  membersOf(kind: VmOwnerKind, uid: string | null): Stored[] {
    const all = this.server.all(OWNER_KINDS[kind].members.resource);
    return all.filter((member) => (controllerOf(member)?.uid ?? null) === uid);
  }
}

function callOf(request: Request | undefined): Call {
  const [, namespace = '', name = ''] = request?.key.split('/') ?? [];
  return {
    process: { name: request?.who ?? 'kubevirt' } as Call['process'],
    verb: request?.verb ?? 'patch',
    resource: RESOURCES.find((one) => request?.key === keyOf(one, { namespace, name })) ?? null,
    key: { namespace, name },
  };
}

/** Kinds whose reads the checks ask about. */
const RESOURCES: readonly Resource[] = [
  VirtualMachines,
  VirtualMachineInstances,
  ...Object.values(OWNER_KINDS).flatMap(({ resource }) => resource ?? []),
];
