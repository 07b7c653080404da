import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namespacedName } from '../../../decisions/disruption-budget/restart-budget.ts';
import { liveVmi } from '../../../decisions/health/availability.ts';
import { templateTypeOf } from '../../../decisions/machine-types/pool-state.ts';
import type { Transition } from '../../../decisions/machine-types/transition.ts';
import { transitionNeed } from '../../../decisions/machine-types/vm-need.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aVm, BY_USER, SNAPSHOT } from '../fixtures/fleets.ts';
import { BAD_PREFERENCE, ModelCluster } from './model-cluster.ts';
import { ModelTransition } from './model-transition.ts';
import { aTransition, aTypedPool, ID, NEW, OLD, OTHER } from './snapshots.ts';

const OLDER = 'pc-q35-rhel8.2.0';

const anyVm = fc.record({
  inPool: fc.boolean(),
  namespace: fc.constantFrom('shop', 'bank'),
  type: fc.constantFrom(OLD, OLD, OLDER, 'q35', NEW),
  runStrategy: fc.constantFrom('Always', 'Always', 'Manual', 'Once', 'RerunOnFailure', 'Halted'),
  preference: fc.constantFrom(null, null, null, BAD_PREFERENCE),
  optedOut: fc.constantFrom(false, false, false, true),
});

const EVENTS = [
  'turn',
  'turn',
  'turn',
  'up',
  'up',
  'up',
  'ownerRestarts',
  'edit',
  'editNew',
  'halt',
  'start',
  'pause',
  'unpause',
  'snapshot',
  'exempt',
  'crash',
  'delete',
  'late',
  'roll',
  'roll',
  'time',
  'stick',
  'editPool',
] as const;

const anyScene = fc.record({
  vms: fc.array(anyVm, { minLength: 1, maxLength: 16 }),
  template: fc.constantFrom(OLD, null, NEW),
  defaultType: fc.constantFrom(NEW, 'q35'),
  aliased: fc.constantFrom(NEW, NEW, OLD),
  glob: fc.constantFrom('*rhel8.*', '*rhel8.*', '*rhel8.*', 'q35'),
  to: fc.constantFrom(null, null, 'pc-q35-rhel9.4.0', NEW),
  restartNow: fc.boolean(),
  only: fc.constantFrom(null, null, 'running' as const, 'stopped' as const),
  namespaces: fc.constantFrom<(string[] | null)[]>(null, null, ['shop']),
  exclude: fc.constantFrom<string[][]>([], [], ['*-3']),
  maxRestarts: fc.integer({ min: 1, max: 4 }),
  maxFailures: fc.constantFrom(0, 100),
  force: fc.boolean(),
  events: fc.array(fc.record({ what: fc.constantFrom(...EVENTS), at: fc.nat(99) }), { maxLength: 120 }),
});
type AnyVm = typeof anyVm extends fc.Arbitrary<infer V> ? V : never;
type Scene = typeof anyScene extends fc.Arbitrary<infer S> ? S : never;

const STARTS = { runStrategy: 'Always' };

class Story {
  readonly cluster: ModelCluster;
  readonly #context: Scene;
  /** VMs to which users gave another type, by UID. */
  readonly edited = new Set<string>();
  isPoolEdited = false;
  #luck = 0;

  constructor(context: Scene) {
    this.#context = context;
    const pool = aTypedPool(context.template, {
      replicas: context.vms.filter(({ inPool }) => inPool).length,
      maxUnavailable: 1,
    });
    const revision = revisionOf(pool.spec.template);
    this.cluster = new ModelCluster(
      context.vms.map((vm, index) => this.#vm(vm, index + 1, revision)),
      pool,
      context,
    );
  }

  #vm({ inPool, namespace, type, runStrategy, preference, optedOut }: AnyVm, number: number, revision: string): VmView {
    const isRunning = runStrategy !== 'Halted';
    const fields = {
      preference,
      optedOut,
      runStrategy,
      hasVmi: isRunning,
      ready: isRunning,
      state: isRunning ? 'Running' : 'Stopped',
    };
    const machineType = inPool && this.#context.template !== null ? this.#context.template : type;
    const own = inPool ? { revision, runStrategy: isRunning ? 'Always' : 'Halted' } : { owner: null, namespace };
    return aVm(`web-${number}`, { ...fields, machineType, ...own, uid: `uid-${number}` });
  }

  get transition(): Transition {
    const { glob, to, restartNow, only, namespaces, exclude, maxRestarts, maxFailures, force } = this.#context;
    return aTransition({ scope: { glob, only, namespaces, exclude }, to, restartNow, maxRestarts, maxFailures, force });
  }

  /** At every seventh action, the worker dies. */
  readonly luck = (): boolean => ++this.#luck % 7 !== 0;

  happen(run: ModelTransition, what: (typeof EVENTS)[number], at: number): void {
    const { cluster } = this;
    const keys = [...cluster.vms.keys()];
    const key = keys[at % keys.length];
    if (run.isOver) return;
    cluster.now += 1_000;
    if (what === 'turn') return run.turn(this.luck);
    if (what === 'time') return void (cluster.now += 700_000);
    if (what === 'late')
      return cluster.add(
        this.#vm(
          this.#context.vms[at % this.#context.vms.length]!,
          100 + (this.cluster.now % 1_000_000),
          revisionOf(cluster.pool.spec.template),
        ),
      );
    if (key === undefined) return;
    const vm = cluster.vms.get(key)!;
    const isOwned = vm.owner !== null;
    if (what === 'up') cluster.comeUp(key);
    else if (what === 'ownerRestarts' && cluster.vmis.has(key)) cluster.restart(key);
    else if (what === 'edit' || what === 'editNew') {
      this.edited.add(vm.uid);
      cluster.setType(key, what === 'edit' ? OLDER : 'pc-q35-rhel9.2.0');
    } else if (what === 'halt' && !isOwned) cluster.halt(key);
    else if (what === 'start' && vm.runStrategy === 'Halted') cluster.change(key, STARTS);
    else if (what === 'pause' || what === 'unpause')
      cluster.change(key, {}, { pause: what === 'pause' ? BY_USER : null });
    else if (what === 'snapshot') cluster.change(key, { operations: vm.operations.length > 0 ? [] : SNAPSHOT });
    else if (what === 'exempt') cluster.change(key, { optedOut: !vm.optedOut });
    else if (what === 'crash') cluster.change(key, { ready: false }, { ready: false });
    else if (what === 'delete') cluster.remove(key);
    else if (what === 'roll') cluster.rollPool();
    else if (what === 'stick' && !isOwned) cluster.stuck.add(key);
    else if (what === 'editPool') {
      this.isPoolEdited = true;
      cluster.setTemplate(OLDER);
    }
  }

  /** From now on all goes well, and owners restart the VMs that wait for them. */
  finish(run: ModelTransition): void {
    const { cluster } = this;
    for (const key of cluster.vms.keys()) cluster.change(key, { operations: [] }, { pause: null });
    for (let turns = 0; !run.isOver; turns++) {
      const enough = 14 * (cluster.vms.size + 2);
      // The transition can't know that these VMs get the new type, and their owners can't help: a user aborts it.
      if (turns === enough && (cluster.aliased === OLD || cluster.stuck.size > 0)) run.aborted = true;
      expect(turns).toBeLessThan(enough + (run.aborted ? 5 : 0));
      cluster.now += 120_000;
      run.turn(this.luck);
      if (run.isOver) return;
      cluster.rollPool();
      for (const [key, vm] of cluster.vms) {
        const { need } = transitionNeed(run.rules, vm, cluster.snapshot);
        if (need === 'wait' && cluster.vmis.get(key)?.ready === true) cluster.restart(key);
        cluster.comeUp(key);
      }
    }
  }
}

const most = (counts: ReadonlyMap<string, number>): number => Math.max(0, ...counts.values());

test('any fleet stays within the limit, handles each VM once, comes to an end, and touches nothing else', () => {
  fc.assert(
    fc.property(anyScene, (context) => {
      const story = new Story(context);
      const { cluster } = story;
      const run = new ModelTransition(cluster, ID, story.transition);
      for (const { what, at } of context.events) story.happen(run, what, at);
      story.finish(run);

      expect(most(run.patched)).toBeLessThanOrEqual(1);
      expect(most(run.markedAgain)).toBeLessThanOrEqual(1);
      expect(most(run.restarted)).toBeLessThanOrEqual(1);
      expect(run.poolsChanged).toBeLessThanOrEqual(1);
      if (!context.restartNow) expect(run.restarted.size).toBe(0);
      const { rules, failed } = run;
      for (const vm of cluster.vms.values()) {
        expect(vm.transitionMark).toBeNull();
        const { namespaces, exclude } = context;
        const isOut =
          (namespaces !== null && !namespaces.includes(vm.namespace)) || (exclude.length > 0 && vm.name.endsWith('-3'));
        if (isOut)
          expect([run.patched.has(vm.uid), run.restarted.has(vm.uid), vm.transition]).toEqual([false, false, null]);
      }
      if (run.isEnding) return;
      for (const [key, vm] of cluster.vms) {
        const { need } = transitionNeed(rules, vm, cluster.snapshot);
        const isFailed = failed.some((one) => one.vm === key);
        if (!isFailed) expect(['nothing', 'done', 'excluded']).toContain(need);
        if (need === 'done' && !isFailed) expect(isNew(rules.scope.isOld, vm, cluster.vmis.get(key))).toBe(true);
      }
    }),
    { numRuns: 400 },
  );
});

test('an undo restores every type that was changed and that nobody has changed since', () => {
  fc.assert(
    fc.property(anyScene, fc.boolean(), (context, restartNow) => {
      const story = new Story({ ...context, maxFailures: 100 });
      const { cluster } = story;
      const types = new Map([...cluster.vms.values()].map((vm) => [vm.uid, vm.machineType]));
      const run = new ModelTransition(cluster, OTHER, story.transition);
      for (const { what, at } of context.events) if (what !== 'late' && what !== 'start') story.happen(run, what, at);
      run.aborted = context.events.length % 2 === 0;
      story.finish(run);
      const { template } = context;
      const isPoolChanged = run.poolsChanged > 0;
      const then = new Map([...cluster.vms.values()].map((vm) => [vm.uid, vm]));
      for (const key of cluster.vms.keys()) cluster.change(key, { optedOut: false });
      for (let step = 0; step < 5 * cluster.vms.size; step++) {
        cluster.rollPool();
        for (const key of cluster.vms.keys()) cluster.comeUp(key);
      }
      const undo = new ModelTransition(
        cluster,
        ID,
        aTransition({ scope: { undoes: OTHER }, restartNow, maxRestarts: context.maxRestarts, maxFailures: 100 }),
      );
      story.finish(undo);

      if (isPoolChanged && !story.isPoolEdited) expect(templateTypeOf(cluster.pool)).toBe(template);
      expect(most(undo.patched)).toBeLessThanOrEqual(1);
      expect(most(undo.restarted)).toBeLessThanOrEqual(1);
      for (const [key, vm] of cluster.vms) {
        expect(vm.transitionMark).toBeNull();
        const { machineType, transition } = then.get(vm.uid)!;
        if (undo.patched.has(vm.uid)) expect([run.patched.has(vm.uid), machineType]).toEqual([true, transition!.to]);
        if (story.edited.has(vm.uid) || (vm.owner !== null && (isPoolChanged || story.isPoolEdited))) continue;
        expect(vm.machineType).toBe(types.get(vm.uid));
        const vmi = cluster.vmis.get(namespacedName(vm));
        if (undo.aborted) continue;
        if (undo.patched.has(vm.uid) && vmi !== undefined && !undo.failed.some((one) => one.vm === key))
          expect(vmi.specMachineType).toBe(vm.machineType);
      }
    }),
    { numRuns: 300 },
  );
});

/** Reports whether neither the VM nor its VMI is old any more. */
const isNew = (isOld: (type: string | null) => boolean, vm: VmView, vmi: VmiView | undefined): boolean => {
  const live = liveVmi(vmi);
  if (isOld(vm.machineType)) return false;
  if (live === undefined || live.machineType === vm.machineType) return true;
  // If the alias is to be replaced, the VMI's own type says nothing.
  return !isOld(live.machineType ?? live.specMachineType) && (live.specMachineType !== 'q35' || !isOld('q35'));
};
